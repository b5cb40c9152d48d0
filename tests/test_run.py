"""Runs: the proximal gradient method step by step, its statuses, and what a run keeps."""

from __future__ import annotations

import itertools
import math
import re
import threading
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
import pandas
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file as torch_load
from safetensors.torch import save_file
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer import Status
from lsat_explorer.engines.heap import Heap
from lsat_explorer.model.losses import Loss
from test_problem import ARCHETYPES, STACK, make_data

QUICK = lsat.ProximalGradient(max_iterations=40, tolerance=1e-3)


@dataclass(frozen=True, repr=False)
class Spoiled(Loss):
    """Squared error that turns NaN, or stays flat, as asked for."""

    nan_after: int = 10**9
    flat: bool = False

    def value(self, predictions: Tensor, targets: Tensor, omega: dict) -> Tensor:
        CALLS.append(1)
        if self.flat:
            return 0 * predictions.sum()
        loss = (predictions - targets).square().sum(1).mean()
        return loss * math.nan if len(CALLS) > self.nan_after else loss


CALLS: list[int] = []


def weighting(**changes) -> lsat.Recipe:
    return lsat.Recipe(
        featurizer=ARCHETYPES,
        regularizer=STACK,
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(0.01) + lsat.ZeroSum()},
        method=QUICK,
        **changes,
    )


def test_the_method_is_algorithm_3_1():
    """Replay the history by hand: prox step, accept test on F, step sizes, stopping residual."""
    recipe = weighting(loss=lsat.SquaredError()).replace(method=lsat.ProximalGradient(step=400.0, max_iterations=12))
    data = make_data("classification")
    run = lsat.tune(recipe, data, progress=False)
    problem = lsat.Problem(recipe, data)
    omega, t = problem.init(), 400.0
    at = problem.evaluate(omega)
    g = problem.gradient(at)
    assert run.iterates[0].objective == at.objective
    accepted = [iterate.accepted for iterate in run.iterates[1:]]
    assert True in accepted
    assert False in accepted
    for iterate in run.iterates[1:]:
        assert iterate.step == t
        trial = problem.evaluate(problem.prox({k: omega[k] - t * g[k] for k in omega}, t))
        assert iterate.tried == trial.objective
        if trial.loss + trial.penalty <= at.objective:
            g_new = problem.gradient(trial)
            parts = [(omega[k] - trial.omega[k]) / t + g_new[k] - g[k] for k in omega]
            assert iterate.residual == pytest.approx(math.sqrt(sum(float((p**2).sum()) for p in parts)), rel=1e-12)
            omega, at, g, t = trial.omega, trial, g_new, 1.2 * t
        else:
            assert math.isnan(iterate.residual)
            t = 0.5 * t
        assert iterate.objective == at.objective
        assert all(torch.equal(iterate.omega[k], omega[k]) for k in omega)


def test_every_prox_is_used_once_a_step(monkeypatch):
    seen = []
    prox = lsat.SumSquares.prox
    monkeypatch.setattr(lsat.SumSquares, "prox", lambda self, omega, step: (seen.append(1), prox(self, omega, step))[1])
    run = lsat.tune(weighting(), make_data(), progress=False)
    assert len(seen) == len(run.iterates) - 1


def test_the_objective_never_rises_and_weights_sum_to_zero():
    run = lsat.tune(weighting(), make_data(), progress=False)
    objectives = [iterate.objective for iterate in run.iterates]
    assert all(b <= a for a, b in itertools.pairwise(objectives))
    assert abs(float(run.omega["data_weights.log_weight"].sum())) < 1e-9
    assert run.weights() == pytest.approx(np.exp(2 * run.omega["data_weights.log_weight"].numpy()))
    assert run.iterates[-1].penalty == pytest.approx(0.01 * float(run.omega["data_weights.log_weight"].square().sum()))


def test_the_same_recipe_gives_the_same_history_bit_for_bit():
    a, b = (lsat.tune(weighting(), make_data(), progress=False).history().drop(columns="seconds") for _ in range(2))
    pandas.testing.assert_frame_equal(a, b, check_exact=True)


