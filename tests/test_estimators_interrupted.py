"""A fit that does not end, of an estimator that was fitted before, and of one that was not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import lsat_explorer as lsat

TABLE, CODES = load_breast_cancer(return_X_y=True, as_frame=True)
X = TABLE.iloc[:, :3]
TUMOURS = np.where(CODES == 1, "benign", "malign")
ANSWERS = np.where(CODES == 1, "yes", "no")
ENDS = [KeyboardInterrupt, RuntimeError]


def ends(monkeypatch, error, meanwhile=lambda: None):
    """Have every run from now on end by an error at its second iterate."""
    steps = lsat.Run.steps

    def ending(run):
        yield next(steps(run))
        meanwhile()
        raise error

    monkeypatch.setattr(lsat.Run, "steps", ending)


@pytest.mark.parametrize("error", ENDS)
def test_a_second_fit_that_does_not_end_leaves_the_classifier_as_it_was(monkeypatch, error):
    found = lsat.TunedLeastSquaresClassifier().fit(X, TUMOURS)
    predicted, page, run = found.predict(X), found._repr_html_(), found.run_
    ends(monkeypatch, error)
    with pytest.raises(error):
        found.fit(X[X.columns[::-1]], ANSWERS)
    np.testing.assert_array_equal(found.predict(X), predicted)
    assert found.classes_.tolist() == list(found.model_.classes) == ["benign", "malign"]
    assert found.feature_names_in_.tolist() == list(X.columns)
    assert found.run_ is run
    assert len(found._repr_html_()) == len(page)


def test_a_second_fit_that_is_refused_leaves_the_regressor_as_it_was():
    found = lsat.TunedLeastSquaresRegressor().fit(X, CODES)
    predicted = found.predict(X)
    with pytest.raises(ValueError, match="y has nan at row 0"):
        found.fit(X[X.columns[:2]], pd.DataFrame({"a": CODES, "b": [np.nan] * len(X)}))
    np.testing.assert_array_equal(found.predict(X), predicted)
    assert found.n_features_in_ == 3


@pytest.mark.parametrize("error", ENDS)
def test_a_first_fit_that_does_not_end_leaves_an_estimator_that_is_not_fitted(monkeypatch, error):
    found = lsat.TunedLeastSquaresClassifier()

    def is_not_fitted():
        for asked in (lambda: found.predict(X), lambda: check_is_fitted(found), found.explore):
            with pytest.raises(NotFittedError):
                asked()

    ends(monkeypatch, error, is_not_fitted)
    for _ in range(2):
        with pytest.raises(error):
            found.fit(X, TUMOURS)
        is_not_fitted()
        assert found.run_.iterates  # what it came to is there
        assert not hasattr(found, "classes_")
