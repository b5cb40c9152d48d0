"""The weights of the rows that a view shows, here or with their rows on workers, and those that pass its filters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lsat_explorer.engines import looked
from lsat_explorer.engines.by_row import ByRow
from lsat_explorer.model.piece import tensor
from lsat_explorer.plots.curves import bin_edges
from lsat_explorer.widgets.row_filters import Ends, counts_told, in_range, range_counts
from lsat_explorer.widgets.rows import Page, Positions, page_of

__all__ = ["Kept", "KeptApart", "Weights", "WeightsApart", "weights_of"]

Mask = NDArray[np.bool_]


class Weights:
    """Weights (k,) of rows in this process; ``codes`` gives the class of each row."""

    def __init__(self, values: NDArray[np.float64], codes: Callable[[], Positions]) -> None:
        self.values, self._codes = values, codes

    def __len__(self) -> int:
        return len(self.values)

    @property
    def ends(self) -> NDArray[np.float64]:
        """The least and the largest finite weight; none where there is none."""
        return _ends(self.values)

    def same(self, other: Weights) -> bool:
        """Whether the others are the same."""
        return np.array_equal(self.values, other.values, equal_nan=True)

    def at(self, positions: Positions) -> NDArray[np.float64]:
        """Return the weights of some rows."""
        return self.values[positions]

    def lighter(self, weight: float) -> int:
        """Return how many rows weigh less."""
        return int((self.values < weight).sum())

    def kept(self, ends: Ends | None, code: int, others: Mask | None) -> Kept:
        """Return the rows that pass the filters: a range of weights, a class (-1 for all), and any others."""
        return Kept(self, in_range(self.values, ends) & _passing(len(self), code, self._codes, others))


class Kept:
    """The rows that pass the filters, in this process."""

    def __init__(self, weights: Weights, mask: Mask) -> None:
        self._weights, self._mask = weights, mask

    @property
    def mask(self) -> Mask:
        """Which rows they are (k,)."""
        return self._mask

    def page(self, number: int, size: int, falling: bool) -> Page:
        """Return a page of them in the order of their weights, as `page_of` does."""
        return page_of(self._weights.values, number, size, falling=falling, keep=self._mask)

    def place(self, position: int, falling: bool) -> int:
        """Return at which place in that order a row is, -1 where it is not among them."""
        rows = page_of(self._weights.values, 1, len(self._mask), falling=falling, keep=self._mask).positions
        return next(iter(np.flatnonzero(rows == position).tolist()), -1)

    @property
    def ends(self) -> NDArray[np.float64]:
        """The least and the largest finite weight of them."""
        return _ends(self._weights.values[self._mask])

    @property
    def comes(self) -> bool:
        """Whether `mask` brings a byte a row here."""
        return False

    @property
    def goes(self) -> bool:
        """Whether the filters send a byte a row to where the weights lie."""
        return False

    def histogram(self, bins: int) -> dict[str, Any]:
        """Return the histogram of all weights and of theirs, as `range_counts` does."""
        return range_counts(self._weights.values, self._mask, bins)


class WeightsApart(Weights):
    """Weights (k,) that lie with their rows: what a page shows of them comes here, and never all of them.

    A page by weight takes the first rows up to it of every part, and merges them in the order of `page_of`.
    """

    def __init__(self, lying: ByRow, codes: Callable[[], Positions]) -> None:
        self.lying, self._codes = lying, codes
        self._ends: NDArray[np.float64] | None = None
        self._counts: NDArray[np.int64] | None = None
        self._last: tuple[Any, KeptApart] | None = None

    def __len__(self) -> int:
        return len(self.lying)

    @property
    def ends(self) -> NDArray[np.float64]:
        """The least and the largest finite weight; none where there is none."""
        if self._ends is None:
            self._ends = _ends_apart(self.lying, self.lying.isfinite())
        return self._ends

    def same(self, other: Weights) -> bool:
        """Whether the others are the same, which the workers compare."""
        if not isinstance(other, WeightsApart):
            return False
        ours, theirs = self.lying, other.lying
        return bool(((ours == theirs) | (ours.isnan() & theirs.isnan())).all())

    def at(self, positions: Positions) -> NDArray[np.float64]:
        """Return the weights of some rows."""
        return looked.at(self.lying, positions)

    def lighter(self, weight: float) -> int:
        """Return how many rows weigh less."""
        return int((self.lying < weight).sum())

    def kept(self, ends: Ends | None, code: int, others: Mask | None) -> KeptApart:
        """Return the rows that pass the filters; where only this process knows of some, a byte a row goes there."""
        choice = (ends, code, None if others is None else others.tobytes())
        if self._last is None or self._last[0] != choice:  # a page is laid out of what is known of the last one
            self._last = choice, KeptApart(self, ends, code, others)
        return self._last[1]

    def counts(self, edges: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many of all weights lie between the edges that `ends` have."""
        if self._counts is None:
            self._counts = looked.counts(self.lying, edges)
        return self._counts

    def passing(self, code: int, others: Mask | None) -> Mask:
        """Return the rows of a class that pass other filters, of which the workers need not be asked."""
        return _passing(len(self), code, self._codes, others)


