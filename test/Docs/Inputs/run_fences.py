"""Runs the fenced examples of documents that are marked as runnable.

    run_fences.py mlir FILE-OR-FOLDER...   fences of .td files, through galv-opt
    run_fences.py sh FILE-OR-FOLDER...     fences of .md files, with bash

Exits 1 if one fails, or if none is found.
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def fences(path, kind):
    """Yields (line number of the fence, line before it, lines inside)."""
    lines = path.read_text().splitlines()
    i = 0
    while i < len(lines):
        if re.fullmatch(r"\s*```" + kind, lines[i].rstrip()):
            start = i
            i += 1
            while i < len(lines) and not lines[i].strip().startswith("```"):
                i += 1
            yield start + 1, lines[start - 1].strip() if start else "", lines[start + 1 : i]
        i += 1


def commands(path, kind):
    """Yields (line number, command, standard input) of the runnable ones."""
    for line, before, body in fences(path, kind):
        if kind == "sh" and before == "<!-- run -->":
            yield line, ["bash", "-euo", "pipefail"], "\n".join(body) + "\n"
        if kind == "mlir" and body and body[0].strip().startswith("// RUN-EXAMPLE"):
            flags = shlex.split(body[0].split("// RUN-EXAMPLE", 1)[1])
            yield line, ["galv-opt", *flags], "\n".join(body) + "\n"


def main(kind, roots):
    suffix = {"sh": ".md", "mlir": ".td"}[kind]
    found = failed = 0
    for root in map(pathlib.Path, roots):
        for path in [root] if root.is_file() else sorted(root.rglob("*" + suffix)):
            for line, command, text in commands(path, kind):
                found += 1
                done = subprocess.run(command, input=text, text=True, cwd=ROOT,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if done.returncode != 0:
                    failed += 1
                    print(f"{path}:{line}: example failed\n{done.stdout}", file=sys.stderr)
    if failed:
        sys.exit(f"{failed} of {found} examples failed")
    if not found:
        sys.exit(f"no runnable {kind} example in {' '.join(roots)}")
    print(f"{found} examples ran")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
