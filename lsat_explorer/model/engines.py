"""Who sums over the rows: all of them in memory, or a chunk at a time."""

from __future__ import annotations

import re
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
    """Features of some rows are held at a time, and formed anew on each pass over the rows.

    Inputs stay in the host's memory, or in their file, and are sent to the device chunk by chunk, the next one while
    the present one is worked on. The results are those of `Memory` to rounding.

    Parameters
    ----------
    rows : int, optional
        Number of rows in a chunk; 16,384 where ``memory`` is not given either.
    memory : str, optional
        What the chunks may take, such as ``"512 MB"``, from which their rows are computed: of two, the inputs, and of
        one, the features. Sums (n, n), and the outcomes and weights of all rows, are beside it.

    Examples
    --------
    >>> Chunks(memory="512 MB")
    Chunks(memory="512 MB")
    >>> Chunks(memory="512 MB").rows_of(4096)
    125000
    """

    rows: int | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and (isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1):
            raise ValueError(f"Chunks: rows is {self.rows!r}, expected a whole number of at least 1.")
        if self.memory is not None:
            _bytes(self.memory)
            if self.rows is not None:
                raise ValueError(f"Chunks: rows is {self.rows} and memory is {self.memory!r}; give one of them.")

    def rows_of(self, row: int) -> int:
        """Return the number of rows in a chunk where one row takes ``row`` bytes; at least 1."""
        if self.memory is None:
            return self.rows or _ROWS
        return max(_bytes(self.memory) // row, 1)


_ROWS = 16_384


def _bytes(text: str) -> int:
    """Read "512 MB", "1.5 GB" or "2 GiB"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMG])(i?)B\s*", text) if isinstance(text, str) else None
    size = 0.0 if found is None else float(found[1]) * (1024 if found[3] else 1000) ** (1 + "kMG".index(found[2]))
    if size < 1:
        raise ValueError(f'Chunks: memory is {text!r}, expected a size; give it as "512 MB" or "1.5 GB".')
    return int(size)
