"""What the tests of `test_cases_*.py` share: small rows, and every way in which they can be given and fitted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lsat_explorer as lsat

ROWS = 24
X = np.random.default_rng(0).normal(size=(ROWS, 3)) + 1.0
Y = X @ [1.0, -2.0, 0.5] + 1.0
LABELS = (np.median(Y) < Y).astype(int)
QUICK = lsat.Recipe(method=lsat.LineSearch(max_iterations=2))
REGRESSION = QUICK.replace(loss=lsat.SquaredError())


def fitted(data: lsat.Data, inputs: Any, recipe: lsat.Recipe = QUICK) -> np.ndarray:
    """Predictions for inputs of a model that was fitted to data."""
    return np.asarray(lsat.tune(recipe, data, progress=False).model.decision_function(inputs))


def from_arrays(inputs: Any, outcome: Any, **how: Any) -> np.ndarray:
    """By `Data.from_arrays`."""
    return fitted(lsat.Data.from_arrays(inputs, outcome, **how), inputs)


def from_splits(inputs: Any, outcome: Any, **how: Any) -> np.ndarray:
    """By `Data.from_splits`; the validation rows are the training rows."""
    return fitted(lsat.Data.from_splits((inputs, outcome), (inputs, outcome), **how), inputs)


def from_rows(inputs: Any, outcome: Any, **how: Any) -> np.ndarray:
    """By `Data.from_rows`, a chunk of rows at a time."""
    data = lsat.Data.from_rows((inputs, outcome), (inputs, outcome), **how)
    return fitted(data, inputs, QUICK.replace(engine="chunks"))


def regressor(inputs: Any, outcome: Any, **how: Any) -> np.ndarray:
    """By the regressor."""
    return _estimated(lsat.TunedLeastSquaresRegressor(REGRESSION), inputs, outcome, "predict", **how)


def classifier(inputs: Any, outcome: Any, **how: Any) -> np.ndarray:
    """By the classifier."""
    return _estimated(lsat.TunedLeastSquaresClassifier(QUICK), inputs, outcome, "decision_function", **how)


def _estimated(estimator: Any, inputs: Any, outcome: Any, method: str, **how: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # they are stopped early
        return np.asarray(getattr(estimator.fit(inputs, outcome, **how), method)(inputs))


Entry = Callable[..., np.ndarray]
DATA: dict[str, Entry] = {"from_arrays": from_arrays, "from_splits": from_splits, "from_rows": from_rows}
NUMBERS: dict[str, Entry] = {**DATA, "regressor": regressor}
CLASSES: dict[str, Entry] = {**DATA, "classifier": classifier}
numbers = pytest.mark.parametrize("entry", NUMBERS.values(), ids=NUMBERS)
classes = pytest.mark.parametrize("entry", CLASSES.values(), ids=CLASSES)
SOLVERS = {"cholesky": lsat.Cholesky(), "qr": lsat.QR(), "lsmr": lsat.LSMR(), "cg": lsat.CG()}
solvers = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
BARE = lsat.Concat(x=lsat.Identity(), one=lsat.Constant())
RIDGE = lsat.Recipe(featurizer=BARE, regularizer=lsat.Ridge(block="x"), loss=lsat.SquaredError())
"""Columns as they are and a constant, with a ridge on the columns."""


def data_of(inputs: Any = X, outcome: Any = Y, **how: Any) -> lsat.Data:
    """Rows that train and validate."""
    return lsat.Data.from_splits((inputs, outcome), (inputs, outcome), **how)


def model_of(recipe: lsat.Recipe, data: lsat.Data) -> lsat.FittedModel:
    """The fit at the hyper-parameters that a recipe begins with."""
    problem = lsat.Problem(recipe, data)
    return lsat.FittedModel.of(problem, problem.init())
