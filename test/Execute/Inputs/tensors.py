"""Writes what compare.test compares."""

import json
import pathlib
import sys

import numpy
from safetensors.numpy import save_file

folder = pathlib.Path(sys.argv[1])
want = {"large": numpy.array([3.0, 4.0]), "small": numpy.array([[1e-3, -2e-3]]), "zero": numpy.zeros(3)}


def write(name, **changed):
    tensors = {key: value for key, value in (want | changed).items() if value is not None}
    save_file(tensors, folder / f"{name}.safetensors")


write("want")
write("same")
write("near", small=want["small"] + [[0, 1e-9]])
write("zero", zero=numpy.array([0, 1e-11, 0]))
write("nan", large=numpy.array([3.0, numpy.nan]))
write("missing", zero=None)
write("shape", large=numpy.array([[3.0, 4.0]]))

steps = [(2.5, 1.0), (2.25, 2.0)]
for name, lines in {"want": steps, "same": steps, "norm": [steps[0], (2.25, 2.0 * (1 + 1e-11))], "short": steps[:1]}.items():
    (folder / f"{name}.jsonl").write_text(
        "".join(json.dumps({"step": i, "loss": loss, "grad_norm": norm}) + "\n" for i, (loss, norm) in enumerate(lines, 1)))
