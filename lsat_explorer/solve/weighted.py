r"""The normal equations of weighted, regularized data fitting, assembled and never stacked.

    θ = argmin Σ_i w_i² ‖x_iᵀθ − y_i‖² + Σ_j ‖e^{ω_j} R_j θ‖²_F,     G θ = XᵀW²Y,     G = XᵀW²X + Σ_j R_jᵀ e^{2ω_j} R_j

With a loss ψ(θ), C = G⁻¹ ∇_θψ, E = Y − Xθ and XC, both (k, m), the gradients are

    ∂ψ/∂ω_i^data = 2 e^{2ω_i} E_i·(XC)_i,     ∂ψ/∂ω_j^reg = −2 e^{2ω_j} ⟨R_jθ, R_jC⟩,     ∂ψ/∂X = W²(E Cᵀ − (XC) θᵀ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from .factor import Factor, factorize, solve_factored
from .gram import READ
from .outcome import Outcome, Reason

__all__ = ["Moments", "PenaltyMatrix", "Solution", "feature_factors", "solve_normal", "weight_gradient"]


class Moments(NamedTuple):
    """What a fit needs from its rows: ``gram`` XᵀW²X (n, n) and ``cross`` XᵀW²Y (n, m), float64."""

    gram: Tensor
    cross: Tensor


class PenaltyMatrix:
    """One regularizer ‖diag(e^{ω_g}) R θ‖²_F on the columns ``offset … offset + n_b`` of θ.

    ``matrix`` R is (q, n_b), sparse or dense; ``group`` (q,) tells which entry of the log weights a row of R takes,
    None when all share one scalar. Products run on the pattern of R only.
    """

    def __init__(
        self,
        name: str,
        matrix: Any,
        offset: int,
        n: int,
        group: np.ndarray | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        R: Any = sparse.csr_array(matrix).astype(np.float64)
        self.name = name
        self.columns = slice(offset, offset + R.shape[1])
        self._rows = R
        self._group = None if group is None else torch.as_tensor(group, device=device)
        self._R = _sparse_tensor(R, device)
        product: Any = sparse.coo_array(R.T @ R)
        row, col = product.coords
        self._target = torch.as_tensor((row + offset).astype(np.int64) * n + col + offset, device=device)
        # Entry e of RᵀR on its pattern is Σ_q R[q, row_e] R[q, col_e]: with weights for rows, an (entries, q) matrix.
        if group is None:
            self._gram = torch.as_tensor(product.data, device=device)
        else:
            self._gram = _sparse_tensor(R[:, row].multiply(R[:, col]).T, device)

    def add_to(self, gram: Tensor, log_weight: Tensor) -> None:
        """Add Rᵀ e^{2ω} R to the full (n, n) ``gram``, in place."""
        weight = (2 * log_weight.double()).exp()
        values = weight * self._gram if self._group is None else self._gram @ weight[self._group]
        gram.view(-1).index_add_(0, self._target, values)

    def apply(self, theta: Tensor) -> Tensor:
        """Return R θ (q, m) for the full (n, m) ``theta``."""
        return self._R @ theta[self.columns]

    def value(self, theta: Tensor, log_weight: Tensor) -> Tensor:
        """Return ‖e^{ω} R θ‖²_F as a scalar."""
        return ((2 * log_weight.double()).exp() * self._per_weight(self.apply(theta).square().sum(1), log_weight)).sum()

    def gradient(self, theta: Tensor, C: Tensor, log_weight: Tensor) -> Tensor:
        """Return ∂ψ/∂ω = −2 e^{2ω} ⟨Rθ, RC⟩, of the shape of ``log_weight``."""
        left, right = self.apply(torch.cat([theta, C], 1)).chunk(2, 1)  # R is gone through once
        products = (left * right).sum(1)
        return -2 * (2 * log_weight.double()).exp() * self._per_weight(products, log_weight)

    def trace_gradient(self, N: Tensor, log_weight: Tensor) -> Tensor:
        """Return −2 e^{2ω} tr(R N Rᵀ), by weight, for a symmetric (n, n) N."""
        row, column = self._R.indices()
        products = (self._R @ N[self.columns, self.columns])[row, column] * self._R.values()
        rows = torch.zeros(self._R.shape[0], dtype=torch.float64, device=N.device).index_add_(0, row, products)
        return -2 * (2 * log_weight.double()).exp() * self._per_weight(rows, log_weight)

    def _per_weight(self, rows: Tensor, log_weight: Tensor) -> Tensor:
        if self._group is None:
            return rows.sum()
        return torch.zeros_like(log_weight, dtype=torch.float64).index_add_(0, self._group, rows)

    def covers(self, column: int) -> bool:
        """Whether a row of R touches ``column`` of θ."""
        local = column - self.columns.start
        return 0 <= local < self._rows.shape[1] and bool(self._rows[:, [local]].nnz)


def _sparse_tensor(matrix: Any, device: torch.device | str) -> Tensor:
    coo: Any = sparse.coo_array(matrix)
    indices = torch.from_numpy(np.stack([c.astype(np.int64) for c in coo.coords])).to(device)
    values = torch.from_numpy(coo.data.astype(np.float64)).to(device)
    return torch.sparse_coo_tensor(indices, values, coo.shape, device=device, check_invariants=False).coalesce()


@dataclass(frozen=True)
class Solution:
    """θ (n, m) float64 with the ``factor`` of G; zeros, and no solution, when ``outcome.ok`` is False."""

    theta: Tensor
    factor: Factor
    penalties: Sequence[PenaltyMatrix]

    @cached_property
    def outcome(self) -> Outcome:
        """What became of the solve; a device is waited for."""
        return self.judged(self.factor.verdict.tolist())

    def judged(self, verdict: Sequence[float]) -> Outcome:
        """Return the outcome from what was read of the factor's verdict, with what to raise."""
        return _advise(self.factor.judged(verdict), self.penalties)

    def solve(self, right: Tensor) -> Tensor:
        """Return G⁻¹ ``right`` (n, m), refined where that brings something."""
        return solve_factored(self.factor, right)


