"""The float64 Cholesky factor of a positive definite matrix, or an outcome that says why there is none."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .gram import padded
from .outcome import Outcome, Reason

__all__ = ["Factor", "factorize", "solve_factored"]


@dataclass(frozen=True)
class Factor:
    """S = D G D = L Lᵀ with a diagonal D, so that columns of any scale share one rank test.

    D holds powers of two that bring the diagonal of S between ½ and 2: S is G without a rounding. ``scaled`` (n, n) is
    S, ``lower`` (n, n) is L and ``scale`` (n,) the diagonal of D, all float64; they hold no solution when
    ``outcome.ok`` is False.
    """

    scaled: Tensor
    lower: Tensor
    scale: Tensor
    outcome: Outcome


def factorize(gram: Tensor, *, overwrite: bool = False) -> Factor:
    """Factor a symmetric (n, n) float64 matrix G; with ``overwrite`` its memory is taken for S.

    A pivot of S over its diagonal is 1 − R² of its column given the earlier ones. One at the level of rounding,
    64 n · 2⁻⁵², means that the column is a combination of the earlier ones: the answer would be noise, so the outcome
    is RANK_DEFICIENT. There is no silent jitter.
    """
    diagonal = gram.diagonal().clone()
    scale = (-0.5 * torch.where(diagonal > 0, diagonal, torch.ones_like(diagonal)).log2()).round().exp2()
    scaled = (gram if overwrite else gram.clone()).mul_(scale).mul_(scale[:, None])
    upper, info = torch.linalg.cholesky_ex(scaled, upper=True)  # a little faster than the lower one
    lower = upper.mT
    share = lower.diagonal().square() / scaled.diagonal()
    # A pivot is known to n · 2⁻⁵²; one refinement makes up for an error of a 64th, not for one as large as the pivot.
    floor = 64 * gram.shape[-1] * torch.finfo(gram.dtype).eps
    weak = ~(share > floor) | ~(diagonal > 0)
    # One transfer from the device reads every verdict; a NaN anywhere leaves a NaN among the pivots or an info.
    position = torch.where(weak.any(), weak.to(torch.int64).argmax() + 1, torch.zeros_like(weak.sum()))
    broken, weakest = torch.stack([info.to(torch.int64), position]).tolist()
    column = min((c for c in (broken, weakest) if c > 0), default=0)
    if not column:
        return Factor(scaled, lower, scale, Outcome())
    if not bool(torch.isfinite(scaled.tril()).all()):
        return Factor(
            scaled, lower, scale, Outcome(Reason.NOT_FINITE, "The normal equations hold a NaN or an infinity.")
        )
    sentence = (
        f"Column {column - 1} is a combination of the columns before it (to rounding): "
        "add a ridge that covers it, raise its weight, or remove the column."
    )
    return Factor(scaled, lower, scale, Outcome(Reason.RANK_DEFICIENT, sentence, column - 1))


def solve_factored(factor: Factor, right: Tensor, *, refine: bool = True) -> Tensor:
    """Return G⁻¹ ``right`` for (n, m) ``right``; with ``refine`` after one step of iterative refinement."""
    scale = factor.scale[:, None]
    scaled = right * scale
    solution = _solve(factor.lower, scaled)
    if refine:
        solution = solution + _solve(factor.lower, scaled - (factor.scaled @ padded(solution))[:, : right.shape[1]])
    return solution * scale


def _solve(lower: Tensor, right: Tensor) -> Tensor:
    # Two triangular solves: torch.cholesky_solve copies the factor each time.
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)
