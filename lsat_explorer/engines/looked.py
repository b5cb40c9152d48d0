"""What is looked at of numbers that lie with their rows: the first in order, how many lie where, and single ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from .by_row import ByRow

__all__ = ["at", "counts", "first", "most", "place"]


def first(values: ByRow, count: int, falling: bool, keep: ByRow | None = None) -> tuple[Tensor, Tensor]:
    """Return the first numbers in order, and their rows: each part offers as many of its own, and these are merged.

    Equal numbers come in the order of the rows, and NaN last, as in a stable sort of all of them.

    Parameters
    ----------
    values : ByRow (k,)
        The numbers.
    count : int
        How many; there may be fewer.
    falling : bool
        Whether the largest come first.
    keep : ByRow (k,), optional
        Which rows are in the order.
    """
    found = values.each(_offered, count, falling, keep)
    starts = np.cumsum([0, *(int(part[0, 0]) for part in found)])
    numbers = torch.cat([part[0, 1:] for part in found])
    rows = torch.cat([part[1, 1:].long() + start for part, start in zip(found, starts, strict=False)])
    order = _in_order(numbers, falling)[:count]
    return numbers[order], rows[order]


def most(values: ByRow, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """Return the ``k`` largest or least numbers and their rows, as `torch.topk` does; of equal ones the first rows."""
    if k > len(values):
        raise ValueError(f"k is {k:,}, expected at most {len(values):,}, as many as there are numbers.")
    return first(values, k, largest)


def _in_order(values: Tensor, falling: bool) -> Tensor:
    return (-values if falling else values).sort(stable=True).indices  # NaN is the largest of all to a sort


def _offered(values: Tensor, count: int, falling: bool, keep: Tensor | None) -> Tensor:
    """Return how many numbers a part has, then its first ones, with their rows in the part in a second row."""
    rows = torch.arange(len(values), device=values.device) if keep is None else keep.nonzero()[:, 0]
    if count < len(rows):  # a sort of all would take longer than to find the last one that is wanted
        keys = -values[rows] if falling else values[rows]
        last = keys.topk(count, largest=False, sorted=False).values.amax()
        rows = rows[~(keys > last)]
    rows = rows[_in_order(values[rows], falling)[:count]]
    head = torch.tensor([[float(len(values))], [0.0]], dtype=torch.float64, device=values.device)
    return torch.cat([head, torch.stack([values[rows].double(), rows.double()])], 1)


def counts(values: ByRow, edges: np.ndarray, keep: ByRow | None = None) -> np.ndarray:
    """Return how many of the finite numbers lie between edges (b + 1,), as `numpy.histogram` counts them."""
    total: np.ndarray = torch.stack(values.each(_counted, edges, keep)).sum(0).numpy()
    return total


def _counted(values: Tensor, edges: np.ndarray, keep: Tensor | None) -> Tensor:
    some = values.isfinite() if keep is None else values.isfinite() & keep
    return torch.from_numpy(np.histogram(values[some].numpy(), edges)[0])


def at(values: ByRow, rows: np.ndarray) -> np.ndarray:
    """Return the numbers of some rows (r,), in their order."""
    wanted, place = np.unique(rows, return_inverse=True)
    found: np.ndarray = torch.cat(values.each(_some, values.like("numbers"), wanted)).numpy()[place]
    return found


def _some(values: Tensor, numbers: Tensor, wanted: np.ndarray) -> Tensor:
    start, stop = np.searchsorted(wanted, [int(numbers[0]), int(numbers[-1]) + 1])
    return values[torch.from_numpy(wanted[start:stop] - int(numbers[0]))]


def place(values: ByRow, row: int, falling: bool, keep: ByRow | None = None) -> int:
    """Return the place of a row in the order that `first` has, from 0; -1 where it is not in it."""
    number = float(at(values, np.array([row]))[0])
    sooner, there = (
        torch.stack(values.each(_sooner, values.like("numbers"), number, row, falling, keep)).sum(0).tolist()
    )
    return sooner if there else -1


def _sooner(values: Tensor, numbers: Tensor, number: float, row: int, falling: bool, keep: Tensor | None) -> Tensor:
    """Return how many rows of a part come before one, and whether that is one of them."""
    same = values.isnan() if np.isnan(number) else values == number
    less = ~values.isnan() if np.isnan(number) else values > number if falling else values < number
    found = torch.stack([less | (same & (numbers < row)), numbers == row])
    return (found if keep is None else found & keep).sum(1)
