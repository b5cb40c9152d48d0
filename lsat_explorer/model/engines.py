"""Who sums over the rows: all of them in memory, or a chunk at a time."""

from __future__ import annotations

from dataclasses import dataclass

from .piece import Piece, register

__all__ = ["Chunks", "Engine", "Memory"]


class Engine(Piece):
    """Description of where rows and features are held while sums over them are formed."""


@register
@dataclass(frozen=True, repr=False)
class Memory(Engine):
    """Rows and the features that do not depend on ω are held on the device: the fastest, where they have room.

    Examples
    --------
    >>> Memory()
    Memory()
    """


@register
@dataclass(frozen=True, repr=False)
class Chunks(Engine):
    """Features of ``rows`` rows are held at a time, and formed anew on each pass over the rows.

    Inputs stay in the host's memory, or in the file that they are mapped from, and are sent to the device chunk by
    chunk, the next one while the present one is worked on. The results are those of `Memory` to rounding.

    Parameters
    ----------
    rows : int
        Number of rows in a chunk. On the device it takes about 8 n bytes a row in float32, n the number of features.

    Examples
    --------
    >>> Chunks(rows=8192)
    Chunks(rows=8192)
    """

    rows: int = 16_384

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise ValueError(f"Chunks: rows is {self.rows!r}, expected a whole number of at least 1.")
