"""Leverages h_i = w_i² x_iᵀ G⁻¹ x_i of rows, and what flows back through them."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from ..solve.factor import Factor
from .moving import Moving
from .row_sums import RowSums

__all__ = ["kernel_diagonal", "quadratic"]


def kernel_diagonal(rows: RowSums, moving: Moving, factor: Factor) -> Tensor:
    """Return x_iᵀ G⁻¹ x_i (N,) in float64, by one triangular solve a chunk: N n² work."""
    return rows.over(moving, partial(_kernel, factor.lower, factor.scale))


def quadratic(rows: RowSums, moving: Moving, N: Tensor) -> Tensor:
    """Return x_iᵀ N x_i for each row, (rows,)."""
    return rows.over(moving, partial(_form, N))


# Functions of a module, for they may have to travel to where the features are.
def _kernel(lower: Tensor, scale: Tensor, features: Tensor) -> Tensor:
    half = torch.linalg.solve_triangular(lower, (features * scale).mT, upper=False)
    return half.square().sum(0)


def _form(N: Tensor, features: Tensor) -> Tensor:
    return (features @ N * features).sum(1)
