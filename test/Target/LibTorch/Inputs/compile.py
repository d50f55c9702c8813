"""Compiles emitted C++ and asserts how long a file takes.

    compile.py BUILD FOLDER

Three seconds a file, of processor time: other processes of the machine do not
count. The compiler is that of the build folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

build, folder = map(pathlib.Path, sys.argv[1:])
cache = build / "CMakeCache.txt"
named = cache.exists() and re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(), re.M)
compiler = named[1] if named else shutil.which("clang++-22") or "c++"
include = pathlib.Path(__file__).resolve().parents[4] / "include"
files = sorted(folder.glob("*.cpp"))
if len(files) != 2:
    sys.exit(f"{len(files)} files, not 2")
for file in files:
    headers = re.findall(r"^\s*#\s*include\s*(.*)$", file.read_text(), re.M)
    if headers != ['"galv/runtime.h"']:
        sys.exit(f"{file.name} includes {headers}")
    before = os.times()
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Werror", "-O0", "-I", include, "-c", file,
                    "-o", folder / "compiled.o"], check=True)
    after = os.times()
    seconds = (after.children_user - before.children_user
               + after.children_system - before.children_system)
    print(f"{file.name}: {seconds:.2f} s, bound 3")
    if seconds > 3:
        sys.exit(f"{file.name} takes {seconds:.2f} s")
