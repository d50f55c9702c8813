"""Compares the IR that a document shows with what the tools print.

    excerpts.py DOCUMENT MODEL STRATEGY

A fence after the line `<!-- after: PHASE -->` shows the program after that
phase: its lines must occur in the program in this order and next to each other,
but for lines `...`, which stand for any number of lines; `...` inside a line
stands for any text. Values and placements may have other names; the document's
other mlir fences define its placements. Exits 1 where something differs.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

document, model, strategy = sys.argv[1:]


def expand(text, aliases):
    """Without names of placements and of values."""
    for _ in range(2):
        text = re.sub(r"#[A-Za-z]\w*(?![\w.<])", lambda found: aliases.get(found[0], found[0]), text)
    return re.sub(r"\s+", " ", re.sub(r"%[\w#]+(:\d+)?", "%", text)).strip()


def definitions(lines):
    return dict(found.groups() for line in lines
                if (found := re.match(r"\s*(#\w+) = (#galv\..*)$", line)))


def fences(lines):
    for i, line in enumerate(lines):
        if re.fullmatch(r"```(mlir|cpp)", line):
            end = next(j for j in range(i + 1, len(lines)) if lines[j] == "```")
            marker = re.fullmatch(r"<!-- after: ([\w-]+) -->", lines[i - 1])
            yield i + 1, marker and marker[1], lines[i + 1:end]


def occurs(wanted, program):
    """Whether the lines occur; else the first that does not."""
    def matches(pattern, line):
        parts = [re.escape(part.strip()) for part in pattern.split("...")]
        return re.fullmatch(r"\s*.*?\s*".join(parts), line) is not None

    # Groups of adjacent lines, in order; a group may occur in several places.
    groups = [[]]
    for line in wanted:
        if line == "...":
            groups.append([])
        else:
            groups[-1].append(line)
    at, furthest = 0, ""
    for group in filter(None, groups):
        best = 0
        while True:
            if at + len(group) > len(program):
                return group[best]
            n = 0
            while n < len(group) and matches(group[n], program[at + n]):
                n += 1
            best = max(best, n)
            if n == len(group):
                break
            at += 1
        at += len(group)
    return None


lines = pathlib.Path(document).read_text().splitlines()
mine = {}
for _, phase, body in fences(lines):
    if not phase:
        mine.update(definitions(body))
programs, failed, compared = {}, 0, 0
for number, phase, body in fences(lines):
    if not phase:
        continue
    compared += 1
    if phase not in programs:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / ("program" if phase == "emit" else "program.mlir")
            subprocess.run(["galvc", model, "--strategy", strategy, f"--compile-to={phase}", "-o", out],
                           check=True)
            files = sorted(out.glob("*.cpp")) if phase == "emit" else [out]
            printed = [line for file in files for line in file.read_text().splitlines()]
        theirs = definitions(printed)
        programs[phase] = [expand(line, theirs) for line in printed]
    missing = occurs([expand(line, mine) for line in body], programs[phase])
    if missing is not None:
        failed += 1
        print(f"{document}:{number}: not in the program after {phase}:\n  {missing}", file=sys.stderr)
if failed:
    sys.exit(f"{failed} of {compared} excerpts differ")
if not compared:
    sys.exit("no excerpt")
print(f"{compared} excerpts are what the tools print")
