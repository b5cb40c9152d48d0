"""ψ of rows that are left out of the fit to all, as sums over them: leave-one-out, generalized cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from ..engines.moving import Moving
from ..engines.passes import Fitted, Judge, Judged
from ..model.piece import tensor
from ..solve.outcome import Outcome
from ..solve.weighted import Solution
from .criteria import GCV
from .evaluation import own_fit, saturated

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["without"]


def without(
    problem: Problem, moving: Moving, solution: Solution, log_weight: Tensor | None, judge: Judge, gram: Tensor
) -> tuple[list[Judged], Tensor | None, tuple[float, float] | None, Outcome]:
    """Return what is said of the training rows, Xᵀ diag(w² s) X (n, n) with s = ∂ψ/∂h, and if a row is its own fit.

    GCV has ψ = S / (1 − H)² of S = (1/k) Σ ‖y_i − ŷ_i‖² and H = (1/k) Σ h_i: every row has s = 2 S / (1 − H)³ / k, then
    returned too with ∂ψ/∂S, and None otherwise. ``gram`` is XᵀW²X.
    """
    rows, factor = problem.parts[0].rows, solution.factor
    found = rows.left_out(moving, Fitted(solution.theta, factor.lower, factor.scale, judge), 0, log_weight)
    mean = found.leverage / len(rows)
    worst = (tensor(value) for value in found.largest)
    outcome = saturated(mean) if isinstance(problem.criterion, GCV) else own_fit(*worst)
    if not outcome.ok:
        return [], None, None, outcome
    if not isinstance(problem.criterion, GCV):
        return [Judged(found.loss, found.error, found.right, found.own)], found.middle, None, outcome
    left = 1 - mean
    s = float(2 * found.loss / left**3 / len(rows))
    same = (s, float(1 / left**2))
    return [Judged(found.loss / left**2, found.error, found.right / left**2, found.own)], gram * s, same, outcome
