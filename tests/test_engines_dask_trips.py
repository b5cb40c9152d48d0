"""What workers of a dask cluster move in an iteration, and what they and their page say of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import lsat_explorer as lsat
from cluster import GRAPH, RECIPES, Counted, elsewhere, received, two_workers
from lsat_explorer.engines.share import Question, Share


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    yield from two_workers()


@pytest.mark.parametrize(
    ("name", "trips", "matrices"),
    [
        ("ridge and graph", (1, 1), 3),
        ("row weights", (1, 1), 3),
        ("features", (1, 1), 3),
        ("generalized cross-validation", (1, 1), 3),
        ("leave-one-out", (2, 1), 6),
        ("leave-one-out and features", (2, 1), 6),
        ("generalized cross-validation and features", (2, 1), 6),
    ],
)
def test_an_iteration_moves_sums_and_weights(
    engine, monkeypatch, name: str, trips: tuple[int, int], matrices: int
) -> None:
    k, v, d = 3001, 1003, 64
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(k + v, d)), generator.normal(size=k + v)
    data = lsat.Data.from_splits((X[:k], y[:k]), (X[k:], y[k:]))
    features = lsat.Concat(x=lsat.Scale(), one=lsat.Constant())
    tuned = lsat.Recipe(featurizer=features, regularizer=lsat.Ridge(block="x"))
    chosen = RECIPES[name]
    if "features" in name:
        chosen = tuned.replace(criterion=chosen.criterion)
    problem = lsat.Problem(chosen.replace(engine=engine), data)
    problem.evaluate(problem.init())
    before, counted = received(engine), Counted(monkeypatch)
    at = problem.evaluate(elsewhere(problem))
    assert counted.trips == trips[0]
    problem.gradient(at)
    problem.training_loss(at)
    assert counted.trips == sum(trips)
    n, workers = d + 1, 2
    assert counted.other + received(engine) - before <= workers * matrices * 8 * n**2
    # Of a row that is weighed: its log weight, once, and the slope of it.
    assert counted.by_row == (8 * k * 2 if problem.recipe.data_weights is not None else 0)


def test_a_part_moves_a_block_once_an_omega(digits: lsat.Data, engine: lsat.Dask, monkeypatch) -> None:
    formed: list[int] = []
    moving = lsat.engines.MemoryRows.moving
    monkeypatch.setattr(
        lsat.engines.MemoryRows, "moving", lambda self, omega: formed.append(len(self)) or moving(self, omega)
    )
    problem = lsat.Problem(RECIPES["row weights and features"].replace(engine=engine), digits)
    problem.gradient(problem.evaluate(problem.init()))
    assert len(formed) == 4  # two parts of training and two of validation rows
    problem.evaluate(elsewhere(problem))
    assert len(formed) == 8


def test_a_part_says_how_large_it_is(digits: lsat.Data) -> None:
    rows = lsat.Problem(GRAPH, digits).parts[0].rows
    assert Share(rows, 12345).__sizeof__() == 12345
    assert Question("predict", False, None, ()).omega is None


@pytest.mark.slow
def test_bench_scale_prints_what_workers_take(command, tmp_path) -> None:
    words = ("--rows", "400", "--columns", "5", "--cases", "still", "--repeat", "1", "--folder", str(tmp_path))
    code, out, error = command("bench", "scale", *words, "--workers", "1")
    assert code == 0, error
    lines = out.splitlines()
    assert lines[-2].startswith("workers  iteration s  share of ideal")
    assert lines[-1].split()[0] == "1"
    assert lines[-1].split()[2] == "1.00"


def test_a_live_run_links_to_the_page_of_its_cluster(digits: lsat.Data, engine: lsat.Dask) -> None:
    recipe = GRAPH.replace(engine=engine, method=lsat.LineSearch(max_iterations=1))
    tuner = lsat.widgets.LiveTuner(digits, recipe)
    tuner.start()
    tuner.wait(60)
    assert tuner.controls.dashboard == engine.dashboard
    tuner.restart(recipe.replace(engine="memory"))
    assert tuner.controls.dashboard == ""
    tuner.close()
