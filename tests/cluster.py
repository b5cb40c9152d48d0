"""Clusters of dask for tests, recipes for them, and what passes between their workers and the process that tunes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.engines import ChunkRows, DaskRows
from lsat_explorer.engines.by_row import ByRow
from lsat_explorer.engines.share import packed
from lsat_explorer.model.cluster import connected
from lsat_explorer.model.piece import Omega

distributed = pytest.importorskip("distributed", reason="there is no dask.distributed: pip install .[dask]")

GRAPH = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()),
    regularizer=lsat.Stack(ridge=lsat.Ridge(block="x"), smooth=lsat.Smooth(lsat.graphs.grid(8, 8), block="x")),
)
FEATURES = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Scale(), near=lsat.KMeansArchetypes(per_class=2), one=lsat.Constant()),
    regularizer=lsat.Stack(a=lsat.Ridge(block="x"), b=lsat.Ridge(block="near")),
)
RECIPES = {
    "ridge and graph": GRAPH,
    "features": FEATURES,
    "row weights": GRAPH.replace(data_weights=lsat.LogWeights()),
    "row weights and features": FEATURES.replace(data_weights=lsat.LogWeights()),
    "k-fold": GRAPH.replace(criterion=lsat.KFold(3), data_weights=lsat.LogWeights()),
    "leave-one-out": GRAPH.replace(criterion=lsat.LeaveOneOut(), data_weights=lsat.LogWeights()),
    "leave-one-out and features": FEATURES.replace(criterion=lsat.LeaveOneOut(), loss=lsat.SquaredError()),
    "leave-one-out, features and weights": FEATURES.replace(
        criterion=lsat.LeaveOneOut(), data_weights=lsat.LogWeights(), loss=lsat.CrossEntropy(temperature=True)
    ),
    "generalized cross-validation": GRAPH.replace(criterion=lsat.GCV(), loss=lsat.SquaredError()),
    "generalized cross-validation and features": FEATURES.replace(criterion=lsat.GCV(), loss=lsat.SquaredError()),
}


def cluster(workers: int = 2) -> Any:
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )


def two_workers() -> Iterator[lsat.Dask]:
    """Yield two workers in this process, and let them go."""
    with cluster() as workers:
        engine = lsat.Dask(workers)
        yield engine
        connected(engine.address).close()


def kill_at(question: int, client: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have a worker killed when so many questions were asked; return the numbers of processes that were."""
    asks, killed, asked = count(1), [], DaskRows._asked

    def ask(rows: DaskRows, *how: Any, **more: Any) -> Any:
        futures = asked(rows, *how, **more)
        if next(asks) == question:
            killed.append(client.run(os.getpid, workers=sorted(client.nthreads())[:1]).popitem()[1])
            os.kill(killed[0], signal.SIGKILL)
        return futures

    monkeypatch.setattr(DaskRows, "_asked", ask)
    return killed


def elsewhere(problem: lsat.Problem) -> Omega:
    """Return an ω that is not the start."""
    start = problem.init()
    return {k: v + 0.1 * torch.sin(torch.arange(v.numel()).double()).reshape(v.shape) for k, v in start.items()}


def on_disk(data: lsat.Data, folder: Path) -> lsat.Data:
    given = {}
    for split in ("train", "validation"):
        rows = getattr(data, split)
        np.save(folder / f"{split}.npy", rows.inputs.numpy())
        given[split] = (folder / f"{split}.npy", rows.labels)
    return lsat.Data.from_rows(**given)


class Counted:
    """Trips, and bytes of the questions and answers in them, by whether an array has an entry for each row of a part.

    Questions that are asked together, before any answer is waited for, are one trip.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trips, self.by_row, self.other, self._waited = 0, 0, 0, True
        asked, gathered, laid, brought = DaskRows._asked, DaskRows._gathered, DaskRows.laid, DaskRows.brought

        def ask(rows: DaskRows, name: str, moving: Any, arguments: Any, *more: Any, **how: Any) -> Any:
            self.trips, self._waited = self.trips + self._waited, False
            for cut in rows._cuts:
                self._count(rows, packed(arguments(cut)))
            return asked(rows, name, moving, arguments, *more, **how)

        def gather(rows: DaskRows, futures: Any) -> Any:
            found = gathered(rows, futures)
            self._waited = True
            self._count(rows, found)
            return found

        def lay(rows: DaskRows, values: torch.Tensor) -> Any:
            if not isinstance(values, ByRow) and values not in rows._lying:
                self._count(rows, [packed(values[cut]) for cut in rows._cuts])
            return laid(rows, values)

        def bring(rows: DaskRows, parts: Any) -> Any:
            found = brought(rows, parts)
            self._count(rows, found)
            return found

        monkeypatch.setattr(DaskRows, "_asked", ask)
        monkeypatch.setattr(DaskRows, "_gathered", gather)
        monkeypatch.setattr(DaskRows, "laid", lay)
        monkeypatch.setattr(DaskRows, "brought", bring)

    def _count(self, rows: DaskRows, value: Any) -> None:
        if isinstance(value, np.ndarray):
            if value.ndim and len(value) in [cut.stop - cut.start for cut in rows._cuts]:
                self.by_row += value.nbytes
            else:
                self.other += value.nbytes
        elif isinstance(value, dict | tuple | list):
            for item in value.values() if isinstance(value, dict) else value:
                self._count(rows, item)


def received(engine: lsat.Dask) -> int:
    """Return the bytes that workers have had from each other."""
    logs = connected(engine.address).run(
        lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log)
    )
    return sum(logs.values())


def same(recipe: lsat.Recipe, engine: lsat.Dask | lsat.Chunks, data: lsat.Data, tolerance: float) -> None:
    ours, theirs = (lsat.Problem(recipe.replace(engine=each), data) for each in (engine, lsat.Memory()))
    omega = elsewhere(theirs)
    here, there = ours.evaluate(omega), theirs.evaluate(omega)
    kind = DaskRows if isinstance(engine, lsat.Dask) else ChunkRows
    assert all(isinstance(part.rows, kind) for part in ours.parts)
    assert here.objective == pytest.approx(there.objective, rel=tolerance)
    scored = ours.parts[-1].rows.predict(here.moving[-1], here.solutions[-1].theta)
    expected = theirs.parts[-1].rows.predict(there.moving[-1], there.solutions[-1].theta)
    torch.testing.assert_close(scored, expected, rtol=0, atol=tolerance)
    assert here.error == pytest.approx(there.error, rel=tolerance)
    found, expected = ours.gradient(here), theirs.gradient(there)
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=0, atol=tolerance * max(1, float(value.abs().max())))
    torch.testing.assert_close(ours.coefficients(omega)[0], theirs.coefficients(omega)[0], rtol=0, atol=tolerance)
    assert ours.training_loss(here) == pytest.approx(theirs.training_loss(there), rel=tolerance)
