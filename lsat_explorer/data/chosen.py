"""Some of other rows, read where these are."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.described import RowsDescribed
from lsat_explorer.data.on_disk import PASS_BYTES, RowsApart

__all__ = ["RowsChosen"]


class RowsChosen(RowsDescribed):
    """Some of other rows, such as a fold of those in a file: they are read where they are, a pass at a time.

    Parameters
    ----------
    source : Tensor (N, d)
        The rows, in memory or apart.
    numbers : Tensor (r,)
        Which of them, ascending.
    """

    source: Tensor
    numbers: Tensor

    @staticmethod
    def __new__(cls, source: Tensor, numbers: Tensor) -> RowsChosen:
        """Describe the rows."""
        rows: RowsChosen = RowsDescribed.described(cls, (len(numbers), source.shape[1]), source.dtype)
        rows.source, rows.numbers = source, numbers
        return rows

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"RowsChosen({len(self):,} of {len(self.source):,} rows)"

    def read(self, rows: slice, out: Tensor | None = None) -> Tensor:
        """Return consecutive rows (r, d), the first rows of ``out`` where it is given."""
        numbers = self.numbers[rows]
        shape = (len(numbers), self.shape[1])
        result = torch.empty(shape, dtype=self.dtype, device="cpu") if out is None else out[: len(numbers)]
        if not isinstance(self.source, RowsApart):
            return torch.index_select(self.source, 0, numbers, out=result)
        # What lies between them is read too, a stretch at a time: one call for each row would take longer.
        most = max(1, PASS_BYTES // max(self.shape[1] * self.element_size(), 1))
        buffer = torch.empty(min(most, len(self.source)), self.shape[1], dtype=self.dtype, device="cpu")
        done = 0
        while done < len(numbers):
            first = int(numbers[done])
            stop = int(torch.searchsorted(numbers, first + most))
            there = self.source.read(slice(first, int(numbers[stop - 1]) + 1), buffer)
            torch.index_select(there, 0, numbers[done:stop] - first, out=result[done:stop])
            done = stop
        return result

    def _chosen(self, numbers: np.ndarray, columns: tuple[Any, ...] = ()) -> Tensor:
        return self.source[self.numbers[torch.from_numpy(numbers)]][(slice(None), *columns)]
