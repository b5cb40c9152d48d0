"""Rows that differ from one row in few entries, whose products take the work of those entries alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from ..solve.gram import padded

__all__ = ["Thin"]

_LOOK, _SAMPLE = 512, 2048
"""Rows read at a time, and the rows from which the commonest values are taken."""

_PIECE = 4096
"""Rows whose transpose is multiplied at a time: what they are multiplied by then stays in a core's own cache."""

_FEW = 0.3
"""Largest share of entries that differ for which sparse products are the faster, and both copies the smaller."""

with warnings.catch_warnings():  # torch says once in a process that these tensors are new
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), device="cpu")


class Thin:
    """Rows X = S + 1 cᵀ (N, n) in float64 on a CPU: c the commonest value of each column, S sparse.

    Images are such rows, and stay so when their columns are scaled. S is kept by rows and by columns. Indexed by rows,
    as the blocks of a `Side` are, it gives the rows of X, to the last bit.

    Examples
    --------
    >>> X = torch.ones(4, 5, dtype=torch.float64)
    >>> X[2, 3] = 7
    >>> thin = Thin.of(X)
    >>> torch.equal(thin[1:4], X[1:4]), torch.equal(thin.times(X.mT), X @ X.mT)
    (True, True)
    """

    def __init__(self, rows: Any, common: Tensor) -> None:
        self._rows, self._common = rows, common
        self.shape: tuple[int, int] = rows.shape
        self._by_rows = _tensor(rows)
        pieces = (slice(start, start + _PIECE) for start in range(0, rows.shape[0], _PIECE))
        self._by_columns = [(some, _tensor(sparse.csr_array(rows[some].T))) for some in pieces]
        self.dtype, self.device = torch.float64, torch.device("cpu")

    @classmethod
    def of(cls, rows: Any) -> Thin | None:
        """Return float64 ``rows`` (N, n) so, read a chunk at a time, or None where it would save nothing."""
        if rows.device.type != "cpu" or not torch.backends.mkl.is_available() or not len(rows[:1]):
            return None
        count = rows.shape[0]
        common = torch.mode(rows[:: max(count // _SAMPLE, 1)], 0).values
        parts, kept = [], 0
        for start in range(0, count, _LOOK):
            read = rows[start : start + _LOOK]
            apart = read - common
            if not torch.equal(apart + common, read):
                return None  # it would lose digits
            parts.append(sparse.csr_array(apart.numpy()))
            kept += parts[-1].nnz
            if kept > _FEW * read.shape[1] * count:
                return None
        return cls(sparse.vstack(parts, format="csr"), common)

    def __getitem__(self, rows: slice | Tensor) -> Tensor:
        chosen = self._rows[rows.numpy() if isinstance(rows, Tensor) else rows]
        return torch.from_numpy(chosen.toarray()) + self._common

    def times(self, matrix: Tensor) -> Tensor:
        """Return X ``matrix`` (N, m) for (n, m)."""
        return (self._by_rows @ padded(matrix))[:, : matrix.shape[1]].add_(self._common @ matrix)

    def transposed_times(self, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) for (N, m)."""
        total = rows.new_zeros(self.shape[1], rows.shape[1])
        for some, piece in self._by_columns:
            total.addmm_(piece, rows[some])
        return total.addr_(self._common, rows.sum(0))


def _tensor(matrix: Any) -> Tensor:
    """Return a CSR matrix of scipy as one of torch on the same memory; indices of 32 bits are what MKL takes."""
    starts, columns = (torch.from_numpy(part.astype(np.int32, copy=False)) for part in (matrix.indptr, matrix.indices))
    return torch.sparse_csr_tensor(
        starts, columns, torch.from_numpy(matrix.data), matrix.shape, check_invariants=False, device="cpu"
    )