def test_convergence_is_a_stationary_point():
    method = lsat.ProximalGradient(tolerance=1e-7, max_iterations=3000, step=100.0)
    run = lsat.tune(lsat.Recipe(method=method), make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert run.iterates[-1].gradient_norm < 1e-6
    assert run.iterates[-1].residual <= 1e-7


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_max_iterations(limit):
    run = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=limit)), make_data(), progress=False)
    assert run.status is Status.MAX_ITERATIONS
    assert [iterate.number for iterate in run.iterates] == list(range(limit + 1))
    assert math.isfinite(run.iterates[-1].loss)


def test_convergence_at_the_last_iteration_is_convergence():
    full = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient()), make_data(), progress=False)
    assert full.status is Status.CONVERGED
    exact = lsat.ProximalGradient(max_iterations=full.iterates[-1].number)
    assert lsat.tune(lsat.Recipe(method=exact), make_data(), progress=False).status is Status.CONVERGED


def test_nothing_to_tune_is_a_fit():
    recipe = lsat.Recipe(hyper_penalties={"regularizer.log_weight": lsat.Frozen()})
    run = lsat.tune(recipe, make_data(), progress=False)
    assert len(run.iterates) == 1
    assert "Nothing to tune" in run.message


def test_a_flat_loss_is_converged():
    run = lsat.tune(lsat.Recipe(loss=Spoiled(flat=True)), make_data("regression"), progress=False)
    assert run.status is Status.CONVERGED


def test_a_loss_that_turns_nan_keeps_the_best_values():
    # Case 13.
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7)), make_data("regression"), progress=False)
    assert run.status in (Status.NOT_FINITE, Status.MAX_ITERATIONS)
    assert math.isfinite(run.iterates[-1].objective)
    assert not run.iterates[-1].accepted
    assert run.iterates[-1].tried == math.inf
    patient = lsat.ProximalGradient(max_iterations=5000)
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=patient), make_data("regression"), progress=False)
    assert run.status is Status.NOT_FINITE


@pytest.mark.parametrize("method", [lsat.LBFGS(tolerance=0.0), lsat.LineSearch(tolerance=0.0, max_iterations=5000)])
def test_other_methods_too_end_not_finite_after_a_nan(method):
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=method), make_data("regression"), progress=False)
    assert run.status in (Status.NOT_FINITE, Status.MAX_ITERATIONS)
    assert math.isfinite(run.kept.objective)
    assert run.iterates[-1].tried == math.inf


@pytest.mark.parametrize("method", [lsat.MultiStart(lsat.LBFGS(), starts=3), lsat.Grid(points=4)])
def test_searches_end_not_finite_where_no_point_has_a_value(method):
    CALLS.clear()
    with pytest.warns(UserWarning, match="No fit was found. Not finite: no step leads to a finite loss"):
        run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=0), method=method), make_data("regression"), progress=False)
    assert run.status is Status.NOT_FINITE
    assert run.iterates[-1].objective == math.inf


@pytest.mark.parametrize("method", [lsat.MultiStart(lsat.LBFGS(), starts=3), lsat.Grid(points=8)])
def test_searches_keep_the_best_of_the_points_that_have_a_value(method):
    CALLS.clear()
    run = lsat.tune(lsat.Recipe(loss=Spoiled(nan_after=7), method=method), make_data("regression"), progress=False)
    finite = [i.objective for i in run.iterates if i.accepted and math.isfinite(i.objective)]
    assert any(i.tried == math.inf or i.objective == math.inf for i in run.iterates)
    assert run.iterates[-1].objective == run.kept.objective == min(finite)


