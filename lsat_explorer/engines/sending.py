"""How a part of the rows comes to the worker that is to have it: sent, read there from a file, or made by dask."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..data.chosen import RowsChosen
from ..data.on_disk import RowsOnDisk
from ..data.on_workers import RowsOnWorkers
from .share import Given, Make, Stretch, loaded, packed
from .workers import Workers, unwarned

__all__ = ["sent"]


def sent(
    workers: Workers, make: Make, inputs: Tensor, number: int, cut: slice, rest: tuple[Any, Any], worker: str | None
) -> tuple[Any, Any]:
    """Return a part to be, and what is to be kept until it is made.

    ``inputs`` are those of all rows, of which the part takes those of ``cut``, or the partition of dask's with its
    ``number``; ``rest`` are its targets and log weights, and ``worker`` has it, if it can.
    """
    client = workers.client
    if isinstance(inputs, RowsOnWorkers):
        made = client.compute(inputs.parts[number])
        return client.submit(loaded, make, Given(None, *rest), made, pure=False), made
    rows: Any
    if isinstance(inputs, RowsOnDisk) or (isinstance(inputs, RowsChosen) and isinstance(inputs.source, RowsOnDisk)):
        rows = Given(Stretch.of(inputs, cut), *rest)
    else:
        rows = Given(packed(inputs[cut]), *rest)
        (rows,) = workers.reached(client.scatter, [rows], workers=worker, hash=False)
    with unwarned():
        return client.submit(loaded, make, rows, pure=False, workers=worker, allow_other_workers=True), rows
