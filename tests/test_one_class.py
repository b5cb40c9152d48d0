"""A model that predicts one class for every row that judges says so."""

from __future__ import annotations

import numpy as np
import pytest

import lsat_explorer as lsat

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 4))
RARE = np.where(X[:, 0] + 2 * RANDOM.normal(size=600) > 4.2, "yes", "no")
DATA = lsat.Data.from_arrays(X, RARE)
TOLD = "are predicted as 'no', which "


@pytest.mark.parametrize(
    ("criterion", "rows"),
    [(lsat.HeldOut(), "validation rows"), (lsat.KFold(4), "rows that judge"), (lsat.LeaveOneOut(), "rows that judge")],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_one_class_for_all_rows_is_told_with_its_share(criterion, rows):
    run = lsat.tune(lsat.Recipe(loss=lsat.CrossEntropy(temperature=True), criterion=criterion), DATA, progress=False)
    judging = DATA.validation if criterion.held_out else DATA.train
    share = np.mean(judging.labels == "no")
    assert 0.9 < share < 1
    assert f"All {rows} {TOLD}{100 * share:.1f} % of them are" in run.message
    assert set(run.model.predict(judging.inputs)) == {"no"}


def test_engines_that_leave_predictions_with_the_rows_say_it_too():
    run = lsat.tune(lsat.Recipe(loss=lsat.CrossEntropy(), engine="chunks"), DATA, progress=False)
    assert TOLD in run.message


def test_nothing_is_told_of_a_model_that_predicts_two_classes():
    labels = np.where(X[:, 0] > 1.2, "yes", "no")
    run = lsat.tune(lsat.Recipe(loss=lsat.CrossEntropy()), lsat.Data.from_arrays(X, labels), progress=False)
    assert len(set(run.model.predict(DATA.validation.inputs))) == 2
    assert TOLD not in run.message


def test_nothing_is_told_of_another_model_with_just_that_error():
    """Two rows of each kind: what is right once and wrong once for each errs on a half, as one class for all does."""
    x = np.array([[1.0], [-1.0], [2.0], [-2.0]] * 5)
    names = np.array(["no", "yes", "no", "yes"] * 5)
    judging = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array(["no", "yes", "no", "yes"])
    data = lsat.Data.from_rows(train=(x, names), validation=judging)
    run = lsat.tune(lsat.Recipe(loss=lsat.CrossEntropy(), engine="memory"), data, progress=False)
    assert run.kept.error == 0.5
    assert TOLD not in run.message
