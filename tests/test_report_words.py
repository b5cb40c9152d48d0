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
