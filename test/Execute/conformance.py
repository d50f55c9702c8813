#!/usr/bin/env python3
"""What users of hybrid-parallel training systems report again and again, as
small cases. Each says what went wrong elsewhere; the name ends in what it is
about. Compared, as in matrix.py, with the program of one rank.
"""

import numpy
from safetensors.numpy import load_file

import compare
from harness import ONE_RANK, Bounds, Gpt2, check, check_copies, check_not_trivial, expect, main, write_tokens

EXACT = Bounds(scalars=1e-12, gradients=1e-10, weights=1e-10)  # fp64, as matrix.py
SINGLE = Bounds(scalars=1e-6, gradients=1e-5, weights=None)  # fp32, as pytorch.py
# A bias of the keys has no influence, so its gradient is a rounding error, which
# AdamW divides by epsilon. 1e-6 keeps that far below 1e-10 over some ten steps.
OPTIONS = ["--token-type", "uint16", "--learning-rate", "1e-3", "--epsilon", "1e-6"]
EMBEDDING = "transformer.wte.weight"

SMALL = Gpt2(layers=2, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16)
SMALL_TIED = Gpt2(layers=2, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16, tied=True)


def tokens(workspace, model, steps, name="", change=None):
    """A file of random tokens for some steps, changed in place by `change`."""
    count = steps * model.batch * model.sequence + 1
    row = numpy.random.default_rng(3).integers(0, model.vocabulary, count)
    if change:
        change(row)
    return workspace.once(f"data/{model.name}-{steps}{name and '-' + name}", row.tolist(), lambda folder: write_tokens(
        folder / "tokens.bin", row)) / "tokens.bin"


def pair(workspace, model, name, strategy, steps, options=(), precision="fp64", data=None, change=None):
    """The results of a strategy and of one rank, from the same weights."""
    data = data or tokens(workspace, model, steps)
    load = workspace.weights(model, change=change, name=name if change else "", precision=precision)
    options = [*OPTIONS, *options]
    one = workspace.compile(model, f"{model.name}-{precision}", ONE_RANK, precision)
    many = workspace.compile(model, f"{name}-{precision}", strategy, precision)
    want = workspace.run(one, f"{name}-one-rank", data, steps, options, load)
    got = workspace.run(many, name, data, steps, options, load)
    return got, want, load


def tied_zero1(workspace):
    """1: the two copies' gradients of a tied embedding were scattered to
    different ranks before they were added. pp2 dp2 ZeRO-1, one step in fp32: the
    embedding's gradient is that of one rank, and the copies have the same bits
    after the step (which the second step's forward uses)."""
    strategy = {"ranks": 4, "stages": 2, "microbatches": 2, "default": {"zero": 1}}
    got, want, load = pair(workspace, SMALL_TIED, "tied-zero1", strategy, 1, precision="fp32")
    check_not_trivial(got, load)
    text = check(got, want, SINGLE)
    worst, _ = compare.relative({EMBEDDING: got.gradients[EMBEDDING]}, {EMBEDDING: want.gradients[EMBEDDING]})
    expect(worst <= 1e-6, f"the embedding's gradient is {worst:.1e} off")
    program = workspace.compile(SMALL_TIED, "tied-zero1-fp32", strategy, "fp32")
    second = workspace.run(program, "tied-zero1-second", tokens(workspace, SMALL_TIED, 2), 2, OPTIONS, load)
    check_copies(second, got, True, 2)
    expect(not compare.bitwise_equal(got.weights[EMBEDDING], load_file(load)[EMBEDDING]), "the embedding has not moved")
    return text + "  copies equal"


def tied_20_steps(workspace):
    """2: a tied head drifted away from its embedding during training. The copy
    that each of 20 steps uses has the bits of the embedding that the step before
    has left."""
    strategy = {"ranks": 2, "stages": 2, "microbatches": 2, "default": {}}
    program = workspace.compile(SMALL_TIED, "tied-20-steps-fp32", strategy, "fp32")
    load = workspace.weights(SMALL_TIED, precision="fp32")
    data = tokens(workspace, SMALL_TIED, 20)
    before = workspace.run(program, "tied-20-steps-0", data, 0, OPTIONS, load)
    for steps in range(1, 21):
        got = workspace.run(program, f"tied-20-steps-{steps}", data, steps, OPTIONS, load)
        check_copies(got, before, True, 2)
        expect(not compare.bitwise_equal(got.weights[EMBEDDING], before.weights[EMBEDDING]), "the embedding has not moved")
        before = got
    return "copies equal in each of 20 steps"