def test_a_start_without_a_solution_says_what_to_raise_and_names_the_feature():
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(a=lsat.Identity(), b=lsat.Identity()), regularizer=lsat.Ridge(log_weight=-20.0)
    )
    said = r"No fit was found\. .*Feature 6 is a combination .* raise regularizer\.log_weight\. Feature 6 is 'x0'\."
    with pytest.warns(UserWarning, match=said):
        run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.NOT_FINITE
    assert "raise regularizer.log_weight" in run.message
    with pytest.raises(ValueError, match=r"no fit .* Feature 6 is 'x0'\."):
        _ = run.model


def test_a_step_too_small_to_move_is_stalled_not_converged():
    recipe = lsat.Recipe(method=lsat.ProximalGradient(step=1e-30, tolerance=1e-9))
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.STALLED
    assert len(run.iterates) == 2
    assert "float64" not in run.message
    assert 'dtype="float64" goes on' in lsat.tune(recipe.replace(dtype="float32"), make_data(), progress=False).message


@pytest.mark.parametrize(
    ("offset", "dtype", "warned"), [(1e8, "float32", True), (1e4, "float32", False), (1e8, "float64", False)]
)
def test_targets_that_float32_rounds_away_are_warned_of(offset, dtype, warned):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(90, 3))
    data = lsat.Data.from_arrays(X, offset + 20 * X[:, 0] + generator.normal(size=90))
    run = lsat.tune(lsat.Recipe(dtype=dtype), data, progress=False)
    assert ("float32 rounds the targets by up to 6, beside a spread of" in run.message) is warned


def test_a_box_that_holds_the_optimum_out_is_converged_at_its_end():
    recipe = lsat.Recipe(
        hyper_penalties={"regularizer.log_weight": lsat.Box(-0.1, 0.1)},
        method=lsat.ProximalGradient(step=1e6, max_iterations=50),
    )
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert run.iterates[-1].residual <= 1e-4
    assert "The regularizer ended at the bound" in run.message
    named = recipe.replace(
        regularizer=lsat.Stack(k=lsat.Ridge()), hyper_penalties={"regularizer.k.log_weight": lsat.Box(-0.1, 0.1)}
    )
    assert ". k ended at the bound" in lsat.tune(named, make_data(), progress=False).message  # as it was named
    assert abs(abs(float(run.omega["regularizer.log_weight"])) - 0.1) < 1e-12


def test_stop_and_resume():
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(tolerance=0.0, max_iterations=30)), make_data())
    for iterate in run.steps():
        if iterate.number == 5:
            run.stop()
    assert run.status is Status.STOPPED_BY_USER
    stopped = len(run.iterates)
    assert stopped <= 8
    step = run.iterates[-1].step
    for iterate in run.steps():
        if iterate.number > stopped + 3:
            run.stop()
    assert run.iterates[stopped].step == pytest.approx(1.2 * step)
    numbers = [iterate.number for iterate in run.iterates]
    assert numbers == list(range(len(numbers)))
    assert run.iterates[-1].objective < run.iterates[stopped - 1].objective


def test_reading_the_model_loses_no_change():
    recipe = lsat.Recipe(method=lsat.ProximalGradient(step=0.01, tolerance=0.0, max_iterations=8))
    run = lsat.Run(recipe, make_data())
    for iterate in run.steps():
        if iterate.number == 3:
            run.change(recipe.replace(method=lsat.ProximalGradient(step=7.0, tolerance=0.0, max_iterations=8)))
            assert run.model.recipe == recipe
    assert run.iterates[5].step == 7.0


def test_what_is_frozen_in_the_middle_of_a_run_stays_where_it_is():
    recipe = lsat.Recipe(
        featurizer=ARCHETYPES,
        regularizer=STACK,
        method=lsat.ProximalGradient(step=30.0, tolerance=0.0, max_iterations=10),
    )
    name = "featurizer.archetypes.log_scale"
    run = lsat.Run(recipe, make_data())
    for iterate in run.steps():
        if iterate.number == 4:
            run.change(recipe.replace(hyper_penalties={name: lsat.Frozen()}))
    before, after = run.iterates[4], run.iterates[5]
    assert float(before.omega[name]) != float(run.iterates[0].omega[name])
    assert after.loss == pytest.approx(before.loss, rel=1e-12)
    assert float(run.omega[name]) == float(before.omega[name])
    p = run.model.predict_proba(run.data.validation.inputs)
    expected = -np.log((p * run.data.validation.targets.numpy()).sum(1)).mean()
    assert run.iterates[-1].loss == pytest.approx(expected, rel=1e-9)


