"""What is held: features and row weights that are not tuned, which the rows of a problem are formed with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import lsat_explorer as lsat

WEIGHTS = "data_weights.log_weight"
FROZEN = {n: lsat.Frozen() for n in (WEIGHTS, "featurizer.features.log_scale", "featurizer.features.shift")}
RECIPE = lsat.Recipe(
    featurizer=lsat.Concat(features=lsat.Scale(), one=lsat.Constant()),
    regularizer=lsat.Ridge(),
    data_weights=lsat.LogWeights(),
    early_stopping=lsat.EarlyStopping(50),
    method=lsat.LineSearch(max_iterations=12),
)
CHANGED = RECIPE.replace(hyper_penalties=FROZEN, method=lsat.LineSearch(max_iterations=2))


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    """Rows on which the early-stopping loss is least long before the end."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(90, 3))
    y = np.where(X[:, 0] > 0, generator.integers(0, 3, 90), 0)
    return lsat.Data.from_arrays(X, y, validation=0.3, test=0.2, final=0.1)


def stopping_loss(model: lsat.FittedModel, data: lsat.Data) -> float:
    assert data.test is not None
    scores = torch.from_numpy(model.decision_function(data.test.inputs))
    return float(model.loss.value(scores, data.test.targets.double(), {}))


def other_omega(problem: lsat.Problem) -> lsat.Omega:
    omega = problem.init()
    omega["featurizer.features.log_scale"] = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)
    omega[WEIGHTS] = torch.linspace(-1, 1, len(omega[WEIGHTS]), dtype=torch.float64)
    return omega


@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_the_kept_model_is_that_of_its_iterate_when_something_is_frozen_since(
    data: lsat.Data, tmp_path: Path, engine: str
) -> None:
    run = lsat.Run(RECIPE.replace(engine=engine), data, checkpoint=tmp_path / "checkpoint")
    *_, last = run.steps()
    kept = run.kept
    assert kept.number < last.number
    run.change(CHANGED.replace(engine=engine))
    for _ in run.steps():
        pass
    assert run.kept is kept
    expected = lsat.Problem(RECIPE, data).coefficients(kept.omega)[0]
    run.save(tmp_path / "saved")
    resumed = lsat.Run.resume(tmp_path / "checkpoint", data)
    for model in (run.model, resumed.model, lsat.FittedModel.load(tmp_path / "saved" / "model.safetensors")):
        torch.testing.assert_close(model.theta, expected, rtol=1e-9, atol=1e-11)
        assert stopping_loss(model, data) == pytest.approx(kept.stopping_loss, rel=1e-9)
    assert run.test().loss == resumed.test().loss
    lsat.explain.label_doubt(run.model)
    refitted = lsat.Problem(RECIPE, data).coefficients(kept.omega, validation=True)[0]
    torch.testing.assert_close(lsat.refit(run).theta, refitted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_fit_takes_every_entry_of_omega_as_it_is_given(data: lsat.Data, dtype: str) -> None:
    free, holds = (lsat.Problem(recipe.replace(dtype=dtype), data) for recipe in (RECIPE, CHANGED))
    omega = other_omega(free)
    model = lsat.FittedModel.of(holds, omega)
    torch.testing.assert_close(model.theta, free.coefficients(omega)[0], rtol=1e-6, atol=1e-8)
    assert stopping_loss(model, data) == pytest.approx(stopping_loss(lsat.FittedModel.of(free, omega), data), rel=1e-6)


def test_f_where_something_held_is_elsewhere_is_refused(data: lsat.Data) -> None:
    free, holds = lsat.Problem(RECIPE, data), lsat.Problem(CHANGED, data)
    omega = other_omega(free)
    said = r"omega\['featurizer\.features\.log_scale'\] is not tuned here, .*lsat\.Problem\(recipe, data, held=omega\)"
    for asked in (holds.evaluate, holds.start):
        with pytest.raises(ValueError, match=said):
            asked(omega)
    there = lsat.Problem(CHANGED, data, held=omega)
    assert there.evaluate(omega).loss == pytest.approx(free.evaluate(omega).loss, rel=1e-12)


def test_what_is_held_is_compared_once_and_then_known(data: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, compared = lsat.Problem(CHANGED, data), []
    at = problem.evaluate(problem.init())
    monkeypatch.setattr(torch, "equal", lambda a, b: compared.append(a))
    for _ in range(2):
        at = problem.evaluate({**at.omega, "regularizer.log_weight": at.omega["regularizer.log_weight"] + 1})
    assert not compared
