"""The thread that pulls a run: it starts once, holds, steps, stops from a pause, and keeps what goes wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import lsat_explorer as lsat
from fake_run import FakeRun
from lsat_explorer.widgets import cells
from lsat_explorer.widgets.worker import Activity, Worker, pause
from waiting import SOON, until


@pytest.fixture(autouse=True)
def nothing_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that other tests leave behind are not those of this test's cells."""
    monkeypatch.setattr(cells, "_begun", [])


@pytest.fixture
def run() -> Iterator[FakeRun]:
    run = FakeRun()
    yield run
    run.gate.set()


@pytest.fixture
def worker(run: FakeRun) -> Iterator[Worker]:
    worker = Worker(run, period=0.0)
    yield worker
    run.gate.set()
    worker.close()


def test_it_runs_to_the_end_and_reports_once_more(run: FakeRun, worker: Worker) -> None:
    run.last = 3
    seen: list[Activity] = []
    worker.listeners.append(lambda: seen.append(worker.activity))
    assert worker.activity is Activity.READY
    worker.start()
    worker.wait(SOON)
    assert [iterate.number for iterate in run.iterates] == [0, 1, 2, 3]
    assert seen[-1] is Activity.ENDED is worker.activity


def test_starting_twice_is_one_run(run: FakeRun, worker: Worker) -> None:
    before = set(threading.enumerate())
    run.gate.clear()
    worker.start()
    worker.start()
    until(run.inside.is_set)
    assert run.begun == 1
    assert len(set(threading.enumerate()) - before) == 1


def test_a_pause_holds_and_start_goes_on(run: FakeRun, worker: Worker) -> None:
    worker.start()
    until(lambda: len(run.iterates) > 3)
    held = threading.Event()
    worker.listeners.append(lambda: held.set() if threading.current_thread().name == "lsat-tuner" else None)
    worker.pause()
    assert worker.activity is Activity.PAUSED
    held.clear()
    assert held.wait(SOON)  # the thread's own report, from inside the pause
    count = len(run.iterates)
    with pytest.raises(TimeoutError, match="paused"):
        worker.wait(0.05)
    assert len(run.iterates) == count
    worker.resume()
    until(lambda: len(run.iterates) > count)


def test_a_step_is_one_iteration(run: FakeRun, worker: Worker) -> None:
    for count in (1, 2, 3):
        worker.step()
        until(lambda count=count: len(run.iterates) == count and worker.activity is Activity.PAUSED)
    assert run.begun == 1


def test_a_step_of_a_run_that_has_not_begun_is_its_first_iterate() -> None:
    free = threading.Event()
    worker = Worker(FakeRun(), after=[free])
    worker.start()
    worker.step()
    free.set()
    until(lambda: worker.activity is Activity.PAUSED)
    assert len(worker.run.iterates) == 1
    worker.close()


