"""How the rows of a file are divided: what the loaders pass on to `Data.from_arrays`."""

from __future__ import annotations

from typing import TypedDict

from lsat_explorer.data.labels import Task
from lsat_explorer.data.missing import Missing

__all__ = ["Division"]


class Division(TypedDict, total=False):
    """Options of `Data.from_arrays`."""

    validation: float
    test: float | None
    final: float | None
    seed: int
    task: Task | None
    missing: Missing
    name: str
