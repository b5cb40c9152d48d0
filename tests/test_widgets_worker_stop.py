"""The thread of a run is stopped: from a pause, in an iteration, between a start and a step, and for good."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import lsat_explorer as lsat
from fake_run import FakeRun
from lsat_explorer.widgets.worker import Activity, Worker
from waiting import SOON, until

pytestmark = pytest.mark.usefixtures("nothing_begun")


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
