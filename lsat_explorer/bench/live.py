"""Time a run in its open widget against the bare loop over its iterations, the same iterations in turns.

The bare loop runs in the main thread, the other one in the widget's thread, which reports to the displayed view as it
goes along. There is no page: what would be sent to it is packed and signed as a kernel does, and counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median

import numpy as np

from lsat_explorer.bench.machine import facts
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.random_data import random_images
from lsat_explorer.bench.timing import positive, timed
from lsat_explorer.commands.errors import FAILURE, CommandError
from lsat_explorer.data import Data, datasets
from lsat_explorer.model import recipes
from lsat_explorer.tune import Iterate, Problem, ProximalGradient, Run

__all__ = ["CASES", "Case", "Cost", "Pass", "add_arguments", "compare", "prepared", "run", "run_bare", "run_live"]

GOAL = 0.05
"""Most that the widget adds to the time of the iterations, as a share."""


@dataclass(frozen=True)
class Case:
    """Data with the paper's +weighting, and how many iterations are run."""

    data: Callable[[], Data]
    shape: tuple[int, int]
    iterations: int


CASES = {
    "digits": Case(datasets.digits, (8, 8), 640),
    "images": Case(lambda: random_images(5_000), (28, 28), 60),
}
"""The digits that ship with scikit-learn, and random images of the size of the paper's small set."""


@dataclass(frozen=True)
class Pass:
    """Seconds to the last iterate, of the processors too, held up by reports, for the picture; what was reported."""

    seconds: float
    cpu: float
    iterations: int
    picture: float = 0.0
    reporting: float = 0.0
    reports: int = 0
    messages: int = 0
    size: int = 0


