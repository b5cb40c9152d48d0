"""scikit-learn's own checks of estimators, every one of them."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import lsat_explorer as lsat

ESTIMATORS = [lsat.TunedLeastSquaresClassifier(), lsat.TunedLeastSquaresRegressor()]

pytestmark = pytest.mark.filterwarnings(
    # What the checks themselves bring about: a column of targets on purpose, polars or other packages that are absent.
    "ignore::sklearn.exceptions.DataConversionWarning",
    "ignore::sklearn.exceptions.SkipTestWarning",
)


@parametrize_with_checks(ESTIMATORS)
def test_a_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
