"""Constant matrices as plain values, so that a description that holds one can be compared, written and read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["as_constant", "as_sparse"]

_LIMIT = 10_000_000
"""Most entries, rows or columns."""


def as_constant(matrix: Any) -> Any:
    """Return a dense matrix as nested tuples, a sparse one as ``{"shape": …, "entries": …}``."""
    if isinstance(matrix, Mapping):
        return _from_entries(matrix)
    if sparse.issparse(matrix):
        given: Any = matrix
        coo: Any = sparse.coo_array(given.astype(np.float64, copy=True))
        coo.sum_duplicates()
        row, column = coo.coords
        entries = zip(row.tolist(), column.tolist(), coo.data.tolist(), strict=True)
        return _from_entries({"shape": coo.shape, "entries": tuple(entries)})
    try:
        dense = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"Matrix: R is no matrix of numbers: {error}.") from error
    if dense.ndim != 2 or not 0 < dense.size <= _LIMIT:
        raise ValueError(f"Matrix: R has shape {dense.shape}, expected (q, n) with q and n of at least 1.")
    if not np.isfinite(dense).all():
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise ValueError(
            f"Matrix: R holds {dense[row, column]} in row {row}, column {column}, expected finite numbers."
        )
    return tuple(map(tuple, dense.tolist()))


def _from_entries(value: Mapping[str, Any]) -> dict[str, Any]:
    if set(value) != {"shape", "entries"}:
        raise ValueError(f"Matrix: R has the keys {sorted(map(str, value))}, expected shape and entries.")
    shape = tuple(value["shape"]) if isinstance(value["shape"], tuple | list) else ()
    if len(shape) != 2 or not all(_index(size, _LIMIT + 1) and size for size in shape):
        raise ValueError(f"Matrix: the shape of R is {value['shape']!r}, expected (q, n), both from 1 to {_LIMIT:,}.")
    if not isinstance(value["entries"], tuple | list) or len(value["entries"]) > _LIMIT:
        raise ValueError(f"Matrix: the entries of R are {value['entries']!r:.60}, expected (row, column, value) each.")
    entries = []
    for entry in value["entries"]:
        if not isinstance(entry, tuple | list) or len(entry) != 3:
            raise ValueError(f"Matrix: R has the entry {entry!r}, expected (row, column, value).")
        row, column, number = entry
        if not (_index(row, shape[0]) and _index(column, shape[1])):
            raise ValueError(f"Matrix: the entry {entry!r} of R lies outside its shape {shape}.")
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError(f"Matrix: the entry {entry!r} of R holds no finite number.")
        entries.append((int(row), int(column), float(number)))
    places = {entry[:2] for entry in entries}
    if len(places) < len(entries):
        raise ValueError("Matrix: R has two entries in one place: give their sum.")
    return {"shape": (int(shape[0]), int(shape[1])), "entries": tuple(sorted(entries))}


def _index(value: Any, end: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < end


def as_sparse(constant: Any) -> sparse.csr_array:
    """Return the matrix that `as_constant` described."""
    if not isinstance(constant, Mapping):
        return sparse.csr_array(np.array(constant))
    row, column, data = zip(*constant["entries"], strict=True) if constant["entries"] else ((), (), ())
    where = (np.array(row, dtype=np.int64), np.array(column, dtype=np.int64))
    return sparse.csr_array(sparse.coo_array((np.array(data, dtype=np.float64), where), shape=constant["shape"]))
