"""Runs a tool on bad inputs: each must end in one located error and exit 1.

    bad_cases.py CASES FOLDER COMMAND...

CASES is a file of cases, each of a title, with further arguments after a `|`,
the input's text, and the error with its place:

    === the stages do not add up | --ranks 4
    {"stages": [2, 1]}
    --- 1:12: error: the stages have 2 + 1 = 3 layers, but the model has 4

In COMMAND and in the arguments `@` stands for the input. An error that is not in
the input has its whole line after `---!`. FOLDER holds the inputs; the tool is
told to write there with `-o` and must leave nothing. Notes may follow an error.
"""

import pathlib
import re
import shlex
import subprocess
import sys


def read_cases(path):
    """Yields (line, title, arguments, text, whether placed, error)."""
    title = arguments = None
    for number, line in enumerate(path.read_text().split("\n"), start=1):
        if line.startswith("=== "):
            title, _, arguments = line[4:].partition(" | ")
            start, text = number, []
        elif title is not None and line.startswith("---"):
            placed = not line.startswith("---!")
            error = line[4:] if placed else line[5:]
            yield start, title, shlex.split(arguments), "\n".join(text) + "\n", placed, error
            title = None
        elif title is not None:
            text.append(line)
    if title is not None:
        sys.exit(f"{path}: case '{title}' has no error")


def main(cases, folder, command):
    cases, folder = pathlib.Path(cases), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count = failed = 0
    for line, title, arguments, text, placed, error in read_cases(cases):
        count += 1
        source = folder / f"line-{line}.json"
        output = folder / "output"
        source.write_text(text)
        output.unlink(missing_ok=True)
        words = [word.replace("@", str(source)) for word in command + arguments]
        done = subprocess.run(words + ["-o", str(output)], text=True, capture_output=True)
        wanted = f"{source}:{error}" if placed else error
        found = [text for text in done.stderr.splitlines() if re.search(r"\berror:", text)]
        left = [path.name for path in folder.glob("output*")]
        if done.returncode != 1 or found != [wanted] or done.stdout or left:
            failed += 1
            print(f"{cases}:{line}: '{title}'\n  wanted exit 1 and  {wanted}\n"
                  f"  found exit {done.returncode}, {len(done.stdout)} bytes, files {left}\n"
                  + done.stderr, file=sys.stderr)
    if failed or not count:
        sys.exit(f"{failed} of {count} cases failed")
    print(f"{count} cases ended in one located error")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
