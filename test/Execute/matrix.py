#!/usr/bin/env python3
"""A strategy changes the speed, never the training: one model under many
strategies, each compared with the program of one rank.

Both start from the same saved weights and take the same three steps, in fp64.
Loss and gradient norm of each step agree to 1e-12, the third step's gradients
and the weights after it to 1e-10 (relative, see compare.py): some hundred times
what another order of summation makes of 2^-53, and far below what any missing,
doubled or misplaced term would. Where a tied weight stands on two stages, its
two copies have the same bits.
"""

import numpy

from harness import ONE_RANK, Bounds, Gpt2, check, check_copies, check_not_trivial, expect, main, same, write_tokens

BOUNDS = Bounds(scalars=1e-12, gradients=1e-10, weights=1e-10)
STEPS = 3
# A clip that acts (the norm is above 5) makes the weights depend on the norm.
# One label in nine is ignored, unevenly over ranks and microbatches.
OPTIONS = ["--token-type", "uint16", "--learning-rate", "1e-3", "--epsilon", "1e-8", "--clip-norm", "0.5",
           "--ignore-token", "7"]
IGNORED = 7

UNTIED, TIED, BOTH = (False,), (True,), (False, True)


def each(**entry):
    return {"default": entry}


# Layer by layer another strategy: tensor 4, data 4 with ZeRO-3, data 2 of tensor
# 2, tensor 2 with its ranks apart.
MIX = [{"range": 0, "tensor": 4}, {"range": 1, "zero": 3}, {"range": 2, "tensor": 2},
       {"range": 3, "tensor": 2, "order": "tensor-outer"}]

