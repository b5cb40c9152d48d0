"""Classes of fault that come by the command line: a table in a file, and a recipe in another.

The other ways in are in `test_cases_numbers.py` and `test_cases_pages.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from cases import LABELS, X, Y

QUICK = lsat.LineSearch(max_iterations=2)
BARE = lsat.Concat(x=lsat.Identity(), one=lsat.Constant())


@pytest.fixture
def tuned(tmp_path: Path, command: Any) -> Any:
    """Return what `lsat-explorer tune` comes to on a table: its exit code, what it says, and where the run is."""

    def tune(inputs: Any, outcome: Any, recipe: lsat.Recipe | str | None = None) -> tuple[int, str, Path]:
        frame = pd.DataFrame(inputs).rename(columns=lambda name: name if isinstance(name, str) else f"c{name}")
        table, out = tmp_path / "rows.csv", tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        frame.assign(y=outcome).to_csv(table, index=False)
        text = recipe if isinstance(recipe, str) else (recipe or lsat.Recipe(method=QUICK)).to_json()
        (tmp_path / "recipe.json").write_text(text, encoding="utf-8")
        words = ("--data", str(table), "--target", "y", "--out", str(out))
        code, said, error = command("tune", str(tmp_path / "recipe.json"), *words)
        assert "Traceback" not in error
        return code, said + error, out

    return tune


def last_loss(run: Path) -> float:
    return float(pd.read_csv(run / "iterates.csv")["loss"].iloc[-1])


def test_case_01_a_ridge_of_almost_nothing_fits_exactly_or_is_named(tuned: Any) -> None:
    code, said, run = tuned(X, Y, lsat.Recipe(featurizer=BARE, regularizer=lsat.Ridge(log_weight=-40.0), method=QUICK))
    assert (code == 0 and last_loss(run) < 1e-16) or "raise" in said


def test_case_02_columns_of_any_scale_fit_as_their_standardised_ones(tuned: Any) -> None:
    plain, scaled = tuned(X, Y), tuned(X * [2e5, 1.0, 2e11], Y)
    assert plain[0] == scaled[0] == 0
    assert last_loss(scaled[2]) == pytest.approx(last_loss(plain[2]), rel=1e-6)


@pytest.mark.parametrize("kind", [np.int64, bool, str])
def test_case_03_whole_numbers_and_truth_values_are_read(kind: type, tuned: Any) -> None:
    code, said, _ = tuned(np.round(10 * X).astype(np.int64), LABELS.astype(kind))
    assert code == 0, said


@pytest.mark.parametrize(
    ("inputs", "outcome", "words"),
    [
        pytest.param(X, np.zeros(len(X), dtype=str), "class", id="one class"),
        pytest.param(X[:0], LABELS[:0], "row", id="no rows"),
        pytest.param(X[:1], LABELS[:1], "row", id="one row"),
    ],
)
def test_case_05_too_few_rows_or_classes_are_refused(inputs: Any, outcome: Any, words: str, tuned: Any) -> None:
    outcome = outcome if len(outcome) < len(X) else np.full(len(X), "only")
    code, said, run = tuned(inputs, outcome)
    assert code == 2
    assert words in said
    assert not (run / "run.json").exists()


def test_case_06_dependent_columns_are_solved_with_a_ridge_and_named_without(tuned: Any) -> None:
    inputs = np.column_stack([X, X[:, 0], np.ones(len(X)), np.zeros(len(X))])
    code, said, _ = tuned(inputs, Y)
    assert code == 0, said
    bare = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-60.0), method=QUICK)
    code, said, _ = tuned(inputs[:, :4], Y, bare)
    assert "combination" in said
    assert "raise" in said


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_case_09_an_entry_that_is_not_finite_is_named_by_row_and_column(wrong: float, tuned: Any) -> None:
    inputs = X.copy()
    inputs[7, 1] = wrong
    code, said, _ = tuned(inputs, Y)
    assert code == 2
    assert "row 7" in said
    assert "c1" in said
    assert "positive definite" not in said


@pytest.mark.parametrize("wrong", ["NaN", "1e999", '"a"'])
def test_case_09_a_strength_that_is_no_number_is_named(wrong: str, tuned: Any) -> None:
    penalty = {"type": "SumSquares", "weight": 0.0}
    text = json.dumps(json.loads(lsat.Recipe().to_json()) | {"hyper_penalties": {"regularizer.log_weight": penalty}})
    code, said, _ = tuned(X, Y, text.replace('"weight": 0.0', f'"weight": {wrong}'))
    assert code == 2
    assert "weight" in said or "NaN" in said or "1e999" in said


@pytest.mark.parametrize("names", [[3, 100], ["no", "yes"], ["ä", "日本"]], ids=str)
def test_case_12_labels_come_back_as_they_were(names: list[Any], tuned: Any) -> None:
    code, said, run = tuned(X, np.array(names)[LABELS], lsat.Recipe(method=QUICK, loss=lsat.CrossEntropy()))
    assert code == 0, said
    predicted = lsat.FittedModel.load(run / "model.safetensors").predict(X)
    assert set(np.asarray(predicted).tolist()) == set(names)


@pytest.mark.parametrize("most", [0, 1])
def test_case_14_a_run_of_no_iterations_is_the_initial_fit(most: int, tuned: Any) -> None:
    code, _, run = tuned(X, Y, lsat.Recipe(method=lsat.ProximalGradient(max_iterations=most)))
    assert code == 0
    assert len(pd.read_csv(run / "iterates.csv")) == most + 1
    assert json.loads((run / "run.json").read_text())["status"] in ("max_iterations", "maximum iterations", "converged")


def test_case_16_names_of_any_kind_are_kept(tuned: Any) -> None:
    frame = pd.DataFrame(X, columns=["1", "a b", "ü"])
    code, said, run = tuned(frame, Y)
    assert code == 0, said
    assert list(lsat.FittedModel.load(run / "model.safetensors").feature_names) == ["1", "a b", "ü"]


@pytest.mark.parametrize("edges", [[[0, 0]], [[0, 9]], [[0]], "none", [[0.5, 1]]], ids=str)
def test_case_26_a_graph_that_does_not_fit_is_refused(edges: Any, tuned: Any) -> None:
    recipe = json.loads(lsat.Recipe(regularizer=lsat.Smooth(lsat.graphs.path(3))).to_json())
    recipe["regularizer"]["graph"]["edges"] = edges
    code, said, _ = tuned(X, Y, json.dumps(recipe))
    assert code == 2
    assert "edge" in said or "graph" in said