def tied_norm(workspace):
    """3: the shared weight counted twice in the gradient norm. pp2: the norm is
    one rank's, and that of the dumped gradients, where the embedding stands
    once; its share is large enough to see it twice."""
    strategy = {"ranks": 2, "stages": 2, "microbatches": 2, "default": {}}
    got, want, _ = pair(workspace, SMALL_TIED, "tied-norm", strategy, 1)
    text = check(got, want, EXACT)
    total = compare.global_norm(got.gradients)
    expect(abs(got.norms[0] / total - 1) <= 1e-12, f"norm {got.norms[0]}, that of the gradients is {total}")
    share = (numpy.linalg.norm(got.gradients[EMBEDDING]) / total)**2
    expect(share > 0.01, f"the embedding is only {share:.1e} of the norm")
    return text


def norms_under_sequence_parallel(workspace):
    """4: with sequence parallel the gradients of norms (and of biases behind a
    scatter) were partial sums that differed over the tensor ranks. They equal
    one rank's, and still do after ten steps, in which ranks that had drifted
    apart would show in the loss."""
    strategy = {"ranks": 2, "default": {"tensor": 2, "sequence_parallel": True}}
    got, want, load = pair(workspace, SMALL, "norms", strategy, 10)
    check_not_trivial(got, load)
    vectors = {name for name in want.gradients if want.gradients[name].ndim == 1}
    expect(any("ln_1" in name for name in vectors) and any("ln_f" in name for name in vectors), "no norms")
    return check(got, want, EXACT)


def vocabulary_not_divisible(degree):

    def case(workspace):
        """5: a vocabulary that the tensor degree does not divide changed the
        loss. 257 rows over 2 and over 4 ranks: padded, and the padding masked.
        The last row, beside the padding, is used. fp32, and fp64."""
        model = Gpt2(layers=1)

        def last(row):
            row[::7] = 256

        data = tokens(workspace, model, 2, "last", last)
        strategy = {"ranks": degree, "default": {"tensor": degree}}
        texts = []
        for precision, bounds in (("fp32", SINGLE), ("fp64", EXACT)):
            got, want, _ = pair(workspace, model, f"vocabulary-{degree}", strategy, 2, data=data, precision=precision)
            expect(got.gradients["lm_head.weight"].shape == (257, 64), "the dumped head is not [257, 64]")
            texts.append(f"{precision}: " + check(got, want, bounds))
        return "  ".join(texts)

    return case


def ignored_labels(name, strategy, ignore):

    def case(workspace):
        """10: a mean of per-rank means weighs tokens wrongly where the ranks or
        microbatches have different numbers of labels that count. Here `ignore`
        says which rows of the batch lose 90 % of them. Loss and gradients equal
        one big batch's; a mean of means would be far from it. (That one rank
        does as PyTorch is a case of pytorch.py.)"""
        ignored = 63

        def ignore_rows(row):
            row[row == ignored] = 0
            labels = row[1:].reshape(2 * SMALL.batch, SMALL.sequence)
            random = numpy.random.default_rng(4)
            for i in range(len(labels)):
                if i % SMALL.batch in ignore:
                    labels[i, random.random(SMALL.sequence) < 0.9] = ignored

        data = tokens(workspace, SMALL, 2, name, ignore_rows)
        got, want, _ = pair(workspace, SMALL, name, strategy, 2, ["--ignore-token", ignored], data=data)
        text = check(got, want, EXACT)
        counts = counted(data, ignored, strategy)
        expect(max(counts) > 4 * min(counts), f"parts have {counts} labels that count: too alike to see a mean of means")
        return f"labels that count in each part of step 1: {counts}  {text}"

    return case


def counted(data, ignored, strategy):
    """Labels that count in the first step, for each microbatch and data rank."""
    labels = numpy.fromfile(data, "<u2")[1:SMALL.batch * SMALL.sequence + 1].reshape(SMALL.batch, SMALL.sequence)
    entry = strategy["default"]
    data_ranks = strategy["ranks"] // strategy.get("stages", 1) // entry.get("tensor", 1)
    parts = numpy.split(labels, strategy.get("microbatches", 1) * data_ranks)
    return [int(numpy.sum(part != ignored)) for part in parts]


