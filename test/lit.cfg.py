# How lit runs galv's tests.
#
# Substitutions:  %galv_src  the checkout;  %galv_obj  the build folder;
#                 %python    the Python of tools/setup --full, with PyTorch
# Features:       gpu        a CUDA device
#                 runtime    built with LibTorch: galv-run, emitted programs
#                 pytorch    tools/setup --full was run
# GALV_CHECK_ROUNDTRIP=1 in the environment: every galv-opt also checks that
# its input survives printing and parsing.

import os
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "galv"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.galv_src_root, "test")
config.test_exec_root = os.path.join(config.galv_obj_root, "test")

# A test that hangs is a failure, not a hang of the whole suite. Only psutil,
# which tools/setup --full installs, lets lit end a test with its children.
if lit_config.maxIndividualTestTimeIsSupported[0]:
    lit_config.maxIndividualTestTime = 600

python = os.path.join(config.galv_src_root, "build/venv/bin/python")
config.substitutions += [
    ("%galv_src", config.galv_src_root),
    ("%galv_obj", config.galv_obj_root),
    ("%python", python),
]

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
tools = os.path.join(config.galv_obj_root, "bin")
llvm_config.with_environment("PATH", tools, append_path=True)
# Programs of several ranks share few cores; one thread each is fastest, and
# sums do not depend on the machine.
config.environment["OMP_NUM_THREADS"] = "1"
llvm_config.with_system_environment(["HOME", "CCACHE_DIR", "LD_LIBRARY_PATH"])

if os.environ.get("GALV_CHECK_ROUNDTRIP"):
    llvm_config.add_tool_substitutions(
        [ToolSubst("galv-opt", "galv-opt --verify-roundtrip", unresolved="ignore")],
        [tools],
    )

if config.galv_runtime in ("ON", "1", "TRUE"):
    config.available_features.add("runtime")
if os.path.exists(os.path.join(config.galv_src_root, "build/venv/galv-comparison")):
    config.available_features.add("pytorch")


def has_gpu():
    smi = shutil.which("nvidia-smi")
    if not smi:
        return False
    listed = subprocess.run([smi, "-L"], capture_output=True, text=True)
    return listed.returncode == 0 and "GPU " in listed.stdout


if has_gpu():
    config.available_features.add("gpu")
