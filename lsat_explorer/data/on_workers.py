"""Rows that dask holds or makes: partitions of its arrays and data frames, looked at and read where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.described import RowsDescribed
from lsat_explorer.data.foreign import in_memory
from lsat_explorer.data.tables import Column, check_finite, fitting, read_table, shown

__all__ = ["Partitions", "RowsOnWorkers", "is_dask"]


class RowsOnWorkers(RowsDescribed):
    """Rows (N, d) in partitions of dask; no memory is taken for them here.

    Partitions are asked of dask's present client, or computed here where there is none. Whatever is done with all of
    it, other than by `passes` or with an engine for rows that are elsewhere, brings all rows here.

    Parameters
    ----------
    parts : sequence of dask.delayed.Delayed
        Each makes an array (r, d).
    counts : sequence of int
        Their numbers of rows.
    width : int
        Number of columns.
    dtype : numpy.dtype or torch.dtype
        Of the numbers.
    """

    parts: list[Any]
    edges: np.ndarray

    @staticmethod
    def __new__(cls, parts: Sequence[Any], counts: Sequence[int], width: int, dtype: Any) -> RowsOnWorkers:
        """Describe the rows."""
        rows = RowsDescribed.described(cls, (sum(counts), width), dtype)
        rows.parts, rows.edges = list(parts), np.concatenate([[0], np.cumsum(counts)])
        return rows

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"RowsOnWorkers({len(self):,} rows, {self.shape[1]:,} columns, {len(self.parts):,} parts)"

    @property
    def cuts(self) -> list[slice]:
        """The rows of each part."""
        return [slice(int(start), int(stop)) for start, stop in pairwise(self.edges)]

    def passes(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of the first row of each part, and its rows (r, d)."""
        for cut in self.cuts:
            yield cut.start, self.read(cut)

    def chosen(self, numbers: Tensor) -> RowsOnWorkers:
        """Return the rows with these ascending numbers (r,), in parts that dask makes of these."""
        found = self._of_parts(numbers.numpy(), ())
        return RowsOnWorkers([part for part, _ in found], [count for _, count in found], self.shape[1], self.dtype)

    def _chosen(self, numbers: np.ndarray, columns: tuple[Any, ...] = ()) -> Tensor:
        """Return some columns of the rows with these ascending numbers, fetched from their parts at once."""
        from dask.base import compute

        found = compute(*(part for part, _ in self._of_parts(numbers, columns)))
        none = torch.empty(0, self.shape[1], dtype=self.dtype, device="cpu")[(slice(None), *columns)]
        return torch.cat([*map(torch.from_numpy, found), none])

    def _of_parts(self, numbers: np.ndarray, columns: tuple[Any, ...]) -> list[tuple[Any, int]]:
        """Return what makes the rows with these ascending numbers of each part that has some, and how many it has."""
        from dask.delayed import delayed

        firsts = np.searchsorted(numbers, self.edges)
        return [
            (delayed(_rows)(part, numbers[first:last] - edge, columns), int(last - first))
            for part, edge, first, last in zip(self.parts, self.edges, firsts, firsts[1:], strict=False)
            if first < last
        ]


def _rows(part: np.ndarray, numbers: np.ndarray, columns: tuple[Any, ...]) -> np.ndarray:
    return np.ascontiguousarray(part[numbers][(slice(None), *columns)])


@dataclass(frozen=True)
class Look:
    """What one partition turned out to be; ``wrong`` is its first row that is not finite, with its number."""

    rows: int
    width: int
    names: tuple[str, ...] | None
    dtype: np.dtype
    outcome: Column
    wrong: tuple[int, np.ndarray] | None

    def __str__(self) -> str:
        return f"{self.width:,} columns" + (f", {', '.join(self.names[:10])}" if self.names else "")


def is_dask(value: Any) -> bool:
    """Whether this is an array, data frame or series of dask; who has one has imported it."""
    array, frame = sys.modules.get("dask.array"), sys.modules.get("dask.dataframe")
    return (array is not None and isinstance(value, array.Array)) or (
        frame is not None and isinstance(value, frame.DataFrame | frame.Series)
    )