def no_labels(workspace):
    """10, at its end: one rank has no label that counts in a microbatch, and in
    the second step no rank has any: that loss and its gradients are zero, and
    nothing turns into NaN."""
    ignored = 63

    def ignore_rows(row):
        row[row == ignored] = 0
        labels = row[1:].reshape(2 * SMALL.batch, SMALL.sequence)
        labels[2:4] = ignored
        labels[SMALL.batch:] = ignored

    data = tokens(workspace, SMALL, 2, "no-labels", ignore_rows)
    strategy = {"ranks": 2, "microbatches": 2, "default": {}}
    expect(min(counted(data, ignored, strategy)) == 0, "every part has labels")
    got, want, _ = pair(workspace, SMALL, "no-labels", strategy, 1, ["--ignore-token", ignored], data=data)
    text = check(got, want, EXACT)
    got, want, _ = pair(workspace, SMALL, "no-labels", strategy, 2, ["--ignore-token", ignored], data=data)
    expect(got.losses[1] == 0 and got.norms[1] == 0, f"loss {got.losses[1]}, norm {got.norms[1]} where no label counts")
    expect(want.losses[1] == 0 and want.norms[1] == 0, "as much on one rank")
    expect(not any(numpy.any(gradient) for gradient in got.gradients.values()), "a gradient where no label counts")
    worst, _ = compare.relative(got.weights, want.weights)
    expect(worst <= EXACT.weights, f"weights {worst:.1e} apart")
    return text


def scale_under_pipeline(workspace):
    """11: with a pipeline the gradients were larger by the number of tokens.
    Element for element they are those without, for one microbatch and several."""
    texts = []
    for microbatches in (1, 4):
        strategy = {"ranks": 2, "stages": 2, "microbatches": microbatches, "default": {}}
        got, want, _ = pair(workspace, SMALL, f"scale-m{microbatches}", strategy, 1)
        texts.append(check(got, want, EXACT))
    return "  ".join(texts)


def few_microbatches(schedule, microbatches):

    def case(workspace):
        """12: fewer microbatches than stages hung. Four stages of one layer run
        to their end, as processes, each with its bubble."""
        model = Gpt2(layers=4, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16)
        strategy = {"ranks": 4, "stages": 4, "microbatches": microbatches, "schedule": schedule, "default": {}}
        name = f"few-{schedule}-m{microbatches}"
        got, want, load = pair(workspace, model, name, strategy, 2)
        text = check(got, want, EXACT)
        program = workspace.compile(model, f"{name}-fp64", strategy)
        got = workspace.run(program, f"{name}-processes", tokens(workspace, model, 2), 2, OPTIONS, load, "processes")
        return f"threads: {text}  processes: {check(got, want, EXACT)}"

    return case


def uneven_stages(workspace):
    """16: of 30 layers on 4 stages 28 were built, without an error. What does not
    divide is refused, with both numbers. 7 layers as 4 and 3 are all there: in
    the saved file, each with a gradient, and equal to one rank's."""
    model = Gpt2(layers=7, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16)
    long = Gpt2(layers=30, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16)
    for refused, stages in ((long, 4), (model, 2)):
        error = workspace.refuse(refused, f"{refused.layers}-layers", {"ranks": stages, "stages": stages, "default": {}})
        expect(str(refused.layers) in error and str(stages) in error, f"the error does not name the numbers: {error}")
    error = workspace.refuse(long, "28-layers", {"ranks": 4, "stages": [7, 7, 7, 7], "default": {}})
    expect("30" in error and "28" in error, f"the error does not name the numbers: {error}")
    strategy = {"ranks": 2, "stages": [4, 3], "microbatches": 2, "default": {}}
    got, want, load = pair(workspace, model, "uneven", strategy, 2)
    expect(set(got.weights) == set(model.shapes()), "the saved file does not have the model's tensors")
    layers = {name.split(".")[2] for name in got.weights if name.startswith("transformer.h.")}
    expect(len(layers) == 7, f"{len(layers)} layers are saved")
    check_not_trivial(got, load)
    return check(got, want, EXACT)


def thirty_layers(workspace):
    """16: the 30 layers on 4 stages themselves, as 8, 7, 7 and 8."""
    model = Gpt2(layers=30, vocabulary=64, width=32, heads=2, hidden=64, positions=16, sequence=16)
    strategy = {"ranks": 4, "stages": [8, 7, 7, 8], "microbatches": 4, "default": {}}
    got, want, load = pair(workspace, model, "thirty", strategy, 1)
    expect(set(got.weights) == set(model.shapes()), "the saved file does not have the model's tensors")
    check_not_trivial(got, load)
    return check(got, want, EXACT)