# name, with a tied embedding or without or both, strategy
STRATEGIES = [
    # Data parallel, ZeRO.
    ("dp2", BOTH, {"ranks": 2} | each()),
    ("dp4-zero1", BOTH, {"ranks": 4} | each(zero=1)),
    ("dp2-zero2-m2", BOTH, {"ranks": 2, "microbatches": 2} | each(zero=2)),
    ("dp4-zero3", BOTH, {"ranks": 4} | each(zero=3)),
    # Tensor parallel.
    ("tp2", BOTH, {"ranks": 2} | each(tensor=2)),
    ("tp4", BOTH, {"ranks": 4} | each(tensor=4)),
    ("tp2-sp", BOTH, {"ranks": 2} | each(tensor=2, sequence_parallel=True)),
    ("tp4-sp", BOTH, {"ranks": 4} | each(tensor=4, sequence_parallel=True)),
    # Both, with the tensor ranks adjacent or apart.
    ("dp2-tp2-inner-zero1", BOTH, {"ranks": 4} | each(tensor=2, zero=1)),
    ("dp2-tp2-inner-zero3", BOTH, {"ranks": 4} | each(tensor=2, zero=3)),
    ("dp2-tp2-outer-zero1", BOTH, {"ranks": 4} | each(tensor=2, zero=1, order="tensor-outer")),
    ("dp2-tp2-outer-zero3", BOTH, {"ranks": 4} | each(tensor=2, zero=3, order="tensor-outer")),
    ("dp2-tp2-sp-zero3-m2", TIED, {"ranks": 4, "microbatches": 2} | each(tensor=2, sequence_parallel=True, zero=3)),
    # Microbatches alone.
    ("m4", BOTH, {"ranks": 1, "microbatches": 4} | each()),
    ("dp2-m4", BOTH, {"ranks": 2, "microbatches": 4} | each()),
    ("tp2-sp-m2", UNTIED, {"ranks": 2, "microbatches": 2} | each(tensor=2, sequence_parallel=True)),
    # Pipeline; with fewer microbatches than stages, too.
    ("pp2-gpipe", BOTH, {"ranks": 2, "stages": 2, "microbatches": 4, "schedule": "gpipe"} | each()),
    ("pp2-1f1b", BOTH, {"ranks": 2, "stages": 2, "microbatches": 4, "schedule": "1f1b"} | each()),
    ("pp4-m8", BOTH, {"ranks": 4, "stages": 4, "microbatches": 8} | each()),
    ("pp4-m4", BOTH, {"ranks": 4, "stages": 4, "microbatches": 4} | each()),
    ("pp4-m2", BOTH, {"ranks": 4, "stages": 4, "microbatches": 2} | each()),
    ("pp4-m1", BOTH, {"ranks": 4, "stages": 4, "microbatches": 1} | each()),
    ("pp4-gpipe-m2", TIED, {"ranks": 4, "stages": 4, "microbatches": 2, "schedule": "gpipe"} | each()),
    ("pp3-1-2-1", BOTH, {"ranks": 3, "stages": [1, 2, 1], "microbatches": 4} | each()),
    ("pp2-3-1", BOTH, {"ranks": 2, "stages": [3, 1], "microbatches": 4} | each()),
    # Pipeline with the others.
    ("pp2-dp2-zero1", BOTH, {"ranks": 4, "stages": 2, "microbatches": 2} | each(zero=1)),
    ("pp2-dp2-zero2", BOTH, {"ranks": 4, "stages": 2, "microbatches": 2} | each(zero=2)),
    ("pp2-dp2-zero3", BOTH, {"ranks": 4, "stages": 2, "microbatches": 2} | each(zero=3)),
    ("pp2-tp2-sp", BOTH, {"ranks": 4, "stages": 2, "microbatches": 4} | each(tensor=2, sequence_parallel=True)),
    ("pp2-tp2-dp2", BOTH, {"ranks": 8, "stages": 2, "microbatches": 2} | each(tensor=2)),
    ("pp2-tp2-dp2-sp-zero2", TIED,
     {"ranks": 8, "stages": 2, "microbatches": 2} | each(tensor=2, sequence_parallel=True, zero=2)),
    # From layer to layer another; the vocabulary layers by themselves.
    ("mix", BOTH, {"ranks": 4, "layers": MIX, "vocabulary": {"tensor": 2}}),
    ("mix-sp-m2", TIED,
     {"ranks": 4, "microbatches": 2, "vocabulary": {"tensor": 4, "sequence_parallel": True},
      "layers": [entry | {"sequence_parallel": True} for entry in MIX]}),
    ("pp2-mix", BOTH, {"ranks": 8, "stages": 2, "microbatches": 2, "layers": MIX, "vocabulary": {"tensor": 2}}),
    # Vocabulary degree against another degree in the layers; 257 rows over 2 and
    # over 4 ranks are padded.
    ("vocabulary1-tp2", BOTH, {"ranks": 2, "vocabulary": {}} | each(tensor=2)),
    ("vocabulary1-tp4", BOTH, {"ranks": 4, "vocabulary": {}} | each(tensor=4)),
    ("vocabulary2-tp1", BOTH, {"ranks": 2, "vocabulary": {"tensor": 2}} | each()),
    ("vocabulary2-tp4-sp", BOTH, {"ranks": 4, "vocabulary": {"tensor": 2}} | each(tensor=4, sequence_parallel=True)),
    ("vocabulary4-tp1-zero3", BOTH, {"ranks": 4, "vocabulary": {"tensor": 4}} | each(zero=3)),
    ("vocabulary4-tp2", BOTH, {"ranks": 4, "vocabulary": {"tensor": 4}} | each(tensor=2)),
    ("vocabulary2-zero3-tp1", TIED, {"ranks": 4, "vocabulary": {"tensor": 2, "zero": 3}} | each(zero=1)),
    ("pp2-vocabulary2-tp1", TIED, {"ranks": 4, "stages": 2, "microbatches": 2, "vocabulary": {"tensor": 2}} | each()),
    # Recompute of some layers.
    ("dp4-zero3-recompute", TIED,
     {"ranks": 4, "layers": [{"range": "0-1", "zero": 3, "recompute": True}]} | each(zero=3)),
    ("tp4-sp-recompute", UNTIED,
     {"ranks": 4, "layers": [{"range": "1-2", "tensor": 4, "sequence_parallel": True, "recompute": True}]}
     | each(tensor=4, sequence_parallel=True)),
    ("pp2-1f1b-recompute", TIED,
     {"ranks": 2, "stages": 2, "microbatches": 4, "layers": [{"range": "1-2", "recompute": True}]} | each()),
    ("pp2-tp2-sp-recompute", UNTIED,
     {"ranks": 4, "stages": 2, "microbatches": 4,
      "layers": [{"range": "0-2", "tensor": 2, "sequence_parallel": True, "recompute": True}]}
     | each(tensor=2, sequence_parallel=True)),
    ("mix-recompute", TIED,
     {"ranks": 4, "layers": [entry | {"recompute": entry["range"] != 2} for entry in MIX], "vocabulary": {"tensor": 2}}),
    # Galvatron's format, whose default is GPipe.
    ("galvatron", TIED,
     {"pp_deg": 2, "tp_sizes_enc": "2,2,1,2", "tp_consecutive_flags": "1,0,1,1", "dp_types_enc": "0,0,1,0",
      "global_bsz": 8, "chunks": 2, "checkpoint": "1,1,0,0", "pp_division": "2,2", "default_dp_type": "zero2",
      "vtp": 2, "vocab_sdp": 0, "world_size": 8}),
]

