"""Checks that the example strategies hold: those in models/, for models of 4
layers, and the JSON fences of docs/strategy.md, by the layer count in the line
`<!-- layers: N -->` before each."""

import pathlib
import re
import subprocess
import sys


def check(name, text, layers):
    done = subprocess.run(
        ["galv-import", "--check-strategy=-", f"--layers={layers}"],
        input=text, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")


root = pathlib.Path(sys.argv[1])
files = sorted(root.glob("models/*/strategies/*.json"))
page = (root / "docs/strategy.md").read_text()
fences = re.findall(r"<!-- layers: (\d+) -->\n```json\n(.*?)```", page, re.DOTALL)
for path in files:
    check(path, path.read_text(), 4)
for number, (layers, text) in enumerate(fences, start=1):
    check(f"docs/strategy.md, example {number}", text, layers)
if page.count("```json") != len(fences) or not files or not fences:
    sys.exit(f"{len(files)} files and {len(fences)} examples with a layer count, "
             f"of {page.count('```json')}")
