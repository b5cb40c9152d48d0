"""The rows of a split, held as a recipe's engine says."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..data.data import Split
from ..model.engines import Chunks, Engine
from ..model.piece import Omega
from ..model.prepared import Prepared
from .chunks import ChunkRows
from .memory import MemoryRows
from .row_sums import RowSums

__all__ = ["load_rows", "rows_to_prepare"]

_PREPARED = 100_000
"""Most rows that a featurizer is prepared on where they come in chunks."""


def load_rows(
    engine: Engine | str,
    prepared: Prepared,
    inputs: Tensor,
    targets: Tensor,
    held: Omega,
    moves: set[str],
    seldom: bool,
    /,
    **options: Any,
) -> RowSums:
    """Return the rows; the arguments are those of `MemoryRows`."""
    if isinstance(engine, Chunks):
        return ChunkRows(engine.rows, prepared, inputs, targets, held, moves, **options)
    return MemoryRows(prepared, inputs, targets, held, moves, seldom=seldom, **options)


def rows_to_prepare(engine: Engine | str, train: Split, seed: int) -> tuple[Tensor, Tensor]:
    """Return the rows that a featurizer is prepared on: all, or of more than 100,000 in chunks so many at random."""
    if not isinstance(engine, Chunks) or len(train) <= _PREPARED:
        return train.inputs, train.targets
    chosen = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))[:_PREPARED].sort().values
    return train.inputs[chosen], train.targets[chosen]
