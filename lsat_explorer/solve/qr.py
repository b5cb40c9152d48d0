"""The dense solve by A = QR, for an ill-conditioned A: AᵀA is never formed."""

from __future__ import annotations

import torch
from torch import Tensor

from .gram import column_units
from .outcome import Outcome, Reason, SolveError

__all__ = ["factor_qr", "fit_qr"]


def fit_qr(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return θ (…, n, m) = D R⁻¹ QᵀB after one refinement, Rᵀ and the diagonal of D (…, n), of AD = QR."""
    Q, R, scale = factor_qr(A)
    theta = _apply(Q, R, scale, B)
    # The refinement makes θ as good for rows of very different weight.
    return theta + _apply(Q, R, scale, B - A @ theta), R.mT, scale


def factor_qr(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Factor AD = QR, the columns of AD of length one; Rᵀ D⁻¹ is then a factor of AᵀA.

    |R_jj| is the sine of the angle between column j and the columns before it. One at the level of rounding raises
    SolveError, which names the column.
    """
    units = column_units(A)
    length = torch.linalg.vector_norm(A if units is None else A * units[..., None, :], dim=-2)
    scale = torch.where(length > 0, length, 1.0).reciprocal() * (1.0 if units is None else units)
    Q, R = torch.linalg.qr(A * scale[..., None, :])
    k, n = A.shape[-2:]
    weak = R.diagonal(dim1=-2, dim2=-1).abs() <= max(k, n) ** 0.5 * 8 * torch.finfo(A.dtype).eps
    if weak.any():
        column = int(weak.reshape(-1, n).any(0).to(torch.int8).argmax())
        sentence = (
            f"Column {column} is a combination of the columns before it (to rounding): "
            "add a ridge that covers it, raise its weight, or remove the column."
        )
        raise SolveError(Outcome(Reason.RANK_DEFICIENT, sentence, column))
    return Q, R, scale


def _apply(Q: Tensor, R: Tensor, scale: Tensor, B: Tensor) -> Tensor:
    return torch.linalg.solve_triangular(R, Q.mT @ B, upper=True) * scale[..., None]
