"""A fitted model taken away: its file across versions, its table of coefficients, and missing entries it fills."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.data.safe_file import read_tensors, write_tensors
from test_problem import make_data

# Written by version 0.1.0 of the package, format 1: iris, with powers, archetypes of both kernels and a temperature.
OLD = Path(__file__).parent / "data" / "model-format-1.safetensors"
FLOWERS = np.array([[5.1, 3.5, 1.4, 0.2], [6.0, 2.9, 4.5, 1.5], [6.9, 3.1, 5.4, 2.1]])
SCORES = [
    [1.0855882005676751, -0.05364871121649237, -0.021025650028771853],
    [-0.01707000535175035, 0.7854251696881387, 0.23883544174681268],
    [0.053510819059257336, -0.0010459806257988036, 0.953856391352873],
]
PROBABILITIES = [
    [0.9996087023893536, 0.00017148388482427808, 0.00021981372582210407],
    [0.0021866292170370904, 0.9824799535761818, 0.015333417206781155],
    [0.0010550127767932987, 0.0006965093731845432, 0.9982484778500222],
]
QUICK = lsat.LBFGS(max_iterations=3)


def test_an_old_file_predicts_what_it_did():
    model = lsat.FittedModel.load(OLD)
    np.testing.assert_allclose(model.decision_function(FLOWERS), SCORES, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.predict_proba(FLOWERS), PROBABILITIES, rtol=1e-8)
    assert model.predict(FLOWERS).tolist() == ["setosa", "versicolor", "virginica"]
    assert model.feature_names[0] == "sepal length (cm)"
    assert (model.recipe.seed, list(model.blocks), model.fill) == (3, ["raw", "near", "soft", "one"], None)
    assert OLD.stat().st_size < 20_000


def test_coefficients_are_theta_by_block_name_and_class():
    table = lsat.FittedModel.load(OLD).coefficients()
    theta = lsat.FittedModel.load(OLD).theta.numpy()
    np.testing.assert_array_equal(table.to_numpy(), theta)
    assert table.columns.tolist() == ["setosa", "versicolor", "virginica"]
    assert table.index.names == ["block", "feature"]
    assert table.loc["raw"].index[3] == "petal width (cm)"
    assert table.loc["near"].index.tolist() == [f"kmeans_archetypes {i}" for i in range(4)]
    assert table.loc[("one", "1"), "virginica"] == theta[-1, 2]


@pytest.mark.parametrize(
    ("featurizer", "names"),
    [
        (lsat.Identity(), ["a", "b", "c", "d"]),
        (lsat.Chain(lsat.Scale(), lsat.SelectFeatures(0.5)), ["a", "b", "c", "d"]),
        (lsat.Chain(lsat.Scale(), lsat.LowRank(2), lsat.PowerTransform()), ["low_rank 0", "low_rank 1"]),
        (lsat.Concat(x=lsat.Identity(), more=lsat.Concat(one=lsat.Constant())), ["a", "b", "c", "d", "1"]),
    ],
    ids=repr,
)
def test_a_feature_that_is_one_input_has_its_name(featurizer, names):
    X = np.random.default_rng(0).normal(size=(60, 4))
    data = lsat.Data.from_arrays(X, X @ [1, 2, 3, 4.0], feature_names="abcd")
    problem = lsat.Problem(lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge()), data)
    model = lsat.FittedModel.of(problem, problem.init())
    assert model.coefficients().index.get_level_values("feature").tolist() == names
    assert model.coefficients().columns.tolist() == [0]
    if featurizer == lsat.Identity():
        np.testing.assert_allclose(model.coefficients().loc["", 0].to_numpy(), model.theta[:, 0].numpy())


@pytest.mark.parametrize("missing", ["mean", "median"])
def test_a_model_fills_what_is_missing_as_its_data_did_also_after_loading(missing, tmp_path):
    random = np.random.default_rng(1)
    whole = pd.DataFrame(random.normal(size=(80, 3)), columns=["a", "b", "c"], index=[f"r{i}" for i in range(80)])
    target = whole.sum(axis=1)
    holes = whole.mask(random.random(whole.shape) < 0.2).convert_dtypes()
    with pytest.raises(ValueError, match="expected finite numbers"):
        lsat.Data.from_arrays(holes, target)
    data = lsat.Data.from_arrays(holes, target, missing=missing)
    train = holes.loc[list(data.train.rows)]
    assert data.fill == pytest.approx(tuple(getattr(train, missing)()))
    run = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False)
    expected = run.model.predict(holes.fillna(pd.Series(data.fill, index=holes.columns)).astype(float))
    run.model.save(tmp_path / "model.safetensors")
    for model in (run.model, lsat.refit(run), lsat.FittedModel.load(tmp_path / "model.safetensors")):
        assert model.fill == data.fill
    loaded = lsat.FittedModel.load(tmp_path / "model.safetensors")
    for given in (holes, holes.to_numpy(dtype=float, na_value=np.nan), holes.astype(object)):
        np.testing.assert_allclose(loaded.predict(given), expected)
    with pytest.raises(ValueError, match="X holds inf in row 2"):
        loaded.predict(np.array([[0, 0, 0], [0, np.nan, 0], [0, 0, np.inf]]))
    plain = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False).model
    with pytest.raises(ValueError, match="X holds nan in row 0"):
        plain.predict(np.full((1, len(plain.feature_names)), np.nan))


def test_splits_given_apart_are_filled_by_the_training_rows():
    X, y = np.array([[1.0, np.nan], [3.0, 2.0], [5.0, 4.0]]), np.array([0.5, 1.0, 1.5])
    data = lsat.Data.from_splits((X, y), (np.full((1, 2), np.nan), y[:1]), missing="mean")
    assert data.fill == (3.0, 3.0)
    assert data.train.inputs.tolist() == [[1.0, 3.0], [3.0, 2.0], [5.0, 4.0]]
    assert data.validation.inputs.tolist() == [[3.0, 3.0]]
    with pytest.raises(ValueError, match="validation X has 3 columns and training X has 2"):
        lsat.Data.from_splits((X, y), (np.zeros((1, 3)), y[:1]), missing="mean")


TIMES = 1.7e9 + 50.0 * np.random.default_rng(2).normal(size=(80, 1))
"""Seconds, as a clock counts them: of these float32 holds every 128th."""


@pytest.mark.parametrize("given", [np.float32, np.float64])
def test_what_stands_for_a_missing_entry_is_not_rounded_with_the_row(given):
    X = np.concatenate([np.random.default_rng(3).normal(size=(80, 1)), TIMES], 1)
    y = X[:, 0] + (X[:, 1] - 1.7e9) / 50
    X[::5, 1] = np.nan
    data = lsat.Data.from_arrays(X, y, missing="mean")
    model = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False).model
    found = model.predict(np.array([[0.5, np.nan]], dtype=given))
    assert found == model.predict(np.array([[0.5, data.fill[1]]]))


@pytest.mark.parametrize(("first", "second"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_all_rows_are_filled_with_the_number_that_the_model_takes(first, second):
    X = TIMES.copy()
    X[::5] = np.nan
    data = lsat.Data.from_splits((X.astype(first), y := np.arange(80.0)), (X.astype(second), y), missing="mean")
    for split in (data.train, data.validation):
        assert set(split.inputs[::5, 0].tolist()) == set(data.fill)


def test_a_model_of_weighted_samples_comes_back_from_its_file(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    weights = np.linspace(0.5, 2.0, 50)
    recipe = lsat.Recipe(data_weights=lsat.GroupWeights(), criterion=lsat.KFold(3))
    for given in (None, recipe):
        model = lsat.TunedLeastSquaresClassifier(given).fit(X, y, sample_weight=weights).model_
        model.save(tmp_path / "model.safetensors")
        loaded = lsat.FittedModel.load(tmp_path / "model.safetensors")
        assert loaded.recipe == model.recipe
        assert torch.equal(loaded.theta, model.theta)
        assert isinstance(lsat.Recipe.from_json(model.recipe.to_json()).criterion, lsat.Counted)
    with pytest.raises(ValueError, match="counts has 3 entries, but"):
        lsat.tune(lsat.Recipe(criterion=lsat.Counted(lsat.HeldOut(), (1, 2, 3))), make_data(), progress=False)
    with pytest.raises(ValueError, match="Times: counts has 3 entries, but"):
        lsat.tune(lsat.Recipe(data_weights=lsat.Times(lsat.LogWeights(), (1, 2, 3))), make_data(), progress=False)


# --- where it is written, and where it is read to --------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> lsat.Run:
    return lsat.tune(lsat.Recipe(method=QUICK), make_data("classification"), progress=False)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_model_has_the_rights_of_any_new_file(mask, run, tmp_path):
    before = os.umask(mask)
    try:
        branch = run.branch(1)
        list(branch.steps())
        branch.save(tmp_path / "run")
        run.model.save(tmp_path / "run" / "alone.safetensors")
    finally:
        os.umask(before)
    files = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "run").iterdir()}
    assert {"model.safetensors", "start.safetensors", "alone.safetensors", "recipe.json"} <= files.keys()
    assert set(files.values()) == {0o666 & ~mask}


def test_an_old_model_stays_until_the_new_one_is_whole(run, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    run.model.save(path)
    old = path.read_bytes()

    def full(tensors, file, metadata):
        Path(file).write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr("lsat_explorer.data.safe_file.save_file", full)
    with pytest.raises(OSError, match="no space left"):
        run.model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == old


def test_a_folder_is_no_file_and_a_file_no_folder(run, tmp_path):
    with pytest.raises(ValueError, match="is a folder, expected a file to write; give the name of a file in it"):
        run.model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none to write a\.safetensors in; make it first"):
        run.model.save(tmp_path / "none" / "a.safetensors")
    (tmp_path / "file.py").write_text("")
    with pytest.raises(ValueError, match=r"file\.py is a file: give the name of a folder"):
        run.save(tmp_path / "file.py")
    assert [file.name for file in tmp_path.iterdir()] == ["file.py"]


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_as_in_a_recipe(device):
    with pytest.raises(ValueError, match=f"^Device '{device}' is not available: choose one of cpu"):
        lsat.FittedModel.load(OLD, device=device)
    assert lsat.FittedModel.load(OLD, device="auto").theta.device.type in ("cpu", "cuda")


@pytest.mark.parametrize(
    "labels",
    [
        np.array([5, 2**63 + 1], dtype=np.uint64),
        np.array([5, 2**63], dtype=np.uint64),
        [("a", 1), ("b", 2)],
        [("a",), ("b", 2)],
        [2**70, 1],
        ["a\0", "b"],
        [b"a", b"b"],
        [0.5, 1.5],
        [False, True],
    ],
    ids=repr,
)
def test_labels_are_predicted_as_they_came(labels):
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.empty(80, dtype=object)
    for row, place in enumerate((X[:, 0] > 0).astype(int)):
        y[row] = labels[place]
    y = y.astype(labels.dtype) if isinstance(labels, np.ndarray) else y
    model = lsat.tune(
        lsat.Recipe(method=QUICK), lsat.Data.from_arrays(X, y, task="classification"), progress=False
    ).model
    found = model.predict(X)
    assert found.shape == (80,)
    assert set(found.tolist()) == set(y.tolist())
    assert {type(label) for label in found.tolist()} == {type(label) for label in y.tolist()}
    assert np.mean([ours == theirs for ours, theirs in zip(found.tolist(), y.tolist(), strict=True)]) > 0.8


def test_numbers_beyond_those_of_training_are_refused_by_place():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = lsat.tune(lsat.Recipe(method=QUICK), lsat.Data.from_arrays(X, X.sum(1)), progress=False).model
    X[2, 1] = 1.7e308
    words = (
        r"X has 1\.7e\+308 at row 2, column 1 \('x1'\), expected numbers of at most 1e\+100 in size; divide them by a"
    )
    for ask in (model.predict, lambda rows: lsat.Data.from_arrays(rows, X.sum(1))):
        with pytest.raises(
            ValueError, match=r"1\.7e\+308 at row 2.* expected numbers of at most 1e\+100 in size; divide"
        ):
            ask(X)
    with pytest.raises(ValueError, match=words):
        model.predict(X)
    X[2, 1] = 1e100
    assert np.isfinite(model.predict(X)).all()


def test_texts_of_any_letters_keep_their_place_in_a_header(tmp_path):
    texts = {"z": 'é\x01\x7f\u2028😀"\\/\n', "a": "", "é\t": json.dumps({"ü": "\x00"})}
    for order in (texts, dict(reversed(texts.items()))):
        write_tensors(tmp_path / "file", order, {"θ\n": torch.ones(2, 3).mT})
        found, tensors = read_tensors(tmp_path / "file")
        assert list(found) == sorted(texts)
        assert found == texts
        assert torch.equal(tensors["θ\n"], torch.ones(3, 2))


def test_a_path_that_is_no_utf8_is_refused_before_anything_is_written(run, tmp_path):
    path = tmp_path / os.fsdecode(b"a\xff")
    for write in (run.model.save, run.save, lsat.Checkpoint):
        with pytest.raises(ValueError, match="has a path that is no text in UTF-8"):
            write(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["new.csv", None, {"a": [1.0]}, lsat.datasets.digits()])
def test_what_is_no_table_is_refused_by_its_type(given):
    what = f"X is of type {type(given).__name__}, which is no table: give an array \\(N, 4\\)"
    with pytest.raises(ValueError, match=what):
        lsat.FittedModel.load(OLD).predict(given)
