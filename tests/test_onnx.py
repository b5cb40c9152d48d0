"""Models written as ONNX and run by onnxruntime: they predict what the model predicts."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import lsat_explorer as lsat
from test_problem import make_data

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'lsat_explorer[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

RANDOM = np.random.default_rng(0)
FEATURIZERS = [
    lsat.Identity(),
    lsat.Concat(x=lsat.Scale(tuned=False), one=lsat.Constant()),
    lsat.Chain(lsat.Scale(), lsat.PowerTransform(exponent=0.7)),
    lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform(shared=True, exponent=1.5), lsat.LowRank(2)),
    lsat.Concat(a=lsat.SelectFeatures(0.5), b=lsat.Concat(near=lsat.KMeansArchetypes(2, kernel="gaussian", n_init=1))),
    lsat.KMeansArchetypes(2, n_init=1),
    lsat.Chain(lsat.LowRank(3), lsat.Concat(x=lsat.Identity(), near=lsat.KMeansArchetypes(2, n_init=1))),
]


def moved(featurizer: lsat.Concat, data: lsat.Data, **recipe: object) -> lsat.FittedModel:
    """A model whose hyper-parameters are away from their start, so that their place in the graph counts."""
    problem = lsat.Problem(lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(), **recipe), data)
    omega = {name: value + 0.1 for name, value in problem.init().items()}
    return lsat.FittedModel.of(problem, omega)


def ran(path, X):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.parametrize("featurizer", FEATURIZERS, ids=repr)
def test_classes_scores_and_probabilities_are_those_of_the_model(featurizer, tmp_path):
    data = make_data()
    model = moved(featurizer, data, loss=lsat.CrossEntropy(temperature=True))
    X = np.concatenate([data.test.inputs.numpy(), model.prepared.state().get("archetypes", data.test.inputs[:1])])
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-9)):
        model.to_onnx(tmp_path / "model.onnx", dtype=dtype)
        inputs = X.astype(dtype)
        found = ran(tmp_path / "model.onnx", inputs)
        np.testing.assert_allclose(found["scores"], model.decision_function(inputs), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(inputs), rtol=tolerance, atol=tolerance)
        assert found["label"].tolist() == model.predict(inputs).tolist()
        assert ran(tmp_path / "model.onnx", inputs[:1])["label"].shape == (1,)


@pytest.mark.parametrize("outputs", [1, 2])
def test_numbers_have_the_shape_of_predict_and_what_is_missing_is_filled(outputs, tmp_path):
    X = RANDOM.normal(size=(60, 4))
    Y = np.stack([X.sum(1), X[:, 0] ** 2], 1)[:, :outputs]
    holes = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)
    model = moved(FEATURIZERS[1], lsat.Data.from_arrays(holes, Y, missing="median"))
    model.to_onnx(tmp_path / "model.onnx")
    (found,) = ran(tmp_path / "model.onnx", holes.astype(np.float32)).values()
    expected = model.predict(holes.astype(np.float32))
    assert found.shape == expected.shape == ((60,) if outputs == 1 else (60, 2))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_is_missing_beside_float32_is_filled_as_the_model_fills_it(tmp_path):
    times = 1.7e9 + 50.0 * RANDOM.normal(size=(60, 1))
    holes = np.where(RANDOM.random(times.shape) < 0.2, np.nan, times)
    model = moved(FEATURIZERS[1], lsat.Data.from_arrays(holes, (times[:, 0] - 1.7e9) / 50, missing="mean"))
    model.to_onnx(tmp_path / "model.onnx")
    missing = np.full((1, 1), np.nan, np.float32)
    (found,) = ran(tmp_path / "model.onnx", missing).values()
    np.testing.assert_allclose(found, model.predict(missing), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("labels", [["no", "yes", "ünd"], [3, 5, 8], [0.5, 1.5, 2.5], [False, True]], ids=str)
def test_labels_are_the_users(labels, tmp_path):
    X = RANDOM.normal(size=(60, 2))
    y = np.array(labels)[RANDOM.integers(0, len(labels), 60)]
    model = moved(lsat.Identity(), lsat.Data.from_arrays(X, y, task="classification"), loss=lsat.SquaredError())
    model.to_onnx(tmp_path / "model.onnx")
    found = ran(tmp_path / "model.onnx", X.astype(np.float32))
    assert set(found) == {"label", "scores"}  # outputs of the squared error are no log odds
    assert found["label"].tolist() == model.predict(X.astype(np.float32)).tolist()
    said = {entry.key: entry.value for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(said["feature_names"]) == list(model.feature_names)
    assert lsat.Recipe.from_json(said["recipe"]) == model.recipe


@pytest.mark.parametrize("labels", [[("a", 1), ("b", 2)], [5, 2**63 + 1]], ids=str)
def test_labels_that_onnx_cannot_hold_are_refused(labels, tmp_path):
    X = RANDOM.normal(size=(60, 2))
    y = np.empty(60, dtype=object)
    for row, place in enumerate(X[:, 0] > 0):
        y[row] = labels[int(place)]
    model = moved(lsat.Identity(), lsat.Data.from_arrays(X, y, task="classification"))
    with pytest.raises(ValueError, match="cannot be written as ONNX: use strings or numbers"):
        model.to_onnx(tmp_path / "model.onnx")


def test_a_block_without_a_form_is_named(tmp_path):
    data = make_data()
    featurizer = lsat.Concat(x=lsat.Identity(), curve=lsat.Chain(lsat.Scale(), lsat.Spline(knots=2)))
    model = moved(featurizer, data)
    with pytest.raises(
        ValueError, match=r"Block 'curve\.spline' is Spline\(knots=2\), which has no form in plain ONNX"
    ):
        model.to_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="dtype is 'float16'"):
        moved(lsat.Identity(), data).to_onnx(tmp_path / "model.onnx", dtype="float16")


def test_without_the_package_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'lsat_explorer\[onnx\]'"):
        moved(lsat.Identity(), make_data()).to_onnx(tmp_path / "model.onnx")


def test_a_folder_is_no_file_to_write(tmp_path):
    model = moved(lsat.Identity(), make_data("regression"))
    with pytest.raises(ValueError, match="is a folder, expected a file to write"):
        model.to_onnx(tmp_path)
    model.to_onnx(tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
