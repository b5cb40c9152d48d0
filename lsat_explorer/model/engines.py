"""Who sums over the rows: all of them in memory, a chunk at a time, or several machines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .cluster import address_of, connected, start
from .piece import Piece, register, whole

__all__ = ["Chunks", "Dask", "Engine", "Memory"]


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
        if self.rows is not None:
            whole(self.rows, "Chunks: rows", high=10**12)
        if self.memory is not None:
            _bytes(self.memory)
            if self.rows is not None:
                raise ValueError(f"Chunks: rows is {self.rows} and memory is {self.memory!r}; give one of them.")

    def rows_of(self, row: int) -> int:
        """Return the number of rows in a chunk where one row takes ``row`` bytes; at least 1."""
        if self.memory is None:
            return self.rows or _ROWS
        return max(_bytes(self.memory) // row, 1)


@register
@dataclass(frozen=True, repr=False)
class Dask(Engine):
    """Rows are divided between the workers of a dask cluster, which form the sums over them and add these in a tree.

    Each thread of a worker has a part of the rows. Rows in memory are sent once; of rows on disk
    (:meth:`Data.from_rows`) workers are told the file, which they must see under the same path, and read their part.
    The results are those of `Memory` to rounding. What crosses the network are sums, and of rows that are weighed their
    weights and the slopes of these, 8 bytes a number; features do not. Needs ``pip install 'lsat_explorer[dask]'``, on
    the workers too.

    Parameters
    ----------
    address : str, optional
        Of the scheduler; or a ``dask.distributed.Client`` or cluster, of which the address is kept. None: a worker for
        each core of this machine, started when they are needed.
    memory : str, optional
        What the chunks of one part may take, as of `Chunks`, where features are not to be held by the workers either.
    weights : {"here", "workers"}
        Where the weight of each row is while it is tuned, of rows that are on disk or with dask: ``"here"`` survives
        the scheduler; with ``"workers"`` nothing of the size of the rows crosses the network, and weights come here
        when they are asked for, as for a checkpoint.

    Examples
    --------
    >>> Dask("tcp://10.0.0.1:8786")
    Dask(address="tcp://10.0.0.1:8786")
    """

    address: str | None = None
    memory: str | None = None
    weights: str = "here"

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", address_of(self.address))
        self.each()
        if self.weights not in ("here", "workers"):
            raise ValueError(f"Dask: weights is {self.weights!r}, expected 'here' or 'workers'; give one of them.")

    @classmethod
    def local(cls, workers: int = 2, memory: str | None = None, weights: str = "here") -> Dask:
        """Start workers of one thread each on this machine, which end with this process.

        A script that calls it keeps its work below ``if __name__ == "__main__":``, for workers import it.
        """
        return cls(start(workers), memory, weights)

    def each(self) -> Engine:
        """Return how a worker holds its rows."""
        return Memory() if self.memory is None else Chunks(memory=self.memory)

    @property
    def dashboard(self) -> str:
        """The link of the scheduler's page, which shows what the workers do; it needs bokeh where the scheduler runs.

        Raises
        ------
        ClusterLost
            When no scheduler answers.
        """
        return str(connected(self.address).dashboard_link)


_ROWS = 16_384


def _bytes(text: str) -> int:
    """Read "512 MB", "1.5 GB" or "2 GiB"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMG])(i?)B\s*", text) if isinstance(text, str) else None
    size = 0.0 if found is None else float(found[1]) * (1024 if found[3] else 1000) ** (1 + "kMG".index(found[2]))
    if not 1 <= size < 2**63:
        raise ValueError(f'Chunks: memory is {text!r:.60}, expected a size; give it as "512 MB" or "1.5 GB".')
    return int(size)
