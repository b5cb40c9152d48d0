"""A tolerance that rounding keeps out of reach, or that ends a run at once, is said."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lsat_explorer as lsat
from lsat_explorer import Status
from test_problem import make_data


def test_a_tolerance_below_rounding_is_said():
    data = make_data("regression")
    large = lsat.Data.from_arrays(data.train.inputs, 1e6 * data.train.targets, task="regression")
    # Of two slopes rounding hardly makes both zero, as it may of one.
    both = lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(lsat.graphs.path(1 + data.train.inputs.shape[1])))
    recipe = lsat.Recipe(regularizer=both, method=lsat.LineSearch(tolerance=1e-9))
    run = lsat.tune(recipe, large, progress=False)
    assert run.status is Status.STALLED
    assert "out of reach" in run.message


def in_units(factor):
    data = make_data("regression")
    return lsat.Data.from_arrays(data.train.inputs, factor * data.train.targets, task="regression")


@pytest.mark.parametrize("method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS(), lsat.MultiStart()])
def test_a_tolerance_that_ends_a_run_at_once_is_said(method, tmp_path):
    recipe = lsat.Recipe(method=method)
    told = r"A tolerance of (?:0.0001|1e-05) is coarse for an objective of \d\S*e-\d+, .*: lower .* to about \de-\d+"
    with pytest.warns(UserWarning, match=told):
        run = lsat.tune(recipe, in_units(1e-4), progress=False)
    assert run.status is Status.CONVERGED
    assert re.search(told, run.message)
    run.save(tmp_path)
    assert re.search(told, lsat.Run.load(tmp_path).message)
    lowered = float(run.message.partition("to about ")[2].partition(",")[0])
    finer = (
        lsat.MultiStart(lsat.LBFGS(tolerance=lowered))
        if hasattr(method, "method")
        else replace(method, tolerance=lowered)
    )
    again = lsat.tune(recipe.replace(method=finer), in_units(1e-4), progress=False)
    assert "coarse" not in again.message
    assert "coarse" not in lsat.tune(recipe, in_units(1.0), progress=False).message


def test_a_fit_with_nothing_to_tune_is_not_said_to_have_a_coarse_tolerance(tmp_path):
    held = {"regularizer.log_weight": lsat.Frozen()}
    run = lsat.tune(lsat.Recipe(hyper_penalties=held), in_units(1e-4), progress=False)
    run.save(tmp_path)
    assert "coarse" not in run.message + lsat.Run.load(tmp_path).message


def test_a_fit_that_is_all_but_exact_has_no_coarse_tolerance():
    X = np.random.default_rng(0).normal(size=(60, 3))
    exact = lsat.Data.from_arrays(X, X @ [0.6, 0.8, 0.0], task="regression")  # of variance one
    run = lsat.tune(lsat.Recipe(method=lsat.LineSearch(tolerance=2e-3)), exact, progress=False)
    assert run.status is Status.CONVERGED
    assert run.kept.objective < 2e-3


@pytest.mark.parametrize("method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS(tolerance=1e-4)])
@pytest.mark.parametrize(
    ("noise", "criterion", "penalty", "told"),
    [
        (1e-3, lsat.HeldOut(), None, True),
        (1e-3, lsat.LeaveOneOut(), None, True),
        (1e-9, lsat.HeldOut(), None, False),  # exact to all digits that count
        (0.3, lsat.HeldOut(), None, False),  # nothing is left to be had
        (1e-3, lsat.HeldOut(), lsat.Box(0.0, 1.0), False),  # a lower tolerance would change nothing
    ],
    ids=["noise", "noise, left out", "exact", "much noise", "held by a box"],
)
def test_a_tolerance_that_is_larger_than_the_noise_of_the_targets_is_said(method, noise, criterion, penalty, told):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 10))
    data = lsat.Data.from_arrays(X, X @ random.normal(size=10) + noise * random.normal(size=500), task="regression")
    held = {} if penalty is None else {"regularizer.log_weight": penalty}
    recipe = lsat.Recipe(criterion=criterion, method=method, hyper_penalties=held)
    with pytest.warns(UserWarning, match="is coarse for") if told else nullcontext():
        run = lsat.tune(recipe, data, progress=False)
    assert run.status is Status.CONVERGED
    if not told:
        return
    lowered = replace(method, tolerance=float(run.message.partition("to about ")[2].partition(",")[0]))
    finer = lsat.tune(recipe.replace(method=lowered), data, progress=False)
    assert finer.kept.loss < run.kept.loss / 2


def test_estimators_whose_tolerance_is_that_of_their_targets_say_no_such_thing():
    data = in_units(1e-4)
    fitted = lsat.TunedLeastSquaresRegressor().fit(data.train.inputs.numpy(), data.train.targets.numpy())
    assert fitted.run_.status is Status.CONVERGED
    assert "coarse" not in fitted.run_.message


@pytest.mark.parametrize("method", [lsat.LBFGS(), lsat.LineSearch(tolerance=5.0)])
def test_estimators_warn_of_a_tolerance_that_is_coarse_whoever_fits(method):
    data = in_units(1e-4)
    recipe = lsat.Recipe(regularizer=lsat.Ridge(log_weight=5.0), criterion=lsat.LeaveOneOut(), method=method)
    X, y = data.train.inputs.numpy(), data.train.targets.numpy()
    with pytest.warns(ConvergenceWarning, match=r"^A tolerance of \S+ is coarse for an objective of ") as told:
        lsat.TunedLeastSquaresRegressor(recipe).fit(X, y)
    assert [each.filename for each in told] == [__file__]
    lowered = float(str(told[0].message).partition("to about ")[2].rstrip(".").partition(",")[0])
    finer = recipe.replace(method=replace(method, tolerance=lowered))
    assert lsat.TunedLeastSquaresRegressor(finer).fit(X, y).n_iter_ > 0