def solve_normal(
    moments: Moments, penalties: Sequence[PenaltyMatrix], log_weights: Sequence[Tensor], *, overwrite: bool = False
) -> Solution:
    """Assemble G, factor it in float64 and return θ, or an outcome that names what to raise; nothing is waited for.

    With ``overwrite`` G is assembled in the place of the moments.
    """
    gram = moments.gram if overwrite else moments.gram.clone()
    for penalty, log_weight in zip(penalties, log_weights, strict=True):
        penalty.add_to(gram, log_weight)
    factor = factorize(gram, overwrite=True)
    theta = solve_factored(factor, moments.cross)
    # A loss of the user's own never sees a NaN of ours: what is scored without a solution is thrown away.
    return Solution(torch.where(factor.verdict[0] == 0, theta, 0.0), factor, penalties)


def _advise(outcome: Outcome, penalties: Sequence[PenaltyMatrix]) -> Outcome:
    """Say which regularizer covers the column that failed."""
    if outcome.column is None:
        return outcome
    if outcome.reason is Reason.NOT_FINITE:
        advice = "standardise the columns, as Scale() does, divide it by a constant, or lower the weights that cover it"
        sentence = f"Feature {outcome.column} holds numbers too large to be squared: {advice}."
        return replace(outcome, sentence=sentence)
    names = [penalty.name for penalty in penalties if penalty.covers(outcome.column)]
    advice = f"raise {' or '.join(names)}" if names else "add a regularizer that covers it, or remove the column"
    sentence = f"Feature {outcome.column} is a combination of the features before it (to rounding): {advice}."
    return replace(outcome, sentence=sentence)


def weight_gradient(residual: Tensor, product: Tensor, log_weight: Tensor) -> Tensor:
    """Return ∂ψ/∂ω^data (k,) = 2 e^{2ω_i} E_i·(XC)_i from E and XC, both (k, m): k m work."""
    pairs = zip(residual.split(READ), product.split(READ), strict=True)  # in float64 a part of them at a time
    return 2 * (2 * log_weight.double()).exp() * torch.cat([(e.double() * c.double()).sum(1) for e, c in pairs])


def feature_factors(
    residual: Tensor, product: Tensor, theta: Tensor, C: Tensor, scale: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return L (k, 2m) and R (n_b, 2m) of ∂ψ/∂X_b = W²(E C_bᵀ − (XC) θ_bᵀ) = L Rᵀ, ``theta`` and ``C`` (n_b, m)."""
    left = torch.cat([residual, product], 1)  # and changed in place: it is large
    left[:, residual.shape[1] :].neg_()
    if scale is not None:
        left *= scale.square()[:, None]
    return left, torch.cat([C, theta], 1).to(residual.dtype)
