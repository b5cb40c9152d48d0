"""Products summed over rows, in float64 whatever the rows are stored in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["CHUNK", "gram", "product"]

CHUNK = 2048
"""Rows multiplied at a time: float32 products of so few rows, summed in float64, err by 4e-7 in the gradient."""

_SMALLEST = 128
"""Columns below which a product is formed whole: smaller ones run at a lower rate."""

Check = Callable[[], None]


class Rows(Protocol):
    """A matrix (k, n) read by chunks of rows: a tensor, or blocks put side by side as they are read."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""

    @property
    def device(self) -> torch.device:
        """Where its chunks live."""

    def __getitem__(self, rows: slice, /) -> Tensor:
        """Return some rows."""


def _nothing() -> None:
    """Interrupt nothing."""


def gram(rows: Rows, *, precise: bool = False, check: Check = _nothing) -> Tensor:
    """Return XᵀX as a full symmetric (n, n) float64 matrix from ``rows`` X (k, n).

    Products of chunks are taken in X's dtype, or in float64 when ``precise``, and always summed in float64. Only the
    upper triangle is formed, by halving. ``check`` is called between chunks and may raise to interrupt.
    """
    k, n = rows.shape
    total = torch.zeros(n, n, dtype=torch.float64, device=rows.device)
    for start in range(0, k, CHUNK):
        check()
        chunk = rows[start : start + CHUNK]
        _add_upper(total, chunk.double() if precise else chunk, 0, n)
    return total.triu() + total.triu(1).mT


def _add_upper(total: Tensor, chunk: Tensor, left: int, right: int) -> None:
    """Add the upper triangle of chunkᵀ chunk, columns ``left`` to ``right``: half the work of the whole product."""
    if right - left <= _SMALLEST:
        total[left:right, left:right] += chunk[:, left:right].mT @ chunk[:, left:right]
        return
    middle = (left + right) // 2
    total[left:middle, middle:right] += chunk[:, left:middle].mT @ chunk[:, middle:right]
    _add_upper(total, chunk, left, middle)
    _add_upper(total, chunk, middle, right)


def product(left: Rows, right: Rows, *, precise: bool = False, check: Check = _nothing) -> Tensor:
    """Return leftᵀ right (a, b) in float64 from rows (k, a) and (k, b), chunked as `gram` is.

    The narrower side is transposed: a product with few columns runs at a quarter of the rate of one with few rows.
    """
    if right.shape[1] < left.shape[1]:
        return product(right, left, precise=precise, check=check).mT.contiguous()
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=left.device)
    for start in range(0, left.shape[0], CHUNK):
        check()
        a, b = left[start : start + CHUNK], right[start : start + CHUNK]
        total += a.double().mT @ b.double() if precise else a.mT @ b
    return total
