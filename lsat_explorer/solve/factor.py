"""The float64 Cholesky factor of a positive definite matrix, or an outcome that says why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .gram import padded
from .outcome import Outcome, Reason

__all__ = ["Factor", "factorize", "solve_factored"]

_SOUND = 2.0**-20
"""Least pivot over its diagonal with which a refinement in the same float64 brings no digit: measured, none in any."""

_FLOOR = 64 * 2.0**-52
"""Times n, what a pivot or an eigenvalue of S is not told from zero by."""

_STEPS, _TAKES_PART = 3, 1e-3
"""Of inverse iteration, and the share of the largest entry from which a column takes part in a dependency."""


@dataclass(frozen=True)
class Factor:
    """S = D G D = L Lᵀ with a diagonal D, so that columns of any scale share one rank test.

    D holds powers of two that bring the diagonal of S between ½ and 2: S is G without a rounding. ``scaled`` (n, n) is
    S, ``lower`` (n, n) is L and ``scale`` (n,) the diagonal of D, all float64; they hold no solution when
    ``outcome.ok`` is False. ``verdict`` (2,) holds, where they are, the column without a pivot of its own, counted from
    1 and 0 for none, and whether every pivot is larger than `_SOUND`: who reads more than that from a device takes it
    along, and gives it to `judged`.
    """

    scaled: Tensor
    lower: Tensor
    scale: Tensor
    verdict: Tensor

    @cached_property
    def outcome(self) -> Outcome:
        """What became of the factor; a device is waited for."""
        return self.judged(self.verdict.tolist())

    @cached_property
    def sound(self) -> bool:
        """Whether a refinement would bring nothing; False on a device, where asking would take longer than refining."""
        return self.verdict.device.type == "cpu" and bool(self.verdict[1])

    def judged(self, verdict: Sequence[float]) -> Outcome:
        """Return the outcome from what was read of ``verdict``."""
        column = int(verdict[0]) or (0 if verdict[1] else self._combined())
        if not column:
            return Outcome()
        if not bool(torch.isfinite(self.scaled.tril()).all()):
            large = (~torch.isfinite(self.scaled.diagonal())).nonzero().flatten().tolist()
            if not large:
                return Outcome(Reason.NOT_FINITE, "The normal equations hold a NaN or an infinity.")
            sentence = f"Column {large[0]} holds numbers too large to be squared: divide it by a constant."
            return Outcome(Reason.NOT_FINITE, sentence, large[0])
        sentence = (
            f"Column {column - 1} is a combination of the columns before it (to rounding): "
            "add a ridge that covers it, raise its weight, or remove the column."
        )
        return Outcome(Reason.RANK_DEFICIENT, sentence, column - 1)

    def _combined(self) -> int:
        """Return the last column of a dependency that no pivot shows, counted from 1; 0 where there is none.

        Rounding of the pivots before it can hide that a column is a combination of longer parts of them. The smallest
        eigenvalue λ of S cannot: inverse iteration finds it from above, and its vector tells the columns.
        """
        n = len(self.scale)
        places = torch.arange(n, dtype=torch.float64, device=self.scale.device)
        vector, least = (1 + places / n) * (1 - 2 * (places % 2)), math.inf
        for _ in range(_STEPS):
            longer = _solve(self.lower, (vector / vector.norm())[:, None])[:, 0]
            vector, least = longer, 1 / float(longer.norm())
        if least > _FLOOR * n:
            return 0
        return int((vector.abs() > _TAKES_PART * vector.abs().max()).nonzero()[-1]) + 1


def factorize(gram: Tensor, *, overwrite: bool = False) -> Factor:
    """Factor a symmetric (n, n) float64 matrix G; with ``overwrite`` its memory is taken for S.

    A pivot of S over its diagonal is 1 − R² of its column given the earlier ones. One at the level of rounding,
    64 n · 2⁻⁵², means that the column is a combination of the earlier ones: the answer would be noise, so the outcome
    is RANK_DEFICIENT. So is that of a factor with a small pivot where the smallest eigenvalue of S is at that level.
    There is no silent jitter.
    """
    n, diagonal = gram.shape[-1], gram.diagonal().clone()
    if not n:
        return Factor(gram, gram, diagonal, torch.tensor([0.0, 1.0], dtype=gram.dtype, device=gram.device))
    scale = (-0.5 * torch.where(diagonal > 0, diagonal, torch.ones_like(diagonal)).log2()).round().exp2()
    scaled = (gram if overwrite else gram.clone()).mul_(scale).mul_(scale[:, None])
    upper, info = torch.linalg.cholesky_ex(scaled, upper=True)  # a little faster than the lower one
    lower = upper.mT
    share = lower.diagonal().square() / scaled.diagonal()
    # A pivot is known to n · 2⁻⁵²; one refinement makes up for an error of a 64th, not for one as large as the pivot.
    weak = ~(share > _FLOOR * n) | ~(diagonal > 0)
    # A NaN anywhere leaves a NaN among the pivots or an info.
    weakest = torch.where(weak.any(), weak.to(torch.int64).argmax(), n)
    broken = torch.where(info > 0, info - 1, n)
    column = (torch.minimum(weakest, broken) + 1) % (n + 1)
    return Factor(scaled, lower, scale, torch.stack([column.double(), (share > _SOUND).all().double()]))


def solve_factored(factor: Factor, right: Tensor, *, refine: bool | None = None) -> Tensor:
    """Return G⁻¹ ``right`` for (n, m) ``right``; with ``refine`` after one step of iterative refinement.

    None refines unless the factor is sound.
    """
    scale = factor.scale[:, None]
    scaled = right * scale
    solution = _solve(factor.lower, scaled)
    if not factor.sound if refine is None else refine:
        solution = solution + _solve(factor.lower, scaled - (factor.scaled @ padded(solution))[:, : right.shape[1]])
    return solution * scale


def _solve(lower: Tensor, right: Tensor) -> Tensor:
    # Two triangular solves: torch.cholesky_solve copies the factor each time.
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)
