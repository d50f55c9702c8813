"""Runs the phases of galv-opt one by one on a file, and all in one process.

    chain.py MODEL STRATEGY

Exits 1 where the results differ. Every phase reads what the one before wrote
once as text and once as bytecode.
"""

import os
import subprocess
import sys

model, strategy = sys.argv[1:]
phases = [
    "--galv-set-precision=precision=fp64",
    f"--galv-assign-strategy=strategy={strategy}",
    "--galv-tensor-parallel",
    "--galv-sequential-partition",
    "--galv-insert-redistribution",
    "--galv-stage-pipeline",
    "--galv-shard-data-parallel",
    "--galv-annotate-checkpoint",
    "--galv-autodiff",
    "--galv-fuse",
]
flags = ["--verify-roundtrip"] if os.environ.get("GALV_CHECK_ROUNDTRIP") else []


def run(arguments, text):
    done = subprocess.run(["galv-opt", *flags, *arguments], input=text, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.decode()[:2000]}")
    return done.stdout


source = open(model, "rb").read()
together = run(phases, source)
text = bytecode = source
for phase in phases:
    text = run([phase], text)
    bytecode = run([phase, "--emit-bytecode"], bytecode)
if b"galv.update" not in together:
    sys.exit("the phases made no optimizer step")
if text != together:
    sys.exit("one phase after the other, as text, gives another program than all in one process")
if run([], bytecode) != together:
    sys.exit("one phase after the other, as bytecode, gives another program than all in one process")
print(len(together), "bytes")
