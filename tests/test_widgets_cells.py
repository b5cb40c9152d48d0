"""Cells and the threads that they begin: each run has one, and a cell that is run again ends its own."""

from __future__ import annotations

import pytest

from fake_run import FakeRun
from lsat_explorer.widgets import cells
from lsat_explorer.widgets.worker import Activity
from waiting import SOON, until

pytestmark = pytest.mark.usefixtures("nothing_begun")


def test_running_a_cell_again_ends_what_it_began(run: FakeRun) -> None:
    worker = cells.worker_of(run, ("cell", "first"))
    last: list[Activity] = []
    worker.listeners.append(lambda: last.append(worker.activity))
    worker.start()
    until(lambda: len(run.iterates) > 0)
    assert cells.end_stale(("cell", "first")) == []  # one execution may begin two
    assert cells.end_stale(("another cell", "second")) == []
    assert cells.end_stale(None) == []
    assert worker.alive
    (over,) = cells.end_stale(("cell", "third"))
    assert over.wait(SOON)
    assert run.iterates[-1].status.final
    until(lambda: last[-1] is Activity.ENDED)  # and a view that is still shown somewhere says so


def test_a_run_is_never_pulled_by_two(run: FakeRun) -> None:
    worker = cells.worker_of(run, ("cell", "first"))
    run.gate.clear()
    worker.start()
    until(run.inside.is_set)
    worker.close(0)
    again = cells.worker_of(run, ("cell", "second"))
    assert again is not worker
    again.start()
    with pytest.raises(TimeoutError):
        again.wait(0.3)
    assert worker.alive
    assert run.begun == 1
    run.gate.set()
    until(lambda: run.begun == 2 and len(run.iterates) > 2)
    assert [iterate.number for iterate in run.iterates] == list(range(len(run.iterates)))
    again.close()


def test_two_views_of_a_run_share_its_worker(run: FakeRun) -> None:
    worker = cells.worker_of(run, None)
    assert cells.worker_of(run, ("cell", "first")) is worker
    worker.close()
    assert cells.worker_of(run, None) is not worker  # one that was closed does not come back


def test_outside_a_notebook_there_is_no_cell() -> None:
    assert cells.this_cell() is None
