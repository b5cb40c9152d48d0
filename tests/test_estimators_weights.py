"""Weights of a recipe in an estimator, which holds rows out that these weights do not count."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import lsat_explorer as lsat
from lsat_explorer.estimators.usual import variance

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


def steep():
    r = np.random.default_rng(1)
    rows = 1e3 * r.normal(size=(17, 4))
    return rows, rows @ r.normal(size=4), r.integers(0, 4, 17)


def test_the_tolerance_is_that_of_rows_repeated_as_often_as_they_count():
    rows, targets, counts = steep()
    weighed = lsat.TunedLeastSquaresRegressor().fit(rows, targets, sample_weight=counts)
    repeated = lsat.TunedLeastSquaresRegressor().fit(rows.repeat(counts, 0), targets.repeat(counts))
    assert weighed.n_iter_ == repeated.n_iter_
    found, expected = (model.run_.iterates[-1].objective for model in (weighed, repeated))
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-200, 0.125, 1e200])
def test_the_size_of_all_weights_does_not_count_for_the_tolerance(scale):
    _, targets, counts = steep()
    for shaped in (targets, np.column_stack([targets, targets**2])):
        assert variance(shaped, scale * counts) == pytest.approx(variance(shaped, counts), rel=1e-12)
        assert variance(shaped, np.full(17, scale)) == variance(shaped, None)


def test_a_row_that_hardly_counts_does_not_end_the_tuning():
    rows, targets, _ = steep()
    noise = np.random.default_rng(2).normal(size=17)
    apart, weights = np.append(targets + noise, 1e7), np.append(np.ones(17), 1e-14)
    far = lsat.TunedLeastSquaresRegressor().fit(np.vstack([rows, rows[:1]]), apart, sample_weight=weights)
    without = lsat.TunedLeastSquaresRegressor().fit(rows, targets + noise)
    assert far.run_.recipe.method.tolerance == pytest.approx(without.run_.recipe.method.tolerance, rel=0.2)
    assert far.n_iter_ > 1
