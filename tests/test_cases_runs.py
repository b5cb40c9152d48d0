"""Faults to survive, 13, 14, 17 and 18: losses that turn NaN, runs that end at once, devices, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
import pieces
from cases import (
    LABELS,
    RIDGE,
    ROWS,
    X,
    Y,
    data_of,
    from_splits,
    model_of,
)
from lsat_explorer.model.data_weights import DataWeights
from lsat_explorer.model.losses import Loss
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.regularizers import Regularizer

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize(
    "method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS()], ids=lambda m: type(m).__name__
)
def test_case_13_a_loss_that_turns_nan_keeps_the_best_values(method: Any) -> None:
    from lsat_explorer import model as m

    calls = {"count": 0}

    def turns(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls["count"] += 1
        loss = (predictions - targets).square().sum(1).mean()
        return loss * float("nan") if calls["count"] > 3 else loss

    m.register_loss("turns nan in a case", turns)
    recipe = RIDGE.replace(loss=m.CustomLoss("turns nan in a case"), method=method)
    run = lsat.tune(recipe, data_of(X, Y + RANDOM.normal(size=ROWS)), progress=False)
    assert run.status is lsat.Status.NOT_FINITE
    assert all(np.isfinite(value.numpy()).all() for value in run.omega.values())
    assert np.isfinite(run.model.predict(X)).all()


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize("kind", [lsat.ProximalGradient, lsat.LineSearch, lsat.LBFGS])
def test_case_14_a_run_of_no_or_one_iteration_is_a_fit(kind: Any, limit: int) -> None:
    run = lsat.tune(
        RIDGE.replace(method=kind(max_iterations=limit, tolerance=0.0)), data_of(X, LABELS * 1.0 + Y), progress=False
    )
    assert run.status is lsat.Status.MAX_ITERATIONS
    assert run.iterates[-1].number <= limit
    assert np.isfinite(run.model.predict(X)).all()
    if limit == 0:
        np.testing.assert_allclose(run.model.predict(X), model_of(RIDGE, run.data).predict(X))


def test_case_14_a_flat_loss_is_converged_at_once() -> None:
    run = lsat.tune(RIDGE, data_of(X, np.ones(ROWS)), progress=False)
    assert run.status is lsat.Status.CONVERGED


def test_case_17_types_and_devices_are_one_or_named() -> None:
    A, B = torch.from_numpy(X), torch.from_numpy(Y)
    with pytest.raises(ValueError, match=r"A is torch.float32 and B is torch.float64: expected one"):
        lsat.least_squares(A.float(), B)
    with pytest.raises(ValueError, match="A is on the device meta, which holds no numbers"):
        lsat.least_squares(A.to("meta"), B)
    with pytest.raises(ValueError, match="B is on the device meta"):
        lsat.least_squares(A, B.to("meta"))
    with pytest.raises(ValueError, match="X is a tensor on the device meta, which holds no numbers"):
        from_splits(A.to("meta"), Y)
    single = from_splits(torch.from_numpy(X.astype(np.float32)), Y)
    np.testing.assert_allclose(single, from_splits(X, B), rtol=1e-5)
    data = lsat.Data.from_splits((X.astype(np.float32), Y), (X, Y))
    assert data.train.inputs.dtype == data.validation.inputs.dtype == torch.float64


@pytest.mark.cuda
def test_case_17_a_cuda_tensor_with_numpy_is_moved_or_named() -> None:
    A, B = torch.from_numpy(X), torch.from_numpy(Y)
    with pytest.raises(ValueError, match=r"A is on cuda:0 and B on cpu"):
        lsat.least_squares(A.cuda(), B)
    np.testing.assert_allclose(from_splits(A.cuda(), Y), from_splits(X, B.cuda()))


_BLOCKS = lsat.Concat(a=lsat.Identity(), b=lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform()))
_PLAIN = RIDGE.replace(featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()))


def of_every(kind: type[Any]) -> pytest.MarkDecorator:
    """Every example of a kind of piece: one that is new is among them the day it is registered."""
    return pytest.mark.parametrize("piece", pieces.examples(kind), ids=lambda piece: repr(piece)[:50])


@of_every(Regularizer)
def test_case_18_every_hyper_parameter_of_a_regularizer_agrees_with_differences(piece: Any) -> None:
    stack = lsat.Stack(every=lsat.Ridge(), one=piece)
    _differences(lsat.Recipe(featurizer=_BLOCKS, regularizer=stack, loss=lsat.SquaredError()))


@of_every(Featurizer)
def test_case_18_every_hyper_parameter_of_a_featurizer_agrees_with_differences(piece: Any) -> None:
    _differences(lsat.Recipe(featurizer=piece, regularizer=lsat.Ridge(log_weight=0.5), loss=lsat.SquaredError()))


@of_every(DataWeights)
def test_case_18_every_hyper_parameter_of_row_weights_agrees_with_differences(piece: Any) -> None:
    _differences(_PLAIN.replace(data_weights=piece, loss=lsat.CrossEntropy()), classes=True)


@of_every(Loss)
def test_case_18_every_hyper_parameter_of_a_loss_agrees_with_differences(piece: Any) -> None:
    _differences(_PLAIN.replace(loss=piece), classes=isinstance(piece, lsat.CrossEntropy))


def _differences(recipe: lsat.Recipe, *, classes: bool = False) -> None:
    random = np.random.default_rng(3)
    Z = random.uniform(0.5, 2.0, size=(75, pieces.COLUMNS))
    outcome = (
        np.array(["a", "b", "c"])[np.arange(len(Z)) % 3] if classes else Z[:, :2] + 0.1 * random.normal(size=(75, 2))
    )
    train, rest = slice(pieces.ROWS), slice(pieces.ROWS, None)
    problem = lsat.Problem(recipe, lsat.Data.from_splits((Z[train], outcome[train]), (Z[rest], outcome[rest])))
    omega = problem.init()
    gradient = problem.gradient(problem.evaluate(omega))
    direction = {name: torch.from_numpy(random.normal(size=tuple(value.shape))) for name, value in omega.items()}
    step = 1e-6  # where a row lies on a knot, differences err by as much as the step
    ends = [
        problem.evaluate({name: value + sign * step * direction[name] for name, value in omega.items()}).loss
        for sign in (1, -1)
    ]
    slope = sum(float((gradient[name] * direction[name]).sum()) for name in omega)
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-9)
