"""How many threads the libraries use for the work of one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import ThreadpoolController

__all__ = ["held_threads"]

_blas = threading.Lock()  # taken by the one thread that holds BLAS


@contextmanager
def held_threads(count: int) -> Iterator[None]:
    """Hold torch, OpenMP and BLAS to ``count`` threads each, for what this thread computes inside.

    A new thread inherits no such setting: each library would take every core, whatever the user has set. The pool of a
    BLAS serves the whole process; the first thread to hold it sets its size and puts it back, others leave it alone.

    Parameters
    ----------
    count : int
        Threads of each library.

    Examples
    --------
    >>> before = torch.get_num_threads()
    >>> with held_threads(1):
    ...     torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    torch.set_num_threads(count)
    # scikit-learn has an OpenMP of its own: imported later, by a featurizer, it would start at its full size.
    import sklearn  # noqa: F401

    pools = ThreadpoolController()
    with pools.select(user_api="openmp").limit(limits=count), _held_blas(pools.select(user_api="blas"), count):
        yield


@contextmanager
def _held_blas(pools: ThreadpoolController, count: int) -> Iterator[None]:
    if not _blas.acquire(blocking=False):
        yield  # whoever came later would put back what the first had set
        return
    try:
        with pools.limit(limits=count):
            yield
    finally:
        _blas.release()
