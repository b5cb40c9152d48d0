"""Time one evaluation plus gradient, ours against the stacked dense operation of the paper's appendix.

Beside it stands the same operation left to torch's own differentiation. All take turns in one run, from the same
prepared features at the recipe's start, for reg×2, reg×3+feat and +weighting; a turn is two steps, the second timed, as
steps follow one another in a run.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from lsat_explorer.bench.machine import facts, peak_memory
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.paper import RECIPES, paper_data, paper_shape
from lsat_explorer.bench.stacked import StackedProblem, autograd_solve
from lsat_explorer.bench.table import FULL, SMALL
from lsat_explorer.bench.timing import positive, take_turns, timed
from lsat_explorer.model.piece import Omega
from lsat_explorer.tune import Problem

__all__ = ["Apart", "Timing", "add_arguments", "compare", "run", "time_step"]

Step = tuple[float, Omega]
"""ψ and its gradient."""

GOALS = {"reg×2": 25.0, "reg×3+feat": 7.0, "+weighting": 2.8}
"""By method, how many times faster than the stacked operation one step is to be, on the full set."""

DISAGREE = 1.25
"""Wall and CPU ratios that differ by a larger factor make a timing doubtful."""


@dataclass(frozen=True)
class Apart:
    """How far one result is from another: of ψ relatively, of ∇ψ as a whole in norm, and of its worst entry of ω.

    ``gradient`` is ‖a − b‖₂ / ‖b‖₂ over all entries, ``worst`` the largest max|a − b| / max|b| of one entry, ``name``
    that entry: in float32 a number that is small beside the rest of the gradient.
    """

    loss: float
    gradient: float
    worst: float
    name: str


@dataclass(frozen=True)
class Timing:
    """One method's times in seconds, medians of wall time and of this process's processor time, and its differences.

    ``first`` is our first evaluation, which forms the sums that later ones keep. ``autograd`` is the stacked operation
    differentiated by torch. ``factor`` is the dtype of the factor that the stacked operation needed. ``apart`` compares
    ours with the stacked operation in the recipe's dtype, and each of the three with the stacked operation in float64.
    """

    method: str
    k: int
    n: int
    dtype: str
    factor: str
    first: float
    ours: float
    stacked: float
    autograd: float
    ours_cpu: float
    stacked_cpu: float
    autograd_cpu: float
    apart: dict[str, Apart]

    @property
    def ratio(self) -> float:
        """How many times faster than the stacked operation ours is, in wall time."""
        return self.stacked / self.ours

    @property
    def autograd_ratio(self) -> float:
        """How many times faster than torch's own differentiation ours is, in wall time."""
        return self.autograd / self.ours


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench step`."""
    parser.add_argument("--full", action="store_true", help="50,000 training and validation rows instead of 5,000")
    parser.add_argument("--repeat", type=positive, default=7, metavar="N", help="timings of each (default: 7)")
    parser.add_argument("--data", metavar="DIR", help="folder of MNIST's IDX files (default: LSAT_MNIST)")
    parser.add_argument("--seed", type=int, default=0, help="of the split and of k-means (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Time the methods and print ratios and differences; a timing is printed and not judged."""
    size = (FULL if args.full else SMALL).size
    machine = facts()
    print(machine_line(machine))
    print(f"MNIST, deskewed, {size:,} training and validation rows; medians of {args.repeat}, in turns.\n")
    print(_TIMES.format(*_HEADER), flush=True)
    timings = []
    for scale, recipes in RECIPES.items():
        data = paper_data(args.data, size, args.seed, scale)
        for method, recipe in recipes.items():
            problem = Problem(recipe(paper_shape(data)).replace(seed=args.seed), data)
            if problem.tuned:
                timings.append(time_step(method, problem, args.repeat))
                print(_times(timings[-1]), flush=True)
            del problem
    print(f"\n{_report(timings)}")
    print(f"At most {peak_memory() / 1e9:.2f} GB of memory, the check in float64 included.")
    if args.json is not None:
        figures = {"size": size, "repeat": args.repeat, "machine": machine, "goals": GOALS}
        rows = [{**asdict(t), "ratio": t.ratio, "autograd_ratio": t.autograd_ratio} for t in timings]
        write_figures(args.json, {**figures, "rows": rows})
    return 0


def time_step(method: str, problem: Problem, repeat: int) -> Timing:
    """Time evaluation plus gradient at the start of a problem in turns, three ways, and compare the results."""
    omega = problem.init()
    results: dict[str, Step] = {}

    def ours() -> None:
        at = problem.evaluate(omega)
        results["ours"] = at.loss, problem.gradient(at)

    first = timed(ours)[0]
    stacked, plain = StackedProblem(problem), StackedProblem(problem, solve=autograd_solve)

    def theirs() -> None:
        results["stacked"] = stacked.evaluate(omega)

    def autograd() -> None:
        results["autograd"] = plain.evaluate(omega)

    times = take_turns({"ours": ours, "stacked": theirs, "autograd": autograd}, repeat, again=True)
    exact = StackedProblem(problem, torch.float64).evaluate(omega)
    dtype = problem.recipe.dtype
    return Timing(
        method=method,
        k=len(problem.data.train),
        n=max(columns.stop for columns in problem.columns.values()),
        dtype=dtype,
        factor=str(stacked.factor_dtype).removeprefix("torch."),
        first=first,
        **{name: taken.median for name, taken in times.items()},
        **{f"{name}_cpu": taken.cpu_median for name, taken in times.items()},
        apart={
            f"ours from stacked {dtype}": compare(results["ours"], results["stacked"]),
            "ours from stacked float64": compare(results["ours"], exact),
            f"stacked {dtype} from float64": compare(results["stacked"], exact),
            f"autograd {dtype} from float64": compare(results["autograd"], exact),
        },
    )


def compare(ours: Step, other: Step) -> Apart:
    """Return how far one ψ and ∇ψ are from another.

    Examples
    --------
    >>> a, b = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 8.0])
    >>> compare((1.0, {"a": a, "b": a}), (2.0, {"a": a, "b": b})).worst
    0.5
    """
    (loss, gradient), (other_loss, other_gradient) = ours, other
    off = {name: gradient[name] - b for name, b in other_gradient.items()}
    entries = {name: (off[name].abs().max() / b.abs().max()).item() for name, b in other_gradient.items()}
    worst = max(entries, key=lambda name: entries[name])
    whole = math.sqrt(sum(part.square().sum().item() for part in off.values()))
    scale = math.sqrt(sum(part.square().sum().item() for part in other_gradient.values()))
    return Apart(abs(loss - other_loss) / abs(other_loss), whole / scale, entries[worst], worst)


_TIMES = "{:<11} {:>6} {:>5} {:>8} {:>11} {:>6} {:>5} {:>12} {:>6} {:>10} {:>9}"
_HEADER = (
    "method",
    "k",
    "n",
    "ours ms",
    "stacked ms",
    "ratio",
    "goal",
    "autograd ms",
    "ratio",
    "CPU ratio",
    "first ms",
)


def _times(timing: Timing) -> str:
    times = (timing.ours, timing.stacked, timing.autograd, timing.first)
    ours, stacked, autograd, first = (f"{1000 * seconds:.1f}" for seconds in times)
    ratio, plain = f"{timing.ratio:.1f}", f"{timing.autograd_ratio:.1f}"
    cpu, goal = f"{timing.stacked_cpu / timing.ours_cpu:.1f}", f"{GOALS[timing.method]:g}"
    row = (timing.method, timing.k, timing.n, ours, stacked, ratio, goal, autograd, plain, cpu, first)
    return _TIMES.format(*row)


def _busy(timings: list[Timing]) -> list[str]:
    """Return a hint where wall time and processor time disagree, which other work on the machine makes them do."""
    disagree = [t.method for t in timings if abs(math.log(t.ratio * t.ours_cpu / t.stacked_cpu)) > math.log(DISAGREE)]
    if not disagree:
        return []
    return [f"Machine busy? Wall and CPU ratios differ for {', '.join(disagree)}: time again when nothing else runs."]


_APART = "{:<11} {:<30} {:>8} {:>8} {:>12}  {}"


def _report(timings: list[Timing]) -> str:
    """Return what the numbers mean: the goal, the first evaluation, and how far the results are apart."""
    ratios = ", ".join(f"{timing.ratio:.1f}" for timing in timings)
    goals = ", ".join(f"{GOALS[timing.method]:g}" for timing in timings)
    lines = [
        f"Goal, on the full set: each ratio at least {goals}. In this run: {ratios}.",
        *_busy(timings),
        "autograd: the same stacked operation, Cholesky of AᵀA, differentiated by torch itself.",
        "CPU ratio: stacked over ours, of processor time, which other work on the machine moves less.",
        "first: our first evaluation plus gradient, which also forms the sums over rows that later ones keep.\n",
        "Relative differences: of ψ, of ∇ψ as a whole, and of the worst entry of ∇ψ by itself.",
        _APART.format("method", "", "ψ", "∇ψ", "worst entry", "").rstrip(),
    ]
    for timing in timings:
        for words, apart in timing.apart.items():
            numbers = (f"{value:.0e}" for value in (apart.loss, apart.gradient, apart.worst))
            lines.append(_APART.format(timing.method, words, *numbers, apart.name))
    fallen = [timing.method for timing in timings if timing.factor != timing.dtype]
    if fallen:
        lines.append(f"The stacked operation had no factor in its own dtype for {', '.join(fallen)}: float64 served.")
    return "\n".join(lines)