def test_a_run_that_is_broken_off_says_so():
    run = lsat.Run(lsat.Recipe(), make_data())
    for iterate in run.steps():
        if iterate.number == 2:
            break
    assert run.status is Status.STOPPED_BY_USER
    assert len(run.iterates) == 3
    for _ in run.steps():
        pass
    assert run.status is Status.CONVERGED


def test_reading_the_model_loses_no_stop():
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(tolerance=0.0, max_iterations=30)), make_data())
    steps = run.steps()
    next(steps)
    run.stop()
    reader = threading.Thread(target=lambda: run.model)
    reader.start()
    reader.join()
    assert run.model is not None
    assert next(steps).status is Status.STOPPED_BY_USER
    assert list(steps) == []
    assert math.isfinite(float(run.model.theta.sum()))


def test_stop_from_another_thread_acts_between_chunks():
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(tolerance=0.0, max_iterations=10**6)), make_data())
    worker = threading.Thread(target=lambda: [None for _ in run.steps()])
    worker.start()
    while len(run.iterates) < 3:
        pass
    run.stop()
    worker.join(timeout=10)
    assert not worker.is_alive()
    assert run.status is Status.STOPPED_BY_USER
    assert math.isfinite(run.iterates[-1].loss)


def test_a_changed_recipe_restarts_the_step_rule_from_the_present_point():
    recipe = weighting().replace(method=lsat.ProximalGradient(step=2.0, tolerance=0.0, max_iterations=20))
    run = lsat.Run(recipe, make_data())
    other = recipe.replace(hyper_penalties={"data_weights.log_weight": lsat.SumSquares(5.0) + lsat.ZeroSum()})
    for iterate in run.steps():
        if iterate.number == 6:
            run.change(other)
    before, after, first = run.iterates[6], run.iterates[7], run.iterates[8]
    assert all(torch.equal(before.omega[k], after.omega[k]) for k in before.omega)
    assert after.penalty == pytest.approx(500 * before.penalty)
    assert after.loss == before.loss
    assert first.step == 2.0
    assert run.recipe == other
    with pytest.raises(ValueError, match="featurizer differ"):
        run.change(other.replace(featurizer=lsat.Identity()))
    with pytest.raises(ValueError, match="did you mean"):
        run.change(other.replace(hyper_penalties={"data_weights.log_wieght": lsat.Frozen()}))


def test_a_temperature_is_switched_on_and_off_in_the_middle_of_a_run(tmp_path):
    method = lsat.ProximalGradient(step=5.0, tolerance=0.0, max_iterations=12)
    off = lsat.Recipe(loss=lsat.CrossEntropy(), method=method)
    on = off.replace(loss=lsat.CrossEntropy(temperature=True))
    name, data = "loss.log_temperature", lsat.datasets.digits()
    run = lsat.Run(off, data)
    for iterate in run.steps():
        if iterate.number == 3:
            run.change(on)
            assert run.model.recipe == off
    before, after = run.iterates[3], run.iterates[4]
    assert name not in before.omega
    assert float(after.omega[name]) == 0.0  # where it starts the loss is what it was
    assert after.loss == pytest.approx(before.loss, rel=1e-12)
    assert float(run.omega[name]) > 0.1
    assert run.iterates[-1].loss < before.loss - 0.1
    assert len(run.model.predict(data.test.inputs)) == len(data.test)
    rows = run.problem.parts
    run.save(tmp_path / "run")
    again = lsat.Run.load(tmp_path / "run", data)
    assert [set(i.omega) for i in again.iterates] == [set(i.omega) for i in run.iterates]
    run.change(off)
    assert name not in next(iter(run.steps())).omega
    assert run.problem.parts is rows


