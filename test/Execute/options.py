#!/usr/bin/env python3
"""What a run's options mean, whatever the strategy: the order of the samples,
the formats of data, initial values, and weights that are loaded and saved.

All samples here begin with one token, so that a file can hold them in any
order: the last label of a sample is the first token of the next.
"""

import numpy
from safetensors.numpy import load_file

import compare
from harness import ONE_RANK, Bounds, Gpt2, check, expect, main, same, write_tokens

EXACT = Bounds(scalars=1e-12, gradients=1e-10, weights=1e-10)  # fp64, as matrix.py
MODEL = Gpt2(layers=4, vocabulary=61, width=32, heads=4, hidden=64, positions=16, sequence=16, batch=8)
STRATEGIES = {
    "dp2-m2": {"ranks": 2, "microbatches": 2, "default": {"zero": 2}},
    "tp2-sp": {"ranks": 2, "default": {"tensor": 2, "sequence_parallel": True}},
    "pp2-dp2": {"ranks": 4, "stages": 2, "microbatches": 4, "default": {}},
    "mix": {"ranks": 4, "layers": [{"range": 0, "tensor": 4}, {"range": 1, "zero": 3},
                                   {"range": 2, "tensor": 2, "order": "tensor-outer"}],
            "default": {"tensor": 2, "zero": 1}, "vocabulary": {"tensor": 4}},
    "pp2-tp2": {"ranks": 4, "stages": [3, 1], "microbatches": 2, "default": {"tensor": 2, "zero": 3}},
}
COMMON = ["--learning-rate", "1e-3", "--epsilon", "1e-6"]  # epsilon as in conformance.py
SAMPLES = 12  # a step of 8 and an epoch of 12: each third step ends with an epoch
STEPS = 9


def samples():
    rows = numpy.random.default_rng(5).integers(0, MODEL.vocabulary, (SAMPLES, MODEL.sequence))
    rows[:, 0] = 3
    return rows


def file(workspace, name, order, ending=".bin", type=numpy.uint16, tail=()):
    """A data file of samples in an order, the token that ends the last, a tail."""
    row = numpy.concatenate([samples()[list(order)].reshape(-1), [3], numpy.array(tail, int)])
    folder = workspace.once(f"data/{name}", [row.tolist(), ending, numpy.dtype(type).name],
                            lambda folder: write_tokens(folder / f"tokens{ending}", row, type))
    return folder / f"tokens{ending}"


def program(workspace, name):
    return workspace.compile(MODEL, name, ONE_RANK if name == "one-rank" else STRATEGIES[name])


def trained(workspace, name, run, data, options=(), steps=STEPS):
    return workspace.run(program(workspace, name), f"{run}-{name}", data, steps, [*COMMON, *options],
                         workspace.weights(MODEL))


def philox(key, low, high):
    """Philox4x32-10 of Salmon et al. (2011), by the paper."""
    mask = 0xFFFFFFFF
    k0, k1 = key & mask, key >> 32
    c = [low & mask, low >> 32, high & mask, high >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & mask, p0 >> 32 ^ c[3] ^ k1, p0 & mask]
        k0, k1 = k0 + 0x9E3779B9 & mask, k1 + 0xBB67AE85 & mask
    return c


def shuffled(seed, epoch, count):
    """The order that lib/Runtime/Random.h documents."""
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        words = philox(seed, i, (1 << 32) + epoch)
        partner = (words[0] | words[1] << 32) * (i + 1) >> 64
        order[i], order[partner] = order[partner], order[i]
    return order


def wraps_at_the_end(workspace):
    """In order, and again from the start: training on a file of 12 samples is,
    bit by bit, training on one that has them six times. What is too short for a
    sample at a file's end is left out."""
    endless = trained(workspace, "one-rank", "endless", file(workspace, "endless", list(range(SAMPLES)) * 6))
    wrapped = trained(workspace, "one-rank", "wrapped", file(workspace, "once", range(SAMPLES)))
    expect(same(wrapped, endless), "a file that wraps differs from one that need not")
    tail = trained(workspace, "one-rank", "tail", file(workspace, "tail", range(SAMPLES), tail=[5] * (MODEL.sequence - 1)))
    expect(same(tail, endless), "tokens behind the last sample matter")
    longer = trained(workspace, "one-rank", "longer", file(workspace, "longer", range(SAMPLES), tail=[5] * MODEL.sequence))
    expect(not same(longer, endless), "a sample more does not matter")
    return "equal"


def shuffles_as_documented(workspace):
    """--shuffle draws a new order each epoch, the documented one: as training on
    a file that has the samples in these orders. Another seed gives another."""
    data = file(workspace, "once", range(SAMPLES))
    for seed in (7, 12345678901234567890):
        orders = [shuffled(seed, epoch, SAMPLES) for epoch in range(6)]
        expect(len(set(map(tuple, orders))) == 6, "epochs are not shuffled anew")
        explicit = file(workspace, f"order-{seed}", [i for order in orders for i in order])
        want = trained(workspace, "one-rank", f"order-{seed}", explicit)
        got = trained(workspace, "one-rank", f"shuffle-{seed}", data, ["--shuffle", seed])
        expect(same(got, want), f"--shuffle {seed} is not the documented order")
    other = trained(workspace, "one-rank", "shuffle-8", data, ["--shuffle", 8])
    expect(not same(other, got), "another seed gives the same order")
    return "equal"


