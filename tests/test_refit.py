"""The fit to training and validation rows together, once the hyper-parameters are chosen."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from test_problem import ARCHETYPES, STACK, make_data

QUICK = lsat.LBFGS(max_iterations=5)


def features(run: lsat.Run, split: lsat.Split) -> torch.Tensor:
    omega = {k.removeprefix("featurizer."): v for k, v in run.omega.items() if k.startswith("featurizer.")}
    return torch.cat(list(run.problem.prepared.blocks(omega, split.inputs.double()).values()), 1)


@pytest.mark.parametrize("weights", [None, lsat.LogWeights()], ids=["rows that weigh one", "row weights"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_solves_the_stacked_problem_of_both_splits(weights, dtype):
    """The stacked rows by numpy's lstsq: training rows times their weight, validation rows, penalty rows."""
    data = make_data()
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, data_weights=weights, method=QUICK, dtype=dtype)
    run = lsat.tune(recipe, data, progress=False)
    model = lsat.refit(run)
    n = len(model.theta)
    root = torch.from_numpy(np.sqrt(run.weights()))[:, None]
    rows = [root * features(run, data.train), features(run, data.validation)]
    targets = [root * data.train.targets, data.validation.targets]
    for matrix in run.problem.penalty_matrices:
        R = matrix.apply(torch.eye(n, dtype=torch.float64)).to_dense()
        rows.append(run.omega[matrix.name].exp() * R)
        targets.append(torch.zeros(len(R), data.train.targets.shape[1], dtype=torch.float64))
    expected = np.linalg.lstsq(torch.cat(rows).numpy(), torch.cat(targets).numpy(), rcond=None)[0]
    shown = features(run, data.test).numpy()
    assert np.allclose(shown @ model.theta.numpy(), shown @ expected, atol=1e-9 if dtype == "float64" else 1e-5)
    assert not np.allclose(shown @ run.model.theta.numpy(), shown @ expected, atol=1e-4)


def test_it_leaves_the_run_as_it_was(tmp_path):
    run = lsat.tune(lsat.Recipe(method=QUICK), make_data(), progress=False)
    before = run.model.theta.clone()
    model = lsat.refit(run)
    assert torch.equal(run.model.theta, before)
    assert (model.recipe, model.omega, model.classes) == (run.recipe, run.omega, run.model.classes)
    model.save(tmp_path / "model.safetensors")
    assert torch.equal(lsat.FittedModel.load(tmp_path / "model.safetensors").theta, model.theta)


@pytest.mark.parametrize("criterion", [lsat.KFold(), lsat.LeaveOneOut()], ids=repr)
def test_it_refuses_a_criterion_without_validation_rows(criterion):
    recipe = lsat.Recipe(criterion=criterion, loss=lsat.SquaredError(), method=QUICK)
    run = lsat.tune(recipe, make_data(), progress=False)
    with pytest.raises(ValueError, match="holds no validation rows out"):
        lsat.refit(run)


def test_it_refuses_a_run_that_has_not_started():
    with pytest.raises(ValueError, match="has not started"):
        lsat.refit(lsat.Run(lsat.Recipe(), make_data()))


def test_it_refuses_what_is_no_run():
    with pytest.raises(ValueError, match="run is a int, expected a Run"):
        lsat.refit(3)