def test_a_threshold_and_a_patience_are_changed_in_the_middle_of_a_run():
    data = make_data(task="regression")
    recipe = lsat.Recipe(
        loss=lsat.Huber(0.1),
        early_stopping=lsat.EarlyStopping(patience=50),
        method=lsat.ProximalGradient(step=1e-3, tolerance=0.0, max_iterations=30),
    )
    run = lsat.Run(recipe, data)
    for iterate in run.steps():
        if iterate.number == 3:
            run.change(recipe.replace(loss=lsat.Huber(2.0), early_stopping=lsat.EarlyStopping(patience=1)))
    old, new = run.iterates[3], run.iterates[4]
    alone = lsat.Problem(run.recipe, data).evaluate(old.omega)
    assert new.loss == pytest.approx(alone.loss, rel=1e-12)
    assert new.loss != pytest.approx(old.loss, rel=1e-3)
    with pytest.raises(ValueError, match="loss differ"):
        run.change(recipe.replace(loss=lsat.SquaredError()))


def test_history_is_a_table_of_scalars():
    run = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False)
    history = run.history()
    assert len(history) == len(run.iterates)
    assert {"number", "objective", "loss", "training_loss", "step", "residual", "accepted", "seconds"} <= set(history)
    assert history["regularizer.log_weight"].iloc[-1] == float(run.omega["regularizer.log_weight"])
    assert list(lsat.Run(lsat.Recipe(), make_data()).history().columns)


def test_test_counts_its_looks_and_uses_the_test_split():
    run = lsat.tune(lsat.Recipe(), make_data(), progress=False)
    first, second = run.test(), run.test()
    assert (first.looks, second.looks) == (1, 2)
    assert first.error == np.mean(run.model.predict(run.data.test.inputs) != run.data.test.labels)


def test_training_loss_is_the_loss_on_training_rows():
    run = lsat.tune(lsat.Recipe(), make_data(), progress=False)
    p = run.model.predict_proba(run.data.train.inputs)
    expected = -np.log((p * run.data.train.targets.numpy()).sum(1)).mean()
    assert run.iterates[-1].training_loss == pytest.approx(expected, rel=1e-10)


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
    with pytest.raises(ValueError, match="unknown column 'storey'"):
        model.predict(X.assign(storey=1))


def test_refined_coefficients_agree_with_float64():
    data = make_data(rows=4000)
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, method=lsat.ProximalGradient(max_iterations=0))
    single, double = (lsat.tune(recipe.replace(dtype=d), data, progress=False) for d in ("float32", "float64"))
    rough = single.problem.evaluate(single.omega).solution.theta
    exact = double.model.theta
    assert (single.model.theta - exact).norm() < 1e-2 * (rough - exact).norm()


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


def test_a_tolerance_below_rounding_is_said():
    data = make_data("regression")
    large = lsat.Data.from_arrays(data.train.inputs, 1e6 * data.train.targets, task="regression")
    # Of two slopes rounding hardly makes both zero, as it may of one.
    both = lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(lsat.graphs.path(1 + data.train.inputs.shape[1])))
    recipe = lsat.Recipe(regularizer=both, method=lsat.LineSearch(tolerance=1e-9))
    run = lsat.tune(recipe, large, progress=False)
    assert run.status is Status.STALLED
    assert "out of reach" in run.message


def in_units(factor):
    data = make_data("regression")
    return lsat.Data.from_arrays(data.train.inputs, factor * data.train.targets, task="regression")


