"""Runs: the proximal gradient method step by step, its history, and what a run says of its losses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer import Status
from runs import QUICK, weighting
from test_problem import ARCHETYPES, STACK, make_data


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


def test_refined_coefficients_agree_with_float64():
    data = make_data(rows=4000)
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, method=lsat.ProximalGradient(max_iterations=0))
    single, double = (lsat.tune(recipe.replace(dtype=d), data, progress=False) for d in ("float32", "float64"))
    rough = single.problem.evaluate(single.omega).solution.theta
    exact = double.model.theta
    assert (single.model.theta - exact).norm() < 1e-2 * (rough - exact).norm()


def test_a_look_that_fails_is_not_counted():
    lsat.register_loss("fails at the end", lambda p, t: (p - t).square().mean() if len(p) != 18 else 1 / 0)
    run = lsat.tune(lsat.Recipe(loss=lsat.CustomLoss("fails at the end"), method=QUICK), make_data(), progress=False)
    assert len(run.data.test) == 18
    with pytest.raises(ZeroDivisionError):
        run.test()
    assert run.looks == 0
