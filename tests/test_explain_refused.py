"""What cannot be explained as it was asked for: the sentence names what to give in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge

import lsat_explorer as lsat
from lsat_explorer import explain

ASKED: dict[str, Callable[[Any], Any]] = {
    "label_doubt": explain.label_doubt,
    "effect_on_validation": explain.effect_on_validation,
    "knn_shapley": explain.knn_shapley,
    "overview": explain.overview,
    "what_if": explain.what_if,
    "attribution": lambda model: explain.attribution(model, 0),
    "consequences": lambda model: explain.consequences(model, 0),
}
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
OUTCOMES = {
    lsat.TunedLeastSquaresClassifier: np.where(X[:, 0] + 0.3 * RANDOM.normal(size=60) > 0, "yes", "no"),
    lsat.TunedLeastSquaresRegressor: X @ [1.0, 2.0, 3.0] + 0.3 * RANDOM.normal(size=60),
}
EITHER = pytest.mark.parametrize("kind", OUTCOMES, ids=lambda kind: kind.__name__)


@EITHER
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_estimator_that_is_not_fitted_is_to_be_fitted_first(kind, ask):
    expected = f"model is a {kind.__name__}, expected a FittedModel: fit(X, y) first, then give estimator.model_."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        ask(kind())


@EITHER
@pytest.mark.parametrize("validation", [None, 0.3])
def test_for_a_fitted_estimator_the_attribute_is_named_that_is_explained(kind, validation):
    estimator = kind(validation=validation).fit(X, OUTCOMES[kind])
    right = "estimator.model_" if validation is None else "estimator.run_.model"
    for ask in ASKED.values():
        with pytest.raises(
            ValueError, match=rf"expected a FittedModel: give {re.escape(right)}(, the fit without.*)?\.$"
        ):
            ask(estimator)
    named = {"estimator.model_": estimator.model_, "estimator.run_.model": estimator.run_.model}
    assert len(explain.label_doubt(named[right])) == (60 if validation is None else 42)
    if validation is not None:  # the last fit has the rows held out, too
        with pytest.raises(ValueError, match=r"give estimator\.run_\.model, or that of a run, run\.model\."):
            explain.label_doubt(estimator.model_)


def test_what_is_no_estimator_of_ours_is_told_both_ways():
    with pytest.raises(
        ValueError, match=r"model is a Ridge, .* run\.model, or of a fitted estimator, estimator\.model_\.$"
    ):
        explain.label_doubt(Ridge())


@EITHER
@pytest.mark.parametrize("neighbours", [0, -1, 2.5, True, "10"])
def test_an_overview_takes_the_same_numbers_of_neighbours_of_classes_and_of_numbers(kind, neighbours):
    data = lsat.Data.from_arrays(X, OUTCOMES[kind], validation=20, test=0)
    problem = lsat.Problem(lsat.Recipe(), data)
    model = lsat.FittedModel.of(problem, problem.init())
    with pytest.raises(ValueError, match=rf"^neighbours is {neighbours!r}: expected a whole number from 1"):
        explain.overview(model, neighbours=neighbours)
    assert len(explain.overview(model, neighbours=np.int64(3))) == 40


def masks(rows: int) -> dict[str, Any]:
    """The first two rows, marked in as many ways as there are."""
    mask = np.arange(rows) < 2
    return {"numpy": mask, "list": mask.tolist(), "torch": torch.tensor(mask), "pandas": pd.Series(mask)}


@pytest.mark.parametrize("kind", masks(3))
def test_a_mask_of_rows_is_no_list_of_their_names(kind):
    data = lsat.Data.from_arrays(X, OUTCOMES[lsat.TunedLeastSquaresClassifier], validation=20, test=0)
    problem = lsat.Problem(lsat.Recipe(), data)
    model = lsat.FittedModel.of(problem, problem.init())
    train, validation = masks(40)[kind], masks(20)[kind]
    told = r"is a mask of 40 true and false, expected names of rows: give those in data\.train\.rows\[mask\]\.$"
    with pytest.raises(ValueError, match=f"^drop {told}"):
        explain.what_if(model, drop=train)
    for act in ("keep", "drop", "ambiguous", "clear"):
        with pytest.raises(ValueError, match=f"^rows {told}"):
            getattr(lsat.Verdicts(), act)(train)
    with pytest.raises(ValueError, match=f"^rows {told}"):
        lsat.Verdicts().relabel(train, "yes")
    with pytest.raises(
        ValueError, match=r"^validation_row is a mask of 20 .* give those in data\.validation\.rows\[mask\]"
    ):
        explain.attribution(model, validation)
    with pytest.raises(
        ValueError, match=r"^training_row is a mask of 40 .* give those in data\.train\.rows\[mask\]\.$"
    ):
        explain.consequences(model, train)
    one, other = (explain.what_if(model, drop=d).after for d in (data.train.rows[train], list(data.train.rows[:2])))
    assert one == other


@pytest.mark.parametrize("true", [True, np.True_])
def test_true_and_false_are_not_the_rows_called_1_and_0(true):
    data = lsat.Data.from_splits(train=(X[:40], np.arange(40.0)), validation=(X[40:], np.arange(20.0)))
    problem = lsat.Problem(lsat.Recipe(), data)
    model = lsat.FittedModel.of(problem, problem.init())
    for ask in (
        lambda: explain.what_if(model, drop=true),
        lambda: explain.what_if(model, drop=[2, true]),
        lambda: explain.what_if(model, relabel={true: 1.0}),
        lambda: explain.attribution(model, true),
        lambda: explain.consequences(model, true),
    ):
        with pytest.raises(ValueError, match="names row True, which is not among the"):
            ask()
