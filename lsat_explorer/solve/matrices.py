"""Dense and sparse matrices as linear operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from .checks import refuse_unusable
from .operators import LinearOperator, Matrix, apart
from .pattern import Pattern

__all__ = ["DenseMatrix", "SparseMatrix", "as_operator"]


class DenseMatrix(Matrix):
    """A dense tensor A (k, n), float64."""

    def __init__(self, A: Tensor) -> None:
        self._A = apart(A)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows k and columns n."""
        return self._A.shape[0], self._A.shape[1]

    def matvec(self, V: Tensor) -> Tensor:
        """Return A V (k, m)."""
        return self._A @ V

    def rmatvec(self, U: Tensor) -> Tensor:
        """Return Aᵀ U (n, m)."""
        return self._A.mT @ U

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return (self._A,)

    def column_norms(self) -> Tensor:
        """Return the squared length (n,) of each column."""
        return self._A.square().sum(0)

    def row_norms(self, scale: Tensor) -> Tensor:
        """Return the squared length (k,) of each row of A diag(``scale``)."""
        return (self._A * scale).square().sum(1)


class SparseMatrix(Matrix):
    """A sparse matrix A (k, n) from the ``indices`` (2, e) of its rows and columns and its ``values`` (e,).

    Derivatives of the first and second order flow to ``values``, where torch's sparse tensors hand on the first only.
    Entries given twice are added.

    Examples
    --------
    >>> import torch
    >>> from lsat_explorer.solve import SparseMatrix, least_squares
    >>> values = torch.tensor([2.0, 4.0], dtype=torch.float64, requires_grad=True)
    >>> A = SparseMatrix(torch.tensor([[0, 1], [0, 1]]), values, (2, 2))
    >>> theta = least_squares(A, torch.ones(2, dtype=torch.float64))
    >>> theta.sum().backward()
    >>> [round(v, 6) for v in values.grad.tolist()]
    [-0.25, -0.0625]
    """

    def __init__(self, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
        k, n = shape
        _check_entries(indices, values, (k, n))
        refuse_unusable(values, "A", lambda entry: (int(indices[0, entry]), int(indices[1, entry])))
        keys, where = torch.unique(indices[0].long() * n + indices[1], return_inverse=True)
        row, col = keys // n, keys % n
        counts = torch.bincount(row, minlength=k).cumsum(0)
        self._pattern = Pattern(torch.cat([counts.new_zeros(1), counts]), col, (k, n))
        self._values = _Summed.apply(values.double(), where, len(keys))

    @classmethod
    def from_pattern(cls, pattern: Pattern, values: Tensor) -> SparseMatrix:
        """Return the matrix with the ``values`` (e,) float64 in the order of the pattern."""
        made = cls.__new__(cls)
        made._pattern, made._values = pattern, values
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows k and columns n."""
        return self._pattern.shape

    def matvec(self, V: Tensor) -> Tensor:
        """Return A V (k, m)."""
        return self._pattern.matvec(self._values, V)

    def rmatvec(self, U: Tensor) -> Tensor:
        """Return Aᵀ U (n, m)."""
        return self._pattern.rmatvec(self._values, U)

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return (self._values,)

    def column_norms(self) -> Tensor:
        """Return the squared length (n,) of each column."""
        return self._pattern.column_norms(self._values)

    def row_norms(self, scale: Tensor) -> Tensor:
        """Return the squared length (k,) of each row of A diag(``scale``)."""
        return self._pattern.row_norms(self._values, scale)


class _Summed(torch.autograd.Function):
    """The entries (count,), those given twice added.

    Nothing is saved that a backward pass frees: one matrix serves many.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, where: Tensor, count: int) -> Tensor:
        ctx.where = where
        return values.new_zeros(count).index_add(0, where, values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0][ctx.where], None, None


