#!/usr/bin/env python3
"""The program of one rank against PyTorch: GPT2LMHeadModel of transformers, with
the same weights and the same samples, trained by torch.optim.AdamW.

The loss is taken from the model's logits, outside of transformers, whose own
shifts the labels once more. Bounds (relative, see compare.py): fp64: loss and
norm of each step 1e-12, the first step's gradients and the weights after five
steps 1e-10. fp32: loss 1e-6, the first step's gradients 1e-5, weights after five
steps 2e-5; there with an epsilon of 1e-3, for with 1e-8 AdamW's first steps
divide a gradient by its own size, and so make rounding errors of a gradient
next to zero as large as any other change.
"""

import numpy
import torch
from safetensors.numpy import load_file
from transformers import GPT2Config, GPT2LMHeadModel

import compare
from harness import ONE_RANK, Bounds, Gpt2, Result, check, check_not_trivial, expect, main, write_tokens

BOUNDS = {"fp64": Bounds(scalars=1e-12, gradients=1e-10, weights=1e-10),
          "fp32": Bounds(scalars=1e-6, gradients=1e-5, weights=2e-5)}
STEPS = 5
# A third of all tokens; ignored in one of the cases only.
IGNORED = 5
# Learning rate, betas and decay differ from the defaults, so that none is taken
# for the other.
COMMON = {"learning-rate": 1e-3, "beta1": 0.85, "beta2": 0.97, "weight-decay": 0.2}


def model(tied):
    """No two sizes alike, positions that the sequence does not reach, an epsilon
    that is not the default."""
    return Gpt2(layers=2, vocabulary=61, width=24, heads=3, hidden=80, positions=20, epsilon=1e-4, tied=tied,
                sequence=16, batch=6)


def tokens():
    count = STEPS * model(False).batch * model(False).sequence + 1
    random = numpy.random.default_rng(2)
    row = random.integers(0, 61, count)
    row[random.random(count) < 0.3] = IGNORED
    return row


def torch_model(config, weights, type):
    """transformers' model of a config.json, with the weights of a file."""
    network = GPT2LMHeadModel(GPT2Config(**config, attn_implementation="eager")).to(type)
    state = {name: torch.from_numpy(value) for name, value in weights.items()}
    left_out = network.load_state_dict(state, strict=False)
    # A file of a tied model has no head.
    tied = ["lm_head.weight"] if config["tie_word_embeddings"] else []
    expect(left_out.missing_keys == tied and not left_out.unexpected_keys, f"not the model's names: {left_out}")
    return network.eval()


def named_arrays(network, of):
    """By the names of a checkpoint; a tied weight once."""
    return {name: of(parameter).detach().numpy().copy() for name, parameter in network.named_parameters()}


def train(network, gpt2, row, options, steps):
    """What PyTorch makes of the same steps. `row` are the tokens of the file."""
    vectors = [p for p in network.parameters() if p.dim() < 2]
    matrices = [p for p in network.parameters() if p.dim() >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": options["weight-decay"]}, {"params": vectors, "weight_decay": 0.0}],
        lr=options["learning-rate"], betas=(options["beta1"], options["beta2"]), eps=options["epsilon"])
    losses, norms, gradients = [], [], {}
    row = torch.from_numpy(row.astype(numpy.int64))
    for step in range(steps):
        first = step * gpt2.batch
        samples = [row[i * gpt2.sequence:(i + 1) * gpt2.sequence + 1] for i in range(first, first + gpt2.batch)]
        samples = torch.stack(samples)
        logits = network(samples[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, gpt2.vocabulary), samples[:, 1:].reshape(-1),
            ignore_index=options.get("ignore-token", -100))
        optimizer.zero_grad()
        loss.backward()
        gradients = named_arrays(network, lambda parameter: parameter.grad)
        clip = options.get("clip-norm", float("inf"))
        norms.append(float(torch.nn.utils.clip_grad_norm_(network.parameters(), clip)))
        losses.append(float(loss.detach()))
        optimizer.step()
    return Result(losses, norms, named_arrays(network, lambda parameter: parameter), gradients, {})


def compared(tied, precision, **changed):
    options = COMMON | changed

    def case(workspace):
        gpt2, row = model(tied), tokens()
        data = workspace.once("data", row.tolist(), lambda folder: write_tokens(folder / "tokens.bin", row))
        load = workspace.weights(gpt2, precision=precision)
        program = workspace.compile(gpt2, f"{gpt2.name}-{precision}", ONE_RANK, precision)
        name = "-".join([gpt2.name, precision, *(f"{key}-{value}" for key, value in changed.items())])
        words = [word for key, value in options.items() for word in (f"--{key}", value)]
        type = torch.float64 if precision == "fp64" else torch.float32
        weights = load_file(load)
        texts = []
        # Gradients are compared after the first step, when the weights are
        # still equal, and the weights after all.
        for steps in (1, STEPS):
            got = workspace.run(program, f"{name}-{steps}", data / "tokens.bin", steps, words, load)
            want = train(torch_model(gpt2.config(), weights, type), gpt2, row, options, steps)
            bounds = BOUNDS[precision]
            if steps > 1:
                bounds = Bounds(bounds.scalars, None, bounds.weights)
            texts.append(check(got, want, bounds))
            if "clip-norm" in options:
                expect(min(want.norms) > 1.5 * options["clip-norm"], f"clipping does not act: norms {want.norms}")
        check_not_trivial(got, load)
        check_saved(workspace.work / "runs" / f"{name}-{STEPS}" / "saved", got, gpt2)
        return f"1 step: {texts[0]}  {STEPS} steps: {texts[1]}"

    return case


def check_saved(folder, got, gpt2):
    """What --save writes is a model folder of transformers."""
    network = GPT2LMHeadModel.from_pretrained(folder, dtype="auto")
    expect(network.config.n_layer == gpt2.layers and network.config.tie_word_embeddings == gpt2.tied,
           "the saved config.json is not the model's")
    saved = named_arrays(network, lambda parameter: parameter)
    for name, value in got.weights.items():
        expect(compare.relative({name: saved[name]}, {name: value})[0] <= 1e-6, f"transformers loads another {name}")


def cases():
    cases = {}
    for tied in (False, True):
        kind = "tied" if tied else "untied"
        cases[f"fp64-{kind}"] = compared(tied, "fp64", epsilon=1e-8)
        cases[f"fp64-clip-{kind}"] = compared(tied, "fp64", epsilon=1e-8, **{"clip-norm": 0.25})
        cases[f"fp32-{kind}"] = compared(tied, "fp32", epsilon=1e-3, **{"clip-norm": 0.25})
    cases["fp64-ignored-labels"] = compared(True, "fp64", epsilon=1e-8, **{"ignore-token": IGNORED})
    return cases


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(cases(), __doc__)
