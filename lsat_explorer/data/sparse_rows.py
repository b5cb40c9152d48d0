"""Rows of which most entries are zero: read as they are, and kept so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from lsat_explorer.data.described import RowsDescribed
from lsat_explorer.data.on_disk import PASS_BYTES
from lsat_explorer.data.tables import Table, check_finite, fitting, read_table

__all__ = ["MOST_DENSE", "RowsSparse", "as_rows", "check_entries", "read_sparse", "some_of", "table_of"]

MOST_DENSE = 2**29
"""Bytes that sparse rows may take where they are asked for as a plain tensor."""


class RowsSparse(RowsDescribed):
    """Rows (N, d) as a sparse matrix by rows; what is read of them is dense, a part at a time.

    What asks for many of them at once gets them up to 512 MiB.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array (N, d)
        Of float32 or float64, each entry once, in order.
    """

    matrix: Any

    @staticmethod
    def __new__(cls, matrix: Any) -> RowsSparse:
        """Describe the rows."""
        rows: RowsSparse = RowsDescribed.described(cls, matrix.shape, matrix.dtype)
        rows.matrix = matrix
        return rows

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"RowsSparse({len(self):,} rows, {self.shape[1]:,} columns, {self.matrix.nnz:,} entries)"

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., RowsSparse], tuple[Any, ...]]:
        return RowsSparse, (self.matrix,)

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Any, given: Sequence[Any] = (), named: Any = None
    ) -> Any:
        """Answer as other rows do, and split them into parts that are sparse too."""
        if function is Tensor.split and isinstance(given[1], int) and not (named or {}).get("dim"):
            rows, size = given[:2]
            return tuple(rows.part(slice(start, start + size)) for start in range(0, max(len(rows), 1), size))
        return super().__torch_function__(function, types, given, named)

    def part(self, rows: Any) -> RowsSparse:
        """Return some rows, a slice or their numbers (r,), as sparse rows of their own."""
        return RowsSparse(self.matrix[np.asarray(rows) if isinstance(rows, Tensor) else rows])

    def whole(self, function: Callable[..., Any]) -> Tensor:
        """Return all rows as a plain tensor, where there is room."""
        self._check(len(self), f"{_name(function)} asks for all of its rows")
        return self.read(slice(None))

    def _chosen(self, numbers: np.ndarray, columns: tuple[Any, ...] = ()) -> Tensor:
        """Return some columns of the rows with these numbers, as a plain tensor, where there is room."""
        self._check(len(numbers), f"{len(numbers):,} of its rows are asked for")
        return torch.from_numpy(self.matrix[numbers].toarray()[(slice(None), *columns)])

    def _check(self, rows: int, asked: str) -> None:
        if (size := rows * self.shape[1] * self.element_size()) > MOST_DENSE:
            raise ValueError(
                f"X is sparse with {len(self):,} rows and {self.shape[1]:,} columns, and {asked} at once, which take "
                f"{size / 2**30:.1f} GiB, expected at most {MOST_DENSE / 2**30:.1f}: give fewer rows, or fewer columns "
                "by TruncatedSVD or SelectKBest of scikit-learn."
            )

    def read(self, rows: slice, out: Tensor | None = None) -> Tensor:
        """Return consecutive rows (r, d), the first rows of ``out`` where it is given."""
        found = torch.from_numpy(self.matrix[rows].toarray())
        return found if out is None else out[: len(found)].copy_(found)

    def passes(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of the first of some rows, and the rows (r, d), in order."""
        step = max(1, PASS_BYTES // max(self.shape[1] * self.element_size(), 1))
        for start in range(0, len(self), step):
            yield start, self.read(slice(start, start + step))

    def bounds(self) -> tuple[float, float]:
        """Return the least and the largest entry."""
        return float(self.matrix.min()), float(self.matrix.max())

    def tensor(self) -> Tensor:
        """Return the rows as a sparse tensor of torch, by rows, with indices of 64 bits."""
        starts, columns = (
            torch.from_numpy(part.astype(np.int64)) for part in (self.matrix.indptr, self.matrix.indices)
        )
        values = torch.from_numpy(self.matrix.data)
        return torch.sparse_csr_tensor(starts, columns, values, self.matrix.shape, check_invariants=False, device="cpu")


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function)).strip("_").split(".")[0]


def as_rows(inputs: Any) -> Tensor:
    """Return an array (N, d), or a sparse matrix by rows, as the inputs of a split."""
    return RowsSparse(inputs) if sparse.issparse(inputs) else torch.from_numpy(inputs)


def some_of(inputs: Tensor, numbers: Any) -> Tensor:
    """Return the rows with these numbers (r,), sparse where the inputs are."""
    return inputs.part(numbers) if isinstance(inputs, RowsSparse) else inputs[numbers]


def read_sparse(X: Any, what: str) -> Any:
    """Return a sparse matrix (N, d) by rows as float32 or float64; None for what is not sparse.

    The user's matrix stays as it is. Entries that are given twice are added, as scipy does.

    Raises
    ------
    ValueError
        When it has another shape, or holds no real numbers.
    """
    if not sparse.issparse(X):
        return None
    given: Any = X
    if given.ndim != 2 or not given.shape[1]:
        raise ValueError(f"{what} has shape {given.shape}, expected (N, d) with at least one column; reshape it")
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{what} is sparse and of type {given.dtype}, expected real numbers; convert it to numbers")
    kind = np.float32 if given.dtype.newbyteorder("=") == np.float32 else np.float64
    matrix = sparse.csr_array(given, dtype=kind, copy=True)
    matrix.sum_duplicates()
    return matrix


def table_of(X: Any, y: Any, *, rows: Any = None, image_shape: Sequence[int] | None = None, split: str = "") -> Table:
    """Return what `read_table` does, of a sparse X too, which stays so.

    Raises
    ------
    ValueError
        As it does.
    """
    matrix = read_sparse(X, f"{split} X".lstrip())
    if matrix is None:
        return read_table(X, y, rows=rows, image_shape=image_shape, split=split)
    nothing = np.lib.stride_tricks.as_strided(np.zeros(1, matrix.dtype), matrix.shape, (0, 0))  # takes no memory
    return replace(read_table(nothing, y, rows=rows, image_shape=image_shape, split=split), inputs=matrix)


def check_entries(
    values: Any, what: str, rows: np.ndarray, names: Sequence[str] | None = None, *, fill: str = ""
) -> None:
    """Refuse what `check_finite` refuses, in an array or a sparse matrix by rows."""
    if not sparse.issparse(values):
        check_finite(values, what, rows, names, fill=fill)
        return
    matrix: Any = values
    wrong = np.flatnonzero(~fitting(matrix.data))
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], "right")) - 1
        check_finite(matrix[[row]].toarray(), what, rows[[row]], names, fill=fill)
