"""Tune two ridge weights, ours against Optuna, a grid and himalaya: evaluations, seconds and the loss reached.

The exit code is 1 when a peer with the same model has a lower loss, or we need as many evaluations as it to its loss.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from lsat_explorer.bench.attempts import Counted, attempt, first_within
from lsat_explorer.bench.machine import facts
from lsat_explorer.bench.output import machine_line, write_figures
from lsat_explorer.bench.problems import Source, two_ridges
from lsat_explorer.bench.searches import SPAN, Rows, himalaya, over_grid, scikit_grid, scikit_loss, tpe
from lsat_explorer.bench.table import SMALL
from lsat_explorer.bench.timing import positive, timed
from lsat_explorer.model.choices import Method
from lsat_explorer.tune import LBFGS, LineSearch, MultiStart, Problem

__all__ = ["OURS", "Peer", "Search", "add_arguments", "objective", "peers", "run", "verdict"]

OURS: dict[str, Method] = {"L-BFGS": LBFGS(), "line search": LineSearch(), "multi-start": MultiStart()}
"""Our methods, the one that the ratios refer to first."""

NEAR = 1e-4

Losses = Sequence[float]


@dataclass(frozen=True)
class Search:
    """One search: the losses in the order of evaluation, the one at the weights that it chose, and what it took.

    ``fits`` says whose fits gave the losses: ``"ours"``, or the program's. ``gradients`` are those of our problem.
    """

    name: str
    fits: str
    losses: tuple[float, ...]
    loss: float
    gradients: int
    seconds: float
    cpu: float

    def needs(self, loss: float) -> int | None:
        """Return the number of evaluations to ``loss``, None where it never comes there."""
        return first_within(self.losses, loss)

    @property
    def same_model(self) -> bool:
        """Whether its fits are those of the problem: himalaya's have a part of θ for each penalty."""
        return self.fits != "himalaya"

    def __str__(self) -> str:
        return f"{self.name} with {self.fits} fits" if self.fits != "ours" else self.name


@dataclass(frozen=True)
class Peer:
    """A search of another program: the module that it needs, and what runs it on our problem and returns the losses.

    ``chosen`` picks the loss at the weights that the search chooses.
    """

    name: str
    fits: str
    module: str
    search: Callable[[Problem], Losses]
    chosen: Callable[[Losses], float] = min

    @property
    def installed(self) -> bool:
        """Whether the program is there."""
        return find_spec(self.module) is not None


def peers(trials: int, points: int, seed: int) -> list[Peer]:
    """Return the searches of other programs: with F from our `Problem`, and with fits of their own."""

    def on_ours(search: Callable[..., None], *choices: int) -> Callable[[Problem], Losses]:
        def run(problem: Problem) -> Losses:
            counted = Counted(problem)
            search(objective(counted), *choices)
            return counted.values

        return run

    def own_tpe(problem: Problem) -> Losses:
        losses: list[float] = []
        loss = scikit_loss(Rows.of(problem))

        def noted(ridge: float, smooth: float) -> float:
            losses.append(loss(ridge, smooth))
            return losses[-1]

        tpe(noted, trials, seed)
        return losses

    grid = f"grid {points}×{points}"
    return [
        Peer("Optuna TPE", "ours", "optuna", on_ours(tpe, trials, seed)),
        Peer("Optuna TPE", "scikit-learn", "optuna", own_tpe),
        Peer(grid, "ours", "sklearn", on_ours(over_grid, points)),
        Peer(grid, "scikit-learn", "sklearn", lambda problem: scikit_grid(Rows.of(problem), points)),
        Peer("random search", "himalaya", "himalaya", lambda p: himalaya(Rows.of(p), "random_search", 10, seed)),
        Peer(
            "hyper-gradient", "himalaya", "himalaya", lambda p: himalaya(Rows.of(p), "hyper_gradient", 20, seed), _last
        ),
    ]


def _last(losses: Losses) -> float:
    return losses[-1]


