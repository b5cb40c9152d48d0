"""Weights that lie with their rows on workers: the same run, and nothing of the size of the rows comes or goes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from cluster import Counted, cluster, elsewhere, kill_at, on_disk, received
from lsat_explorer.engines import DaskRows
from lsat_explorer.engines.by_row import ByRow
from lsat_explorer.model.cluster import ClusterLost, connected

NAME = "data_weights.log_weight"
RECIPE = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    dtype="float64",
    method=lsat.LineSearch(max_iterations=4),
    hyper_penalties={NAME: lsat.SumSquares(0.01) + lsat.ZeroSum()},
)


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    """Two workers in this process."""
    with cluster() as workers:
        engine = lsat.Dask(workers, weights="workers")
        yield engine
        connected(engine.address).close()


@pytest.fixture
def data(digits: lsat.Data, tmp_path) -> lsat.Data:
    """Digits on disk."""
    return on_disk(digits, tmp_path)


@pytest.fixture
def rows(data: lsat.Data, engine: lsat.Dask) -> DaskRows:
    found = lsat.Problem(RECIPE.replace(engine=engine), data).parts[0].rows
    assert isinstance(found, DaskRows)
    return found


PENALTIES = {
    "none given": {},
    "squares and zero sum": RECIPE.hyper_penalties,
    "absolute value": {NAME: lsat.AbsoluteValue(1e-4)},
    "box": {NAME: lsat.Box(-0.1, 0.1) + lsat.SumSquares(0.01)},
}


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    "method", [lsat.LineSearch(max_iterations=3), lsat.ProximalGradient(max_iterations=3)], ids=repr
)
def test_a_run_is_that_in_memory_and_brings_no_weights_here(data, digits, engine, monkeypatch, penalty, method) -> None:
    recipe = RECIPE.replace(method=method, hyper_penalties=PENALTIES[penalty])
    expected = lsat.tune(recipe, digits, progress=False)
    with monkeypatch.context() as patched:
        patched.setattr(ByRow, "here", None)
        found = lsat.tune(recipe.replace(engine=engine), data, progress=False)
    for ours, theirs in zip(found.iterates, expected.iterates, strict=True):
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
        assert ours.residual == pytest.approx(theirs.residual, rel=1e-6, nan_ok=True)
        assert ours.training_loss == pytest.approx(theirs.training_loss, rel=1e-6)
    assert isinstance(found.omega[NAME], ByRow)
    np.testing.assert_allclose(found.weights(), expected.weights(), atol=1e-6)


def test_an_iteration_moves_sums_alone(engine, tmp_path, monkeypatch) -> None:
    k, v, d = 3001, 1003, 64
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(k + v, d)), generator.normal(size=k + v)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    data = lsat.Data.from_rows((mapped[:k], y[:k]), (mapped[k:], y[k:]))
    problem = lsat.Problem(RECIPE.replace(engine=engine), data)
    at = problem.evaluate(problem.init())
    step = problem.gradient(at)
    before, counted = received(engine), Counted(monkeypatch)
    omega = problem.prox({name: value - 0.1 * step[name] for name, value in at.omega.items()}, 0.1)
    problem.gradient(problem.evaluate(omega))
    assert counted.trips == 2
    assert counted.by_row == 0
    assert counted.other + received(engine) - before <= 2 * 3 * 8 * (d + 1) ** 2


def test_a_gradient_is_that_of_a_problem_in_memory(data, digits, engine) -> None:
    ours, theirs = lsat.Problem(RECIPE.replace(engine=engine), data), lsat.Problem(RECIPE, digits)
    omega = elsewhere(theirs)
    here, there = ours.gradient(ours.evaluate(omega)), theirs.gradient(theirs.evaluate(omega))
    assert isinstance(here[NAME], ByRow)
    for name, value in there.items():
        np.testing.assert_allclose(here[name].numpy(), value.numpy(), atol=1e-10)


FUNCTIONS: list[Callable[[Tensor], Tensor]] = [
    lambda v: 2 - v / 3 + v * v - (-v).abs(),
    lambda v: 1 / (v.square() + 1),
    lambda v: v.sign() * (v.abs() - 0.1).clamp_min(0.0),
    lambda v: v.clamp(-0.2, 0.3),
    lambda v: torch.where(v > 0, v, torch.zeros_like(v)),
    lambda v: v - v.mean(),
    lambda v: ((v >= -1) & (v <= 1)).all(),
    lambda v: (v.abs() > 0.5).any(),
    lambda v: v.exp().sum(),
    lambda v: torch.maximum(v, -v).max(),
    lambda v: v.min(),
    lambda v: (v + torch.arange(len(v)).double()).sum(),
    lambda v: v.isfinite().all(),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_what_acts_row_by_row_is_done_with_the_rows(rows: DaskRows, monkeypatch, number: int) -> None:
    values = torch.sin(torch.arange(len(rows)).double())
    with monkeypatch.context() as patched:
        patched.setattr(ByRow, "here", None)
        found = FUNCTIONS[number](rows.spread(values))
    expected = FUNCTIONS[number](values)
    assert isinstance(found, ByRow) == (expected.ndim == 1)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_all_else_brings_the_numbers_here_once(rows: DaskRows, monkeypatch) -> None:
    values = torch.sin(torch.arange(len(rows)).double())
    lying = rows.spread(values)
    brought, bring = [], rows.brought
    monkeypatch.setattr(rows, "brought", lambda parts: brought.append(parts) or bring(parts))
    assert torch.equal(lying, values)
    assert torch.equal(lying[[3, 1]], values[[3, 1]])
    assert torch.equal(lying.sort().values, values.sort().values)
    assert torch.equal(torch.cat([lying, values]), torch.cat([values, values]))
    assert torch.equal(pickle.loads(pickle.dumps(lying)), values)
    np.testing.assert_array_equal(np.asarray(lying), values)
    assert len(brought) == 1
    with pytest.raises(TypeError, match="add_ changes numbers in place"):
        lying.add_(1)
    assert torch.equal(lying[np.array([0, 2])], lying[torch.tensor([0, 2])])
    assert lying[:] is lying
    assert repr(lying) == f"ByRow({len(rows):,} numbers, with their rows)"


def test_weights_are_saved_and_gone_on_with(data, engine, tmp_path) -> None:
    run = lsat.tune(RECIPE.replace(engine=engine), data, progress=False)
    run.save(tmp_path / "run")
    again = lsat.Run.load(tmp_path / "run", data)
    assert type(again.omega[NAME]) is Tensor
    assert torch.equal(again.omega[NAME], run.omega[NAME])
    resumed = lsat.Problem(RECIPE.replace(engine=engine), data).start(again.omega)
    assert resumed.objective == pytest.approx(run.iterates[-1].objective, rel=1e-12)


def test_weights_of_rows_in_memory_stay_here_with_them(digits: lsat.Data, engine: lsat.Dask) -> None:
    problem = lsat.Problem(RECIPE.replace(engine=engine), digits)
    assert type(problem.evaluate(problem.init()).omega[NAME]) is Tensor
    with pytest.raises(ValueError, match="weights is 'there', expected 'here' or 'workers'"):
        lsat.Dask("tcp://10.0.0.1:8786", weights="there")


def test_a_scheduler_that_is_gone_takes_the_weights_and_says_so(data: lsat.Data) -> None:
    workers = cluster()
    run = lsat.Run(RECIPE.replace(engine=lsat.Dask(workers, weights="workers")), data)
    steps = run.steps()
    next(steps)
    workers.close()
    with pytest.raises(ClusterLost, match="is gone"):
        list(steps)
    with pytest.raises(ClusterLost, match="is gone"):
        run.weights()


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_no_weight(data: lsat.Data, monkeypatch) -> None:
    engine = lsat.Dask.local(workers=2, weights="workers")
    recipe = RECIPE.replace(engine=engine)
    client = connected(engine.address)
    client.wait_for_workers(2)
    expected = lsat.tune(recipe, data, progress=False)
    weights = expected.weights()
    killed = kill_at(7, client, monkeypatch)
    found = lsat.tune(recipe, data, progress=False)
    assert killed
    assert [iterate.objective for iterate in found.iterates] == [iterate.objective for iterate in expected.iterates]
    np.testing.assert_array_equal(found.weights(), weights)