# Ranks are threads above; here they are processes that talk over Gloo, and do
# the same bit by bit.
PROCESSES = [
    ("dp4-zero3", True, "processes"),
    ("pp2-tp2-sp", True, "processes"),
    ("pp4-m8", False, "processes"),
    ("mix", False, "processes"),
    ("pp2-dp2-zero1", True, "torchrun"),
]


def model(tied):
    return Gpt2(tied=tied)


def data(workspace):
    """Random tokens for the steps, the last of the vocabulary among them (its row
    stands beside the padding). A few hundred rows of a vocabulary of 257 are
    never used, whose gradient must be zero. Ignored labels lie in bursts."""

    def make(folder):
        count = STEPS * model(False).batch * model(False).sequence + 1
        random = numpy.random.default_rng(1)
        tokens = random.integers(0, 257, count)
        for start in range(0, count, 300):
            tokens[start:start + 30] = IGNORED
        tokens[[40, 290, 550]] = 256
        write_tokens(folder / "tokens.bin", tokens)

    return workspace.once("data", [STEPS, IGNORED], make) / "tokens.bin"


def oracle(workspace, tied):
    """The run of one rank."""
    program = workspace.compile(model(tied), f"one-rank{'-tied' * tied}", ONE_RANK)
    load = workspace.weights(model(tied))
    result = workspace.run_once(program, f"one-rank{'-tied' * tied}", data(workspace), STEPS, OPTIONS, load)
    check_not_trivial(result, load)
    return result


def stages(strategy):
    count = strategy.get("stages", strategy.get("pp_deg", 1))
    return len(count) if isinstance(count, list) else count


def compared(name, strategy, tied, launch="threads"):
    def case(workspace):
        load, tokens = workspace.weights(model(tied)), data(workspace)
        want = oracle(workspace, tied)
        program = workspace.compile(model(tied), name, strategy)
        got = workspace.run(program, f"{name}-{launch}", tokens, STEPS, OPTIONS, load, launch)
        text = check(got, want, BOUNDS)
        before = None
        if tied and stages(strategy) > 1:
            before = workspace.run(program, f"{name}-{launch}-before", tokens, STEPS - 1, OPTIONS, load, launch)
            text += "  copies equal"
        check_copies(got, before, tied, stages(strategy))
        if launch != "threads":
            threads = workspace.run(program, f"{name}-not-{launch}", tokens, STEPS, OPTIONS, load)
            expect(same(got, threads), "processes and threads differ")
        return text

    return case


def cases():
    cases = {}
    for name, kinds, strategy in STRATEGIES:
        for tied in kinds:
            full = f"{name}{'-tied' * tied}"
            cases[full] = compared(full, strategy, tied)
    for name, tied, launch in PROCESSES:
        strategy = next(entry[2] for entry in STRATEGIES if entry[0] == name)
        full = f"{name}{'-tied' * tied}"
        cases[f"{full}-{launch}"] = compared(full, strategy, tied, launch)
    return cases


if __name__ == "__main__":
    main(cases(), __doc__)
