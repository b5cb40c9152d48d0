"""Quadratic forms of rows, which leverages h_i = w_i² x_iᵀ G⁻¹ x_i and their slopes are made of."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["forms", "kernels", "slopes"]


# Functions of a module, for they may have to travel to where the features are.
def kernels(lower: Tensor, scale: Tensor, features: Tensor) -> Tensor:
    """Return x_iᵀ G⁻¹ x_i (r,) of rows ``features`` (r, n), with D G D = L Lᵀ, ``lower`` L and ``scale`` D."""
    half = torch.linalg.solve_triangular(lower, (features * scale).mT, upper=False)
    return half.square().sum(0)


def forms(N: Tensor, features: Tensor) -> Tensor:
    """Return x_iᵀ N x_i (r,) of rows ``features`` (r, n)."""
    return (features @ N * features).sum(1)


def slopes(lower: Tensor, scale: Tensor, N: Tensor, columns: Tensor, features: Tensor, through: Tensor) -> Tensor:
    """Return (s_i G⁻¹ − N) x_i, of it ``columns`` (c,), as (r, c), with s = ``through`` (r,)."""
    images = torch.cholesky_solve((features * scale).mT, lower).mT * scale
    return through[:, None] * images[:, columns] - features @ N[:, columns]
