"""Blocks of features side by side, read by chunks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..model.piece import Omega
from ..model.prepared import Block
from ..solve.gram import Check, gram

__all__ = ["AsRead", "Side"]


@dataclass(frozen=True)
class AsRead:
    """A block (N, n_b) that stands still, computed a chunk of rows at a time, whenever one is read."""

    block: Block
    omega: Omega
    inputs: Tensor
    dtype: torch.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self.inputs), self.block.width

    @property
    def device(self) -> torch.device:
        """Where its chunks live."""
        return self.inputs.device

    def __getitem__(self, rows: slice) -> Tensor:
        return self.block.features(self.omega, self.block.precompute(self.inputs[rows].double())).to(self.dtype)


class Side:
    """Blocks (N, n_b) side by side, put together a chunk of rows at a time; a chunk is valid until the next is read.

    So one belongs to one pass over the rows.
    """

    def __init__(self, blocks: list[Any]) -> None:
        self._blocks = blocks
        self._widths = [block.shape[1] for block in blocks]
        self._buffer: Tensor | None = None
        self.shape = (blocks[0].shape[0], sum(self._widths))
        self.dtype, self.device = blocks[0].dtype, blocks[0].device

    def __getitem__(self, rows: slice) -> Tensor:
        parts = [block[rows] for block in self._blocks]
        if len(parts) == 1:
            return parts[0]
        chunk = self._room(len(parts[0]))
        for part, place in zip(parts, chunk.split(self._widths, 1), strict=True):
            place.copy_(part)
        return chunk

    def at(self, rows: Tensor) -> Tensor:
        """Return the rows with these numbers (r,)."""
        chunk = self._room(len(rows))
        for block, place in zip(self._blocks, chunk.split(self._widths, 1), strict=True):
            if isinstance(block, Tensor):
                torch.index_select(block, 0, rows, out=place)
            else:
                place.copy_(block[rows])
        return chunk

    def _room(self, count: int) -> Tensor:
        """Return the place of a chunk (``count``, n), one for all."""
        if self._buffer is None or len(self._buffer) < count:
            self._buffer = torch.empty(count, self.shape[1], dtype=self.dtype, device=self.device)
        return self._buffer[:count]

    def gram(self, weight: Tensor | None, precise: bool, check: Check) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n) in float64."""
        return gram(self, weight=weight, precise=precise, check=check)
