#!/usr/bin/env python3
"""Compares what two runs of a program wrote.

    compare.py GOT WANT --bound X [--norm N]

GOT and WANT are both safetensors files, or both metrics (.jsonl). Prints the
largest relative deviation; exit code 1 where it is above the bound, where a
tensor, step or shape is on one side only, or where a value is not finite.

"Relative" is, for each tensor of the checkpoint, max|x - y| / max(max|y|, 1e-6
* norm), y being what is wanted. The norm is that of all the tensors of WANT
together (of gradients: the gradient norm) or N; it keeps a tensor whose true
value is zero, or next to it, from being compared with its own rounding errors.
For metrics it is |x - y| / |y|, of loss and grad_norm of each step.
"""

import argparse
import json
import math
import sys

import numpy
from safetensors.numpy import load_file


class Mismatch(Exception):
    """The two sides cannot be compared."""


def global_norm(tensors):
    """The Euclidean norm of all elements of all tensors."""
    return math.sqrt(sum(float(numpy.sum(numpy.square(t.astype(numpy.float64)))) for t in tensors.values()))


def relative(got, want, norm=None):
    """The largest deviation of two dictionaries of tensors, and where it is."""
    if set(got) != set(want):
        raise Mismatch(f"tensors on one side only: {', '.join(sorted(set(got) ^ set(want)))}")
    if not want:
        raise Mismatch("no tensors")
    if norm is None:
        norm = global_norm(want)
    worst, place = -1.0, ""
    for name, y in want.items():
        x = got[name]
        if x.shape != y.shape:
            raise Mismatch(f"{name} has shapes {list(x.shape)} and {list(y.shape)}")
        if not (numpy.isfinite(x).all() and numpy.isfinite(y).all()):
            raise Mismatch(f"{name} has elements that are not finite")
        x, y = x.astype(numpy.float64), y.astype(numpy.float64)
        deviation = numpy.max(numpy.abs(x - y)) / max(numpy.max(numpy.abs(y)), 1e-6 * norm, sys.float_info.min)
        if deviation > worst:
            worst, place = float(deviation), name
    return worst, place


def relative_series(got, want):
    """The largest deviation of two lists of numbers, and its step (from 1)."""
    if len(got) != len(want):
        raise Mismatch(f"{len(got)} steps and {len(want)} steps")
    if not want:
        raise Mismatch("no steps")
    worst, place = -1.0, 0
    for step, (x, y) in enumerate(zip(got, want), start=1):
        if not (math.isfinite(x) and math.isfinite(y)):
            raise Mismatch(f"{x} and {y} in step {step}")
        deviation = abs(x - y) / max(abs(y), sys.float_info.min)
        if deviation > worst:
            worst, place = deviation, step
    return worst, place


def bitwise_equal(x, y):
    """Whether two tensors have one type, one shape and the same bits."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def read_metrics(path):
    """The lines of a metrics file, one a step."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("got")
    parser.add_argument("want")
    parser.add_argument("--bound", type=float, required=True)
    parser.add_argument("--norm", type=float)
    options = parser.parse_args()
    try:
        if options.got.endswith(".jsonl"):
            got, want = read_metrics(options.got), read_metrics(options.want)
            found = []
            for key in ("loss", "grad_norm"):
                worst, step = relative_series([line[key] for line in got], [line[key] for line in want])
                found.append((worst, f"{key} of step {step}"))
        else:
            found = [relative(load_file(options.got), load_file(options.want), options.norm)]
    except Mismatch as mismatch:
        sys.exit(f"compare: {mismatch}")
    failed = False
    for worst, place in found:
        print(f"{place}: {worst:.1e}")
        failed |= not worst <= options.bound
    if failed:
        sys.exit(f"compare: above the bound of {options.bound:.1e}")


if __name__ == "__main__":
    main()
