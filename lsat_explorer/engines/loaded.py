"""The rows of a split, held as a recipe's engine says."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..data.chosen import RowsChosen
from ..data.data import Split
from ..data.on_disk import RowsApart
from ..data.on_workers import RowsOnWorkers
from ..data.sparse_rows import RowsSparse, some_of
from ..model.engines import Chunks, Dask, Engine, Memory
from ..model.piece import Omega
from ..model.prepared import Featurizer, Prepared
from ..solve.gram import CHUNK
from ..solve.precision import Precision
from .chunks import ChunkRows
from .dask import DaskRows
from .memory import MemoryRows, never
from .row_sums import RowSums
from .sparse import SparseRows, is_columnwise

__all__ = ["chosen_rows", "load_rows", "rows_to_prepare"]

_AT_ONCE, _AHEAD = 2**24, 4
"""Bytes of a chunk on a CPU beyond which products are no faster, for its features leave the caches between them; and
the most chunks that are read at a time."""

_EVEN = 512
"""Rows that products take at a time: where chunks are multiples of it, nothing is left over."""

_PREPARED = 100_000
"""Most rows that a featurizer is prepared on where they come in chunks, or are with workers."""

_SPARSE = Chunks(memory="256 MB")
"""How sparse rows are gone through whose features are not."""


def load_rows(
    engine: Engine | str,
    prepared: Prepared,
    inputs: Tensor,
    targets: Tensor,
    omega: Omega,
    moves: set[str],
    seldom: bool,
    /,
    **options: Any,
) -> RowSums:
    """Return the rows; the arguments are those of `MemoryRows`."""
    if isinstance(inputs, RowsSparse) and isinstance(engine, Memory):
        if options["device"].type == "cpu" and is_columnwise(prepared, omega):
            return SparseRows(prepared, inputs, targets, omega, moves, **options)
        engine = _SPARSE
    if isinstance(engine, Dask):
        make = partial(_part, engine.each(), prepared, omega, moves, seldom, options["precision"], options["device"])
        return DaskRows(engine, make, prepared.columns(), moves, inputs, targets, **options)
    if isinstance(engine, Chunks):
        n = sum(block.width for block in prepared.parts.values())
        held = max(options["precision"].rows.itemsize, inputs.element_size())
        row = 2 * inputs.shape[1] * inputs.element_size() + 2 * n * held  # a block is formed before it is put in place
        rows, ahead = engine.rows_of(row), 1
        if engine.memory is not None and options["device"].type == "cpu":
            most = rows
            rows = min(rows, max(_AT_ONCE // row // _EVEN * _EVEN, CHUNK))
            ahead = min(most // rows, _AHEAD)
        return ChunkRows(rows, ahead, prepared, inputs, targets, omega, moves, **options)
    return MemoryRows(prepared, inputs, targets, omega, moves, seldom=seldom, **options)


def _part(
    engine: Engine,
    prepared: Prepared,
    omega: Omega,
    moves: set[str],
    seldom: bool,
    precision: Precision,
    device: torch.device,
    inputs: Tensor,
    targets: Tensor,
    log_weight: Tensor | None,
) -> RowSums:
    """Return the rows of one part, where a worker holds them."""
    if isinstance(engine, Memory) and isinstance(inputs, RowsApart):
        inputs = inputs.read(slice(None))
    how: dict[str, Any] = {"precision": precision, "device": device, "log_weight": log_weight, "check": never}
    return load_rows(engine, prepared, inputs, targets, omega, moves, seldom, **how)


def chosen_rows(engine: Engine | str, inputs: Tensor, numbers: Tensor) -> Tensor:
    """Return the inputs with these ascending numbers (r,): a copy for an engine that holds them, else where they are.

    Each pass over some of the rows of a file reads what lies between them too.
    """
    if not isinstance(engine, Chunks | Dask) or isinstance(inputs, RowsSparse):
        return some_of(inputs, numbers)
    return inputs.chosen(numbers) if isinstance(inputs, RowsOnWorkers) else RowsChosen(inputs, numbers)


def rows_to_prepare(
    engine: Engine | str, train: Split, seed: int, featurizer: Featurizer | None = None
) -> tuple[Tensor, Tensor]:
    """Return the rows that a featurizer is prepared on: all, or some at random where there may be too many to hold.

    Their number is 100,000, or as many as the memory for a chunk has room for, but no fewer than 2,000. Sparse rows are
    all given, as a sparse tensor, where the ``featurizer`` takes one, and else are made dense.
    """
    inputs, count = train.inputs, _PREPARED
    if isinstance(inputs, RowsSparse):
        if featurizer is not None and featurizer.takes_sparse():
            return inputs.tensor(), train.targets
        engine = _SPARSE if isinstance(engine, Memory) else engine
    elif not isinstance(engine, Chunks | Dask):
        return inputs, train.targets
    if isinstance(engine, Chunks) and engine.memory is not None:  # in their own type, and as float64 twice
        count = min(max(engine.rows_of(inputs.shape[1] * (inputs.element_size() + 16)), _PREPARED // 50), count)
    if len(train) <= count:
        whole = inputs.take(torch.arange(len(train), device="cpu")) if isinstance(inputs, RowsSparse) else inputs
        return whole, train.targets
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed), device="cpu")
    chosen = order[:count].sort().values
    return inputs.take(chosen) if isinstance(inputs, RowsApart) else inputs[chosen], train.targets[chosen]
