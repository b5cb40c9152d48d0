"""The thread that pulls a run: it starts once, holds, steps, keeps what goes wrong, and reports seldom enough."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch

import lsat_explorer as lsat
from fake_run import FakeRun
from lsat_explorer.widgets.worker import Activity, Worker, pause
from waiting import SOON, until

pytestmark = pytest.mark.usefixtures("nothing_begun")


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
