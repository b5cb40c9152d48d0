"""How the rows of a table are called in the run of an estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import lsat_explorer as lsat
from lsat_explorer.data.row_names import row_names

X, y = load_breast_cancer(return_X_y=True)
CASE = 300
FLIPPED = np.where(np.arange(len(y)) == CASE, 1 - y, y)
GUISES = {"numpy": np.asarray, "sparse": sparse.csr_array, "polars": polars.DataFrame, "pandas": pd.DataFrame}
ESTIMATORS = [lsat.TunedLeastSquaresClassifier, lsat.TunedLeastSquaresRegressor]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("guise", GUISES)
def test_rows_behind_those_of_no_weight_keep_their_numbers(guise, estimator):
    weights = np.r_[np.zeros(10), np.ones(len(y) - 10)]
    recipe = lsat.Recipe(method=lsat.LBFGS(max_iterations=1), criterion=lsat.LeaveOneOut())
    found = estimator(recipe).fit(GUISES[guise](X), FLIPPED, sample_weight=weights)
    assert found.run_.data.train.rows.tolist() == list(range(10, len(y)))


def test_the_row_in_doubt_is_called_by_its_number_beside_rows_of_no_weight():
    weights = np.r_[np.zeros(10), np.ones(len(y) - 10)]
    found = lsat.TunedLeastSquaresClassifier().fit(X, FLIPPED, sample_weight=weights)
    assert lsat.explain.label_doubt(found.run_.model).sort_values("doubt").index[-1] == CASE


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_rows_of_one_name_are_called_by_their_positions(estimator):
    twice = pd.concat([pd.DataFrame(X[:60]), pd.DataFrame(X[60:120])])
    recipe = lsat.Recipe(method=lsat.LBFGS(max_iterations=1), criterion=lsat.LeaveOneOut())
    found = estimator(recipe).fit(twice, y[:120], sample_weight=[0.0] * 5 + [1.0] * 115)
    assert found.run_.data.train.rows.tolist() == list(range(5, 120))


@pytest.mark.parametrize("index", [["a", "b", None], [1.0, np.nan, 2.0], ["a", "b", "a"], [(1, 2), (1, 3), (1, 2)]])
def test_an_index_that_does_not_name_each_row_once_names_none(index):
    table = pd.DataFrame(X[:3], index=pd.Index(index))
    assert row_names(table, 3).tolist() == [0, 1, 2]
    assert row_names(table[:1], 1).tolist() == index[:1]
