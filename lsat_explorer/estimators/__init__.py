"""The scikit-learn faces: a classifier and a regressor that tune the least squares fit they make."""

from __future__ import annotations

from .classifier import TunedLeastSquaresClassifier
from .regressor import TunedLeastSquaresRegressor

__all__ = ["TunedLeastSquaresClassifier", "TunedLeastSquaresRegressor"]
