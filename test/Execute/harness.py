"""What the tests of this folder share: models, programs, runs and cases.

A script defines cases, named functions of a `Workspace`, and calls `main`. A
case compiles programs with the tools of a build folder, runs them on CPU ranks,
compares what they wrote and returns one line with the largest deviations.

Compiled programs are kept in the work folder, and are made again when their
model, their strategy or the tools change. So are runs that several cases
compare with. Cases may run at the same time. Each leaves its line in
build/test/Execute/Output/SCRIPT/results.
"""

import argparse
import contextlib
import copy
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy
from safetensors.numpy import load_file, save_file

import compare

ONE_RANK = {"ranks": 1, "default": {}}

# Far above what any command here takes, so that only a hang runs into it.
COMPILE_SECONDS, RUN_SECONDS = 300, 120


class Failure(Exception):
    """A case has failed; says how."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


# --- models ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Gpt2:
    """A GPT-2 and the sizes of its step."""

    layers: int = 4
    vocabulary: int = 257
    width: int = 64
    heads: int = 4
    hidden: int = 256
    positions: int = 32
    epsilon: float = 1e-5
    tied: bool = False
    sequence: int = 32
    batch: int = 8

    @property
    def name(self):
        text = "gpt2-" + "-".join(
            str(getattr(self, field.name)) for field in dataclasses.fields(self) if field.type is int)
        return text + ("-tied" if self.tied else "")

    def config(self):
        """Its config.json."""
        return {
            "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
            "vocab_size": self.vocabulary, "n_positions": self.positions, "n_embd": self.width,
            "n_layer": self.layers, "n_head": self.heads, "n_inner": self.hidden,
            "layer_norm_epsilon": self.epsilon, "tie_word_embeddings": self.tied,
            "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
            "bos_token_id": None, "eos_token_id": None,
        }

    def shapes(self):
        """Name and shape of every tensor of its checkpoint."""
        width, hidden = self.width, self.hidden
        shapes = {"wte.weight": [self.vocabulary, width], "wpe.weight": [self.positions, width]}
        for i in range(self.layers):
            for norm in ("ln_1", "ln_2"):
                shapes |= {f"h.{i}.{norm}.weight": [width], f"h.{i}.{norm}.bias": [width]}
            for conv, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                        ("mlp.c_fc", width, hidden), ("mlp.c_proj", hidden, width)):
                shapes |= {f"h.{i}.{conv}.weight": [rows, columns], f"h.{i}.{conv}.bias": [columns]}
        shapes |= {"ln_f.weight": [width], "ln_f.bias": [width]}
        shapes = {f"transformer.{name}": shape for name, shape in shapes.items()}
        if not self.tied:
            shapes["lm_head.weight"] = [self.vocabulary, width]
        return shapes

    def weights(self, seed=0):
        """Weights of which none is zero or one, nor alike: attention is far from
        uniform, gelu from linear, and biases and norms take part."""
        random = numpy.random.default_rng(seed)
        weights = {}
        for name, shape in self.shapes().items():
            values = random.standard_normal(shape)
            if len(shape) == 2:
                # Sums of `width` products of order one keep order one.
                values *= 1.5 / numpy.sqrt(self.width)
            elif "ln_" in name and name.endswith("weight"):
                values = 1 + 0.2 * values
            else:
                values *= 0.2
            weights[name] = values
        return weights


def write_tokens(path, tokens, type=numpy.uint16):
    """Writes a .bin file (or a .txt, of bytes)."""
    if str(path).endswith(".txt"):
        type = numpy.uint8
    numpy.asarray(tokens).astype(numpy.dtype(type).newbyteorder("<")).tofile(path)


# --- programs and runs ----------------------------------------------------------


@dataclasses.dataclass
class Program:
    train: pathlib.Path
    ranks: int
    model: Gpt2


@dataclasses.dataclass
class Result:
    """What a run wrote. `copies` maps a tensor's name to its copies by stage."""

    losses: list
    norms: list
    weights: dict
    gradients: dict
    copies: dict


