"""The float64 Cholesky factor of a positive definite matrix, or an outcome that says why there is none."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .outcome import Outcome, Reason

__all__ = ["Factor", "factorize", "solve_factored"]


@dataclass(frozen=True)
class Factor:
    """G = D⁻¹ L Lᵀ D⁻¹ with unit-diagonal scaling D, so that columns of any scale share one rank test.

    ``lower`` (n, n) is L and ``scale`` (n,) the diagonal of D, both float64; they hold no solution when
    ``outcome.ok`` is False.
    """

    lower: Tensor
    scale: Tensor
    outcome: Outcome


def factorize(gram: Tensor) -> Factor:
    """Factor a symmetric (n, n) float64 matrix G, of which only the lower triangle is read.

    A pivot of the scaled matrix is 1 − R² of its column given the earlier ones. One at the level of rounding,
    64 n · 2⁻⁵², means that the column is a combination of the earlier ones: the answer would be noise, so the outcome
    is RANK_DEFICIENT. There is no silent jitter.
    """
    diagonal = gram.diagonal()
    scale = torch.where(diagonal > 0, diagonal, torch.ones_like(diagonal)).rsqrt()
    scaled = gram * scale
    lower, info = torch.linalg.cholesky_ex(scaled.mul_(scale[:, None]))
    pivots = lower.diagonal()
    # A pivot is known to n · 2⁻⁵²; one refinement makes up for an error of a 64th, not for one as large as the pivot.
    floor = 64 * gram.shape[-1] * torch.finfo(gram.dtype).eps
    weak = ~(pivots.square() > floor) | ~(diagonal > 0)
    # One transfer from the device reads every verdict; a NaN anywhere leaves a NaN among the pivots or an info.
    position = torch.where(weak.any(), weak.to(torch.int64).argmax() + 1, torch.zeros_like(weak.sum()))
    broken, weakest = torch.stack([info.to(torch.int64), position]).tolist()
    column = min((c for c in (broken, weakest) if c > 0), default=0)
    if not column:
        return Factor(lower, scale, Outcome())
    if not bool(torch.isfinite(gram.tril()).all()):
        return Factor(lower, scale, Outcome(Reason.NOT_FINITE, "The normal equations hold a NaN or an infinity."))
    sentence = (
        f"Column {column - 1} is a combination of the columns before it (to rounding): "
        "add a ridge that covers it, raise its weight, or remove the column."
    )
    return Factor(lower, scale, Outcome(Reason.RANK_DEFICIENT, sentence, column - 1))


def solve_factored(factor: Factor, right: Tensor, gram: Tensor | None = None) -> Tensor:
    """Return G⁻¹ ``right`` for (n, m) ``right``; with ``gram`` given, after one step of iterative refinement."""
    scale = factor.scale[:, None]
    solution = torch.cholesky_solve(right * scale, factor.lower) * scale
    if gram is not None:
        solution = solution + torch.cholesky_solve((right - gram @ solution) * scale, factor.lower) * scale
    return solution
