"""Products of a sparse matrix with dense ones, differentiable in its values to every order and never densified."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch import Tensor

__all__ = ["Pattern"]

_GATHERED = 1 << 21
"""Numbers gathered at a time by `Pattern.dot`: 16 MB."""


class Pattern:
    """Where a (k, n) matrix has its e entries: sorted by row, and once more by column for products with Aᵀ.

    Three maps, bilinear in values and matrix, closed under differentiation:
    ``matvec(values, V)`` = A V,  ``rmatvec(values, U)`` = Aᵀ U  and  ``dot(U, V)`` = (u_i · v_j) over the pattern.
    """

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        _spend_beta_warning()
        self.shape = shape
        self.crow, self.col = crow, col
        self.row = torch.repeat_interleave(crow.diff(), output_size=len(col))
        self._by_column = torch.argsort(col, stable=True)
        counts = torch.bincount(col, minlength=shape[1]).cumsum(0)
        self._ccol = torch.cat([counts.new_zeros(1), counts])
        self._row_by_column = self.row[self._by_column]
        self._cached: tuple[Tensor, int, Tensor, Tensor] | None = None

    def matvec(self, values: Tensor, V: Tensor) -> Tensor:
        """Return A V (k, m) from the values (e,) and V (n, m)."""
        return _Product.apply(self, False, values, V)

    def rmatvec(self, values: Tensor, U: Tensor) -> Tensor:
        """Return Aᵀ U (n, m) from the values (e,) and U (k, m)."""
        return _Product.apply(self, True, values, U)

    def dot(self, U: Tensor, V: Tensor) -> Tensor:
        """Return u_i · v_j (e,) for the entries (i, j), from the rows of U (k, m) and V (n, m)."""
        return _Dot.apply(self, U, V)

    def multiply(self, transposed: bool, values: Tensor, V: Tensor) -> Tensor:
        """Return A V or Aᵀ V, without a graph; both matrices are kept for the next call with the same values."""
        kept = self._cached
        version = 0 if values.is_inference() else values._version  # nothing changes those in place here
        if kept is None or kept[0].data_ptr() != values.data_ptr() or kept[1] != version:
            by_row = _csr(self.crow, self.col, values, self.shape)
            by_column = _csr(self._ccol, self._row_by_column, values[self._by_column], self.shape[::-1])
            self._cached = kept = (values, version, by_row, by_column)
        _, _, A, AT = kept
        return (AT if transposed else A) @ V

    def gather(self, U: Tensor, V: Tensor) -> Tensor:
        """Return `dot` without a graph, a few entries at a time."""
        size = max(1, _GATHERED // max(1, U.shape[1]))
        total = U.new_empty(len(self.col))
        for start in range(0, len(self.col), size):
            part = slice(start, start + size)
            total[part] = (U[self.row[part]] * V[self.col[part]]).sum(1)
        return total

    def column_norms(self, values: Tensor) -> Tensor:
        """Return the squared length (n,) of each column."""
        return values.new_zeros(self.shape[1]).index_add_(0, self.col, values.square())

    def row_norms(self, values: Tensor, scale: Tensor) -> Tensor:
        """Return the squared length (k,) of each row, the columns times ``scale`` (n,)."""
        return values.new_zeros(self.shape[0]).index_add_(0, self.row, (values * scale[self.col]).square())


def _csr(crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return torch.sparse_csr_tensor(crow, col, values, shape, device=values.device, check_invariants=False)


@functools.cache
def _spend_beta_warning() -> None:
    """Let torch say, once and unheard, that CSR is in beta: it says so at the first CSR tensor of a process only."""
    zero = torch.zeros(1, dtype=torch.int64, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _csr(torch.tensor([0, 1], device="cpu"), zero, torch.ones(1, device="cpu"), (1, 1))


class _Product(torch.autograd.Function):
    """A V or Aᵀ V. With W the gradient: ∇_values = W · V on the pattern, ∇_V = Aᵀ W or A W."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, transposed: bool, values: Tensor, V: Tensor) -> Tensor:
        ctx.pattern, ctx.transposed = pattern, transposed
        ctx.save_for_backward(values, V)
        return pattern.multiply(transposed, values, V)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor | None, Tensor | None]:
        values, V = ctx.saved_tensors
        (W,) = gradients
        pattern, transposed = ctx.pattern, ctx.transposed
        grad_values = grad_V = None
        if ctx.needs_input_grad[2]:
            grad_values = pattern.dot(V, W) if transposed else pattern.dot(W, V)
        if ctx.needs_input_grad[3]:
            grad_V = _Product.apply(pattern, not transposed, values, W)
        return None, None, grad_values, grad_V


class _Dot(torch.autograd.Function):
    """u_i · v_j on the pattern. With w (e,) the gradient, as the values of a matrix W: ∇_U = W V, ∇_V = Wᵀ U."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, U: Tensor, V: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(U, V)
        return pattern.gather(U, V)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        U, V = ctx.saved_tensors
        (w,) = gradients
        grad_U = _Product.apply(ctx.pattern, False, w, V) if ctx.needs_input_grad[1] else None
        grad_V = _Product.apply(ctx.pattern, True, w, U) if ctx.needs_input_grad[2] else None
        return None, grad_U, grad_V
