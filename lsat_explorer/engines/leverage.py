"""Leverages h_i = w_i² x_iᵀ G⁻¹ x_i of rows, and what flows back through them."""

from __future__ import annotations

import torch
from torch import Tensor

from ..solve.factor import Factor
from .moving import Moving
from .row_sums import RowSums

__all__ = ["kernel_diagonal", "quadratic"]


def kernel_diagonal(rows: RowSums, moving: Moving, factor: Factor) -> Tensor:
    """Return x_iᵀ G⁻¹ x_i (N,) in float64, by one triangular solve a chunk: N n² work."""
    parts = []
    for _, features in rows.chunks(moving):
        half = torch.linalg.solve_triangular(factor.lower, (features * factor.scale).mT, upper=False)
        parts.append(half.square().sum(0))
    return torch.cat(parts)


def quadratic(rows: RowSums, moving: Moving, N: Tensor) -> Tensor:
    """Return x_iᵀ N x_i for each row, (rows,)."""
    return torch.cat([(features @ N * features).sum(1) for _, features in rows.chunks(moving)])
