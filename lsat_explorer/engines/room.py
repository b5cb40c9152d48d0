"""What to say when memory runs out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..model.engines import Chunks, Dask, Engine

__all__ = ["NotEnoughMemory", "room"]

_SHARE = 4
"""Part of the device's memory that the features of one chunk may take, with what is formed of them, is 1 over this."""


class NotEnoughMemory(MemoryError):
    """The rows have no room on the device; the sentence names the chunk of rows to set."""


@contextmanager
def room(device: torch.device, engine: Engine | str, k: int, n: int) -> Iterator[None]:
    """Turn an allocation that fails, over ``k`` rows of ``n`` features, into a `NotEnoughMemory` with its advice."""
    try:
        yield
    except NotEnoughMemory:
        raise
    except (MemoryError, RuntimeError) as error:
        if not _is_full(error):
            raise
        if isinstance(engine, Dask):
            sentence = f'A worker of {engine!r} has no room left: start more workers, or set Dask(memory="256 MB").'
            raise NotEnoughMemory(sentence) from error
        rows = _fitting(device, engine, k, n)
        now = f"with {engine!r}" if isinstance(engine, Chunks) else f"with all {k:,} rows of {n:,} features at once"
        sentence = f"{device} has no room left {now}: set Recipe(engine=Chunks(rows={rows}))."
        raise NotEnoughMemory(sentence) from error


def _is_full(error: BaseException) -> bool:
    # torch has a class of its own for cards only: on a CPU it says so in words.
    words = ("can't allocate memory", "not enough memory")
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or any(word in str(error) for word in words)


def _fitting(device: torch.device, engine: Engine | str, k: int, n: int) -> int:
    """Return a power of two of rows that have room, at most half as many as there are at once."""
    at_once = min(engine.rows_of(16 * n), k) if isinstance(engine, Chunks) else k
    rows = max(at_once // 2, 1)
    if device.type == "cuda":
        rows = min(rows, max(torch.cuda.get_device_properties(device).total_memory // (_SHARE * 8 * n), 1))
    return int(2 ** (rows.bit_length() - 1))