def test_no_step_is_lost(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    for _ in range(4):
        worker.step()
    until(run.inside.is_set)
    assert worker.activity is not Activity.PAUSED
    run.gate.set()
    until(lambda: worker.activity is Activity.PAUSED)
    assert len(run.iterates) == 4
    run.gate.clear()
    worker.step()
    worker.step()
    worker.pause()  # takes back what has not begun
    run.gate.set()
    until(lambda: len(run.iterates) >= 4 and not run.inside.is_set())
    assert len(run.iterates) <= 5


def test_the_clock_stands_still_while_the_run_is_paused(
    digits: lsat.Data, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ahead, clock = [0.0], time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + ahead[0])
    run = lsat.Run(lsat.Recipe(), digits, checkpoint=lsat.Checkpoint(tmp_path, iterations=1))
    worker = Worker(run)
    for number in (1, 2, 3):
        worker.step()
        until(lambda number=number: len(run.iterates) == number and worker.resting)  # type: ignore[misc]
        ahead[0] += 1e6  # a pause
    assert 0 < worker.seconds < 1e6
    assert run.history()["seconds"].is_monotonic_increasing
    assert run.history()["seconds"].iloc[-1] == worker.seconds
    worker.close()
    other = lsat.Run.resume(tmp_path, digits)
    assert worker.seconds < next(other.steps()).seconds < 1e6
    other.change(other.recipe.replace(method=lsat.LBFGS()))
    ahead[0] += 1e6
    assert worker.seconds < next(other.steps()).seconds < 1e6


def test_a_step_that_ends_the_run_does_not_hold_it(run: FakeRun, worker: Worker) -> None:
    run.last = 0
    worker.step()
    worker.wait(SOON)
    assert worker.activity is Activity.ENDED


def test_stop_wakes_a_paused_worker(run: FakeRun, worker: Worker) -> None:
    worker.step()
    until(lambda: worker.activity is Activity.PAUSED)
    worker.stop()
    worker.wait(SOON)
    assert run.iterates[-1].status.value == "stopped_by_user"
    assert worker.activity is Activity.ENDED


def test_a_stopped_run_goes_on_from_where_it_was(run: FakeRun, worker: Worker) -> None:
    worker.start()
    until(lambda: len(run.iterates) > 2)
    worker.stop()
    worker.wait(SOON)
    count = len(run.iterates)
    worker.start()
    until(lambda: len(run.iterates) > count)
    assert [iterate.number for iterate in run.iterates[: count + 1]] == list(range(count + 1))


def test_stopping_what_was_never_started_is_nothing(worker: Worker) -> None:
    worker.stop()
    worker.wait(0.1)
    assert worker.activity is Activity.READY


def test_an_error_is_kept_and_raised_by_wait(run: FakeRun, worker: Worker) -> None:
    run.fails_at = 2
    worker.start()
    with pytest.raises(ArithmeticError, match="iteration 2 broke"):
        worker.wait(SOON)
    assert worker.activity is Activity.FAILED
    run.fails_at = None
    worker.start()  # and the run can be taken up again
    until(lambda: len(run.iterates) > 4)
    assert worker.error is None


def test_a_view_that_fails_does_not_end_the_run(run: FakeRun, worker: Worker) -> None:
    run.last = 5

    def broken() -> None:
        raise RuntimeError("no page")

    worker.listeners.append(broken)
    with pytest.warns(UserWarning, match="no page"):
        worker.report()  # and it says so once
    worker.start()
    worker.wait(SOON)
    assert len(run.iterates) == 6


def reported(run: FakeRun, period: float) -> list[int]:
    """Return how many iterates there were at each report of a whole run."""
    worker = Worker(run, period=period)
    count: list[int] = []
    worker.listeners.append(lambda: count.append(len(run.iterates)))
    worker.start()
    worker.wait(SOON)
    return count


def test_reports_are_coalesced(run: FakeRun) -> None:
    run.last = 500
    assert reported(run, period=1000.0) == [0, 501]


def test_reports_that_cost_more_come_less_often(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pause(0.25, 0.001) == 0.25
    assert pause(0.25, 0.015) == pytest.approx(0.5)
    assert pause(0.25, 10.0) == 1.0
    monkeypatch.setattr("lsat_explorer.widgets.worker.pause", lambda period, cost: 1000.0)
    run.last = 50
    assert reported(run, period=0.0) == [0, 1, 51]


def test_the_thread_takes_the_callers_number_of_threads(run: FakeRun) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        worker = Worker(run)
        torch.set_num_threads(before)
        worker.step()
        until(lambda: len(run.iterates) == 1)
        assert run.threads == 1
        worker.close()
    finally:
        torch.set_num_threads(before)


def test_a_stop_leaves_nothing_more_to_compute(run: FakeRun, worker: Worker) -> None:
    worker.listeners.append(lambda: worker.stop() if len(run.iterates) == 3 else None)
    worker.start()
    worker.wait(SOON)
    assert len(run.iterates) == 3
    assert run.iterates[-1].status is lsat.Status.STOPPED_BY_USER


def test_a_stopped_run_of_a_recipe_evaluates_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    run = lsat.Run(lsat.Recipe(method=lsat.ProximalGradient(tolerance=0.0)), lsat.datasets.digits())
    worker = Worker(run, period=0.0)
    stopped: list[bool] = []
    late: list[str] = []

    def watched(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def call(*words: object, **more: object) -> object:
            late.extend([name] if stopped else [])
            return original(*words, **more)

        return call

    for name in ("evaluate", "gradient", "training_loss"):
        monkeypatch.setattr(lsat.Problem, name, watched(name, getattr(lsat.Problem, name)))

    def stop() -> None:
        if len(run.iterates) == 3:
            stopped.append(True)
            worker.stop()

    worker.listeners.append(stop)
    worker.start()
    worker.wait(SOON)
    assert stopped
    assert late == []
    assert (len(run.iterates), run.status) == (3, lsat.Status.STOPPED_BY_USER)


def test_a_start_while_the_run_is_stopping_is_not_lost(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    worker.start()
    until(run.inside.is_set)
    worker.stop()
    worker.start()
    assert worker.activity is Activity.STOPPING
    run.gate.set()
    until(lambda: len(run.iterates) > 3)
    assert run.begun == 2
    assert run.iterates[0].status is lsat.Status.STOPPED_BY_USER
    assert worker.activity is Activity.RUNNING


def test_a_step_while_the_run_is_stopping_is_not_lost(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    worker.start()
    until(run.inside.is_set)
    worker.stop()
    worker.step()
    worker.step()
    run.gate.set()
    until(lambda: worker.activity is Activity.PAUSED)
    assert [iterate.status for iterate in run.iterates] == [lsat.Status.STOPPED_BY_USER, *[lsat.Status.RUNNING] * 2]


def test_the_last_of_stop_and_start_counts(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    worker.start()
    until(run.inside.is_set)
    worker.stop()
    worker.start()
    worker.stop()
    run.gate.set()
    worker.wait(SOON)
    assert (run.begun, len(run.iterates)) == (1, 1)
    assert worker.activity is Activity.ENDED


def test_a_failure_is_shown_before_a_start_that_came_while_the_run_was_stopping(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    run.fails_at = 0
    worker.start()
    until(run.inside.is_set)
    worker.stop()
    worker.start()
    run.gate.set()
    with pytest.raises(ArithmeticError):
        worker.wait(SOON)
    assert (worker.activity, run.begun) == (Activity.FAILED, 1)


def test_a_worker_waits_for_those_before_it(run: FakeRun, worker: Worker) -> None:
    run.gate.clear()
    worker.start()
    until(run.inside.is_set)
    worker.close(0)
    later = FakeRun()
    second = Worker(later, period=0.0, after=[worker.over])
    reported = threading.Event()
    second.listeners.append(reported.set)
    second.start()
    assert reported.wait(SOON)
    assert second.activity is Activity.PREPARING
    second.stop()  # which needs no patience
    second.wait(SOON)
    second.start()
    until(lambda: second.activity is Activity.PREPARING)
    assert later.begun == 0
    run.gate.set()
    until(lambda: later.begun == 1)
    assert not worker.alive
    second.close()


def test_what_was_closed_does_not_start_again(run: FakeRun, worker: Worker) -> None:
    worker.close()
    with pytest.raises(ValueError, match="closed"):
        worker.start()
    assert run.begun == 0


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
