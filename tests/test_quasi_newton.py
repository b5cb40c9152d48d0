"""L-BFGS-B whatever the units of F: its first step and its way, points without a finite F, and runs kept before."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

import lsat_explorer as lsat
from lsat_explorer.tune.quasi_newton import _Said

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4))
Y = X @ [1.0, -1.0, 0.5, 0.0] + RANDOM.normal(size=120)
RECIPE = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), method=lsat.LBFGS(tolerance=0.0, max_iterations=12))


def run_in(units: float, recipe: lsat.Recipe = RECIPE) -> lsat.Run:
    run = lsat.Run(recipe, lsat.Data.from_arrays(X, Y * units, validation=0.4))
    for _ in run.steps():
        pass
    return run


@pytest.mark.parametrize("power", [-12, -7, 8, 40])
def test_the_way_does_not_depend_on_the_units_of_the_targets(power):
    plain, other = run_in(1.0), run_in(2.0**power)
    assert len(plain.iterates) == len(other.iterates) > 8
    for one, two in zip(plain.iterates, other.iterates, strict=True):
        assert two.objective == one.objective * 4.0**power
        assert all(torch.equal(two.omega[name], value) for name, value in one.omega.items())


@pytest.mark.parametrize("units", [1e-6, 1.0, 1e5])
def test_the_first_step_moves_the_entry_of_largest_slope_by_about_one(units):
    problem = lsat.Problem(RECIPE, lsat.Data.from_arrays(X, Y * units, validation=0.4))
    first, second, *_ = RECIPE.method.iterates(problem)
    gradient = problem.gradient(problem.evaluate(first.omega))["regularizer.log_weight"]
    assert second.accepted
    moved = second.omega["regularizer.log_weight"] - first.omega["regularizer.log_weight"]
    largest = int(gradient.abs().argmax())
    assert int(moved.abs().argmax()) == largest
    assert 0.7 < float(moved[largest].abs()) < 1.42
    torch.testing.assert_close(moved / moved[largest], gradient / gradient[largest])


def test_entries_held_by_a_bound_do_not_set_the_length_of_the_first_step():
    recipe = RECIPE.replace(hyper_penalties={"regularizer.log_weight": lsat.Box(0.0, 8.0)})
    problem = lsat.Problem(recipe, lsat.Data.from_arrays(X, Y, validation=0.4))
    first, second, *_ = recipe.method.iterates(problem)
    gradient = problem.gradient(problem.evaluate(first.omega))["regularizer.log_weight"]
    moved = second.omega["regularizer.log_weight"] - first.omega["regularizer.log_weight"]
    assert float(gradient.max()) > 8 * float(-gradient.min()) > 0
    assert not moved[gradient > 0].any()
    assert 0.7 < float(moved.max()) < 1.42


@pytest.mark.parametrize("end", [0.05, 0.5, 0.9, 1.5, 2.5, 4.0])
def test_points_without_a_finite_f_are_stepped_back_from(end, monkeypatch):
    evaluate = lsat.Problem.evaluate

    def walled(problem: lsat.Problem, omega: Any) -> Any:
        at = evaluate(problem, omega)
        beyond = float(omega["regularizer.log_weight"].abs().max()) > end
        return dataclasses.replace(at, objective=np.inf, loss=np.inf) if beyond else at

    monkeypatch.setattr(lsat.Problem, "evaluate", walled)
    run = run_in(1.0, RECIPE.replace(method=lsat.LBFGS(tolerance=0.0, max_iterations=40)))
    tried = np.array([iterate.tried for iterate in run.iterates])
    assert np.isinf(tried).any()
    assert len(tried) > 10
    first = run.iterates[0]
    reached = float(run.omega["regularizer.log_weight"].abs().max())
    assert 0.8 * end < reached <= end
    assert run.kept.objective < first.objective


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_rows_are_weighed_as_well_as_by_the_line_search(seed):
    table, target = load_diabetes(return_X_y=True, as_frame=True)
    data = lsat.Data.from_arrays(table, target, seed=seed)
    groups = np.asarray(table.loc[data.train.rows].sex > 0).astype(int)
    recipe = lsat.Recipe(data_weights=lsat.GroupWeights(groups), method=lsat.LBFGS())
    run = lsat.tune(recipe, data, progress=False)
    other = lsat.tune(recipe.replace(method=lsat.LineSearch()), data, progress=False)
    assert run.kept.loss <= other.kept.loss * (1 + 1e-6)


def test_a_run_that_an_earlier_version_kept_goes_on_in_the_units_that_it_had():
    memory = _Said({"a": torch.zeros(1)}, 4.0)
    memory.answers.append((1.0, np.ones(1)))
    kept = dict(memory.memory(run_in(1.0).iterates[0], False)())
    assert _Said.of(kept).scale == 4.0
    del kept["scale"]
    assert _Said.of(kept).scale == 1.0