def as_operator(A: Any, device: torch.device, name: str = "A") -> LinearOperator:
    """Return a dense, sparse (torch CSR or COO, scipy) or matrix-free ``A`` as an operator in float64 on ``device``.

    The values of a torch tensor keep their graph; a scipy matrix is a constant.
    """
    if isinstance(A, LinearOperator):
        return A
    if sparse.issparse(A):
        return _from_scipy(A, device, name)
    if not isinstance(A, Tensor):
        raise ValueError(
            f"{name} is a {type(A).__name__}: expected a torch tensor, a scipy sparse matrix or a LinearOperator."
        )
    if A.ndim != 2 or not A.is_floating_point():
        raise ValueError(f"{name} is {A.dtype} of shape {tuple(A.shape)}: expected floating point numbers (k, n).")
    if A.device != device:
        raise ValueError(f"{name} is on {A.device}, the right-hand side on {device}: move one with .to(device).")
    if A.layout is torch.strided:
        refuse_unusable(A, name)
        return DenseMatrix(A.double())
    return _from_torch(A, name)


def _from_torch(A: Tensor, name: str) -> LinearOperator:
    shape, leaf = (A.shape[0], A.shape[1]), A.is_leaf
    if A.layout is torch.sparse_csr:
        crow, col, values = A.crow_indices().long(), A.col_indices().long(), A.values()
    elif A.layout is torch.sparse_coo:
        A = A.coalesce()
        row, col, values = *A.indices(), A.values()
        counts = torch.bincount(row, minlength=shape[0]).cumsum(0)
        crow = torch.cat([counts.new_zeros(1), counts])
    else:
        layout = str(A.layout).removeprefix("torch.")
        raise ValueError(f"{name} is of layout {layout}: expected CSR or COO, convert it with .to_sparse_csr().")
    if values.ndim != 1:
        raise ValueError(f"{name} holds a block for each entry: expected one number, convert it with .to_sparse_csr().")
    refuse_unusable(values, name, _places(crow, col))
    if values.requires_grad and not (leaf and A.layout is torch.sparse_coo):
        values = _FirstOrder.apply(values)
    return SparseMatrix.from_pattern(Pattern(crow, col, shape), values.double())


def _from_scipy(A: Any, device: torch.device, name: str) -> LinearOperator:
    csr: Any = sparse.csr_array(A)
    if csr.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {csr.dtype}: expected real numbers.")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    crow, col = (torch.as_tensor(part.astype(np.int64), device=device) for part in (csr.indptr, csr.indices))
    values = torch.as_tensor(csr.data.astype(np.float64), device=device)
    refuse_unusable(values, name, _places(crow, col))
    return SparseMatrix.from_pattern(Pattern(crow, col, csr.shape), values)


def _places(crow: Tensor, col: Tensor) -> Callable[[int], tuple[int, int]]:
    return lambda entry: (int((crow <= entry).sum()) - 1, int(col[entry]))


class _FirstOrder(torch.autograd.Function):
    """The values of a torch sparse tensor: what torch makes of their gradient has no graph, so none is promised."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        if gradients[0].requires_grad:
            raise RuntimeError(
                "torch hands on no second derivative through this sparse tensor (create_graph=True): give A as "
                "lsat_explorer.solve.SparseMatrix(indices, values, shape)."
            )
        return gradients[0]


def _check_entries(indices: Tensor, values: Tensor, shape: tuple[int, int]) -> None:
    if values.ndim != 1 or not values.is_floating_point() or indices.shape != (2, len(values)):
        got = f"indices {tuple(indices.shape)} and {values.dtype} values {tuple(values.shape)}"
        raise ValueError(f"{got} do not fit: expected indices (2, e) and floating point values (e,).")
    limits = torch.tensor(shape, device=indices.device)[:, None]
    wrong = ((indices < 0) | (indices >= limits)).any(0)
    if wrong.any():
        row, column = indices[:, int(wrong.to(torch.int8).argmax())].tolist()
        raise ValueError(f"Entry ({row}, {column}) lies outside a matrix of shape {shape}: correct indices or shape.")
