"""The threads of the BLAS of numpy and scipy, which serve the whole process and share its cores with those of torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

__all__ = ["held_blas"]

_holding = threading.RLock()  # by the one thread that sets sizes


@contextmanager
def held_blas(count: int, pools: ThreadpoolController) -> Iterator[None]:
    """Hold every BLAS to ``count`` threads; while a thread holds them, holds of other threads change nothing.

    A BLAS lets its threads wait for the next call in a loop, for tens of milliseconds, on the cores that torch computes
    with: a few small products on several threads, between two steps of torch, slow the second step down many times.

    Parameters
    ----------
    count : int
        Threads of each BLAS.
    pools : ThreadpoolController
        What was loaded when it was made; looking for it takes a millisecond.

    Examples
    --------
    >>> import numpy
    >>> pools = ThreadpoolController().select(user_api="blas")
    >>> with held_blas(1, pools):
    ...     {pool["num_threads"] for pool in pools.info()}
    {1}
    """
    if not _holding.acquire(blocking=False):
        yield  # whoever came later would put back what the first had set
        return
    try:
        with pools.select(user_api="blas").limit(limits=count):
            yield
    finally:
        _holding.release()
