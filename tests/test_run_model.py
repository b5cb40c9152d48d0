"""The model of a run: its file, the rows that it predicts, and those that it refuses."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file as torch_load
from safetensors.torch import save_file

import lsat_explorer as lsat
from runs import QUICK
from test_problem import ARCHETYPES, STACK, make_data


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_models_save_and_load_without_pickle(tmp_path, task):
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, method=QUICK)
    run = lsat.tune(recipe, make_data(task), progress=False)
    X = run.data.test.inputs.numpy()
    run.model.save(tmp_path / "model.safetensors")
    loaded = lsat.FittedModel.load(tmp_path / "model.safetensors")
    assert loaded.recipe == run.recipe
    assert np.array_equal(loaded.predict(X), run.model.predict(X))
    assert np.array_equal(loaded.decision_function(X), run.model.decision_function(X))
    assert loaded.blocks == run.model.blocks
    assert loaded.classes == run.model.classes
    tensors = {**torch_load(tmp_path / "model.safetensors"), "theta": torch.zeros(2, 2)}
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        save_file(tensors, tmp_path / "other", metadata=file.metadata())
    with pytest.raises(ValueError, match="theta is"):
        lsat.FittedModel.load(tmp_path / "other")
    save_file(tensors, tmp_path / "other", metadata={"format": "lsat_explorer.model/1"})
    with pytest.raises(ValueError, match="is damaged"):
        lsat.FittedModel.load(tmp_path / "other")
    (tmp_path / "broken").write_bytes(b"no model")
    with pytest.raises(ValueError, match="no model file"):
        lsat.FittedModel.load(tmp_path / "broken")


def test_model_refuses_bad_input():
    run = lsat.tune(lsat.Recipe(), make_data(), progress=False)
    with pytest.raises(ValueError, match=r"\(3,\): expected \(N, 6\)"):
        run.model.predict(np.ones(3))
    bad = np.ones((4, 6))
    bad[2, 1] = np.inf
    with pytest.raises(ValueError, match="row 2, column 'x1'"):
        run.model.predict(bad)
    assert run.model.predict(np.empty((0, 6))).shape == (0,)
    with pytest.raises(ValueError, match="is a folder"):
        lsat.FittedModel.load(".")
    regression = lsat.tune(lsat.Recipe(), make_data("regression"), progress=False)
    with pytest.raises(ValueError, match="needs a CrossEntropy"):
        regression.model.predict_proba(bad)


def test_columns_of_a_data_frame_are_taken_by_name():
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["sqm", "rooms", "age"])
    data = lsat.Data.from_arrays(X, 3 * X["sqm"] - X["age"], task="regression")
    model = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False).model
    expected = model.predict(X)
    assert np.array_equal(model.predict(X[["age", "sqm", "rooms"]]), expected)
    assert np.array_equal(model.predict(X.to_numpy()), expected)
    assert np.array_equal(model.predict(pandas.DataFrame(X.to_numpy())), expected)
    with pytest.raises(ValueError, match="lacks column 'age'"):
        model.predict(X[["sqm", "rooms"]])
    with pytest.raises(ValueError, match=r"lacks columns 'sqm', 'age': give"):
        model.predict(X[["rooms"]])
    with pytest.raises(ValueError, match="unknown column 'storey'"):
        model.predict(X.assign(storey=1))
    both = r"unknown columns 'storey', 'lift', to leave out by X.drop\(columns=\['storey', 'lift'\]\)"
    with pytest.raises(ValueError, match=both):
        model.predict(X.assign(storey=1, lift=0))


def test_rows_that_are_refused_are_named_as_the_frame_names_them():
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["sqm", "age"])
    model = lsat.tune(lsat.Recipe(method=QUICK), lsat.Data.from_arrays(X, X["sqm"]), progress=False).model
    named = X.set_axis([f"house {row}" for row in range(60)])
    for entry, place in ((np.nan, "in row 'house 3', column 'age'"), (1e200, "at row 'house 3', column 1")):
        bad = named.assign(age=X["age"].where(X.index != 3, entry).to_numpy())
        with pytest.raises(ValueError, match=place):
            model.predict(bad)
        with pytest.raises(ValueError, match=place.replace("'house 3'", "3")):
            model.predict(bad.to_numpy())


def test_a_lazy_frame_is_worked_out_once():
    X = polars.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), schema=["sqm", "age"])
    worked_out = []
    lazy = X.lazy().map_batches(lambda frame: worked_out.append(1) or frame)
    data = lsat.Data.from_arrays(lazy, X["sqm"])
    assert worked_out == [1]
    model = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False).model
    assert np.array_equal(model.predict(lazy), model.predict(X))
    assert worked_out == [1, 1]


def test_labels_that_are_tuples_are_columns_of_the_coefficients():
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.empty(60, object)
    labels[:] = [("a", int(row[0] > 0)) for row in X]
    model = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(X, labels), progress=False).model
    table = model.coefficients()
    assert list(table.columns) == list(model.classes)
    assert np.array_equal(table[("a", 1)], model.theta[:, 1])


@pytest.mark.parametrize("names", [["age", "rooms"], ["p", "q"], [5, 7], [1, 0], ["0", "1"]], ids=str)
def test_columns_of_which_no_name_is_known_are_refused_as_one_wrong_name_is(names):
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["Age", "Rooms"])
    model = lsat.tune(lsat.Recipe(method=QUICK), lsat.Data.from_arrays(X, X["Age"]), progress=False).model
    other = X.set_axis(names, axis=1)
    for given in (other, polars.from_pandas(other.rename(columns=str))):
        with pytest.raises(ValueError, match=r"X lacks columns 'Age', 'Rooms': give the columns 'Age', 'Rooms' by "):
            model.predict(given)
    for unnamed in (pandas.DataFrame(X.to_numpy()), polars.from_numpy(X.to_numpy())):
        np.testing.assert_array_equal(model.predict(unnamed), model.predict(X))


def test_columns_count_by_their_places_where_the_model_was_tuned_on_what_has_no_names():
    X = np.random.default_rng(0).normal(size=(60, 4))
    frame = pandas.DataFrame(X, columns=list("pqrs"))
    for given, shape in ((X, None), (X, (2, 2)), (pandas.DataFrame(X), None), (polars.from_numpy(X), None)):
        data = lsat.Data.from_arrays(given, X[:, 0], image_shape=shape)
        model = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False).model
        np.testing.assert_array_equal(model.predict(frame), model.predict(X))
