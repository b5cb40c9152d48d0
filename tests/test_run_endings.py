"""How a run ends: each status, what is kept where a loss has no value, and what the message says to do."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer import Status
from lsat_explorer.model.losses import Loss
from lsat_explorer.tune.advice import advice
from test_problem import make_data

stepping = sys.modules["lsat_explorer.tune.stepping"]


@dataclass(frozen=True, repr=False)
class Spoiled(Loss):
    """Squared error that turns NaN, or stays flat, as asked for."""

    nan_after: int = 10**9
    flat: bool = False

    def value(self, predictions: Tensor, targets: Tensor, omega: dict) -> Tensor:
        CALLS.append(1)
        if self.flat:
            return 0 * predictions.sum()
        loss = (predictions - targets).square().sum(1).mean()
        return loss * math.nan if len(CALLS) > self.nan_after else loss


CALLS: list[int] = []


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_max_iterations(limit):
    run = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=limit)), make_data(), progress=False)
    assert run.status is Status.MAX_ITERATIONS
    assert [iterate.number for iterate in run.iterates] == list(range(limit + 1))
    assert math.isfinite(run.iterates[-1].loss)


def test_convergence_at_the_last_iteration_is_convergence():
    full = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient()), make_data(), progress=False)
    assert full.status is Status.CONVERGED
    exact = lsat.ProximalGradient(max_iterations=full.iterates[-1].number)
    assert lsat.tune(lsat.Recipe(method=exact), make_data(), progress=False).status is Status.CONVERGED


def test_nothing_to_tune_is_a_fit():
    recipe = lsat.Recipe(hyper_penalties={"regularizer.log_weight": lsat.Frozen()})
    run = lsat.tune(recipe, make_data(), progress=False)
    assert len(run.iterates) == 1
    assert "Nothing to tune" in run.message


def test_a_flat_loss_is_converged():
    run = lsat.tune(lsat.Recipe(loss=Spoiled(flat=True)), make_data("regression"), progress=False)
    assert run.status is Status.CONVERGED


def test_a_loss_that_turns_nan_keeps_the_best_values():
    # Case 13.
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7)), make_data("regression"), progress=False)
    assert run.status in (Status.NOT_FINITE, Status.MAX_ITERATIONS)
    assert math.isfinite(run.iterates[-1].objective)
    assert not run.iterates[-1].accepted
    assert run.iterates[-1].tried == math.inf
    patient = lsat.ProximalGradient(max_iterations=5000)
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=patient), make_data("regression"), progress=False)
    assert run.status is Status.NOT_FINITE


@pytest.mark.parametrize("method", [lsat.LBFGS(tolerance=0.0), lsat.LineSearch(tolerance=0.0, max_iterations=5000)])
def test_other_methods_too_end_not_finite_after_a_nan(method):
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=method), make_data("regression"), progress=False)
    assert run.status in (Status.NOT_FINITE, Status.MAX_ITERATIONS)
    assert math.isfinite(run.kept.objective)
    assert run.iterates[-1].tried == math.inf


@pytest.mark.parametrize("method", [lsat.MultiStart(lsat.LBFGS(), starts=3), lsat.Grid(points=4)])
def test_searches_end_not_finite_where_no_point_has_a_value(method):
    CALLS.clear()
    with pytest.warns(UserWarning, match="No fit was found. Not finite: no step leads to a finite loss"):
        run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=0), method=method), make_data("regression"), progress=False)
    assert run.status is Status.NOT_FINITE
    assert run.iterates[-1].objective == math.inf


@pytest.mark.parametrize("method", [lsat.MultiStart(lsat.LBFGS(), starts=3), lsat.Grid(points=8)])
def test_searches_keep_the_best_of_the_points_that_have_a_value(method):
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=method), make_data("regression"), progress=False)
    finite = [i.objective for i in run.iterates if i.accepted and math.isfinite(i.objective)]
    assert any(i.tried == math.inf or i.objective == math.inf for i in run.iterates)
    assert run.iterates[-1].objective == run.kept.objective == min(finite)


def test_a_start_without_a_solution_says_what_to_raise_and_names_the_feature():
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(a=lsat.Identity(), b=lsat.Identity()), regularizer=lsat.Ridge(log_weight=-20.0)
    )
    said = r"No fit was found\. .*Feature 6 is a combination .* raise regularizer\.log_weight\. Feature 6 is 'x0'\."
    with pytest.warns(UserWarning, match=said):
        run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.NOT_FINITE
    assert "raise regularizer.log_weight" in run.message
    with pytest.raises(ValueError, match=r"no fit .* Feature 6 is 'x0'\."):
        _ = run.model


def test_a_step_too_small_to_move_is_stalled_not_converged():
    recipe = lsat.Recipe(method=lsat.ProximalGradient(step=1e-30, tolerance=1e-9))
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.STALLED
    assert len(run.iterates) == 2
    assert "float64" not in run.message
    assert 'dtype="float64" goes on' in lsat.tune(recipe.replace(dtype="float32"), make_data(), progress=False).message


@pytest.mark.parametrize(
    ("offset", "dtype", "warned"), [(1e8, "float32", True), (1e4, "float32", False), (1e8, "float64", False)]
)
def test_targets_that_float32_rounds_away_are_warned_of(offset, dtype, warned):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(90, 3))
    data = lsat.Data.from_arrays(X, offset + 20 * X[:, 0] + generator.normal(size=90))
    run = lsat.tune(lsat.Recipe(dtype=dtype), data, progress=False)
    assert ("float32 rounds the targets by up to 6, beside a spread of" in run.message) is warned


IN_TURN = "training rows, which judge them as they are left out in turn."


@pytest.mark.parametrize(
    ("criterion", "rows"),
    [
        (lsat.HeldOut(), "validation rows."),
        (lsat.KFold(3), IN_TURN),
        (lsat.LeaveOneOut(), IN_TURN),
        (lsat.Counted(lsat.LeaveOneOut(), (1.0, 2.0, 3.0) * 15), IN_TURN),
        (lsat.GCV(), ""),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_an_error_that_rises_while_the_loss_falls_is_told_wherever_rows_are_judged_that_are_left_out(criterion, rows):
    recipe = lsat.Recipe(criterion=criterion, method=lsat.ProximalGradient(max_iterations=2))
    run = lsat.tune(recipe, make_data("regression"), progress=False)
    first, last = run.iterates[0], run.iterates[-1]
    run.iterates[-1] = replace(last, loss=first.loss / 2, error=1.5 * first.error, status=Status.CONVERGED)
    told = "The validation loss fell, but the validation error rose from"
    assert (told in advice(run)) == bool(rows)
    assert (rows and f"the hyper-parameters may be fitting the {rows}") in advice(run)


def test_a_box_that_holds_the_optimum_out_is_converged_at_its_end():
    recipe = lsat.Recipe(
        hyper_penalties={"regularizer.log_weight": lsat.Box(-0.1, 0.1)},
        method=lsat.ProximalGradient(step=1e6, max_iterations=50),
    )
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert run.iterates[-1].residual <= 1e-4
    assert "The regularizer ended at the bound" in run.message
    named = recipe.replace(
        regularizer=lsat.Stack(k=lsat.Ridge()), hyper_penalties={"regularizer.k.log_weight": lsat.Box(-0.1, 0.1)}
    )
    assert ". k ended at the bound" in lsat.tune(named, make_data(), progress=False).message  # as it was named
    assert abs(abs(float(run.omega["regularizer.log_weight"])) - 0.1) < 1e-12


def test_a_run_that_is_stopped_while_its_end_is_looked_at_has_ended(monkeypatch):
    recipe = lsat.Recipe(method=lsat.LBFGS())
    alone = lsat.tune(recipe, make_data(), progress=False)
    run = lsat.Run(recipe, make_data())

    def looked(problem, iterate):
        run.stop()
        problem.evaluate(problem.init())
        raise AssertionError("the evaluation was not broken off")

    monkeypatch.setattr(stepping, "notes", looked)
    assert [at.objective for at in run.steps()] == [at.objective for at in alone.iterates]
    assert run.status is alone.status is Status.CONVERGED
