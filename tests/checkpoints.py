"""What the tests of checkpoints share: recipes of every method, and that a run goes on from a file to the last bit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import lsat_explorer as lsat
from lsat_explorer import Checkpoint, Status
from lsat_explorer.tune.checkpoint_file import NAME
from lsat_explorer.tune.iterate import COLUMNS, row_of
from test_problem import ARCHETYPES, STACK, make_data

WEIGHTS = {
    "data_weights": lsat.LogWeights(),
    "hyper_penalties": {"data_weights.log_weight": lsat.SumSquares(0.05) + lsat.ZeroSum()},
}
FULL = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, **WEIGHTS)
PLAIN = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK)
ENDLESS = {"tolerance": 0.0, "max_iterations": 14}
CASES = {
    "decrease": FULL.replace(method=lsat.ProximalGradient(step=300.0, **ENDLESS)),
    "armijo": FULL.replace(method=lsat.ProximalGradient(step=300.0, accept="armijo", **ENDLESS)),
    "goldstein": FULL.replace(method=lsat.ProximalGradient(step=0.1, accept="goldstein", **ENDLESS)),
    "line search": FULL.replace(method=lsat.LineSearch(**ENDLESS)),
    "l-bfgs": FULL.replace(method=lsat.LBFGS(**ENDLESS)),
    "many starts": PLAIN.replace(method=lsat.MultiStart(lsat.LBFGS(tolerance=1e-3, max_iterations=4), starts=3)),
    "many line searches": PLAIN.replace(method=lsat.MultiStart(lsat.LineSearch(max_iterations=3), starts=3)),
    "grid": lsat.Recipe(method=lsat.Grid(-2.0, 2.0, points=8)),
    "folds": FULL.replace(criterion=lsat.KFold(3), method=lsat.LineSearch(**ENDLESS)),
    "leave one out": lsat.Recipe(
        criterion=lsat.LeaveOneOut(), loss=lsat.SquaredError(), method=lsat.LineSearch(**ENDLESS)
    ),
    "chunks": FULL.replace(engine=lsat.Chunks(rows=16), method=lsat.LineSearch(**ENDLESS)),
    "single": FULL.replace(dtype="float32", method=lsat.LineSearch(**ENDLESS)),
    "ridges in single": lsat.Recipe(dtype="float32", method=lsat.LBFGS(**ENDLESS)),
    "temperature": FULL.replace(loss=lsat.CrossEntropy(temperature=True), method=lsat.LBFGS(**ENDLESS)),
    "selection": lsat.Recipe(
        featurizer=lsat.Concat(x=lsat.SelectFeatures(0.5), one=lsat.Constant()),
        regularizer=lsat.Ridge(),
        method=lsat.LineSearch(**ENDLESS),
    ),
    "frozen": FULL.replace(
        hyper_penalties={**WEIGHTS["hyper_penalties"], "regularizer.smooth.log_weight": lsat.Frozen()},
        method=lsat.LineSearch(**ENDLESS),
    ),
}


def bits(iterate: lsat.Iterate) -> bytes:
    """Every number of an iterate and of its ω, but for the seconds and the mark of where a run was broken off."""
    numbers = [value for name, value in zip(COLUMNS, row_of(iterate), strict=True) if name not in ("seconds", "status")]
    omega = b"".join(name.encode() + value.numpy().tobytes() for name, value in iterate.omega.items())
    return np.array(numbers).tobytes() + omega


def same(run: lsat.Run, other: lsat.Run) -> None:
    """Assert that two runs are one: their iterates, what is kept of ω, how they ended."""
    assert len(run.iterates) == len(other.iterates)
    for a, b in zip(run.iterates, other.iterates, strict=True):
        assert bits(a) == bits(b), (a.number, a, b)
    assert run.status is other.status
    assert run.notes == other.notes
    assert run.kept.number == other.kept.number
    assert run.best.number == other.best.number
    whole, others = run.iterates.kept_whole(), other.iterates.kept_whole()
    assert [one.number for one in whole] == [one.number for one in others]
    assert run.limit == other.limit


@cache
def data_of(task: str = "classification") -> lsat.Data:
    """Data are frozen, so that one serves every test."""
    return make_data(task)


def kept_at(run: lsat.Run, folder: Path, numbers: set[int]) -> Iterator[tuple[int, Path]]:
    """Pull a run, and yield the folder that a process leaves which is killed right after an iterate."""
    for iterate in run.steps():
        if iterate.number in numbers:
            (folder / str(iterate.number)).mkdir(parents=True)
            shutil.copy(run.keeper.path, folder / str(iterate.number) / NAME)
    for number in sorted(numbers):
        yield number, folder / str(number)


def always(folder: Path) -> Checkpoint:
    return Checkpoint(folder, iterations=1, seconds=0.0)


def goes_on(whole: lsat.Run, folder: Path, after: int) -> lsat.Run:
    """Assert that what is in a folder goes on as a run that never was broken off."""
    run = lsat.Run.resume(folder, whole.data)
    assert run.status is Status.BROKEN_OFF
    assert len(run.iterates) == after + 1
    numbers = [iterate.number for iterate in run.steps()]
    assert numbers == list(range(after + 1, len(whole.iterates)))
    same(run, whole)
    return run
