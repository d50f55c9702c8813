#!/usr/bin/env python3
"""Strategies that nobody chose: drawn at random, for small models of drawn sizes,
each compared with the program of one rank as in matrix.py.

A case is its seed. `drawn.py 1234` runs one that is not in the list, too, and
`--show` prints what the seeds stand for.
"""

import json
import random
import sys

import numpy

from harness import ONE_RANK, Bounds, Gpt2, check, check_copies, main, write_tokens

BOUNDS = Bounds(scalars=1e-12, gradients=1e-10, weights=1e-10)  # fp64, as matrix.py
SEEDS = range(1, 13)
STEPS = 2
IGNORED = 1
# epsilon as in conformance.py
OPTIONS = ["--learning-rate", "1e-3", "--epsilon", "1e-6", "--clip-norm", "0.5", "--ignore-token", IGNORED]


def draw_entry(draw, ranks, cut):
    """An entry for a stage of `ranks` ranks. Degrees meet in one mesh only where
    they cut it at the same places, of which there is one, `cut`, and its multiples
    by two."""
    cuts = [c for c in range(1, ranks + 1) if ranks % c == 0 and (c in (1, ranks) or cut % c == 0 or c % cut == 0)]
    entry = {}
    inner = draw.choice(cuts)
    if draw.random() < 0.3:
        entry |= {"order": "tensor-outer", "tensor": ranks // inner}
    elif inner > 1 or draw.random() < 0.5:
        entry["tensor"] = inner
    if draw.random() < 0.5:
        entry["sequence_parallel"] = draw.random() < 0.7
    if draw.random() < 0.7:
        entry["zero"] = draw.randrange(4)
    return entry


def draw_case(seed):
    """A model and a strategy that must compile."""
    draw = random.Random(seed)
    ranks = draw.choice([1, 2, 2, 3, 4, 4, 4, 6, 8])
    stages = draw.choice([1, 1, 2, 2, 3, 4])
    while ranks * stages > 8:
        stages -= 1
    layers = draw.randint(max(stages, 2), 5)
    microbatches = draw.choice([1, 1, 2, 3, 4])
    heads = 3 * 2 if ranks % 3 == 0 else draw.choice([1, 3]) * ranks
    # A norm over a few elements lets next to nothing through.
    width = heads * -(-draw.choice([12, 18, 24, 36]) // heads)
    sequence = ranks * draw.randint(2, 4)
    model = Gpt2(layers=layers, vocabulary=draw.choice([17, 29, 48]), width=width, heads=heads,
                 hidden=ranks * draw.randint(3, 9), positions=ranks * draw.randint(4, 6), tied=draw.random() < 0.5,
                 sequence=sequence, batch=ranks * microbatches * draw.randint(1, 2))
    cut = draw.choice([2, 3]) if ranks % 6 == 0 else 2 if ranks % 2 == 0 else ranks
    strategy = {"ranks": ranks * stages, "microbatches": microbatches}
    if stages > 1:
        borders = sorted(draw.sample(range(1, layers), stages - 1))
        strategy["stages"] = [b - a for a, b in zip([0, *borders], [*borders, layers])]
        strategy["schedule"] = draw.choice(["1f1b", "gpipe"])
    entries = []
    for layer in range(layers):
        if draw.random() < 0.6:
            entries.append({"range": layer} | draw_entry(draw, ranks, cut))
            if draw.random() < 0.3:
                entries[-1]["recompute"] = True
    if entries:
        strategy["layers"] = entries
    if draw.random() < 0.6:
        strategy["vocabulary"] = draw_entry(draw, ranks, cut)
    strategy["default"] = draw_entry(draw, ranks, cut)
    return model, strategy


def compared(seed):

    def case(workspace):
        model, strategy = draw_case(seed)
        generator = numpy.random.default_rng(seed)
        tokens = generator.integers(0, model.vocabulary, STEPS * model.batch * model.sequence + 1)
        tokens[generator.random(len(tokens)) < 0.2] = IGNORED
        data = workspace.once(f"data/{seed}", tokens.tolist(), lambda folder: write_tokens(
            folder / "tokens.bin", tokens)) / "tokens.bin"
        load = workspace.weights(model)
        want = workspace.run(workspace.compile(model, f"{seed}-one-rank", ONE_RANK), f"{seed}-one-rank", data, STEPS,
                             OPTIONS, load)
        program = workspace.compile(model, str(seed), strategy)
        got = workspace.run(program, str(seed), data, STEPS, OPTIONS, load)
        text = check(got, want, BOUNDS)
        stages = len(strategy.get("stages", [0]))
        before = None
        if model.tied and stages > 1:
            before = workspace.run(program, f"{seed}-before", data, STEPS - 1, OPTIONS, load)
        check_copies(got, before, model.tied, stages)
        return text

    return case


if __name__ == "__main__":
    if "--show" in sys.argv:
        for seed in [int(word) for word in sys.argv[1:] if word.isdigit()] or SEEDS:
            model, strategy = draw_case(seed)
            print(f"{seed}: {model}\n{json.dumps(strategy)}")
        sys.exit()
    seeds = [*SEEDS, *(int(word) for word in sys.argv[1:] if word.isdigit() and int(word) not in SEEDS)]
    main({str(seed): compared(seed) for seed in seeds}, __doc__)