class Workspace:
    def __init__(self, build, work):
        self.build, self.work = pathlib.Path(build).resolve(), pathlib.Path(work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        tools = [self.build / "bin/galv-import", self.build / "bin/galvc", self.build / "bin/galv-run",
                 self.build / "lib/libgalv_runtime.so"]
        missing = [str(tool) for tool in tools if not tool.exists()]
        if missing:
            sys.exit(f"error: not built: {', '.join(missing)}")
        self.made = []
        self.stamps = [[tool.stat().st_mtime_ns, tool.stat().st_size] for tool in tools]

    @contextlib.contextmanager
    def lock(self, name):
        path = self.work / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def once(self, name, made_from, make):
        """The folder `name`, filled by make(folder) unless it has been so before
        from the same things. Safe between threads and processes."""
        key = json.dumps([self.stamps, made_from], sort_keys=True)
        folder = self.work / name
        with self.lock(name):
            stamp = folder / "made-from.json"
            if not stamp.exists() or stamp.read_text() != key:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                make(folder)
                stamp.write_text(key)
        return folder

    def of_case(self):
        """This workspace, which remembers what is made for one case alone."""
        workspace = copy.copy(self)
        workspace.made = []
        return workspace

    def fresh(self, name):
        """The folder `name`, empty. Goes when the case has passed."""
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.made.append(folder)
        return folder

    def imported(self, model):
        """The model's program before any strategy."""

        def make(folder):
            (folder / "config.json").write_text(json.dumps(model.config(), indent=2))
            self.execute([self.build / "bin/galv-import", folder / "config.json", "--sequence-length", model.sequence,
                          "--batch-size", model.batch, "-o", folder / "model.mlir"], COMPILE_SECONDS)

        return self.once(f"models/{model.name}", dataclasses.asdict(model), make) / "model.mlir"

    def compile(self, model, name, strategy, precision="fp64", options=()):
        """The compiled program of a strategy (a dictionary), named for people."""
        mlir = self.imported(model)

        def make(folder):
            (folder / "strategy.json").write_text(json.dumps(strategy, indent=2))
            self.execute([self.build / "bin/galvc", mlir, "--strategy", folder / "strategy.json", "--precision",
                          precision, *options, "-o", folder / "out"], COMPILE_SECONDS)

        options = [str(option) for option in options]
        folder = self.once(f"programs/{name}", [dataclasses.asdict(model), strategy, precision, options], make)
        if "--ranks" in options:
            ranks = int(options[options.index("--ranks") + 1])
        else:
            ranks = strategy["ranks"] if "ranks" in strategy else strategy["world_size"]
        return Program(folder / "out/train", ranks, model)

    def refuse(self, model, name, strategy, options=()):
        """The error by which galvc refuses a strategy. Fails if it does not, says
        more or less than one error, or leaves something behind."""
        folder = self.fresh(f"refused/{name}")
        (folder / "strategy.json").write_text(json.dumps(strategy, indent=2))
        words = [str(word) for word in (self.build / "bin/galvc", self.imported(model), "--strategy",
                                        folder / "strategy.json", *options, "-o", folder / "out")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        expect(done.returncode == 1, f"exit code {done.returncode}, not 1, of: {' '.join(words)}")
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        expect(len(errors) == 1, f"not one error, but:\n{done.stderr}")
        expect(not (folder / "out").exists(), "galvc left an output folder behind")
        return errors[0]

    def weights(self, model, seed=0, change=None, name="", precision="fp64"):
        """A file with random weights of a model, changed in place by `change`."""

        weights = model.weights(seed)
        if change:
            change(weights)
        if precision == "fp32":
            weights = {key: value.astype(numpy.float32) for key, value in weights.items()}
        digest = hashlib.sha256(b"".join(value.tobytes() for value in weights.values())).hexdigest()
        name = f"weights/{model.name}-{precision}-{seed}{name and '-' + name}"
        return self.once(name, [digest, sorted(weights)], lambda folder: save_file(
            weights, folder / "model.safetensors", {"format": "pt"})) / "model.safetensors"

    def run(self, program, name, data, steps, options=(), load=None, launch="threads", folder=None):
        """Runs a program. `data` is a path, `options` go to the program as they
        are, `launch` is threads, processes or torchrun."""
        folder = folder or self.fresh(f"runs/{name}")
        words = [program.train, "--steps", steps, "--save", folder / "saved"]
        if steps > 0:
            words += ["--data", data, "--metrics", folder / "metrics.jsonl", "--dump-gradients",
                      folder / "gradients.safetensors", "--dump-copies", folder / "copies.safetensors"]
        if load:
            words += ["--load", load]
        words += options
        if launch == "torchrun":
            # --standalone would meet at the machine's host name, which not
            # every container can resolve.
            launcher = [pathlib.Path(sys.executable).parent / "torchrun", "--no-python", "--nnodes=1",
                        f"--nproc-per-node={program.ranks}", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0",
                        "--local-addr=127.0.0.1"]
        else:
            launcher = [self.build / "bin/galv-run", "-n", program.ranks]
            if launch == "threads":
                launcher.append("--in-process")
        self.execute(launcher + words, RUN_SECONDS)
        return self.read(folder, steps)

    def run_once(self, program, name, data, steps, options=(), load=None):
        """As `run`; kept for other cases."""
        made_from = [str(program.train), program.train.stat().st_mtime_ns, str(data), steps,
                     [str(option) for option in options], str(load)]
        for file in (data, load):
            made_from.append(hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest() if file else None)
        folder = self.once(f"runs/{name}", made_from, lambda folder: self.run(
            program, name, data, steps, options, load, folder=folder))
        return self.read(folder, steps)

    @staticmethod
    def read(folder, steps):
        weights = load_file(folder / "saved/model.safetensors")
        if steps == 0:
            return Result([], [], weights, {}, {})
        metrics = compare.read_metrics(folder / "metrics.jsonl")
        expect([line["step"] for line in metrics] == list(range(1, steps + 1)),
               f"{folder}/metrics.jsonl does not have the steps 1 to {steps}")
        copies = {}
        for key, value in load_file(folder / "copies.safetensors").items():
            name, stage = key.split("@")
            copies.setdefault(name, {})[stage] = value
        return Result([line["loss"] for line in metrics], [line["grad_norm"] for line in metrics], weights,
                      load_file(folder / "gradients.safetensors"), copies)

    @staticmethod
    def execute(words, seconds):
        """Runs a command to its end, and fails with what it said."""
        words = [str(word) for word in words]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=environment, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure(f"not done after {seconds} s: {' '.join(words)}") from None
        if process.returncode != 0:
            last = "\n".join(output.splitlines()[-20:])
            raise Failure(f"exit code {process.returncode} of: {' '.join(words)}\n{last}")


# --- comparing ------------------------------------------------------------------


@dataclasses.dataclass
class Bounds:
    scalars: float
    gradients: float
    weights: float


def check(got, want, bounds):
    """Compares two results; returns the largest deviations as text."""
    found = []
    for what, x, y in (("loss", got.losses, want.losses), ("norm", got.norms, want.norms)):
        found.append((what, *compare.relative_series(x, y), bounds.scalars))
    found.append(("gradients", *compare.relative(got.gradients, want.gradients), bounds.gradients))
    found.append(("weights", *compare.relative(got.weights, want.weights), bounds.weights))
    text = "  ".join(f"{what} {worst:.1e}" for what, worst, _, _ in found)
    above = [f"{what} {worst:.3e} at {place}, bound {bound:.0e}" for what, worst, place, bound in found
             if bound is not None and not worst <= bound]
    expect(not above, "; ".join(above) + f"  ({text})")
    return text


def same(got, want):
    """Whether two runs did the same, bit by bit."""
    return (got.losses == want.losses and got.norms == want.norms and set(got.weights) == set(want.weights)
            and all(compare.bitwise_equal(got.weights[name], want.weights[name]) for name in want.weights))


def check_copies(got, before, tied, stages):
    """Checks the copies that the last step of `got` used: where a tied weight
    stands on two stages they are, bit by bit, what its home had before that
    step's update, which the run `before` of one step less has saved."""
    name = "transformer.wte.weight"
    if not tied or stages == 1:
        expect(not got.copies, f"copies where there should be none: {', '.join(got.copies)}")
        return
    expect(set(got.copies) == {name} and len(got.copies[name]) == 1, f"not one copy of {name} alone, but {got.copies.keys()}")
    for stage, copy in got.copies[name].items():
        expect(compare.bitwise_equal(copy, before.weights[name]), f"the copy of {name} on stage {stage} differs from its home")


def check_not_trivial(result, load, unused=()):
    """A comparison of zeros would say nothing: every tensor has a gradient, and
    is changed by the training."""
    loaded = load_file(load)
    for name, gradient in result.gradients.items():
        if name not in unused:
            expect(numpy.max(numpy.abs(gradient)) > 1e-6 * result.norms[-1], f"the gradient of {name} is next to zero")
            expect(not numpy.array_equal(loaded[name], result.weights[name]), f"{name} has not changed")


# --- cases ----------------------------------------------------------------------


def run_case(workspace, name, case):
    """Runs one case; whether it passed, and one line about it."""
    start = time.monotonic()
    workspace = workspace.of_case()
    try:
        text, passed = case(workspace), True
        for folder in workspace.made:
            shutil.rmtree(folder, ignore_errors=True)
    except (Failure, compare.Mismatch) as failure:
        text, passed = str(failure), False
    except Exception:  # a fault of the case itself; the other cases go on
        text, passed = traceback.format_exc(), False
    line = f"{'pass' if passed else 'FAIL'}  {name}  {text}  [{time.monotonic() - start:.1f} s]"
    report = workspace.work / "results" / f"{name}.txt"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(line + "\n")
    return passed, line


def main(cases, description):
    """The command line of a script: runs all of its cases or the named ones."""
    script = pathlib.Path(sys.argv[0])
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="cases to run; all without")
    build = script.resolve().parents[2] / "build"
    parser.add_argument("--build", default=build, help="the build folder (default: %(default)s)")
    parser.add_argument("--work", help="where programs and results are kept (default: BUILD/test/Execute/Output)")
    parser.add_argument("-j", type=int, default=2, help="cases at a time (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="prints the cases' names")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return
    unknown = [name for name in options.case if name not in cases]
    if unknown:
        sys.exit(f"error: no such case: {', '.join(unknown)}")
    work = options.work or pathlib.Path(options.build) / "test/Execute/Output"
    workspace = Workspace(options.build, pathlib.Path(work) / script.stem)
    failed, start = 0, time.monotonic()
    with ThreadPoolExecutor(options.j) as pool:
        chosen = options.case or list(cases)
        for passed, line in pool.map(lambda name: run_case(workspace, name, cases[name]), chosen):
            print(line, flush=True)
            failed += not passed
    print(f"{len(chosen) - failed} passed, {failed} failed, {time.monotonic() - start:.0f} s")
    sys.exit(failed > 0)
