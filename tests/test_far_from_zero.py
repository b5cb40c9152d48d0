"""Columns far from zero beside a constant: what float64 loses of ψ is told, with the column and what to do."""

from __future__ import annotations

import numpy as np
import pytest

import lsat_explorer as lsat

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 3))
Y = X @ [1.0, -1.0, 0.5] + 0.3 * RANDOM.normal(size=400)
NAMES = ["age", "height", "time"]


def tuned(mean: float, featurizer: lsat.Featurizer, deviation: float = 1.0) -> lsat.Run:
    shifted = X * [1.0, 1.0, deviation] + [0.0, 0.0, mean]
    data = lsat.Data.from_arrays(shifted, Y, validation=0.4, feature_names=NAMES)
    recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(block="x", log_weight=-2.0))
    run = lsat.Run(recipe, data)
    for _ in run.steps():
        pass
    return run


def off(mean: float) -> float:
    """Return how far F is from that of the same columns about zero, to which float64 gives all its digits."""
    first, exact = (tuned(at, lsat.Concat(x=lsat.Identity(), one=lsat.Constant())).iterates[0] for at in (mean, 0.0))
    return abs(first.loss / exact.loss - 1)


@pytest.mark.parametrize(("mean", "places"), [(1e5, 4), (1e6, 2)])
def test_as_many_digits_hold_as_are_told(mean, places):
    run = tuned(mean, lsat.Concat(x=lsat.Identity(), one=lsat.Constant()))
    assert f"'time' is {mean:.0e} times its deviation away from zero" in run.message
    assert f"about {places} digits of the loss hold. Standardise the columns, as Scale() does." in run.message
    assert 10.0 ** -(places + 2) < off(mean) < 10.0 ** -(places - 1)


def test_a_fit_that_fails_for_it_names_the_column_that_is_far():
    run = tuned(1e7, lsat.Concat(x=lsat.Identity(), one=lsat.Constant()))
    assert not np.isfinite(run.kept.loss)
    assert "'time' is 1e+07 times its deviation" in run.message
    with pytest.raises(ValueError, match=r"'time' is .* Standardise the columns"):
        _ = run.model


@pytest.mark.parametrize(
    ("mean", "deviation", "featurizer"),
    [
        (1e3, 1.0, lsat.Concat(x=lsat.Identity(), one=lsat.Constant())),
        (1e6, 1.0, lsat.Concat(x=lsat.Scale(tuned=False), one=lsat.Constant())),
        (1e6, 1.0, lsat.Concat(x=lsat.Identity())),
        (1e6, 0.0, lsat.Concat(x=lsat.Identity(), one=lsat.Constant())),
    ],
    ids=["near", "standardised", "without a constant", "all alike"],
)
def test_nothing_is_told_where_no_digits_are_lost(mean, deviation, featurizer):
    assert "away from zero" not in tuned(mean, featurizer, deviation).message


def test_rows_on_disk_are_looked_at_too(tmp_path):
    far = np.add(X, [0.0, 0.0, 1e6])
    data = lsat.Data.from_rows([(far[:200], Y[:200])], [(far[200:], Y[200:])], folder=tmp_path)
    features = lsat.Concat(x=lsat.Identity(), one=lsat.Constant())
    recipe = lsat.Recipe(featurizer=features, regularizer=lsat.Ridge(block="x"))
    assert "'x2' is 1e+06 times its deviation" in lsat.tune(recipe, data, progress=False).message
