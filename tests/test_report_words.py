"""What a report says in words and numbers, also of runs that ended where numbers are none."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.commands.summary import summary
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


IN_FOLDS = "training rows, each predicted by the fit to the other folds,"
JUDGING = {
    lsat.HeldOut(): "validation rows",
    lsat.GCV(): "training rows",
    lsat.LeaveOneOut(): "training rows, each predicted without itself,",
    lsat.KFold(3): IN_FOLDS,
    lsat.Counted(lsat.KFold(3), (1.0,) * len(DATA.train)): IN_FOLDS,
}


@pytest.mark.parametrize(("criterion", "rows"), JUDGING.items(), ids=map(repr, JUDGING))
def test_the_rows_that_judge_are_called_what_they_are(criterion, rows, tmp_path):
    run = ran(lsat.Recipe(criterion=criterion))
    loss, error = words.story(run)[2:4]
    assert error.startswith(f"The root mean square on the {rows} went from ")
    said = dict(re.split(r"  +", line, maxsplit=1) for line in summary(run, run.model, {}, tmp_path).splitlines())
    if "," not in rows:
        assert loss.startswith("The validation loss went from ")
        assert {"validation loss", f"{rows.split()[0]} error"} < set(said)
    else:
        assert loss.startswith(f"The loss on the {rows} went from ")
        assert said["loss"].endswith(f", of the {rows[:-1]}")
        assert said["error"].endswith(f", of the {rows[:-1]}")
        assert "validation" not in "".join([loss, error, *said])


def test_nothing_is_said_of_looks_at_rows_that_are_not_there(tmp_path):
    given = {"train": (X[:25], X[:25, 0]), "validation": (X[25:], X[25:, 0])}
    run = lsat.tune(lsat.Recipe(), lsat.Data.from_splits(**given), progress=False)
    assert "looked at" not in run.report().html
    run.save(tmp_path / "run")
    assert "The test rows have not been looked at" in lsat.Run.load(tmp_path / "run").report().html  # who knows
    judged = lsat.Data.from_splits(**given, test=(X[:9], X[:9, 0]))
    stopped = lsat.tune(lsat.Recipe(early_stopping=lsat.EarlyStopping()), judged, progress=False)
    told = "Early stopping has judged each iteration by the test rows"
    assert words.story(stopped)[-1] == f"{told}."
    last = lsat.Data.from_splits(**given, test=(X[:9], X[:9, 0]), final=(X[9:], X[9:, 0]))
    stopped = lsat.tune(lsat.Recipe(early_stopping=lsat.EarlyStopping()), last, progress=False)
    assert words.story(stopped)[-1] == f"{told}; final rows have not been looked at by this run."


def test_the_share_that_is_wrong_stands_beside_that_of_the_most_frequent_label():
    labels = np.array(["ape", "bee", "bee"])[np.arange(len(X)) % 3]
    data = lsat.Data.from_arrays(X, labels, validation=0.25)
    run = lsat.tune(lsat.Recipe(), data, progress=False)
    wrong = 100 * np.mean(data.validation.labels != "bee")
    told = f" The label 'bee', predicted for every row, has {wrong:.1f} %."
    assert words.story(run)[3].endswith(told)


def test_several_targets_of_a_row_are_numbers_of_four_digits():
    data = lsat.Data.from_arrays(X, X @ [[1.0, 3e4], [0.0, -2e4], [0.5, 0.0]], validation=0.25)
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.ProximalGradient(max_iterations=3))
    run = lsat.tune(recipe, data, progress=False)
    lightest = run.weights().argsort(kind="stable")[0]
    target = ", ".join(f"{number:.4g}" for number in data.train.labels[lightest]).replace("e+0", "e")
    page = run.report().html
    assert f">{target}</td>" in page
    assert ">target</th>" in page
