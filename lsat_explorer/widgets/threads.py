"""Threads of the kernel: how one begins, and how many the libraries use for its work."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Protocol

import torch
from threadpoolctl import ThreadpoolController

from lsat_explorer.engines.blas import held_blas

__all__ = ["begun", "closed_at_exit", "held_threads", "release_team"]

_SOFTLY = 1  # omp_pause_soft of OpenMP 5: settings stay

_PATIENCE = 0.1
"""Seconds to wait for a hold of BLAS that lasts milliseconds; one of another run lasts as long as that."""


def begun(target: Callable[[], None], name: str, ended: threading.Event | None = None) -> threading.Thread:
    """Start a daemon thread whose messages to the page are answers to nobody.

    What a thread sends, ipykernel takes for an answer to the last request of any page, and from then on it hands what
    the page says on the same widget to the subshell of that request. When a page is opened again, that is one that
    JupyterLab has just ended, and every press of a button would be lost.

    Parameters
    ----------
    target : callable
        What it does.
    name : str
        What it is called.
    ended : threading.Event, optional
        Set when it has ended.

    Examples
    --------
    >>> begun(lambda: print("done"), "example").join()
    done
    """

    def run() -> None:
        try:
            _answer_nobody()
            target()
        finally:
            if ended is not None:
                ended.set()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


def release_team() -> None:
    """Let go of the OpenMP threads that wait for the next parallel loop of this thread.

    libgomp lets such threads wait in a loop only while all of them together are no more than there are cores. Beside
    the idle team of the main thread, every parallel loop of a run would first have to wake its own, and a small run
    takes up to twice as long. The next loop of this thread makes its team again.
    """
    for pool in ThreadpoolController().select(user_api="openmp").lib_controllers:
        pause = getattr(pool.dynlib, "omp_pause_resource_all", None) if pool.prefix == "libgomp" else None
        if pause is not None:
            pause(_SOFTLY)


class _Closable(Protocol):
    def close(self) -> None: ...


_open: weakref.WeakSet[_Closable] = weakref.WeakSet()


def closed_at_exit(owner: _Closable) -> None:
    """Have the owner of a thread closed before the interpreter goes: a thread that computes then aborts the process."""
    _register()
    _open.add(owner)


@cache
def _register() -> None:
    atexit.register(_close_all)


def _close_all() -> None:
    for owner in list(_open):
        owner.close()


def _answer_nobody() -> None:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    parent = getattr(getattr(get_ipython(), "kernel", None), "_shell_parent", None)
    if isinstance(parent, ContextVar):  # of this thread alone; ipykernel before 7 has none, and no subshells
        parent.set({})


@contextmanager
def held_threads(count: int) -> Iterator[None]:
    """Hold torch, OpenMP and BLAS to ``count`` threads each, for what this thread computes inside.

    A new thread inherits no such setting: each library would take every core, whatever the user has set. The pool of a
    BLAS serves the whole process: the first thread to hold it sets its size and puts it back, others leave it alone.

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
    with pools.select(user_api="openmp").limit(limits=count), held_blas(count, pools, patience=_PATIENCE):
        yield
