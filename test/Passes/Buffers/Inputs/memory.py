"""Runs the memory of a planned rank program, without its numbers.

    memory.py FILE.mlir

Every 64 bytes of the arena remember which value was written there last. Each
stage's order is run for two steps, down to the runtime functions: what is read
must still be there. Exits 1 at the first value that another one has overwritten
or that nobody wrote.
"""

import re
import sys

UNIT = 64
IN_PLACE = {"adamw", "accumulate"}  # read what they write
BYTES = {"f32": 4, "f64": 8, "i64": 8}


def integer(attributes, name, default=None):
    found = re.search(r"\b" + name + r" = (-?\d+) : i64", attributes)
    return int(found[1]) if found else default


def size(memref):
    *extents, element = memref.split("x")
    count = BYTES[element]
    for extent in extents:
        count *= int(extent)
    return count


def names(text):
    return re.findall(r"%\w+", text)


class Function:
    def __init__(self, header):
        self.arguments = re.findall(r"(%\w+): memref<([^>]*)>", header)
        self.locals, self.runs = {}, []


class Stage:
    def __init__(self, name, attributes):
        self.name = name
        self.arena = integer(attributes, "arena")
        self.scratch = integer(attributes, "scratch")
        self.stride = integer(attributes, "slot_stride")
        self.slots = integer(attributes, "slots")
        self.order = [(kind, [tuple(map(int, pair)) for pair in re.findall(r"(\d+) microbatch (-?\d+)", body)])
                      for kind, body in re.findall(r"#rank.action<(run|transfers) ([^>]*)>", attributes)]
        self.buffers, self.segments, self.transfers = {}, [], []


def parse(path):
    functions, stages = {}, []
    stage = function = None
    for line in open(path):
        line = line.strip()
        if found := re.match(r"rank\.stage @(\S+) attributes \{(.*)\} \{", line):
            stage = Stage(*found.groups())
            stages.append(stage)
        elif found := re.match(r'(%\w+) = rank\.buffer "(\w+)" \{(.*)\} : memref<(.*)>', line):
            name, kind, attributes, memref = found.groups()
            stage.buffers[name] = (kind, integer(attributes, "offset"), size(memref), memref)
        elif line.startswith("rank.segment"):
            stage.segments.append([])
        elif found := re.match(r"rank\.call @(\w+)\(([^)]*)\)", line):
            stage.segments[-1].append((found[1], names(found[2])))
        elif found := re.match(r"rank\.transfer (%\w+) \{(.*)\}", line):
            stage.transfers.append((found[1], "send" in found[2].split(", ")))
        elif found := re.match(r"func\.func private @(\w+)(\(.*)", line):
            function = functions[found[1]] = Function(found[2])
        elif found := re.match(r"(%\w+) = rank\.local \{(.*)\} : memref<(.*)>", line):
            function.locals[found[1]] = (integer(found[2], "offset"), size(found[3]))
        elif found := re.match(r'rank\.run "(\w+)" into\(([^)]*)\) from\(([^)]*)\)', line):
            function.runs.append((found[1], names(found[2]), names(found[3])))
        elif line.startswith("rank.") and not line.startswith("rank.program"):
            sys.exit(f"not understood: {line[:200]}")
    return functions, stages


class Memory:
    def __init__(self, stage, functions):
        self.stage, self.functions = stage, functions
        self.units = [None] * (stage.arena // UNIT)
        self.reads = 0
        for name, (kind, *_) in stage.buffers.items():
            if kind in ("rest", "exp_avg", "exp_avg_sq"):
                self.write(*self.place(name, -1, 0), name)

    def place(self, name, microbatch, time):
        """Address, bytes and identity of the value in a buffer."""
        kind, offset, count, _ = self.stage.buffers[name]
        if offset is None:
            sys.exit(f"{self.stage.name}: {name} has no offset")
        if kind == "slotted":
            return offset + microbatch % self.stage.slots * self.stage.stride, count, (name, microbatch)
        # A local value is gone once its segment ends.
        return offset, count, (name, time if kind == "local" else None)

    def span(self, address, count, what):
        if address % UNIT or address + count > self.stage.arena:
            sys.exit(f"{self.stage.name}: {what} lies at {address} of {self.stage.arena}")
        return address // UNIT, (address + count + UNIT - 1) // UNIT

    def write(self, address, count, value, what):
        begin, end = self.span(address, count, what)
        self.units[begin:end] = [value] * (end - begin)

    def read(self, address, count, value, what):
        begin, end = self.span(address, count, what)
        self.reads += 1
        for unit in self.units[begin:end]:
            if unit != value:
                sys.exit(f"{self.stage.name}: {what} reads {value}, but finds {unit}")

    def call(self, callee, operands, microbatch, time):
        function = self.functions[callee]
        places = {}
        for (name, memref), operand in zip(function.arguments, operands, strict=True):
            if self.stage.buffers[operand][3] != memref:
                sys.exit(f"{callee}: {operand} is not a {memref}")
            places[name] = self.place(operand, microbatch, time)
        for number, (run, into, out_of) in enumerate(function.runs):
            for name, (offset, count) in function.locals.items():
                places[name] = (self.stage.scratch + offset, count, (callee, name, time))
            what = f"{callee}, rank.run {number} {run}"
            for name in out_of + (into if run in IN_PLACE else []):
                self.read(*places[name], what)
            for i, name in enumerate(into):
                begin, count, _ = places[name]
                for other in into[:i] + out_of:
                    start, length, _ = places[other]
                    if begin < start + length and start < begin + count:
                        sys.exit(f"{self.stage.name}: {what} writes {name} where {other} is")
            for name in into:
                self.write(*places[name], what)

    def step(self, step):
        for number, (kind, entries) in enumerate(self.stage.order):
            time = (step, number)
            if kind == "run":
                (segment, microbatch), = entries
                for callee, operands in self.stage.segments[segment]:
                    self.call(callee, operands, microbatch, time)
                continue
            # What starts together may move in any order.
            for sends in (True, False):
                for transfer, microbatch in entries:
                    name, send = self.stage.transfers[transfer]
                    if send == sends:
                        (self.read if send else self.write)(
                            *self.place(name, microbatch, time), f"transfer {transfer}")
            for transfer, microbatch in entries:
                name, send = self.stage.transfers[transfer]
                self.read(*self.place(name, microbatch, time), f"transfer {transfer} at its end")
        # What a user may ask for after a step.
        for name, (kind, *_) in self.stage.buffers.items():
            if kind in ("rest", "gradient", "exp_avg", "exp_avg_sq"):
                self.read(*self.place(name, -1, 0), f"the end of step {step}")


functions, stages = parse(sys.argv[1])
if not stages:
    sys.exit("no stage")
for stage in stages:
    memory = Memory(stage, functions)
    for step in range(2):
        memory.step(step)
    if memory.reads < 20:
        sys.exit(f"{stage.name}: only {memory.reads} reads")
    print(f"{stage.name}: {memory.reads} reads, {stage.arena} bytes, {stage.slots} slots")