@dataclass(frozen=True)
class Partitions:
    """Rows of one split: delayed pairs of X and y, or tables of both in the place of X, with the names of y."""

    pairs: list[tuple[Any, Any]]
    targets: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, word: str) -> Partitions:
        """Pair the partitions of X and y, arrays or data frames; y may be in memory too.

        Raises
        ------
        ValueError
            When they have not the same partitions.
        """
        from dask.delayed import delayed

        if hasattr(X, "chunks"):
            X = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
            if not is_dask(y) and not np.isnan(X.chunks[0]).any():
                edges = np.concatenate([[0], np.cumsum(X.chunks[0])]).astype(int)
                values = y.iloc if hasattr(y, "iloc") else in_memory(y)
                if edges[-1] != len(y):
                    raise ValueError(f"{word} X has {edges[-1]:,} rows and {word} y has {len(y):,}; give one for each")
                ys = [delayed(values[start:stop]) for start, stop in pairwise(edges)]
                return cls(list(zip(X.to_delayed().ravel(), ys, strict=True)))
            if hasattr(y, "chunks") and not np.isnan(X.chunks[0] + y.chunks[0]).any() and len(y) == len(X):
                y = y.rechunk({0: X.chunks[0], **dict.fromkeys(range(1, y.ndim), -1)})
        if not is_dask(y):
            raise ValueError(
                f"{word} y is a {type(y).__name__} and {word} X has partitions of unknown length; give y with the same "
                f"partitions, or X.compute_chunk_sizes()"
            )
        parts = [list(np.ravel(one.to_delayed())) for one in (X, y)]
        if len(parts[0]) != len(parts[1]):
            raise ValueError(
                f"{word} X has {len(parts[0]):,} partitions and {word} y has {len(parts[1]):,}; give both the same"
            )
        return cls(list(zip(*parts, strict=True)))

    @classmethod
    def of_table(cls, table: Any, target: str | Sequence[str] | None, word: str) -> Partitions:
        """Take y from columns of a data frame."""
        targets = (target,) if isinstance(target, str) else tuple(target or ())
        if not targets or not hasattr(table, "columns"):
            raise ValueError(
                f"{word} rows are dask's, which says nothing of y; pass (X, y), or name its column: target='label'"
            )
        absent = next((name for name in targets if name not in table.columns), None)
        if absent is not None:
            there = ", ".join(map(str, table.columns[:10]))
            raise ValueError(f"{word} rows lack the column {shown(absent)}; they have {there}")
        return cls([(part, None) for part in table.to_delayed()], targets)

    def looked_at(
        self, word: str, image_shape: Sequence[int] | None
    ) -> tuple[RowsOnWorkers, list[Column], tuple[str, ...] | None]:
        """Return the rows, y, and the names of columns, after one pass over all partitions, each where it is.

        Raises
        ------
        ValueError
            When an entry is not finite, or partitions do not fit each other; the sentence names the split.
        """
        from dask.base import compute
        from dask.delayed import delayed

        shape = None if image_shape is None else tuple(image_shape)
        looks = compute(*(delayed(_look)(X, y, self.targets, shape, word) for X, y in self.pairs))
        kept = [(X, look) for (X, _), look in zip(self.pairs, looks, strict=True) if look is not None]
        if not kept:
            raise ValueError(f"{word} X has no rows; give at least two")
        first, start = kept[0][1], 0
        for number, (_, look) in enumerate(kept):
            if (look.width, look.names) != (first.width, first.names):
                raise ValueError(
                    f"partition {number} of {word} X has {look}, the first has {first}; give every partition the same "
                    f"columns"
                )
            if look.wrong is not None:
                place, row = look.wrong
                check_finite(row, f"{word} X", np.array([start + place]), look.names)
            start += look.rows
        dtype = np.result_type(*(look.dtype for _, look in kept))
        parts = [delayed(_inputs)(X, self.targets, shape, dtype) for X, _ in kept]
        rows = RowsOnWorkers(parts, [look.rows for _, look in kept], first.width, dtype)
        return rows, [look.outcome for _, look in kept], first.names


def _divided(X: Any, y: Any, targets: tuple[str, ...] | None) -> tuple[Any, Any]:
    if targets is not None:
        X, y = X.drop(columns=list(targets)), X[targets[0] if len(targets) == 1 else list(targets)]
    # An index, which need not be unique over all partitions, names no row.
    X, y = (one.reset_index(drop=True) if hasattr(one, "reset_index") else one for one in (X, y))
    return X, y


def _look(X: Any, y: Any, targets: tuple[str, ...] | None, shape: tuple[int, ...] | None, word: str) -> Look | None:
    X, y = _divided(X, y, targets)
    if not len(X):
        return None
    table = read_table(X, y, image_shape=shape, split=word)
    fits = np.asarray(fitting(table.inputs).all(1))
    place = int(fits.argmin())
    wrong = None if fits[place] else (place, table.inputs[place : place + 1].copy())
    return Look(len(table), table.inputs.shape[1], table.names, table.inputs.dtype, table.outcome, wrong)


def _inputs(X: Any, targets: tuple[str, ...] | None, shape: tuple[int, ...] | None, dtype: np.dtype) -> np.ndarray:
    table = read_table(_divided(X, None, targets)[0], np.zeros(len(X)), image_shape=shape)
    return np.ascontiguousarray(table.inputs, dtype)
