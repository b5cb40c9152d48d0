"""Models know the names of their outputs: coefficients, files, the command line, estimators and widgets use them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone

import lsat_explorer as lsat
from lsat_explorer import explain
from lsat_explorer.__main__ import main
from lsat_explorer.commands.predict import predictions
from lsat_explorer.data.safe_file import read_tensors
from lsat_explorer.widgets.graph_effect import Effect
from test_model_files import OLD

NAMES = ("height", "weight")
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
Y = pd.DataFrame(X.to_numpy()[:, :2] * [2.0, 3.0] + 1, columns=NAMES)
RECIPE = lsat.Recipe(method=lsat.LineSearch(max_iterations=3, tolerance=0.0))


def run_of(y, X=X):
    return lsat.tune(RECIPE, lsat.Data.from_arrays(X, y), progress=False)


@pytest.fixture(scope="module")
def run():
    return run_of(Y)


def described(path):
    return json.loads(read_tensors(path)[0]["model"])


def test_coefficients_have_a_column_for_each_output_by_its_name(run):
    table = run.model.coefficients()
    assert (table.columns.tolist(), table.columns.name) == (list(NAMES), "output")
    np.testing.assert_array_equal(table["weight"].to_numpy(), run.model.theta[:, 1].numpy())
    assert run_of(Y["weight"]).model.coefficients().columns.tolist() == ["weight"]
    assert run_of(Y.to_numpy()).model.coefficients().columns.tolist() == [0, 1]
    assert run_of(Y["weight"].to_numpy()).model.coefficients().columns.tolist() == [0]


def test_names_come_back_from_the_file_of_a_model_and_of_a_run(run, tmp_path):
    run.save(tmp_path / "run")
    lsat.refit(run).save(tmp_path / "refit.safetensors")
    saved = tmp_path / "refit.safetensors", tmp_path / "run" / "model.safetensors"
    found = *map(lsat.FittedModel.load, saved), lsat.Run.load(tmp_path / "run", run.data).model
    for model in (run.model, lsat.refit(run), *found, explain.what_if(run.model, drop=run.data.train.rows[:1]).model):
        assert model.target_names == NAMES
        assert model.coefficients().columns.tolist() == list(NAMES)
    np.testing.assert_array_equal(found[1].predict(X), run.model.predict(X))
    assert isinstance(found[1].predict(X), np.ndarray)


def test_a_file_without_names_is_written_as_before_and_read(tmp_path):
    assert lsat.FittedModel.load(OLD).target_names == ()
    for y in (Y.to_numpy(), np.where(Y.weight > 1, "heavy", "light")):
        run_of(y).model.save(tmp_path / "model.safetensors")
        assert set(described(tmp_path / "model.safetensors")) == {"omega", "loss", "classes", "feature_names", "fill"}
        assert lsat.FittedModel.load(tmp_path / "model.safetensors").target_names == ()


def test_a_run_that_was_broken_off_without_names_goes_on_with_them(tmp_path):
    plain = lsat.Run(RECIPE, lsat.Data.from_arrays(X, Y.to_numpy()), checkpoint=lsat.Checkpoint(tmp_path / "run"))
    steps = plain.steps()
    for _ in range(2):
        next(steps)
    steps.close()
    resumed = lsat.Run.resume(tmp_path / "run", lsat.Data.from_arrays(X, Y))
    for _ in resumed.steps():
        pass
    assert resumed.model.target_names == NAMES
    np.testing.assert_array_equal(resumed.model.theta.numpy(), run_of(Y).model.theta.numpy())


def test_predictions_of_a_table_are_called_by_the_names_of_the_outputs(run):
    assert predictions(run.model, X).columns.tolist() == ["prediction_height", "prediction_weight"]
    assert predictions(run_of(Y.to_numpy()).model, X).columns.tolist() == ["prediction_0", "prediction_1"]
    assert predictions(run_of(Y["weight"]).model, X).columns.tolist() == ["prediction"]


def test_the_command_line_writes_the_names_that_it_was_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    X.join(Y).to_csv("people.csv", index=False)
    (tmp_path / "recipe.json").write_text(RECIPE.to_json())
    told = ["--data", "people.csv", "--target", "weight", "--target", "height"]
    assert main(["tune", "recipe.json", *told, "--out", "run"]) == 0
    capsys.readouterr()
    assert main(["predict", "run", "--data", "people.csv", "--drop", "height", "--drop", "weight"]) == 0
    assert capsys.readouterr().out.partition("\n")[0] == "row,prediction_weight,prediction_height"


@pytest.mark.parametrize("validation", [None, 0.25])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, 60)], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    ("y", "names"),
    [
        (Y, NAMES),
        (polars.from_pandas(Y), NAMES),
        (Y[["weight"]], ("weight",)),
        (Y["weight"], ("weight",)),
        (Y.to_numpy(), ()),
        (Y["weight"].tolist(), ()),
    ],
    ids=["pandas", "polars", "one column", "a series", "an array", "a list"],
)
def test_a_regressor_keeps_the_names_in_its_model(y, names, weights, validation):
    estimator = lsat.TunedLeastSquaresRegressor(validation=validation)
    for each in (fitted := estimator.fit(X, y, weights), pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(X, y)):
        assert each.model_.target_names == names
        assert each.model_.coefficients().columns.tolist() == list(names or range(each.model_.theta.shape[1]))
        assert isinstance(each.predict(X), np.ndarray)


def test_a_regressor_names_the_column_of_y_that_has_an_entry_at_fault():
    with pytest.raises(ValueError, match=r"y has nan at row 3, column 1 \('weight'\)"):
        lsat.TunedLeastSquaresRegressor().fit(X, Y.mask(Y.iloc[3, 1] == Y))
    with pytest.raises(ValueError, match=r"y has 1e\+200 at row 3, column 1 \('weight'\)"):
        lsat.TunedLeastSquaresRegressor().fit(X, Y.mask(Y.iloc[3, 1] == Y, 1e200))


def test_a_classifier_has_classes_and_no_names():
    y = pd.Series(np.where(Y.weight > 1, "heavy", "light"), name="build")
    model = lsat.TunedLeastSquaresClassifier().fit(X, y).model_
    assert (model.target_names, model.coefficients().columns.tolist()) == ((), ["heavy", "light"])


def test_onnx_tells_the_names(run, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'lsat_explorer[onnx]'")
    for model, names in ((run.model, list(NAMES)), (run_of(Y.to_numpy()).model, None)):
        model.to_onnx(tmp_path / "model.onnx")
        told = {entry.key: json.loads(entry.value) for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
        assert told.get("target_names") == names


def test_the_preview_of_a_graph_chooses_among_outputs_by_name():
    assert Effect(lsat.Data.from_arrays(X, Y)).outputs == list(NAMES)
    assert Effect(lsat.Data.from_arrays(X, Y.to_numpy())).outputs == ["0", "1"]
    long = Effect(lsat.Data.from_arrays(X, Y, target_names=["a" * 60, "<b>"])).outputs
    assert (len(long[0]), long[1]) == (24, "<b>")


def test_a_browser_of_rows_tells_which_numbers_a_label_takes(run):
    for of, told in ((run, "separated by commas: height, weight"), (run_of(Y.to_numpy()), "separated by commas")):
        browser = lsat.widgets.WeightBrowser(of)
        browser._command({"do": "verdict", "kind": "relabel", "position": 0, "to": "1.5"})
        assert browser._complaint.endswith(f"give 2 finite numbers, {told}.")


def test_data_whose_outputs_are_called_otherwise_are_not_those_of_the_model(run, tmp_path):
    run.model.save(tmp_path / "model.safetensors")
    model = lsat.FittedModel.load(tmp_path / "model.safetensors")
    doubt = explain.label_doubt(model, data=lsat.Data.from_arrays(X, Y.to_numpy())).doubt
    np.testing.assert_allclose(doubt, explain.label_doubt(run.model).doubt)
    with pytest.raises(ValueError, match="have different target names: give the data that the model was fitted to"):
        explain.label_doubt(model, data=lsat.Data.from_arrays(X, Y, target_names=["width", "weight"]))