@pytest.mark.parametrize("method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS(), lsat.MultiStart()])
def test_a_tolerance_that_ends_a_run_at_once_is_said(method, tmp_path):
    recipe = lsat.Recipe(method=method)
    told = r"A tolerance of (?:0.0001|1e-05) is coarse for an objective of \d\S*e-\d+, .*: lower .* to about \de-\d+"
    with pytest.warns(UserWarning, match=told):
        run = lsat.tune(recipe, in_units(1e-4), progress=False)
    assert run.status is Status.CONVERGED
    assert re.search(told, run.message)
    run.save(tmp_path)
    assert re.search(told, lsat.Run.load(tmp_path).message)
    lowered = float(run.message.partition("to about ")[2].partition(",")[0])
    finer = (
        lsat.MultiStart(lsat.LBFGS(tolerance=lowered))
        if hasattr(method, "method")
        else replace(method, tolerance=lowered)
    )
    again = lsat.tune(recipe.replace(method=finer), in_units(1e-4), progress=False)
    assert "coarse" not in again.message
    assert "coarse" not in lsat.tune(recipe, in_units(1.0), progress=False).message


def test_a_fit_with_nothing_to_tune_is_not_said_to_have_a_coarse_tolerance(tmp_path):
    held = {"regularizer.log_weight": lsat.Frozen()}
    run = lsat.tune(lsat.Recipe(hyper_penalties=held), in_units(1e-4), progress=False)
    run.save(tmp_path)
    assert "coarse" not in run.message + lsat.Run.load(tmp_path).message


def test_a_fit_that_is_all_but_exact_has_no_coarse_tolerance():
    X = np.random.default_rng(0).normal(size=(60, 3))
    exact = lsat.Data.from_arrays(X, X @ [0.6, 0.8, 0.0], task="regression")  # of variance one
    run = lsat.tune(lsat.Recipe(method=lsat.LineSearch(tolerance=2e-3)), exact, progress=False)
    assert run.status is Status.CONVERGED
    assert run.kept.objective < 2e-3


def test_estimators_whose_tolerance_is_that_of_their_targets_say_no_such_thing():
    data = in_units(1e-4)
    fitted = lsat.TunedLeastSquaresRegressor().fit(data.train.inputs.numpy(), data.train.targets.numpy())
    assert fitted.run_.status is Status.CONVERGED
    assert "coarse" not in fitted.run_.message


def test_a_heap_is_tidied_no_more_often_than_asked(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    assert not Heap(period=3600.0).tidy()
    assert seen == []
    assert Heap(period=0.0).tidy()
    assert seen == [0]


def test_a_heap_is_tidied_at_the_end_of_long_work_alone(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    heap = Heap(period=1.0)
    assert not heap.tidy(ended=True)
    now = 1.0
    assert heap.tidy()
    now = 1.5
    assert not heap.tidy()
    assert heap.tidy(ended=True)
    assert seen == [0, 0]


def test_a_run_tidies_the_heap(monkeypatch):
    seen = []
    monkeypatch.setattr("lsat_explorer.engines.heap._trim", lambda: seen.append)
    monkeypatch.setattr(import_module("lsat_explorer.tune.stepping"), "Heap", lambda: Heap(period=0.0))
    run = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=3)), make_data(), progress=False)
    assert len(seen) == len(run.iterates)


def test_a_change_prepares_nothing_where_it_is_asked_for(monkeypatch):
    run = lsat.Run(lsat.Recipe(method=QUICK), make_data())
    next(iter(run.steps()))
    monkeypatch.setattr(lsat.Problem, "_load_rows", lambda self: pytest.fail("rows were prepared"))
    run.change(run.recipe.replace(hyper_penalties={"regularizer.log_weight": lsat.Frozen()}))
    with pytest.raises(ValueError, match=r"no entry 'regularizer\.weight'"):
        run.change(run.recipe.replace(hyper_penalties={"regularizer.weight": lsat.Frozen()}))


def test_a_look_that_fails_is_not_counted():
    lsat.register_loss("fails at the end", lambda p, t: (p - t).square().mean() if len(p) != 18 else 1 / 0)
    run = lsat.tune(lsat.Recipe(loss=lsat.CustomLoss("fails at the end"), method=QUICK), make_data(), progress=False)
    assert len(run.data.test) == 18
    with pytest.raises(ZeroDivisionError):
        run.test()
    assert run.looks == 0
