"""Which cell began which worker, so that running a cell again ends what it began before, and one run has one worker."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from lsat_explorer.widgets.worker import Worker

__all__ = ["Cell", "after_cells", "end_stale", "namespace", "this_cell", "worker_of"]

Cell = tuple[str, str]
"""A cell, and one of its executions."""

_GRACE = 0.5  # seconds that a cell waits for what it began before; what takes longer ends by itself
_workers: weakref.WeakValueDictionary[int, Worker] = weakref.WeakValueDictionary()  # by the id of the run
_begun: list[tuple[Cell, weakref.ref[Worker]]] = []


def this_cell() -> Cell | None:
    """Return which cell is being run and which of its executions this is, or None outside a notebook.

    JupyterLab names the cell in its request; another front end may not, and there the cell's code identifies it.
    """
    try:
        from IPython.core.getipython import get_ipython

        parent = get_ipython().get_parent()  # type: ignore[union-attr]
    except (ImportError, AttributeError):
        return None
    cell = parent.get("metadata", {}).get("cellId") or parent.get("content", {}).get("code")
    execution = parent.get("header", {}).get("msg_id")
    return (str(cell), str(execution)) if cell and execution else None


def namespace() -> dict[str, Any]:
    """Return the names of the notebook, or none outside one."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return {}
    shell = get_ipython()
    return {} if shell is None else shell.user_ns


def after_cells(act: Callable[[], None]) -> Callable[[], None]:
    """Have something done after each cell that is run; return what ends that. Outside a notebook nothing is done."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return lambda: None
    events = getattr(get_ipython(), "events", None)
    if events is None:
        return lambda: None

    def done(_result: Any) -> None:
        act()

    def end() -> None:
        with suppress(ValueError):  # it may have ended already
            events.unregister("post_run_cell", done)

    events.register("post_run_cell", done)
    return end


def worker_of(run: Any, cell: Cell | None, after: Iterable[threading.Event] = ()) -> Worker:
    """Return the worker of a run: two views of one run share it.

    Parameters
    ----------
    run : Run
        What to pull along.
    cell : tuple of str, optional
        The cell that begins it, as `this_cell` returns it; with None it cannot be run again.
    after : iterable of threading.Event
        What must have ended before a new worker pulls.
    """
    worker = _workers.get(id(run))
    if worker is None or worker.closed or worker.run is not run:
        mine = [worker.over] if worker is not None and worker.run is run else []
        worker = _workers[id(run)] = Worker(run, after=[*after, *mine])
    if cell is not None:
        _begun.append((cell, weakref.ref(worker)))
    return worker


def end_stale(cell: Cell | None) -> list[threading.Event]:
    """End the workers that earlier executions of a cell began; return what is set once each of them has ended."""
    ended = []
    for entry in list(_begun):
        (name, execution), reference = entry
        worker = reference()
        stale = cell is not None and name == cell[0] and execution != cell[1]
        if worker is None or stale:
            _begun.remove(entry)
            if worker is not None:
                worker.close(_GRACE)
                ended.append(worker.over)
    return ended
