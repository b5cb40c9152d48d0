"""Leverages h_i = w_i² x_iᵀ G⁻¹ x_i of rows, and what flows back through them."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from ..solve.factor import Factor
from ..solve.leverages import forms, kernels
from .moving import Moving
from .row_sums import RowSums

__all__ = ["kernel_diagonal", "quadratic"]


def kernel_diagonal(rows: RowSums, moving: Moving, factor: Factor) -> Tensor:
    """Return x_iᵀ G⁻¹ x_i (N,) in float64, by one triangular solve a chunk: N n² work."""
    return rows.over(moving, partial(kernels, factor.lower, factor.scale))


def quadratic(rows: RowSums, moving: Moving, N: Tensor) -> Tensor:
    """Return x_iᵀ N x_i for each row, (rows,)."""
    return rows.over(moving, partial(forms, N))