class KeptApart(Kept):
    """The rows that pass the filters, of weights that lie with their rows."""

    _weights: WeightsApart

    def __init__(self, weights: WeightsApart, ends: Ends | None, code: int, others: Mask | None) -> None:
        self._weights, self._code, self._others = weights, code, others
        lying, (low, high) = weights.lying, ends or (None, None)
        inside = [] if low is None else [lying >= low]
        inside += [] if high is None else [lying <= high]
        self._inside: Tensor | None = reduce(and_, inside) if inside else None
        tests = inside + ([] if code < 0 else [lying.like("classes") == code])
        tests += [] if others is None else [torch.from_numpy(others)]
        self._keep: Any = reduce(and_, tests) if tests else None
        self._found: dict[bool, Positions] = {}

    @cached_property
    def mask(self) -> Mask:
        """Which rows they are (k,)."""
        passing = self._weights.passing(self._code, self._others)
        return passing if self._inside is None else passing & self._inside.numpy()

    @property
    def comes(self) -> bool:
        """Whether `mask` brings a byte a row here: it does where a range of weights is among the filters."""
        return self._inside is not None

    @property
    def goes(self) -> bool:
        """Whether the filters send a byte a row to the workers: those do of which this process alone knows."""
        return self._others is not None

    @cached_property
    def _total(self) -> int:
        return len(self._weights) if self._keep is None else int(self._keep.sum())

    def page(self, number: int, size: int, falling: bool) -> Page:
        """Return a page of them in the order of their weights, as `page_of` does."""
        pages = max(1, -(-self._total // size))
        number = min(max(number, 1), pages)
        wanted = min(number * size, self._total)
        found = self._found.get(falling, np.empty(0, dtype=np.intp))
        if len(found) < wanted:
            self._found[falling] = found = looked.first(self._weights.lying, wanted, falling, self._keep)[1].numpy()
        return Page(found[(number - 1) * size : wanted], number, pages, self._total)

    def place(self, position: int, falling: bool) -> int:
        """Return at which place in that order a row is, -1 where it is not among them."""
        return looked.place(self._weights.lying, position, falling, self._keep)

    @cached_property
    def ends(self) -> NDArray[np.float64]:
        """The least and the largest finite weight of them."""
        finite = self._weights.lying.isfinite()
        return self._weights.ends if self._keep is None else _ends_apart(self._weights.lying, finite & self._keep)

    def histogram(self, bins: int) -> dict[str, Any]:
        """Return the histogram of all weights and of theirs, as `range_counts` does."""
        ends, none = self._weights.ends, np.empty(0, dtype=np.int64)
        if not len(ends):
            return counts_told(ends, none, none)
        edges = bin_edges(float(ends[0]), float(ends[1]), bins)
        counts = self._weights.counts(edges)
        kept = counts if self._keep is None else looked.counts(self._weights.lying, edges, self._keep)
        return counts_told(edges, counts, kept)


def weights_of(run: Any, codes: Callable[[], Positions]) -> Weights:
    """Return the present weights of a run's training rows, which are left where they are."""
    found = run.row_weights() if hasattr(run, "row_weights") else run.weights()
    return WeightsApart(found, codes) if isinstance(found, ByRow) else Weights(np.asarray(found, np.float64), codes)


def _passing(count: int, code: int, codes: Callable[[], Positions], others: Mask | None) -> Mask:
    of_class = np.ones(count, dtype=bool) if code < 0 else np.asarray(codes() == code)
    return of_class if others is None else of_class & others


def _ends(values: NDArray[np.float64]) -> NDArray[np.float64]:
    some = values[np.isfinite(values)]
    return np.array([some.min(), some.max()]) if len(some) else np.empty(0)


def _ends_apart(values: Tensor, some: Tensor) -> NDArray[np.float64]:
    inf = tensor(torch.inf)
    low, high = (float(getattr(torch.where(some, values, s * inf), end)()) for end, s in (("min", 1), ("max", -1)))
    return np.array([low, high]) if low <= high else np.empty(0)
