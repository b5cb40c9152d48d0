"""Runs that are stopped, gone on with and changed in the middle, by their own thread and by others."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer import Status
from runs import QUICK, weighting
from test_problem import ARCHETYPES, STACK, make_data


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
    with pytest.raises(ValueError, match="differs in featurizer"):
        run.change(other.replace(featurizer=lsat.Identity()))
    with pytest.raises(ValueError, match="did you mean"):
        run.change(other.replace(hyper_penalties={"data_weights.log_wieght": lsat.Frozen()}))


@pytest.mark.parametrize("loss", [lsat.CrossEntropy(), None], ids=repr)
def test_a_temperature_is_switched_on_and_off_in_the_middle_of_a_run(loss, tmp_path):
    method = lsat.ProximalGradient(step=5.0, tolerance=0.0, max_iterations=12)
    off = lsat.Recipe(loss=loss, method=method)
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
    with pytest.raises(ValueError, match="differs in loss"):
        run.change(recipe.replace(loss=lsat.SquaredError()))


def test_a_change_prepares_nothing_where_it_is_asked_for(monkeypatch):
    run = lsat.Run(lsat.Recipe(method=QUICK), make_data())
    next(iter(run.steps()))
    monkeypatch.setattr(lsat.Problem, "_load_rows", lambda self: pytest.fail("rows were prepared"))
    run.change(run.recipe.replace(hyper_penalties={"regularizer.log_weight": lsat.Frozen()}))
    with pytest.raises(ValueError, match=r"no entry 'regularizer\.weight'"):
        run.change(run.recipe.replace(hyper_penalties={"regularizer.weight": lsat.Frozen()}))
