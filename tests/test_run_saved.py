"""Runs in a folder: what comes back from it, with which data, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas
import pytest

import lsat_explorer as lsat
from runs import QUICK, weighting
from test_problem import make_data


def test_runs_save_and_load(tmp_path):
    run = lsat.tune(weighting(), make_data(), progress=False)
    run.save(tmp_path / "run")
    record = lsat.Run.load(tmp_path / "run")
    assert record.status is run.status
    assert record.message == run.message
    assert record.history()["loss"].tolist() == pytest.approx(run.history()["loss"].tolist())
    with pytest.raises(ValueError, match="without its rows"):
        record.steps()
    again = lsat.Run.load(tmp_path / "run", make_data())
    assert np.array_equal(again.weights(), run.weights())
    assert again.model.decision_function(run.data.test.inputs) == pytest.approx(
        run.model.decision_function(run.data.test.inputs)
    )
    pandas.testing.assert_frame_equal(again.history(), run.history(), check_exact=False, rtol=1e-12)
    for refused in (lambda: record.test(), lambda: record.model, lambda: record.weights()):
        with pytest.raises(ValueError, match="without its rows"):
            refused()
    with pytest.raises(ValueError, match=r"run\.json is missing"):
        lsat.Run.load(tmp_path)


def test_a_saved_run_goes_on_with_its_own_data_only(tmp_path):
    run = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False)
    run.save(tmp_path / "run")
    with pytest.raises(ValueError, match="was run on other data"):
        lsat.Run.load(tmp_path / "run", make_data(seed=1))
    again = lsat.Run.load(tmp_path / "run", make_data())
    assert again.test().error == run.test().error


def test_rows_under_another_name_are_the_data_of_a_saved_run(tmp_path):
    run = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False)
    run.save(tmp_path / "run")
    again = lsat.Run.load(tmp_path / "run", replace(make_data(), name="another name"))
    assert again.test().error == run.test().error


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", b"{", r"run\.json is damaged"),
        ("run.json", b"{}", r"run\.json is damaged"),
        ("iterates.csv", b"", r"iterates\.csv is damaged"),
        ("iterates.csv", b"number\n1\n", "damaged|objective"),
        ("recipe.json", b"{}", r"recipe\.json is damaged: format is None"),
        ("model.safetensors", b"x", "no model file"),
        ("model.safetensors", None, r"model\.safetensors is missing"),
    ],
)
def test_a_damaged_run_is_refused_by_its_file(tmp_path, name, content, message):
    lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False).save(tmp_path)
    (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        lsat.Run.load(tmp_path)


def test_what_is_no_recipe_or_no_data_is_refused(tmp_path):
    with pytest.raises(ValueError, match="data is a tuple, expected Data"):
        lsat.tune(lsat.Recipe(), (np.ones((3, 2)), np.ones(3)))
    with pytest.raises(ValueError, match="recipe is 'ridge'"):
        lsat.Run("ridge", make_data())
    run = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False)
    with pytest.raises(ValueError, match=r"change\(\) got None, expected a Recipe"):
        run.change(None)
    run.save(tmp_path)
    with pytest.raises(ValueError, match="data is a int, expected Data"):
        lsat.Run.load(tmp_path, 5)


def test_a_run_with_early_stopping_is_saved_with_what_it_kept(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(160, 6))
    y = X @ generator.normal(size=6) + 2 * generator.normal(size=160)
    data = lsat.Data.from_arrays(X, y, task="regression", validation=20, test=40, final=40, seed=1)
    method = lsat.ProximalGradient(tolerance=0.0, max_iterations=2000)
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), early_stopping=lsat.EarlyStopping(patience=6), method=method)
    run = lsat.tune(recipe, data, progress=False)
    run.save(tmp_path)
    again = lsat.Run.load(tmp_path, data)
    assert again.kept.number == run.kept.number
    assert np.array_equal(again.weights(), run.weights())
    assert again.test().loss == run.test().loss


@pytest.mark.parametrize("early", [lsat.EarlyStopping(patience=5), None])
def test_test_rows_that_decide_when_a_run_ends_are_its_data_too(tmp_path, early):
    data = make_data("regression")
    rows = {"train": data.train, "validation": data.validation, "test": data.test}
    parts = {name: (part.inputs.numpy(), part.labels) for name, part in rows.items()}
    one, same, other = (
        lsat.Data.from_splits(**{**parts, "test": (parts["test"][0], parts["test"][1] + more)}) for more in (0, 0, 7)
    )
    recipe = lsat.Recipe(early_stopping=early, method=lsat.ProximalGradient(max_iterations=4))
    for iterate in lsat.Run(recipe, one, checkpoint=lsat.Checkpoint(tmp_path / "c", iterations=1)).steps():
        if iterate.number == 2:
            break
    lsat.tune(recipe, one, progress=False).save(tmp_path / "s")
    for again in (lambda data: lsat.Run.resume(tmp_path / "c", data), lambda data: lsat.Run.load(tmp_path / "s", data)):
        again(same)
        if early is None:
            again(other)
        else:
            with pytest.raises(ValueError, match="on other data"):
                again(other)


def test_a_run_that_is_saved_on_its_way_comes_back_as_broken_off(tmp_path):
    run = lsat.Run(lsat.Recipe(method=QUICK), make_data())
    steps = run.steps()
    next(steps)
    run.save(tmp_path)
    for again in (lsat.Run.load(tmp_path), lsat.Run.load(tmp_path, make_data())):
        assert again.status is lsat.Status.BROKEN_OFF


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"hyper_penalties": {"regularizer.log_weight": lsat.Frozen()}}, "Nothing to tune"),
        ({"method": lsat.Grid(-1.0, 0.0, points=3)}, "It is the end of the grid"),
    ],
    ids=["held", "grid"],
)
def test_a_run_that_is_loaded_says_what_it_said(choices, said, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    data = lsat.Data.from_arrays(X, 9 * X[:, 0] + 1e-3 * random.normal(size=60))
    run = lsat.tune(lsat.Recipe(**choices), data, progress=False)
    assert said in run.message
    run.save(tmp_path / "run")
    loaded = lsat.Run.load(tmp_path / "run", data)
    assert loaded.message == run.message
    loaded.save(tmp_path / "again")
    assert lsat.Run.load(tmp_path / "again").message == run.message
