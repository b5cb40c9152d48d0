"""The points of MNIST at which float32 errs: what each precision policy leaves of that, against QR in float64."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer.bench.paper import RECIPES, paper_data, paper_shape
from lsat_explorer.bench.table import SMALL
from lsat_explorer.model.piece import Omega, within
from lsat_explorer.solve.precision import DOUBLE, MIXED, SINGLE, Precision

TUNED = {"pixel_ridge": 1.53, "archetype_ridge": -3.23, "smooth": 3.88}
TINY = {"pixel_ridge": 0.0, "archetype_ridge": -6.0, "smooth": 0.0}

pytestmark = pytest.mark.mnist


@dataclass(frozen=True)
class Point:
    """A recipe at log weights of its regularizers, how far each policy may err there, and the logarithm of σ.

    ``best`` bounds the errors of the predictions and of the gradient by the most precise policy, ``single`` those of
    what is tuned in float32; all are relative, and geometric means over splits: one rounding of the rows to float32 or
    another makes the gradient's error up to three times as large.
    """

    scale: str
    recipe: str
    log_weights: dict[str, float]
    best: tuple[float, float]
    single: tuple[float, float] = (0.0, 0.0)
    log_scale: float = 0.0


POINTS = {
    "raw, tuned": Point("raw", "reg×3+feat", TUNED, (2e-9, 3e-9), (3e-6, 1e-5), 3.86),
    "raw, tuned, with row weights": Point("raw", "+weighting", TUNED, (2e-9, 3e-9), (3e-6, 1e-5), 3.86),
    "raw, archetypes hardly penalised": Point("raw", "reg×3+feat", TINY, (2e-9, 3e-9), (1e-6, 1e-6)),
    "raw, archetypes hardly penalised, with row weights": Point("raw", "+weighting", TINY, (2e-9, 3e-9), (1e-6, 3e-6)),
    "standardised, log weights -2": Point("standard", "reg×2", {"ridge": -2.0, "smooth": -2.0}, (2e-9, 2e-9)),
    "standardised, log weights -5": Point("standard", "reg×2", {"ridge": -5.0, "smooth": -5.0}, (5e-7, 5e-7)),
}


class Exact:
    """The fit of a problem's stored rows by QR of the stacked float64 system, its columns scaled to norm one."""

    def __init__(self, problem: lsat.Problem, omega: Omega) -> None:
        local = within("featurizer", omega)
        X, self.V = (torch.cat([f.clone() for _, f in p.rows.chunks(p.rows.moving(local))]) for p in problem.parts)
        Y, log_weights = problem.parts[0].rows.targets.double(), problem.log_weights(omega)
        w = torch.ones(len(X), 1, dtype=torch.float64) if log_weights is None else log_weights.exp()[:, None]
        identity = torch.eye(X.shape[1], dtype=torch.float64)
        penalties = [omega[p.name].exp() * p.apply(identity) for p in problem.penalty_matrices]
        A = torch.cat([w * X, *penalties])
        self.scale = A.norm(dim=0)
        self.scale[self.scale == 0] = 1.0
        Q, self.R = torch.linalg.qr(A / self.scale)
        stacked = torch.cat([w * Y, Y.new_zeros(len(A) - len(Y), Y.shape[1])])
        self.theta = self._back(Q.mT @ stacked)
        self.predictions = self.V @ self.theta
        slopes = torch.func.grad(lambda P: problem.score(P, None, {}))(self.predictions)
        C = self._back(torch.linalg.solve_triangular(self.R.mT, self.V.mT @ slopes / self.scale[:, None], upper=False))
        self.gradient = {p.name: p.gradient(self.theta, C, omega[p.name]) for p in problem.penalty_matrices}
        if log_weights is not None:
            flow = ((Y - X @ self.theta) * (X @ C)).sum(1)
            self.gradient["data_weights.log_weight"] = 2 * w[:, 0].square() * flow

    def _back(self, right: Tensor) -> Tensor:
        return torch.linalg.solve_triangular(self.R, right, upper=True) / self.scale[:, None]


def relative(a: Tensor, b: Tensor) -> float:
    """Return ‖a − b‖ / ‖b‖."""
    return float((a.double() - b).norm() / b.norm())


def whole(gradient: Omega, names: dict[str, Tensor]) -> Tensor:
    """Return entries of a gradient as one vector."""
    return torch.cat([gradient[name].reshape(-1) for name in names])


@pytest.fixture(scope="module")
def data(mnist_folder: Path) -> dict[str, list[lsat.Data]]:
    """Return three splits of the small set at each scale that recipes of the paper ask for."""
    return {scale: [paper_data(str(mnist_folder), SMALL.size, seed, scale) for seed in range(3)] for scale in RECIPES}


@pytest.mark.parametrize("name", POINTS)
def test_errors_at_the_points_where_float32_fails(name: str, data: dict[str, list[lsat.Data]]) -> None:
    point = POINTS[name]
    found = [errors_at(point, split, seed) for seed, split in enumerate(data[point.scale])]
    policies = {SINGLE: point.single, MIXED: point.best} if point.scale == "raw" else {DOUBLE: point.best}
    assert all(errors.keys() == policies.keys() for errors in found)
    for policy, bounds in policies.items():
        means = np.exp(np.mean([np.log(errors[policy]) for errors in found], 0))
        assert (means <= bounds).all(), found


def errors_at(point: Point, data: lsat.Data, seed: int) -> dict[Precision, tuple[float, float]]:
    """Return the errors of the predictions and of the gradient by policy."""
    problem = lsat.Problem(RECIPES[point.scale][point.recipe](paper_shape(data)).replace(seed=seed), data)
    omega = problem.init()
    for regularizer, value in point.log_weights.items():
        omega[f"regularizer.{regularizer}.log_weight"].fill_(value)
    if "featurizer.archetypes.log_scale" in omega:
        omega["featurizer.archetypes.log_scale"].fill_(point.log_scale)
    exact = Exact(problem, omega)
    errors = {}
    for of in (problem, problem.precisely()):
        at = of.evaluate(omega)
        gradient = relative(whole(of.gradient(at), exact.gradient), whole(exact.gradient, exact.gradient))
        errors[of.precision] = relative(at.predictions, exact.predictions), gradient
    theta, outcome = problem.coefficients(omega)
    assert outcome.ok
    assert relative(exact.V @ theta, exact.predictions) <= point.best[0]
    return errors
