"""Count what each method needs to come near the best F: evaluations to within 1e-2, 1e-3 and 1e-4, gradients, seconds.

With --stacked also the time to within 1e-3, ours against the paper's rule on the stacked operation of its appendix. The
exit code is 1 when the small set misses a goal of evaluations.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lsat_explorer.bench.attempts import Attempt, attempt
from lsat_explorer.bench.machine import facts
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.problems import PROBLEMS, Source
from lsat_explorer.bench.race import HEADER as RACE_HEADER
from lsat_explorer.bench.race import Race, race
from lsat_explorer.bench.table import FULL, SMALL
from lsat_explorer.model.choices import Method
from lsat_explorer.tune import LBFGS, LineSearch, MultiStart, Problem, ProximalGradient

__all__ = ["DISTANCES", "METHODS", "Comparison", "add_arguments", "compare", "run"]

_LIMIT = 1_000

METHODS: dict[str, Method] = {
    "paper's rule": ProximalGradient(max_iterations=_LIMIT),
    "estimated step": ProximalGradient(step=None, max_iterations=_LIMIT),
    "line search": LineSearch(max_iterations=_LIMIT),
    "L-BFGS": LBFGS(max_iterations=_LIMIT),
}
"""By their names in the table, the one that the ratios refer to first."""

SEVERAL_OPTIMA: dict[str, dict[str, Method]] = {
    "two-ridges": {"multi-start": MultiStart(LBFGS(max_iterations=_LIMIT))},
}
"""Methods of problems that need more than one start."""

DISTANCES = {"1e-2": 1e-2, "1e-3": 1e-3, "1e-4": 1e-4}

GOALS = {"feat": 16, "weighting": 24}
"""Most evaluations of L-BFGS or the line search, the better of both, to within 1e-3 on the small set."""

REFERENCE = {
    ("feat", "paper's rule"): "33/36/98",
    ("weighting", "paper's rule"): "31/38/–",
    ("feat", "L-BFGS"): "13/14/18",
    ("weighting", "L-BFGS"): "8/24/–",
    ("feat", "line search"): "10/16/37",
    ("weighting", "line search"): "9/13/28",
}
"""The same three counts of the reference computation, independent of this package: small set, seed 0."""

STACKED = ("reg2", "feat", "weighting")


@dataclass(frozen=True)
class Comparison:
    """The attempts of all methods on one problem.

    ``best`` is the least F that any of them evaluated. Distances from it are of F itself where F is a cross-entropy,
    and shares of ∣best∣ where ``relative``, for a squared error has the units of the targets.
    """

    problem: str
    rows: int
    parameters: int
    relative: bool
    attempts: dict[str, Attempt]

    @property
    def best(self) -> float:
        """The least F of all evaluations."""
        return min(min(attempt.values) for attempt in self.attempts.values())

    def target(self, distance: float) -> float:
        """Return the F that counts as within ``distance`` of the best.

        Examples
        --------
        >>> one = Attempt((300.0, 200.0), (0.1, 0.2), 2, 200.0, "converged", 0.2, 0.2)
        >>> Comparison("table", 10, 1, True, {"L-BFGS": one}).target(0.01)
        202.0
        """
        return self.best + distance * (abs(self.best) if self.relative else 1.0)

    def counts(self, method: str) -> dict[str, int | None]:
        """Return a method's evaluations to within each of `DISTANCES`, None where it never comes there."""
        return {name: self.attempts[method].evaluations_to(self.target(d)) for name, d in DISTANCES.items()}

    def ratio(self, method: str) -> float | None:
        """Return how many times fewer evaluations to within 1e-3 it takes than the first method."""
        ours, first = (self.counts(name)["1e-3"] for name in (method, next(iter(self.attempts))))
        return None if ours is None or first is None else first / ours

    def soonest(self) -> str:
        """Return the method that takes the fewest seconds to within 1e-3."""
        reached = [name for name in self.attempts if self.counts(name)["1e-3"] is not None]
        return min(reached, key=lambda name: self.attempts[name].seconds_to(self.target(DISTANCES["1e-3"])))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench methods`."""
    parser.add_argument("--full", action="store_true", help="50,000 training and validation rows of MNIST, not 5,000")
    parser.add_argument("--stacked", action="store_true", help="also time the paper's rule on the stacked operation")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, metavar="NAME", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--data", metavar="DIR", help="folder of MNIST's IDX files (default: LSAT_MNIST)")
    parser.add_argument("--seed", type=int, default=0, help="of splits and recipes (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Run every method on every problem and return 1 when a goal of evaluations is missed."""
    size = (FULL if args.full else SMALL).size
    machine, source = facts(), Source(args.data, size, args.seed)
    print(machine_line(machine))
    print(f"MNIST, where it serves: {size:,} training and validation rows; two-ridges has 5,000 of its own.")
    print(f"{_LEGEND}\n\n{_HEADER}", flush=True)
    comparisons, races = [], []
    for name in args.problems or PROBLEMS:
        comparisons.append(compare(name, PROBLEMS[name](source)))
        print("\n".join(_lines(comparisons[-1], not args.full and args.seed == 0)), flush=True)
        if args.stacked and name in STACKED:
            races.append(_race(comparisons[-1], PROBLEMS[name](source)))
    goals = [] if args.full else [_goal(c) for c in comparisons if c.problem in GOALS]
    print("\n".join(["", *(sentence for sentence, _ in goals), *_race_lines(races, args.full)]).rstrip())
    if args.json is not None:
        figures = {"size": size, "seed": args.seed, "machine": machine, "distances": DISTANCES, "goals": GOALS}
        rows = [_record(comparison) for comparison in comparisons]
        write_figures(args.json, {**figures, "problems": rows, "stacked": [each.record() for each in races if each]})
    return int(not all(met for _, met in goals))


def compare(name: str, problem: Problem) -> Comparison:
    """Run all methods on a problem, each from its start."""
    methods = {**METHODS, **SEVERAL_OPTIMA.get(name, {})}
    start = problem.init()
    parameters = sum(start[entry].numel() for entry in problem.tuned)
    problem.evaluate(start)  # forms the sums that every method then finds, so that none pays for the others
    attempts = {label: attempt(method, problem) for label, method in methods.items()}
    return Comparison(name, len(problem.data.train), parameters, not problem.loss.classifies, attempts)


_LEGEND = """\
1e-2, 1e-3, 1e-4: evaluations of F, the start and rejected ones included, to within this distance of the best F that any
method found: of F itself where it is a cross-entropy, of its share where it is a squared error (problems marked %).
ratio: evaluations of the paper's rule to within 1e-3 over the method's. reference: the three counts elsewhere."""

_LINE = "{:<16} {:<14} {:>5} {:>5} {:>5} {:>6} {:>11} {:>9} {:>13}  {:<14} {:>7} {:>6}  {}"
_HEADER = _LINE.format(
    "problem", "method", *DISTANCES, "ratio", "evaluations", "gradients", "F", "status", "wall s", "CPU s", "reference"
).rstrip()


def _lines(comparison: Comparison, referenced: bool) -> list[str]:
    """Return the rows of one problem."""
    lines = []
    for label, each in comparison.attempts.items():
        ratio = comparison.ratio(label)
        lines.append(
            _LINE.format(
                comparison.problem + " %" * comparison.relative,
                label,
                *("–" if count is None else count for count in comparison.counts(label).values()),
                "–" if ratio is None else f"{ratio:.1f}",
                len(each.values),
                each.gradients,
                f"{each.objective:.8g}",
                each.status,
                f"{each.seconds:.2f}",
                f"{each.cpu:.2f}",
                REFERENCE.get((comparison.problem, label), "") if referenced else "",
            ).rstrip()
        )
    return lines


def _goal(comparison: Comparison) -> tuple[str, bool]:
    """Say whether the better of L-BFGS and the line search meets the goal of evaluations."""
    most = GOALS[comparison.problem]
    counts = {label: comparison.counts(label)["1e-3"] for label in ("L-BFGS", "line search")}
    found = {label: count for label, count in counts.items() if count is not None}
    best = min(found, key=lambda label: found[label], default=None)
    met = best is not None and found[best] <= most
    shown = "never" if best is None else f"{found[best]} ({best})"
    goal = f"Goal for {comparison.problem}: within 1e-3 in at most {most} evaluations, by L-BFGS or the line search"
    return f"{goal}. Here: {shown}, {'met' if met else 'MISSED'}.", met


def _race(comparison: Comparison, problem: Problem) -> Race | None:
    label = comparison.soonest()
    paper = comparison.attempts[next(iter(METHODS))]
    return race(comparison.problem, problem, (label, METHODS[label]), comparison.target(DISTANCES["1e-3"]), paper)


def _race_lines(races: list[Race | None], full: bool) -> list[str]:
    """Return the table of the stacked operation, empty where it was not asked for."""
    if not races:
        return []
    lines = [
        "",
        "Seconds from one start to within 1e-3 of the best F: ours by the method that was soonest there, with the sums",
        "over rows formed anew; the paper's rule on the stacked operation. Both find the same features prepared.",
        RACE_HEADER,
        *(each.line(full) for each in races if each is not None),
    ]
    missing = races.count(None)
    return [*lines, f"{missing} of the runs did not come so near."] if missing else lines


def _record(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of one problem for JSON."""
    rows = []
    for label, each in comparison.attempts.items():
        figures = asdict(each)
        times, values = figures.pop("times"), figures.pop("values")
        counts = {"evaluations_to": comparison.counts(label), "ratio": comparison.ratio(label)}
        rows.append(
            {"method": label, "evaluations": len(values), **counts, **figures, "values": values, "times": times}
        )
    facts_of = {"problem": comparison.problem, "rows": comparison.rows, "parameters": comparison.parameters}
    return {**facts_of, "relative": comparison.relative, "best": comparison.best, "methods": rows}
