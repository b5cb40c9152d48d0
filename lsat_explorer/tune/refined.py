"""One fit with a step of iterative refinement, whose coefficients a model reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..model.choices import Fit
from ..model.piece import Omega, within
from ..solve.outcome import Outcome
from .evaluation import solve_fits

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["refined"]


def refined(problem: Problem, omega: Omega, fit: Fit) -> tuple[Tensor, Outcome]:
    """Return θ (n, m) of one ``fit`` at ``omega``, and the outcome of its solve.

    One refinement with residuals of the rows in float64, r = XᵀW²(Y − Xθ) − Σ e^{2ω_j} R_jᵀR_j θ, which is zero at the
    solution: θ + G⁻¹ r undoes the rounding of sums in lower precision.
    """
    with torch.no_grad():
        omega = problem.there(omega)
        moving = [problem.parts[p].rows.moving(within("featurizer", omega)) for p in fit.trained]
        (solution,) = solve_fits(problem, omega, [fit], moving)
        if not solution.outcome.ok:
            return solution.theta, solution.outcome
        penalty = torch.zeros_like(solution.factor.scaled)
        for matrix in problem.penalty_matrices:
            matrix.add_to(penalty, omega[matrix.name])
        residual = -penalty @ solution.theta
        log_weights = problem.log_weights(omega)
        for place, p in zip(moving, fit.trained, strict=True):
            part = problem.parts[p]
            residual += part.rows.normal_residual(place, solution.theta, part.of(log_weights))
        return solution.theta + solution.solve(residual), solution.outcome