@dataclass(frozen=True)
class Cost:
    """Medians of both ways of running one case, in seconds.

    ``bare`` and ``live`` reach to the last iterate; ``reporting`` is the share of a live run's seconds by which its
    reports hold it up, with what the iteration after each takes longer. ``picture`` is what a saved notebook shows,
    drawn once the run has ended. ``reports``, ``messages`` and ``size`` in bytes are of the last live run, without that
    picture.
    """

    case: str
    k: int
    n: int
    iterations: int
    bare: float
    live: float
    bare_cpu: float
    live_cpu: float
    picture: float
    reporting: float
    reports: int
    messages: int
    size: int

    @property
    def added(self) -> float:
        """The share that the widget adds, of wall time."""
        return self.live / self.bare - 1

    @property
    def added_cpu(self) -> float:
        """The share that the widget adds, of processor time."""
        return self.live_cpu / self.bare_cpu - 1

    @property
    def report(self) -> float:
        """Seconds that a report takes."""
        return self.reporting * self.live / self.reports


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench live`."""
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="what to run (default: all)")
    defaults = ", ".join(f"{case.iterations} for {name}" for name, case in CASES.items())
    parser.add_argument("--iterations", type=positive, metavar="N", help=f"of each run (default: {defaults})")
    parser.add_argument("--repeat", type=positive, default=7, metavar="R", help="runs of each (default: 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Run each case both ways and print what the widget costs; a timing is printed and not judged.

    Raises
    ------
    CommandError
        When the libraries of the notebook are not installed.
    """
    try:
        import_module("lsat_explorer.widgets")
    except ImportError as error:
        raise CommandError(str(error), FAILURE) from error
    machine = facts()
    print(machine_line(machine))
    print(f"Paper's +weighting, prepared before; medians of {args.repeat}, in turns.\n")
    print(_COLUMNS.format(*_HEADER))
    found = []
    for name in args.cases:
        found.append(compare(name, args.iterations or CASES[name].iterations, args.repeat))
        print(_line(found[-1]), flush=True)
    print(f"\n{_report(found)}")
    if args.json is not None:
        rows = [
            {**asdict(cost), "added": cost.added, "added_cpu": cost.added_cpu, "report": cost.report} for cost in found
        ]
        write_figures(args.json, {"machine": machine, "repeat": args.repeat, "goal": GOAL, "rows": rows})
    return 0


def compare(name: str, iterations: int, repeat: int) -> Cost:
    """Run one case bare and live in turns, each first every other time, after one of each that is not timed."""
    problem = prepared(name, iterations)
    passes: dict[Callable[[Problem], Pass], list[Pass]] = {run_bare: [], run_live: []}
    for turn in range(1 + repeat):
        for work, taken in list(passes.items())[:: -1 if turn % 2 else 1]:
            taken.append(work(problem))
    bare, live = passes[run_bare][1:], passes[run_live][1:]
    return Cost(
        case=name,
        k=len(problem.data.train),
        n=max(columns.stop for columns in problem.columns.values()),
        iterations=live[-1].iterations,
        bare=median(each.seconds for each in bare),
        live=median(each.seconds for each in live),
        bare_cpu=median(each.cpu for each in bare),
        live_cpu=median(each.cpu for each in live),
        picture=median(each.picture for each in live),
        reporting=median(each.reporting / each.seconds for each in live),
        reports=live[-1].reports,
        messages=live[-1].messages,
        size=live[-1].size,
    )


def prepared(name: str, iterations: int) -> Problem:
    """Return a case's problem, with a method that ends by the number of iterations alone."""
    case = CASES[name]
    method = ProximalGradient(max_iterations=iterations, tolerance=0.0)
    return Problem(recipes.paper_weighting(case.shape).replace(method=method), case.data())


class _Clocked(Run):
    """A run of a prepared problem that notes when each iteration began and ended, and the processors' time then."""

    cpu = 0.0

    @classmethod
    def of(cls, problem: Problem) -> _Clocked:
        """Return a run from the start; the problem, which has no state, serves many."""
        run = cls(problem.recipe, problem.data)
        run.problem = problem
        return run

    def steps(self) -> Iterator[Iterate]:
        """Yield the iterates."""
        self.began, self.ended = list[float](), list[float]()
        began = time.perf_counter()
        for iterate in super().steps():
            self.began.append(began)
            self.ended.append(time.perf_counter())
            self.cpu = time.process_time()
            yield iterate
            began = time.perf_counter()

    def held_up(self, reports: Sequence[tuple[float, float]]) -> float:
        """Return the seconds that reports, each from when to when, took and by which they slowed the next iteration."""
        took = np.subtract(self.ended, self.began)
        inside = [(begin, end) for begin, end in reports if begin < self.began[-1]]
        if not inside:
            return 0.0
        after = np.searchsorted(self.began, [end for _, end in inside])
        slower = float(np.median(took[after]) - np.median(took))
        return sum(end - begin for begin, end in inside) + max(slower, 0.0) * len(inside)


def run_bare(problem: Problem) -> Pass:
    """Pull a run along in this thread."""
    run = _Clocked.of(problem)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in run.steps():
        pass
    return Pass(run.ended[-1] - wall, run.cpu - cpu, len(run.iterates) - 1)


def run_live(problem: Problem) -> Pass:
    """Let a displayed widget pull a run along in its own thread."""
    from lsat_explorer.bench.page import open_page
    from lsat_explorer.widgets import LiveTuner

    run = _Clocked.of(problem)
    with open_page() as page:
        tuner = LiveTuner(run)
        tuner._ipython_display_()
        begun, ended = list[float](), list[float]()
        tuner.worker.listeners.insert(0, lambda: begun.append(time.perf_counter()))
        tuner.worker.listeners.append(lambda: ended.append(time.perf_counter()))
        before = page.messages, page.size
        wall, cpu = time.perf_counter(), time.process_time()
        tuner.start()
        tuner.worker.wait()
        messages, size = page.messages - before[0], page.size - before[1]
        picture = timed(tuner.save_picture)[0]
        tuner.close()
    reports = list(zip(begun, ended, strict=True))
    seconds, iterations, held_up = run.ended[-1] - wall, len(run.iterates) - 1, run.held_up(reports)
    return Pass(seconds, run.cpu - cpu, iterations, picture, held_up, len(reports), messages, size)


_COLUMNS = "{:<8} {:>6} {:>5} {:>11} {:>8} {:>8} {:>8} {:>10} {:>11} {:>8} {:>12} {:>9} {:>6} {:>10}"
_HEADER = (
    *("", "k", "n", "iterations", "bare s", "live s", "added", "CPU added", "in reports"),
    *("reports", "ms a report", "messages", "kB", "picture ms"),
)


def _line(cost: Cost) -> str:
    times = (f"{seconds:.3f}" for seconds in (cost.bare, cost.live))
    added = (f"{100 * share:+.1f} %" for share in (cost.added, cost.added_cpu, cost.reporting))
    sent = (cost.reports, f"{1000 * cost.report:.1f}", cost.messages, f"{cost.size / 1e3:.0f}")
    picture = f"{1000 * cost.picture:.0f}"
    return _COLUMNS.format(cost.case, cost.k, cost.n, cost.iterations, *times, *added, *sent, picture)


def _report(found: list[Cost]) -> str:
    from lsat_explorer.widgets.worker import PERIOD

    added = ", ".join(f"{100 * cost.added:+.1f} %" for cost in found)
    held_up = ", ".join(f"{100 * cost.reporting:.1f} %" for cost in found)
    return "\n".join(
        [
            "bare, live: seconds to the last iterate. added: live over bare, less one; CPU added: of processor time.",
            "in reports: share of a live run's seconds by which its reports hold it up, with what the next iteration",
            "  takes longer; all of one run, so that other work on the machine moves it little.",
            f"reports, messages, kB: of one live run, its end included. There is a report every {PERIOD:g} s at most.",
            "ms a report: time in reports by their number.",
            "picture: what a saved notebook shows, drawn once in the background when the run has ended.",
            f"Goal: at most {GOAL:.0%} added. In this run: {added}; in reports {held_up}.",
        ]
    )
