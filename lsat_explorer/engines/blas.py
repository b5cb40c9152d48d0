"""The threads of the BLAS of numpy and scipy, which serve the whole process and share its cores with those of torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

__all__ = ["held_blas", "may_hold_briefly"]

_holding = threading.RLock()  # by the one thread that sets sizes
_holders: list[threading.Thread] = []


@contextmanager
def held_blas(count: int, pools: ThreadpoolController, *, patience: float = 0.0) -> Iterator[None]:
    """Hold every BLAS to ``count`` threads; while a thread holds them, holds of other threads change nothing.

    A BLAS lets its threads wait for the next call in a loop, for tens of milliseconds, on the cores that torch computes
    with: a few small products on several threads, between two steps of torch, slow the second step down many times.

    Parameters
    ----------
    count : int
        Threads of each BLAS.
    pools : ThreadpoolController
        What was loaded when it was made; looking for it takes a millisecond.
    patience : float
        Seconds to wait for the hold of another thread to end.

    Examples
    --------
    >>> import numpy
    >>> pools = ThreadpoolController().select(user_api="blas")
    >>> with held_blas(1, pools):
    ...     {pool["num_threads"] for pool in pools.info()}
    {1}
    """
    if not _holding.acquire(timeout=patience):
        yield  # whoever came later would put back what the first had set
        return
    _holders.append(threading.current_thread())
    try:
        with pools.select(user_api="blas").limit(limits=count):
            yield
    finally:
        _holders.pop()
        _holding.release()


def may_hold_briefly() -> bool:
    """Return whether this thread may hold for a moment, again and again: the main one, or one that holds anyway.

    Who sets sizes meanwhile in another thread, as k-means of scikit-learn does for its own time, puts back what it has
    found: the size of the moment, for good. In a hold that lasts, the end of that puts it right.
    """
    return threading.current_thread() is threading.main_thread() or threading.current_thread() in _holders
