"""Penalties beside which the rows weigh nothing leave nothing of the features, and the run says so."""

from __future__ import annotations

import numpy as np
import pytest

import lsat_explorer as lsat

X = np.random.default_rng(0).normal(size=(200, 3))
DATA = lsat.Data.from_arrays(X, X @ [1.0, 2.0, 3.0])
CLASSES = lsat.Data.from_arrays(X, np.where(X.sum(1) > 0, "up", "down"))
NOISE = lsat.Data.from_arrays(X, np.random.default_rng(1).normal(size=200))
TOLD = "The penalties leave nothing of the features"


def tuned(data, weight, **choices):
    weights = lsat.FixedWeights(np.full(len(data.train), weight))
    return lsat.tune(lsat.Recipe(data_weights=weights, **choices), data, progress=False)


@pytest.mark.parametrize("data", [DATA, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("held", [True, False])
def test_rows_that_weigh_nothing_beside_the_ridge_are_told(data, held):
    penalties = {"regularizer.log_weight": lsat.Frozen()} if held else {}
    run = tuned(data, 1e-12, hyper_penalties=penalties)
    assert run.message.startswith("Nothing to tune" if held else "Converged")
    assert TOLD in run.message
    assert np.ptp(run.model.decision_function(X), 0).max() < 1e-6  # the same for every row


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("data", [DATA, CLASSES, NOISE], ids=["numbers", "classes", "noise"])
def test_nothing_is_told_of_rows_that_weigh_something_or_of_penalties_that_tuning_raised(data, held):
    penalties = {"regularizer.log_weight": lsat.Frozen()} if held else {}
    assert TOLD not in tuned(data, 1.0, hyper_penalties=penalties).message