def shuffles_alike(name):

    def case(workspace):
        """All strategies take the same samples in the same order, over the ends of
        epochs."""
        data = file(workspace, "once", range(SAMPLES))
        want = trained(workspace, "one-rank", f"alike-{name}", data, ["--shuffle", 7])
        got = trained(workspace, name, "alike", data, ["--shuffle", 7])
        return check(got, want, EXACT)

    return case


def data_formats(workspace):
    """The same tokens as bytes, as 16 and as 32 bit numbers; 16 bit by default."""
    data = {"bytes": (file(workspace, "bytes", range(SAMPLES), ".txt"), []),
            "uint16": (file(workspace, "uint16", range(SAMPLES)), ["--token-type", "uint16"]),
            "uint32": (file(workspace, "uint32", range(SAMPLES), type=numpy.uint32), ["--token-type", "uint32"])}
    want = trained(workspace, "one-rank", "format-default", data["uint16"][0])
    for name, (path, options) in data.items():
        expect(same(trained(workspace, "one-rank", f"format-{name}", path, options), want), f"{name} differ")
    return "equal"


def initial_values(name):

    def case(workspace):
        """Initial values are a function of the seed: the same bits under each
        strategy, others with another seed. As the model says: norms one and zero,
        biases zero, the rest of the right spread."""
        def initial(program_name, seed):
            return workspace.run(program(workspace, program_name), f"initial-{program_name}-{seed}-for-{name}", None, 0,
                                 ["--seed", seed]).weights

        want, got, other = initial("one-rank", 3), initial(name, 3), initial(name, 4)
        expect(set(got) == set(MODEL.shapes()), "not the model's tensors")
        for key, value in want.items():
            expect(compare.bitwise_equal(got[key], value), f"{key} differs from one rank's")
            if value.ndim == 1:
                expect(numpy.all(value == ("ln_" in key and key.endswith("weight"))), f"{key} is not one or zero")
                continue
            expect(not numpy.array_equal(other[key], value), f"{key} does not depend on the seed")
            deviation = 0.02 / (numpy.sqrt(2 * MODEL.layers) if "c_proj" in key else 1)
            # 512 elements or more: the sample's deviation is within 3 % (one
            # sigma) of the true one.
            expect(abs(numpy.std(value) / deviation - 1) < 0.15, f"{key} has deviation {numpy.std(value)}, not {deviation}")
        matrices = [value for value in want.values() if value.ndim == 2]
        firsts = {float(value.flat[0]) for value in matrices}
        expect(len(firsts) == len(matrices), "two tensors start alike")
        return "equal bits"

    return case


def ranks_by_option(workspace):
    """--ranks of galvc says what the strategy leaves open: as if it said so."""
    strategy = {"microbatches": 2, "default": {"zero": 2}}
    open_ranks = workspace.compile(MODEL, "ranks-by-option", strategy, options=["--ranks", 2])
    data, load = file(workspace, "once", range(SAMPLES)), workspace.weights(MODEL)
    got = workspace.run(open_ranks, "ranks-by-option", data, STEPS, COMMON, load)
    expect(same(got, trained(workspace, "dp2-m2", "ranks-by-option", data)), "another program")
    return "equal"


def load_and_save(name):

    def case(workspace):
        """What is loaded is saved again, bit by bit, under each strategy; and a
        strategy goes on from what another has saved."""
        load = workspace.weights(MODEL)
        path = f"load-{name}"
        saved = workspace.run(program(workspace, name), path, None, 0, load=load).weights
        loaded = load_file(load)
        expect(set(saved) == set(loaded), "not the tensors that were loaded")
        for key, value in loaded.items():
            expect(compare.bitwise_equal(saved[key], value), f"{key} has changed")
        data = file(workspace, "once", range(SAMPLES))
        again = workspace.work / "runs" / path / "saved/model.safetensors"
        want = workspace.run(program(workspace, "one-rank"), f"{path}-want", data, 2, COMMON, load)
        got = workspace.run(program(workspace, "one-rank"), f"{path}-got", data, 2, COMMON, again)
        expect(same(got, want), "one rank goes on differently from the saved file")
        return "equal bits"

    return case


CASES = {
    "wraps-at-the-end": wraps_at_the_end,
    "shuffles-as-documented": shuffles_as_documented,
    **{f"shuffles-alike-{name}": shuffles_alike(name) for name in STRATEGIES},
    "data-formats": data_formats,
    "ranks-by-option": ranks_by_option,
    **{f"initial-values-{name}": initial_values(name) for name in STRATEGIES},
    **{f"load-and-save-{name}": load_and_save(name) for name in STRATEGIES},
}

if __name__ == "__main__":
    main(CASES, __doc__)
