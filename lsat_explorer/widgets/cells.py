"""Which cell began which worker, so that running a cell again ends what it began before, and one run has one worker."""

from __future__ import annotations

import weakref
from typing import Any

from lsat_explorer.widgets.worker import Worker

__all__ = ["Cell", "this_cell", "worker_of"]

Cell = tuple[str, str]
"""A cell, and one of its executions."""

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


def worker_of(run: Any, cell: Cell | None) -> Worker:
    """Return the worker of a run, after ending those that an earlier execution of the same cell began.

    Parameters
    ----------
    run : Run
        What to pull along. Two views of one run share its worker.
    cell : tuple of str, optional
        As `this_cell` returns it; with None nothing is ended, since nothing could be run again.
    """
    if cell is not None:
        _end_stale(cell)
    worker = _workers.get(id(run))
    if worker is None or worker.closed or worker.run is not run:
        worker = _workers[id(run)] = Worker(run)
    if cell is not None:
        _begun.append((cell, weakref.ref(worker)))
    return worker


def _end_stale(cell: Cell) -> None:
    for entry in list(_begun):
        (name, execution), reference = entry
        worker = reference()
        if worker is None or (name == cell[0] and execution != cell[1]):
            _begun.remove(entry)
            if worker is not None:
                worker.close()
