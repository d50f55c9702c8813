"""Every operation that a dialect's .td files define stands in a test file.

    all_ops.py DIALECT FOLDER TEST
"""

import pathlib
import re
import sys

dialect, folder, test = sys.argv[1:]
text = pathlib.Path(test).read_text()
# Without comments: a CHECK line is not an operation.
text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
names = []
for path in sorted(pathlib.Path(folder).glob("*.td")):
    names += re.findall(r'^def \w+Op\s*:\s*\w+<\s*"(\w+)"', path.read_text(), flags=re.M)
if not names:
    sys.exit(f"no operation in {folder}")
missing = [n for n in names if not re.search(rf"\b{dialect}\.{n}\b(?!_)", text)]
if missing:
    sys.exit(f"{test} lacks " + ", ".join(f"{dialect}.{n}" for n in missing))
print(f"{len(names)} operations")