def clip_by_global_norm(workspace):
    """17: clipping used the norm of the local stage only. The embedding is made
    so large that the norm layers let next to no gradient through to the first
    stage, and the last one has nearly all of the norm; with a clip of 0.1 the
    first stage's weights move as on one rank only if it clips by the last
    one's norm. An epsilon of 1 keeps AdamW from dividing the factor out."""

    def enlarge(weights):
        weights["transformer.wte.weight"] *= 200
        weights["transformer.wpe.weight"] *= 200
        weights["transformer.ln_f.weight"] *= 20

    strategy = {"ranks": 2, "stages": 2, "microbatches": 2, "default": {}}
    options = ["--clip-norm", "0.1", "--epsilon", "1", "--learning-rate", "1", "--weight-decay", "0"]
    got, want, load = pair(workspace, SMALL, "clip", strategy, 1, options, change=enlarge)
    text = check(got, want, EXACT)
    first = {name for name in got.gradients if name.startswith(("transformer.w", "transformer.h.0."))}
    local = compare.global_norm({name: got.gradients[name] for name in first})
    expect(got.norms[0] > 1 and local < 0.1 * got.norms[0], f"norm {got.norms[0]}, of the first stage {local}")
    # One step of AdamW from zero: w - lr g / (|g| + epsilon).
    before, factor = load_file(load), 0.1 / (got.norms[0] + 1e-6)
    for name in got.weights:
        gradient = got.gradients[name] * factor
        expected = before[name] - gradient / (numpy.abs(gradient) + 1)
        worst, _ = compare.relative({name: got.weights[name]}, {name: expected})
        expect(worst <= 1e-12, f"{name} is not clipped by the global norm: {worst:.1e}")
    return f"norm {got.norms[0]:.2f}, of the first stage alone {local:.3f}  {text}"


def tied_zero3(workspace):
    """23: parameters sharded whole were refused with tied weights, or wrong. On
    one stage, and on two with two data ranks each."""
    texts = []
    for stages in (1, 2):
        strategy = {"ranks": 2 * stages, "stages": stages, "microbatches": 2, "default": {"zero": 3}}
        got, want, load = pair(workspace, SMALL_TIED, f"tied-zero3-pp{stages}", strategy, 2)
        check_not_trivial(got, load)
        texts.append(check(got, want, EXACT))
    return "  ".join(texts)


def data_times_tensor(workspace):
    """24: data with tensor parallel had no gradients, and a flat loss. Ten steps
    over the same samples: the loss falls, as it does on one rank."""
    data = tokens(workspace, SMALL, 1)
    strategy = {"ranks": 4, "default": {"tensor": 2}}
    got, want, load = pair(workspace, SMALL, "data-times-tensor", strategy, 10, ["--learning-rate", "1e-2"], data=data)
    check_not_trivial(got, load)
    expect(got.losses[-1] < got.losses[0] - 0.5, f"the loss does not fall: {got.losses}")
    return f"loss {got.losses[0]:.2f} to {got.losses[-1]:.2f}  {check(got, want, EXACT)}"


CASES = {
    "1-tied-zero1": tied_zero1,
    "2-tied-20-steps": tied_20_steps,
    "3-tied-norm": tied_norm,
    "4-norms-under-sequence-parallel": norms_under_sequence_parallel,
    "5-vocabulary-257-over-2": vocabulary_not_divisible(2),
    "5-vocabulary-257-over-4": vocabulary_not_divisible(4),
    # Of 8 rows, microbatch j of 2 has rows 4j to 4j+3, data rank 1 the last two.
    "10-ignored-on-one-rank": ignored_labels("ignored-rank", {"ranks": 2, "microbatches": 2, "default": {}}, {2, 3, 6, 7}),
    "10-ignored-in-one-microbatch": ignored_labels(
        "ignored-microbatch", {"ranks": 2, "stages": 2, "microbatches": 2, "default": {}}, {4, 5, 6, 7}),
    "10-ignored-zero2": ignored_labels(
        "ignored-zero2", {"ranks": 4, "microbatches": 2, "default": {"tensor": 2, "sequence_parallel": True, "zero": 2}},
        {2, 3, 4, 5, 6, 7}),
    "10-no-labels": no_labels,
    "11-scale-under-pipeline": scale_under_pipeline,
    "12-few-microbatches-1f1b-1": few_microbatches("1f1b", 1),
    "12-few-microbatches-1f1b-2": few_microbatches("1f1b", 2),
    "12-few-microbatches-gpipe-1": few_microbatches("gpipe", 1),
    "12-few-microbatches-gpipe-2": few_microbatches("gpipe", 2),
    "16-uneven-stages": uneven_stages,
    "16-thirty-layers": thirty_layers,
    "17-clip-by-global-norm": clip_by_global_norm,
    "23-tied-zero3": tied_zero3,
    "24-data-times-tensor": data_times_tensor,
}

if __name__ == "__main__":
    main(CASES, __doc__)