def objective(counted: Counted) -> Callable[[float, float], float]:
    """Return F of the two log weights as a function of numbers."""

    def F(ridge: float, smooth: float) -> float:
        values = {"regularizer.ridge.log_weight": ridge, "regularizer.smooth.log_weight": smooth}
        omega = {name: torch.tensor(value, dtype=torch.float64, device="cpu") for name, value in values.items()}
        return float(counted.evaluate({**counted.init(), **omega}).objective)

    return F


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer bench peers`."""
    parser.add_argument("--trials", type=positive, default=100, metavar="N", help="of Optuna (default: 100)")
    parser.add_argument("--points", type=positive, default=9, metavar="N", help="of the grid, each way (default: 9)")
    parser.add_argument("--data", metavar="DIR", help="folder of MNIST's IDX files (default: LSAT_MNIST)")
    parser.add_argument("--seed", type=int, default=0, help="of the searches (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")


def run(args: argparse.Namespace) -> int:
    """Run all searches, print each as it ends, and return 1 when a goal of `verdict` is missed."""
    machine = facts()
    print(machine_line(machine))
    print(f"Two ridge weights on 5,000 rows of MNIST, from (0, 0); the others look from {SPAN[0]:g} to {SPAN[1]:g}.")
    print(f"{_LEGEND}\n\n{_HEADER}", flush=True)
    given = two_ridges(Source(args.data, SMALL.size, args.seed))
    searches, absent = [], []
    for name, method in OURS.items():
        searches.append(_ours(name, method, given))
        print(_line(searches[-1], searches[0]), flush=True)
    for peer in peers(args.trials, args.points, args.seed):
        if peer.installed:
            searches.append(_theirs(peer, given))
            print(_line(searches[-1], searches[0]), flush=True)
        else:
            absent.append(peer)
            print(f"{_NAMES.format(peer.name, peer.fits)} {peer.module} is not installed: {_INSTALL}", flush=True)
    sentences, met = verdict(searches)
    print("\n".join(["", *sentences]))
    if args.json is not None:
        rows = [_record(search, searches[0]) for search in searches]
        missing = [{"search": peer.name, "fits": peer.fits, "needs": peer.module} for peer in absent]
        write_figures(args.json, {"machine": machine, "seed": args.seed, "searches": rows, "not_installed": missing})
    return int(not met)


def _ours(name: str, method: Method, given: Problem) -> Search:
    done = attempt(method, _anew(given))
    return Search(name, "ours", done.values, done.objective, done.gradients, done.seconds, done.cpu)


def _theirs(peer: Peer, given: Problem) -> Search:
    problem = _anew(given)
    seconds, cpu, losses = timed(lambda: peer.search(problem))
    return Search(peer.name, peer.fits, tuple(losses), peer.chosen(losses), 0, seconds, cpu)


def _anew(given: Problem) -> Problem:
    """Return the problem with nothing formed yet, so that each search pays for its own sums over rows."""
    return Problem(given.recipe, given.data)


def verdict(searches: Sequence[Search]) -> tuple[list[str], bool]:
    """Say whether no peer has a lower loss than the first search, which comes to each peer's in fewer evaluations.

    Of another model only the loss is told: what its best weights reach says nothing of how well they were searched for.

    Examples
    --------
    >>> ours = Search("L-BFGS", "ours", (3.0, 2.0, 1.0), 1.0, 3, 0.1, 0.1)
    >>> verdict([ours, Search("grid", "ours", (4.0, 2.0, 5.0), 2.0, 0, 0.2, 0.2)])[1]
    True
    """
    first, others = searches[0], [search for search in searches[1:] if search.name not in OURS and search.same_model]
    better = [f"{search} ({search.loss:.7f})" for search in others if search.loss < first.loss]
    slower = [str(search) for search in others if (first.needs(search.loss) or math.inf) >= len(search.losses)]
    lower = f"Goal: no peer with the same model has a lower loss than the {first.loss:.7f} of {first.name}"
    fewer = f"Goal: {first.name} comes to the loss of each such peer in fewer evaluations than the peer"
    sentences = [
        f"{goal}. {'MISSED by ' + ', '.join(missed) if missed else 'Met'}."
        for goal, missed in ((lower, better), (fewer, slower))
    ]
    sentences += [
        f"Another model: {search} reaches {search.loss:.7f}, {abs(search.loss - first.loss):.1e} "
        f"{'below' if search.loss < first.loss else 'above'} {first.name}. Not judged."
        for search in searches
        if not search.same_model
    ]
    return sentences, not better and not slower


_INSTALL = "`pip install 'lsat_explorer[bench]'` installs it."

_LEGEND = f"""\
fits: whose least squares fits give the losses; each search pays for its own sums over rows. evaluations: all that it
made. to {NEAR:g}: those to within {NEAR:g} of the first row's loss. ratio: evaluations over those that the first row
needs to the same loss; wall and processor seconds over those of the first row. himalaya's fits are of another model,
with a part of θ for each penalty: its loss is the cross-entropy of its own predictions at the weights that it chose."""

_NAMES = "{:<15} {:<13}"
_FIGURES = " {:>11} {:>10} {:>9} {:>7} {:>7} {:>7} {:>9} {:>10} {:>8}"
_HEADER = (_NAMES + _FIGURES).format(
    "search",
    "fits",
    "evaluations",
    f"to {NEAR:g}",
    "gradients",
    "ratio",
    "wall s",
    "ratio",
    "CPU ratio",
    "loss",
    "above",
)


def _line(search: Search, first: Search) -> str:
    """Return a row of text, with its ratios to the first."""
    near, figures = search.needs(first.loss + NEAR), _record(search, first)
    ratio = figures["ratio"]
    return (_NAMES + _FIGURES).format(
        search.name,
        search.fits,
        len(search.losses),
        "–" if near is None else near,
        search.gradients,
        "–" if ratio is None else f"{ratio:.1f}",
        f"{search.seconds:.2f}",
        f"{figures['seconds_ratio']:.1f}",
        f"{figures['cpu_ratio']:.1f}",
        f"{search.loss:.7f}",
        f"{search.loss - first.loss:.1e}",
    )


def _record(search: Search, first: Search) -> dict[str, Any]:
    """Return the figures for JSON."""
    needed = first.needs(search.loss)
    ratios = {
        "ratio": None if needed is None else len(search.losses) / needed,
        "seconds_ratio": search.seconds / first.seconds,
        "cpu_ratio": search.cpu / first.cpu,
    }
    return {**asdict(search), "evaluations": len(search.losses), **ratios}
