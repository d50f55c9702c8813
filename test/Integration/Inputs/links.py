"""Who links what, and how fast the compiler starts.

    links.py BUILD

The compiler links MLIR statically and nothing of LibTorch; the runtime links
LibTorch and nothing of MLIR.
"""

import os
import pathlib
import statistics
import subprocess
import sys

build = pathlib.Path(sys.argv[1])


def libraries(file):
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.strip()]


def check(file, refused, wanted, namespaces):
    names = libraries(file)
    for word in refused:
        if found := [name for name in names if word in name]:
            sys.exit(f"{file.name} links {found}")
    for word in wanted:
        if not any(word in name for name in names):
            sys.exit(f"{file.name} does not link {word}: {names}")
    # What is linked in statically, or looked up later, counts as well.
    symbols = subprocess.run(["nm", "-DC", file], capture_output=True, text=True).stdout
    for line in symbols.splitlines():
        if any(namespace in line for namespace in namespaces):
            sys.exit(f"{file.name} has {line}")
    print(f"{file.name}: {' '.join(names)}")


for tool in ("galv-opt", "galvc", "galv-import"):
    check(build / "bin" / tool, ["libMLIR", "libLLVM", "torch", "c10", "galv_runtime"],
          ["libstdc++"], ["torch::", "c10::", " at::"])
check(build / "lib/libgalv_runtime.so", ["libMLIR", "libLLVM"], ["libtorch", "libc10"],
      ["mlir::", "llvm::"])

# The median of processor time: a busy machine adds to the time on the wall only.
seconds = []
for _ in range(21):
    child = subprocess.Popen([build / "bin/galv-opt", "--version"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("galv-opt --version failed")
    seconds.append(usage.ru_utime + usage.ru_stime)
median = statistics.median(seconds)
print(f"galv-opt --version: {median * 1000:.1f} ms, bound 20")
if median >= 0.020:
    sys.exit("galv-opt starts too slowly")
