"""Time the dense solves of the paper's Table 1 on a card, and hold them against its own float32 matrix rate.

Where there is no card, sizes a tenth as large run on the CPU. A last row is one evaluation and gradient of a recipe
like the paper's +weighting, on random images.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lsat_explorer.bench.flops import flops
from lsat_explorer.bench.machine import facts
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.random_data import random_images
from lsat_explorer.bench.timing import positive, take_turns
from lsat_explorer.commands.errors import FAILURE, CommandError, user_input
from lsat_explorer.engines.devices import available_devices, resolve_device
from lsat_explorer.model import recipes
from lsat_explorer.solve import least_squares
from lsat_explorer.tune import Problem

__all__ = ["PAPER", "Row", "Size", "Step", "add_arguments", "dense_step", "problem_step", "run", "time_step"]

GOAL = 0.7
"""Least share of the card's float32 matrix rate."""

_PROBLEM = "weighted problem"

Works = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Size:
    """A of shape (k, n) and m right-hand sides."""

    k: int
    n: int
    m: int

    def __str__(self) -> str:
        return f"{self.k:,} × {self.n:,}, m = {self.m:,}"

    def reduced(self) -> Size:
        """Return a tenth of every side, a thousandth of the work."""
        return Size(self.k // 10, self.n // 10, max(1, self.m // 10))


PAPER = {Size(20_000, 10_000, 10_000): (1.32, 2.49), Size(20_000, 10_000, 1): (0.446, 0.614)}
PAPER[Size(100_000, 1_000, 100)] = (0.028, 0.028)
"""Seconds of loss and of gradient by size: Barratt and Boyd (2019), Table 1, on a GTX 1080 Ti in float32."""


@dataclass(frozen=True)
class Step:
    """A loss, and the gradient from what the loss returned."""

    loss: Callable[[], Any]
    gradient: Callable[[Any], object]


@dataclass(frozen=True)
class Phase:
    """Median seconds of one half of a step, its operations, and their rate as a share of the device's."""

    seconds: float
    flops: int
    share: float


@dataclass(frozen=True)
class Row:
    """Loss and gradient of one step, the device's float32 and float64 rates beside it, in operations a second.

    ``peak`` is the most bytes that the step took on the card, its inputs included; None on the CPU. ``paper`` holds the
    published seconds of loss and gradient, None where the size is another.
    """

    what: str
    loss: Phase
    gradient: Phase
    rate: float
    double_rate: float
    peak: int | None
    paper: tuple[float, float] | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench gpu`."""
    device = "cpu, cuda, cuda:1, … (default: the first card, or the CPU without one)"
    parser.add_argument("--device", default="auto", metavar="NAME", help=device)
    parser.add_argument("--reduced", action="store_true", help="a tenth of the paper's sizes, as on a CPU")
    parser.add_argument("--repeat", type=positive, default=5, metavar="N", help="timings of each (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Time the sizes and print times, rates and memory; a timing is printed and not judged."""
    machine = facts()
    with user_input():
        device = resolve_device(args.device)
    cpu = device.type == "cpu"
    reduced = args.reduced or cpu
    name = available_devices()["cpu" if cpu else f"{device.type}:{device.index or 0}"]
    print(machine_line(machine))
    print(f"On {name}; medians of {args.repeat}, in turns with the device's own rate.")
    if cpu:
        print("Without a card a reduced size runs on the CPU, which the paper's figures do not stand beside.")
    print(f"\n{_COLUMNS.format(*_HEADER)}")
    found = []
    for row in _rows(device, reduced, args.repeat):
        found.append(row)
        print(_line(row), flush=True)
    print(f"\n{_report(found)}")
    if args.json is not None:
        figures = {"device": name, "reduced": reduced, "repeat": args.repeat, "machine": machine, "goal": GOAL}
        write_figures(args.json, {**figures, "rows": [asdict(row) for row in found]})
    return 0


def _rows(device: torch.device, reduced: bool, repeat: int) -> Iterator[Row]:
    side = 1024 if reduced else 8192
    for size, seconds in PAPER.items():
        shape = size.reduced() if reduced else size
        with _enough(str(shape), device):
            row = time_step(str(shape), dense_step(shape, device), device, side, repeat, None if reduced else seconds)
        yield row
    with _enough(_PROBLEM, device):
        row = time_step(_PROBLEM, problem_step(5_000 if reduced else 50_000, device), device, side, repeat)
    yield row


def dense_step(size: Size, device: torch.device) -> Step:
    """Return ψ = mean θ² of θ = argmin ‖Aθ − B‖², float32 and random, and its gradient for A and B."""
    generator = torch.Generator(device).manual_seed(0)
    A, B = (
        torch.randn(size.k, columns, generator=generator, device=device, requires_grad=True)
        for columns in (size.n, size.m)
    )
    return Step(lambda: least_squares(A, B).square().mean(), lambda loss: torch.autograd.grad(loss, (A, B)))


def problem_step(rows: int, device: torch.device) -> Step:
    """Return evaluation and gradient of the paper's +weighting on random images."""
    data = random_images(rows)
    problem = Problem(recipes.paper_weighting().replace(device=str(device)), data)
    omega = problem.init()
    return Step(lambda: problem.evaluate(omega), problem.gradient)


def time_step(
    what: str, step: Step, device: torch.device, side: int, repeat: int, paper: tuple[float, float] | None = None
) -> Row:
    """Time a step in turns with square products of ``side`` columns; the first of each is not timed."""
    kept: list[Any] = []
    halves: Works = {"loss": lambda: kept.append(step.loss()), "gradient": lambda: step.gradient(kept.pop())}
    counts = {name: flops(work) for name, work in halves.items()}
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    single = torch.randn(side, side, device=device)
    double = single.double()
    rates: Works = {"float32": lambda: single @ single, "float64": lambda: double @ double}
    settle = partial(torch.cuda.synchronize, device) if device.type == "cuda" else lambda: None
    settle()
    times = take_turns({name: _settled(work, settle) for name, work in (rates | halves).items()}, repeat)
    rate, double_rate = (2 * side**3 / times[name].median for name in rates)
    seconds = {name: times[name].median for name in halves}
    loss, gradient = (Phase(seconds[name], n, n / seconds[name] / rate) for name, n in counts.items())
    return Row(what, loss, gradient, rate, double_rate, peak, paper)


def _settled(work: Callable[[], object], settle: Callable[[], object]) -> Callable[[], None]:
    """Return ``work`` that ends when the device has done it, for its calls return before."""

    def run() -> None:
        work()
        settle()

    return run


@contextmanager
def _enough(what: str, device: torch.device) -> Iterator[None]:
    """Count the card's peak from here, and say what to do where its memory does not suffice."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise CommandError(f"The card has too little memory for {what}: add `--reduced`.", FAILURE) from error


_COLUMNS = "{:<28} {:>9} {:>9} {:>6} {:>12} {:>9} {:>6} {:>12} {:>8}"
_HEADER = ("", "loss ms", "paper ms", "share", "gradient ms", "paper ms", "share", "float32 GF/s", "peak GB")


def _line(row: Row) -> str:
    paper = ("–", "–") if row.paper is None else tuple(f"{1000 * seconds:.0f}" for seconds in row.paper)
    halves = [
        (f"{1000 * half.seconds:.2f}", figure, f"{half.share:.0%}")
        for half, figure in zip((row.loss, row.gradient), paper, strict=True)
    ]
    peak = "–" if row.peak is None else f"{row.peak / 1e9:.2f}"
    return _COLUMNS.format(row.what, *halves[0], *halves[1], f"{row.rate / 1e9:.0f}", peak)


def _report(found: list[Row]) -> str:
    """Return what the numbers mean, and the goal."""
    whole = [
        (row.loss.flops + row.gradient.flops) / (row.loss.seconds + row.gradient.seconds) / row.rate for row in found
    ]
    doubles = ", ".join(f"{row.double_rate / 1e9:.0f}" for row in found)
    lines = [
        "paper: Barratt and Boyd (2019), Table 1, float32 on a GTX 1080 Ti.",
        "share: operations done in products, factors and solves, a second, over the device's own rate of float32",
        "  products in the same run. Solves are in float64 whatever comes in: where a card is slow there, no share is",
        f"  high. float64 GF/s in the same run: {doubles}.",
        f"{_PROBLEM}: one evaluation, and its gradient, of the paper's +weighting on random images.",
        f"Goal: loss and gradient together at least {GOAL:.0%} of the rate. In this run: "
        + ", ".join(f"{share:.0%}" for share in whole)
        + ".",
    ]
    factors = [
        f"{row.paper[0] / row.loss.seconds:.1f} and {row.paper[1] / row.gradient.seconds:.1f}"
        for row in found
        if row.paper is not None
    ]
    if factors:
        lines.append(f"Times as fast as the paper's card, loss and gradient: {'; '.join(factors)}.")
    return "\n".join(lines)
