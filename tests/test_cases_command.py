"""Classes of fault that come by the command line: a table in a file, and a recipe in another.

The other ways in, and what is covered where, are in `cases_covered.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from cases import BARE, LABELS, ROWS, X, Y
from lsat_explorer import model
from lsat_explorer.data.idx import write_idx
from lsat_explorer.tune.checkpoint_file import NAME
from waiting import until

QUICK = lsat.LineSearch(max_iterations=2)
PLAIN = lsat.Recipe(featurizer=BARE, regularizer=lsat.Ridge(block="x"), loss=lsat.SquaredError(), method=QUICK)
ZERO = lsat.ProximalGradient(max_iterations=0)


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


@pytest.fixture
def divided(tmp_path: Path, command: Any) -> Any:
    """The same with rows (X, y) to train and others to validate, of types that Parquet keeps."""
    pytest.importorskip("pyarrow")

    def tune(train: Any, validation: Any, recipe: lsat.Recipe) -> tuple[int, str, Path]:
        out = tmp_path / f"divided-{len(list(tmp_path.iterdir()))}"
        for name, (inputs, outcome) in (("train", train), ("validation", validation)):
            names = [f"c{column}" for column in range(inputs.shape[1])]
            pd.DataFrame(inputs, columns=names).assign(y=outcome).to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / "recipe.json").write_text(recipe.to_json(), encoding="utf-8")
        words = ("--data", str(tmp_path / "train.parquet"), "--validation", str(tmp_path / "validation.parquet"))
        code, said, error = command("tune", str(tmp_path / "recipe.json"), *words, "--target", "y", "--out", str(out))
        assert "Traceback" not in error
        return code, said + error, out

    return tune


def model_in(run: Path) -> lsat.FittedModel:
    return lsat.FittedModel.load(run / "model.safetensors")


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


def test_case_04_a_row_of_weight_zero_is_no_row_of_a_file(divided: Any) -> None:
    weights = np.where(np.arange(ROWS) % 4 == 1, 0.0, 1.5)
    kept = weights > 0
    some = [
        divided(rows, (X, Y), PLAIN.replace(data_weights=lsat.FixedWeights(given.tolist()), method=ZERO))
        for rows, given in (((X, Y), weights), ((X[kept], Y[kept]), weights[kept]))
    ]
    assert [code for code, _, _ in some] == [0, 0]
    found, expected = (model_in(run).predict(X) for _, _, run in some)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


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


def test_case_05_weights_of_zero_and_a_class_that_is_not_validated_are_refused_by_name(
    tuned: Any, divided: Any
) -> None:
    weights = {"type": "FixedWeights", "values": [0.0] * ROWS}
    code, said, run = tuned(X, Y, json.dumps(json.loads(lsat.Recipe().to_json()) | {"data_weights": weights}))
    assert (code, run.exists()) == (2, False)
    assert "data_weights: FixedWeights: every weight is 0, which leaves no rows" in said
    named = np.where(LABELS, "a", "b")
    code, said, _ = divided((X, named), (X[LABELS == 1], named[LABELS == 1]), lsat.Recipe(method=QUICK))
    assert code == 2
    assert "validation y has no row of class 'b', which training has" in said


def test_case_06_dependent_columns_are_solved_with_a_ridge_and_named_without(tuned: Any) -> None:
    inputs = np.column_stack([X, X[:, 0], np.ones(len(X)), np.zeros(len(X))])
    code, said, _ = tuned(inputs, Y)
    assert code == 0, said
    bare = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-60.0), method=QUICK)
    code, said, _ = tuned(inputs[:, :4], Y, bare)
    assert "combination" in said
    assert "raise" in said


def test_case_07_a_large_single_precision_column_that_hardly_varies_is_as_in_double(divided: Any) -> None:
    column = np.full(ROWS, 1e8, dtype=np.float32)
    column[3] += 8
    inputs = np.column_stack([column, X[:, 0].astype(np.float32)])
    recipe = lsat.Recipe(method=QUICK)
    runs = [divided((rows, Y), (rows, Y), recipe) for rows in (inputs, inputs.astype(np.float64))]
    assert [code for code, _, _ in runs] == [0, 0]
    found, expected = (model_in(run).predict(inputs.astype(np.float64)) for _, _, run in runs)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_case_08_single_precision_of_large_numbers_is_as_double(divided: Any) -> None:
    inputs = np.arange(10_000, dtype=np.float32)[:, None]
    outcome = 3 + 0.5 * inputs[:, 0].astype(np.float64)
    weak = PLAIN.replace(regularizer=lsat.Ridge(block="x", log_weight=-8.0), method=ZERO)
    code, said, run = divided((inputs, outcome), (inputs[:100], outcome[:100]), weak)
    assert code == 0, said
    np.testing.assert_allclose(model_in(run).predict(inputs.astype(np.float64)), outcome, rtol=1e-5)


def test_case_10_a_matrix_without_full_rank_is_an_outcome_that_is_said(divided: Any) -> None:
    square = np.arange(1.0, 10.0).reshape(3, 3), np.ones(3)
    recipe = PLAIN.replace(featurizer=lsat.Identity(), regularizer=lsat.Matrix([[0.0, 0.0, 0.0]]))
    _, said, _ = divided(square, square, recipe)
    assert "Feature 2 is a combination of the features before it" in said


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


def test_case_12_a_label_that_training_lacks_is_refused_by_name(divided: Any) -> None:
    named = np.where(LABELS, "a", "b").astype(object)
    other = named.copy()
    other[5] = "c"
    code, said, _ = divided((X, named), (X, other), lsat.Recipe(method=QUICK))
    assert code == 2
    assert "validation y has the label 'c' at row 5, which no training row has" in said


def test_case_13_a_loss_that_turns_nan_keeps_the_best_values_and_one_that_is_not_there_is_named(tuned: Any) -> None:
    calls = []

    def turns(predictions: Any, targets: Any) -> Any:
        calls.append(1)
        return (predictions - targets).square().sum(1).mean() * (float("nan") if len(calls) > 4 else 1.0)

    model.register_loss("turns nan by the command line", turns)
    noisy = Y + np.random.default_rng(1).normal(size=ROWS)
    loss = model.CustomLoss("turns nan by the command line")
    code, said, run = tuned(X, noisy, PLAIN.replace(loss=loss, method=lsat.LineSearch()))
    assert code == 0, said
    assert "not a finite number" in said
    assert np.isfinite(model_in(run).predict(X)).all()
    text = PLAIN.to_json().replace('"SquaredError"', '"CustomLoss", "name": "turns man by the command line"')
    code, said, _ = tuned(X, noisy, text)
    assert code == 2
    assert "turns man by the command line" in said


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


def test_case_17_a_device_that_is_not_there_is_named_with_those_that_are(tuned: Any) -> None:
    code, said, _ = tuned(X, Y, PLAIN.replace(device="cuda:99"))
    assert code == 2
    assert "Device 'cuda:99' is not available: choose one of cpu" in said


def test_case_22_a_second_run_into_the_same_folder_is_refused(tuned: Any, command: Any, tmp_path: Path) -> None:
    _, _, run = tuned(X, Y, PLAIN)
    before = (run / "iterates.csv").read_bytes()
    words = ("--data", str(tmp_path / "rows.csv"), "--target", "y", "--out", str(run))
    code, _, error = command("tune", str(tmp_path / "recipe.json"), *words)
    assert code == 2
    assert f"{run} is not empty" in error
    assert (run / "iterates.csv").read_bytes() == before


def test_case_24_a_page_without_a_kernel_holds_the_numbers_and_a_picture(
    tuned: Any, command: Any, tmp_path: Path
) -> None:
    _, _, run = tuned(X, Y, PLAIN)
    code, said, _ = command("show", str(run), "--html", str(tmp_path / "page.html"))
    assert code == 0
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page or "data:image/png" in page
    assert f"{last_loss(run):.3g}" in page
    for words in (said, page):
        assert " object at 0x" not in words


@pytest.mark.parametrize("shape", [(5, 7), (4, 4, 3)], ids=str)
def test_case_25_images_of_another_size_are_shown_right_or_refused(
    shape: tuple[int, ...], command: Any, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    for name, count in (("train", 60), ("t10k", 20)):
        write_idx(tmp_path / f"{name}-images-idx3-ubyte", random.integers(0, 256, (count, *shape), dtype=np.uint8))
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte", (np.arange(count) % 3).astype(np.uint8))
    (tmp_path / "recipe.json").write_text(lsat.Recipe(method=QUICK).to_json())
    words = ("--data", str(tmp_path), "--size", "60", "--out", str(tmp_path / "run"))
    code, _, error = command("tune", str(tmp_path / "recipe.json"), *words)
    if len(shape) == 3:
        assert code == 2
        assert "expected uint8 images (N, h, w)" in error
        return
    assert code == 0, error
    words = ("--data", str(tmp_path), "--size", "60", "--html", str(tmp_path / "page.html"))
    assert command("show", str(tmp_path / "run"), *words)[0] == 0
    assert model_in(tmp_path / "run").feature_names[-1] == "pixel_4_6"


@pytest.mark.parametrize("edges", [[[0, 0]], [[0, 9]], [[0]], "none", [[0.5, 1]]], ids=str)
def test_case_26_a_graph_that_does_not_fit_is_refused(edges: Any, tuned: Any) -> None:
    recipe = json.loads(lsat.Recipe(regularizer=lsat.Smooth(lsat.graphs.path(3))).to_json())
    recipe["regularizer"]["graph"]["edges"] = edges
    code, said, _ = tuned(X, Y, json.dumps(recipe))
    assert code == 2
    assert "edge" in said or "graph" in said


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_case_27_a_command_that_is_killed_goes_on_from_a_whole_checkpoint(command: Any, tmp_path: Path) -> None:
    long = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=100_000, tolerance=0.0))
    (tmp_path / "recipe.json").write_text(long.to_json())
    out = tmp_path / "run"
    words = ("tune", str(tmp_path / "recipe.json"), "--data", "digits", "--out", str(out))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-m", "lsat_explorer", *words], env=environment, stderr=subprocess.PIPE)
    try:
        until(lambda: (out / NAME).exists() or process.poll() is not None)
    finally:
        process.kill()
        _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    run = lsat.Run.resume(out, lsat.datasets.digits())
    assert all(np.isfinite(value.numpy()).all() for value in run.omega.values())
    assert [path.name for path in out.iterdir() if path.name.endswith(".safetensors")] == [NAME]
    code, _, error = command("tune", "--resume", str(out), "--data", "digits", "--seed", "1")
    assert code == 2
    assert "is of a run on other data" in error  # it is read, and asks for its own
    assert next(iter(run.steps())).number == run.iterates[0].number + len(run.iterates) - 1
