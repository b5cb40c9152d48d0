"""Rows with many zeros, in an order that brings the zeros together, so that products leave them out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..solve.gram import READ, Check, add_product, add_upper, mirrored, multiply, read, rows_at_a_time, upper_blocks
from .side import Side

__all__ = ["Stairs"]

_PART, _FEWEST = 0.4, 512
"""Part of the rows left that a step takes, and the fewest rows of one: products of fewer rows run at a lower rate.

The last rows fill many more columns than the others: with steps of equal height sums of weighted rows took 5 % longer.
"""

_LOOK, _SAMPLE = 512, 8192
"""Rows looked at, or copied, at a time, and the rows from which the order of the columns is taken."""

_WORTH = 0.85
"""Largest share of a product's work, of what all rows with all columns take, for which a second copy is worth it."""


@dataclass(frozen=True)
class Stairs:
    """Blocks of features side by side, ordered so that each step of rows needs its leading columns only.

    Columns go from the fullest to the emptiest, and rows by the last of the columns, so ordered, that they fill. Where
    rows are zero in many columns, as images are at their edges, most of a product falls away, and nothing is lost: the
    columns that a step leaves out are zero in all its rows.

    ``rows`` (k,) tells which row went where, and ``back`` (k,) where each row went; ``place`` (n,) where each column
    went; ``steps`` (r, p) are consecutive rows. What is returned stands as the rows and columns stood before.
    """

    rows: Tensor
    back: Tensor
    place: Tensor
    steps: tuple[Tensor, ...]

    @classmethod
    def of(cls, side: Side, check: Check) -> Stairs | None:
        """Return the rows of ``side`` in this order, a copy, or None where it would save too little.

        ``check`` is called between chunks of rows and may raise to interrupt.
        """
        k, n = side.shape
        sample = torch.arange(0, k, max(k // _SAMPLE, 1), device=side.device)
        filled = torch.stack([torch.count_nonzero(side.at(some), 0) for some in sample.split(_LOOK)]).sum(0)
        order = filled.argsort(descending=True, stable=True)
        place = order.argsort()
        ends, rows = _ends(side, place, check).sort(stable=True)
        heights = _heights(k)
        shapes = [(len(part), int(part[-1])) for part in ends.split(heights)]
        if sum(r * p**2 for r, p in shapes) > _WORTH * k * n**2:
            return None
        store = torch.empty(sum(r * p for r, p in shapes), dtype=side.dtype, device=side.device)
        steps = [part.view(r, p) for (r, p), part in zip(shapes, store.split([r * p for r, p in shapes]), strict=True)]
        for mine, step in zip(rows.split(heights), steps, strict=True):
            for some, its in zip(mine.split(_LOOK), step.split(_LOOK), strict=True):
                check()
                torch.index_select(side.at(some), 1, order[: step.shape[1]], out=its)
        return cls(rows, rows.argsort(), place, tuple(steps))

    def gram(self, weight: Tensor | None, precise: bool, check: Check) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n) in float64, as `gram` does, rows and columns as they stood."""
        n = len(self.place)
        total = torch.zeros(n, n, dtype=torch.float64, device=self.place.device)
        for rows, step in self._read(precise, check):
            p = step.shape[1]
            add_upper(upper_blocks(total[:p, :p]), step, None if weight is None else weight[rows])
        total = mirrored(total).index_select(0, self.place)  # by one name: no third of this size at a time
        return total.index_select(1, self.place)

    def product(self, left: Side, weight: Tensor | None, precise: bool, check: Check) -> Tensor:
        """Return leftᵀ diag(``weight``) X (a, n) in float64 for few columns ``left`` (k, a), as `product` does."""
        total = torch.zeros(left.shape[1], len(self.place), dtype=torch.float64, device=left.device)
        for rows, step in self._read(precise, check):
            mine = total[:, : step.shape[1]]
            add_product(mine, left.at(rows).to(step.dtype), step, None if weight is None else weight[rows])
        return total.index_select(1, self.place)

    def times(self, matrix: Tensor) -> Tensor:
        """Return X ``matrix`` (k, m) for (n, m) in the rows' dtype, rows and columns as they stood."""
        ordered = matrix.index_select(0, self.place.argsort())
        result = matrix.new_empty(matrix.shape[1], len(self.rows))
        for place, step in self._by_steps(result.mT):
            multiply(step, ordered[: step.shape[1]], place)
        return result.index_select(1, self.back).mT

    def _read(self, precise: bool, check: Check) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield numbers of rows (r,), and until the next the rows (r, p) of a step, as many as a product reads."""
        place = None
        if precise and self.steps[0].dtype is not torch.float64:  # one for all, as large as the widest step asks for
            place = self.steps[0].new_empty(rows_at_a_time(precise) * len(self.place), dtype=torch.float64)
        for rows, step in self._by_steps(self.rows):
            for some, part in read(step, precise, check, place):
                yield rows[some], part

    def _by_steps(self, ordered: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the part of each step in what lies in the order of the steps (k, …), and the step (r, p)."""
        return zip(ordered.split([len(step) for step in self.steps]), self.steps, strict=True)


def _heights(k: int) -> list[int]:
    """Return how many rows each step has, of ``k`` in all; even numbers but at the end: they are multiplied by halves.

    Examples
    --------
    >>> _heights(5000)
    [2000, 1200, 720, 512, 568]
    """
    heights: list[int] = []
    while left := k - sum(heights):
        height = min(max(2 * math.ceil(_PART * left / 2), _FEWEST), READ)
        heights.append(left if left - height < _FEWEST else height)
    return heights


def _ends(side: Side, place: Tensor, check: Check) -> Tensor:
    """Return how many columns (k,) each row has to the last that it fills, in the order of their ``place`` (n,).

    They are whole numbers in the rows' dtype: places times flags, or in a new tensor for each chunk, take three times
    as long.
    """
    k, n = side.shape
    after = (place + 1).to(side.dtype)
    room, ends = after.new_empty(min(k, _LOOK), n), after.new_empty(k)
    for start in range(0, k, _LOOK):
        check()
        rows = side[start : start + _LOOK]
        filled = torch.ne(rows, 0, out=room[: len(rows)])
        torch.amax(filled.mul_(after), 1, out=ends[start : start + len(rows)])
    return ends
