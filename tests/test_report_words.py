"""What a report says in words and numbers, also of runs that ended where numbers are none."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.report import words

X = np.random.default_rng(0).normal(size=(40, 3))
DATA = lsat.Data.from_arrays(X, X[:, 0], validation=0.25)


def ran(recipe: lsat.Recipe, omega: dict[str, torch.Tensor] | None = None) -> lsat.Run:
    run = lsat.Run(recipe, DATA, omega=omega)
    for _ in run.steps():
        pass
    return run


@pytest.mark.parametrize(
    ("log_weight", "weight"), [(360.0, "e^720"), (-400.0, "e^-800"), (350.0, f"{np.exp(700.0):.4g}".replace("+", ""))]
)
@pytest.mark.parametrize("regularizer", [lsat.Diagonal, lsat.Ridge])
def test_weights_that_no_float_holds_are_powers_of_e(log_weight, weight, regularizer):
    recipe = lsat.Recipe(featurizer=lsat.Identity(), regularizer=regularizer(log_weight=log_weight))
    run = ran(recipe)
    each = regularizer is lsat.Diagonal
    (row,) = words.omega(run)
    assert row[-1] == (f"3 values, all {weight}" if each else weight)
    assert [row[-1] for row in words.columns(run)[1]] == ([weight] * 3 if each else [])
    assert "<h1" in run.report().html


def test_the_least_and_the_greatest_weight_have_their_columns():
    ends = torch.tensor([400.0, 0.0, -400.0], dtype=torch.float64)
    text = words._range(ends, DATA.feature_names, words._weight)
    first, _, last = DATA.feature_names
    assert text == f"3 values, e^-800 ({last}) to e^800 ({first})"


@pytest.mark.parametrize(
    ("log_weight", "said"),
    [(360.0, "larger than any number that a float can hold"), (-400.0, f"From 0 to 0 over {len(DATA.train)} rows")],
)
def test_rows_whose_weights_no_float_holds_are_reported(log_weight, said):
    start = {"data_weights.log_weight": torch.full((len(DATA.train),), log_weight, dtype=torch.float64)}
    run = ran(lsat.Recipe(data_weights=lsat.LogWeights()), start)
    assert not np.isfinite(run.kept.loss)
    assert said in unescape(run.report().html).replace("\u00a0", " ")


def test_the_error_stands_beside_that_of_one_prediction_for_every_row():
    judged, mean = DATA.validation.targets, DATA.train.targets.mean()
    root = words.number_text(float((judged - mean).square().mean().sqrt()))
    assert words.story(ran(lsat.Recipe()))[3].endswith(
        f". The mean of the training rows, predicted for every row, has {root}."
    )

    own = DATA.train.targets
    counts = tuple(range(1, len(own) + 1))
    weight = torch.tensor(counts) / sum(counts)
    left_out = words.story(ran(lsat.Recipe(criterion=lsat.Counted(lsat.LeaveOneOut(), counts))))[3]
    root = words.number_text(float((weight * (own - mean).square().sum(1)).sum().sqrt()))
    assert left_out.endswith(f"predicted for every row, has {root}.")
    folds = lsat.Counted(lsat.KFold(3), counts)
    assert "for every row" not in words.story(ran(lsat.Recipe(criterion=folds)))[3]


def test_the_share_that_is_wrong_stands_beside_that_of_the_most_frequent_label():
    labels = np.array(["ape", "bee", "bee"])[np.arange(len(X)) % 3]
    data = lsat.Data.from_arrays(X, labels, validation=0.25)
    run = lsat.tune(lsat.Recipe(), data, progress=False)
    wrong = 100 * np.mean(data.validation.labels != "bee")
    told = f" The label 'bee', predicted for every row, has {wrong:.1f} %."
    assert words.story(run)[3].endswith(told)
