"""Weights of a recipe in an estimator, which holds rows out that these weights do not count."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import lsat_explorer as lsat

ROWS = 90
X, y = (table[:ROWS] for table in load_diabetes(return_X_y=True))
WEIGHTS = np.linspace(0.5, 2.0, ROWS)
QUICK = lsat.LBFGS(max_iterations=2)


def fit(weights, criterion=None, **how):
    criterion = lsat.HeldOut() if criterion is None else criterion
    recipe = lsat.Recipe(data_weights=weights, criterion=criterion, method=QUICK)
    return lsat.TunedLeastSquaresRegressor(recipe).fit(X, y, **how)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("weights", "advice"),
    [
        (
            lsat.FixedWeights(WEIGHTS),
            r"weigh them by fit\(X, y, sample_weight=…\), or hold none out by criterion=lsat.K",
        ),
        (lsat.GroupWeights(["a", "b", "c"] * 30), r"hold none out by criterion=lsat\.KFold\(\) in the recipe\."),
        (lsat.Times(lsat.LogWeights(), tuple(WEIGHTS)), "hold none out by criterion=lsat.KFold"),
    ],
    ids=["fixed", "groups", "times"],
)
def test_a_weight_for_each_row_is_refused_by_what_to_do_where_some_are_held_out(weights, advice):
    name = type(weights).__name__
    told = rf"^{name} has 90 entries, but of the 90 rows 22 are held out for validation and 68 are fitted: {advice}"
    with pytest.raises(ValueError, match=told):
        fit(weights)
    assert fit(weights, lsat.KFold()).run_.iterates


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_the_message_says_to_do_fits():
    weighed = fit(None, sample_weight=WEIGHTS)
    assert not np.allclose(weighed.predict(X), fit(None).predict(X))
    assert fit(lsat.FixedWeights(WEIGHTS[:68])).run_.iterates  # one for each row that is fitted


def test_another_number_of_entries_is_refused_without_rows_held_out_too():
    with pytest.raises(ValueError, match="has 68 entries, but there are 90 training rows: give one a row"):
        fit(lsat.FixedWeights(WEIGHTS[:68]), lsat.KFold())
