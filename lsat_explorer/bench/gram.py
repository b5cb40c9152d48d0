"""Time the sums over rows against the machine's own matrix rate, measured in the same run.

The rate is that of a full product XᵀX of random rows. All take turns, so that drift of the machine hits both sides; a
turn is two products, the second timed: each then finds in the processor's cache what it left there itself, and not what
the work before it, of other sizes for each, has left.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor

from lsat_explorer.bench.machine import facts
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.timing import Times, positive, take_turns
from lsat_explorer.solve.gram import batch, gram, product, read, upper_blocks

__all__ = ["Rate", "Work", "add_arguments", "measure", "run", "works"]

GOAL = 0.75
"""Least share of the machine's float32 rate for the half Gram matrix."""

_RATES = {"float32": "full product XᵀX, float32", "float64": "full product XᵀX, float64"}
_HALF = "half Gram, float32 into float64"
_BLOCKS = "its float32 blocks, not summed"
_PRECISE = "half Gram, float64"


@dataclass(frozen=True)
class Work:
    """A product with its counted ``flops``, and the dtype of the full product whose rate it is held against."""

    flops: int
    dtype: str
    work: Callable[[], Tensor]


@dataclass(frozen=True)
class Rate:
    """One product's seconds, and its rate as a share of the full product's.

    By the best and the median wall times, and by the medians ``cpu`` of processor time, which other work moves less.
    """

    what: str
    flops: int
    dtype: str
    best: float
    median: float
    cpu: float
    best_share: float
    median_share: float
    cpu_share: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench gram`."""
    parser.add_argument("--rows", type=positive, default=35_000, metavar="K", help="rows k (default: 35000)")
    parser.add_argument("--columns", type=positive, default=885, metavar="N", help="columns n (default: 885)")
    sides = "columns m of the narrow sides (default: 10 20 100)"
    parser.add_argument("--sides", type=positive, nargs="+", default=[10, 20, 100], metavar="M", help=sides)
    parser.add_argument("--repeat", type=positive, default=7, metavar="R", help="timings of each (default: 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Time the products and print their shares of the machine's rate; a timing is printed and not judged."""
    machine = facts()
    print(machine_line(machine))
    print(f"Random rows, k {args.rows:,}, n {args.columns:,}; best and median of {args.repeat}, in turns of two,")
    print("of which the second is timed.\n")
    rates = measure(works(args.rows, args.columns, args.sides), args.repeat)
    print(_COLUMNS.format("", "Gflop", "best ms", "median ms", "GF/s", "best", "median", "CPU"))
    print("\n".join(map(_line, rates)))
    half = next(rate for rate in rates if rate.what == _HALF)
    print("\nCounted: k n² of a half Gram matrix, 2 k n² of a full product, 2 k n m of a narrow side of m columns.")
    print(
        "GF/s: by the best time. best, median, CPU: share of the rate of the full product in the dtype of the products,"
    )
    print("  by best times, medians, and medians of processor time, which other work on the machine moves less.")
    print(f"{_BLOCKS}: the products alone of the half Gram matrix, some below its diagonal.")
    print(f"Goal: the half Gram matrix of float32 rows at least {GOAL:.0%} of the float32 rate. In this run: ", end="")
    print(f"{half.best_share:.0%} by best times, {half.median_share:.0%} by medians, {half.cpu_share:.0%} by CPU time.")
    if args.json is not None:
        sizes = {"rows_k": args.rows, "columns_n": args.columns, "repeat": args.repeat}
        write_figures(args.json, {**sizes, "machine": machine, "goal": GOAL, "rows": [asdict(rate) for rate in rates]})
    return 0


def works(k: int, n: int, sides: list[int]) -> dict[str, Work]:
    """Return what is timed on random rows X (k, n): full products, half Gram matrices, and products with m columns."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(k, n, generator=generator, device="cpu")
    doubled = X.double()
    found = {
        _RATES["float32"]: Work(2 * k * n**2, "float32", lambda: X.mT @ X),
        _RATES["float64"]: Work(2 * k * n**2, "float64", lambda: doubled.mT @ doubled),
        _HALF: Work(k * n**2, "float32", partial(gram, X)),
        _BLOCKS: Work(k * n**2, "float32", partial(_blocks, X)),
        _PRECISE: Work(k * n**2, "float64", partial(gram, X, precise=True)),
    }
    for m in sides:
        Y = torch.randn(k, m, generator=generator, device="cpu")
        found[f"product, m = {m}"] = Work(2 * k * n * m, "float32", partial(product, X, Y))
    return found


def _blocks(X: Tensor) -> Tensor:
    """Form the blocks of rows of XᵀX as `gram` does, without their sums, and return the last of them (2, …, …)."""
    n = X.shape[1]
    widths = [len(block) for block in upper_blocks(X.new_empty(n, n))]
    found = X.new_empty(0)
    for _, chunk in read(X, precise=False):
        rows = batch(chunk)
        for end, width in zip(accumulate(widths), widths, strict=True):
            found = rows[..., end - width : end].mT @ rows[..., end - width :]
    return found


def measure(found: Mapping[str, Work], repeat: int) -> list[Rate]:
    """Time all in turns, and hold each rate against that of the full product in its dtype."""
    times = take_turns({name: work.work for name, work in found.items()}, repeat, again=True)
    return [_rate(name, found, times) for name in found]


def _rate(name: str, found: Mapping[str, Work], times: Mapping[str, Times]) -> Rate:
    mine, full = found[name], _RATES[found[name].dtype]
    work = mine.flops / found[full].flops
    seconds, whole = ((t.best, t.median, t.cpu_median) for t in (times[name], times[full]))
    shares = (work * theirs / ours for ours, theirs in zip(seconds, whole, strict=True))
    return Rate(name, mine.flops, mine.dtype, *seconds, *shares)


_COLUMNS = "{:<32} {:>7} {:>9} {:>10} {:>7} {:>6} {:>7} {:>5}"


def _line(rate: Rate) -> str:
    times = (f"{1000 * seconds:.1f}" for seconds in (rate.best, rate.median))
    shares = (f"{share:.0%}" for share in (rate.best_share, rate.median_share, rate.cpu_share))
    return _COLUMNS.format(rate.what, f"{rate.flops / 1e9:.2f}", *times, f"{rate.flops / rate.best / 1e9:.1f}", *shares)
