#!/usr/bin/env python3
"""Shows that the comparison with one rank would notice: plants a fault in the
C++ of a program, compiles it and expects the comparison to fail.

The program splits everything once: data with ZeRO-3, tensor with sequence
parallel, the vocabulary with padding, the batch in microbatches, and its
embedding is tied. Each case is one kind of fault, planted in one call of every
function that has such a call.
"""

import pathlib
import re
import shutil

import compare
import matrix
from harness import Failure, Program, check, expect, main

NAME = "dp2-tp2-sp-zero3-m2"
SOURCE = pathlib.Path(__file__).resolve().parents[2]

# name, a call, what it becomes
FAULTS = {
    "missing-all-reduce": (r'all_reduce\(context, (\w+), (\w+), "\w+", galv::Group\{\d+\}\)', r"copy(context, \1, \2)"),
    "missing-reduction-of-a-scatter": (
        r"reduce_scatter\(context, (\w+), (\w+), (\d+), (galv::Group\{\d+\})\)", r"slice(context, \1, \2, \3, \4)"),
    "added-on-every-rank": (r"keep_first\(context, (\w+), (\w+), galv::Group\{\d+\}\)", r"copy(context, \1, \2)"),
    "last-microbatch-only": (r"accumulate\(context, (\w+), (\w+)\)", r"copy(context, \1, \2)"),
    "gradient-of-the-last-step-left": (r"(?:fill_zero|zero)\(context, \w+\)", r"Group{0}"),
    "loss-not-divided": (r"scale\(context, (\w+), (\w+), \w+\)", r"copy(context, \1, \2)"),
    "padding-that-counts": (r"(cross_entropy_(?:parts|gradient)\(.*), 257\)", r"\1, 258)"),
    "decay-of-vectors": (r"(adamw\(.*), false\)", r"\1, true)"),
}


def planted(name, pattern, replacement):

    def case(workspace):
        want = matrix.oracle(workspace, True)
        strategy = next(entry[2] for entry in matrix.STRATEGIES if entry[0] == NAME)
        program = workspace.compile(matrix.model(True), f"{NAME}-tied", strategy)
        out = program.train.parent
        lines = (out / "gpt2_functions.cpp").read_text().splitlines()
        function, places = "", {}
        for i, line in enumerate(lines):
            if head := re.match(r"void (\w+)\(", line):
                function = head[1]
            elif re.search(pattern, line):
                places.setdefault(function, i)
        expect(places, "no such call in the program")
        folder = workspace.fresh(f"planted/{name}")
        # As galvc compiles.
        compiler = ["clang++-22", "-fuse-ld=lld"] if shutil.which("clang++-22") else ["c++"]
        compiler += ["-std=c++17", "-O0", "-fno-exceptions", "-Wno-unused-command-line-argument", f"-I{SOURCE}/include"]
        library = workspace.build / "lib"
        tables, faulty, train = folder / "gpt2.o", folder / "faulty.cpp", folder / "train"
        workspace.execute([*compiler, "-c", out / "gpt2.cpp", "-o", tables], 60)
        for function, i in places.items():
            faulty.write_text("\n".join([*lines[:i], re.sub(pattern, replacement, lines[i]), *lines[i + 1:]]))
            workspace.execute([*compiler, faulty, tables, "-o", train, f"-L{library}", "-lgalv_runtime",
                               f"-Wl,-rpath,{library}", "-Wl,--allow-shlib-undefined"], 60)
            got = workspace.run(Program(train, program.ranks, program.model), name, matrix.data(workspace),
                                matrix.STEPS, matrix.OPTIONS, workspace.weights(matrix.model(True)))
            try:
                check(got, want, matrix.BOUNDS)
            except (Failure, compare.Mismatch):
                continue
            raise Failure(f"not noticed in {function}: {lines[i].strip()}")
        return f"noticed in {', '.join(places)}"

    return case


if __name__ == "__main__":
    main({name: planted(name, *fault) for name, fault in FAULTS.items()}, __doc__)
