"""A run that gives way to another, and one that two views show: which one each of them steers."""

from __future__ import annotations

import pytest

import lsat_explorer as lsat
from fake_run import FakeRun
from live import command
from lsat_explorer.widgets import LiveTuner
from lsat_explorer.widgets.worker import Activity
from waiting import until


def test_restart_is_a_new_run_from_the_start(run: FakeRun, tuner: LiveTuner) -> None:
    tuner.start()
    until(lambda: len(run.iterates) > 3)
    tuner.restart()
    assert tuner.run is not run
    until(lambda: len(tuner.run.iterates) > 0)
    assert run.iterates[-1].status is lsat.Status.STOPPED_BY_USER
    assert tuner.run.iterates[0].number == 0
    tuner.close()
    assert not tuner.worker.alive
    with pytest.raises(ValueError, match="closed"):
        tuner.start()


def test_a_restart_while_the_old_run_prepares_waits_for_it_and_no_button_does(data: lsat.Data) -> None:
    old = FakeRun(lsat.recipes.paper_weighting(), data)
    tuner = LiveTuner(old)
    old.gate.clear()
    tuner.start()
    until(old.inside.is_set)
    command(tuner, "restart")
    new = tuner.run
    assert new is not old
    assert (tuner.controls.activity, new.begun) == ("preparing", 0)
    command(tuner, "stop")  # a stop does not wait for the old run either
    until(lambda: tuner.controls.activity == "ended")
    command(tuner, "start")
    with pytest.raises(TimeoutError):
        tuner.wait(0.3)
    assert (tuner.controls.activity, new.begun) == ("preparing", 0)
    old.gate.set()
    until(lambda: len(new.iterates) > 1)
    assert old.status is lsat.Status.STOPPED_BY_USER
    tuner.close()


def test_a_restart_in_one_view_leaves_the_other_its_run(run: FakeRun, tuner: LiveTuner) -> None:
    other = LiveTuner(run)
    assert other.worker is tuner.worker
    tuner.start()
    until(lambda: len(run.iterates) > 3)
    tuner.restart()
    new = tuner.run
    assert new is not run
    until(lambda: other.controls.activity == "ended" and len(new.iterates) > 0)
    assert run.iterates[-1].status is lsat.Status.STOPPED_BY_USER
    count = len(run.iterates)
    assert other.controls.accepted == count - 1
    other.start()
    until(lambda: len(run.iterates) > count)
    assert (run.begun, new.begun) == (2, 1)
    other.close()
    assert not other.worker.alive
    assert tuner.worker.alive


def test_closing_one_of_two_views_leaves_the_run_to_the_other(run: FakeRun, tuner: LiveTuner) -> None:
    other = LiveTuner(run)
    tuner.start()
    other.close()
    count = len(run.iterates)
    until(lambda: len(run.iterates) > count + 3)
    assert tuner.worker.activity is Activity.RUNNING


def test_a_view_whose_cell_was_run_again_says_so_and_can_go_on(
    data: lsat.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    executions = iter("12")
    monkeypatch.setattr("lsat_explorer.widgets.live_tuner.this_cell", lambda: ("cell", next(executions)))
    runs = [FakeRun(lsat.recipes.paper_weighting(), data) for _ in range(2)]
    first = LiveTuner(runs[0])
    first.start()
    until(lambda: len(runs[0].iterates) > 2)
    second = LiveTuner(runs[1])
    second.start()
    until(lambda: len(runs[1].iterates) > 0)
    until(lambda: first.controls.activity == "ended")
    count = len(runs[0].iterates)
    first.start()
    until(lambda: len(runs[0].iterates) > count)
    assert second.worker.alive
    first.close()
    second.close()


def test_a_restart_follows_a_failure(run: FakeRun, tuner: LiveTuner) -> None:
    run.fails_at = 1
    tuner.start()
    until(lambda: tuner.controls.activity == "failed")
    assert tuner.controls.get_state()["can_go_on"] is False
    command(tuner, "restart")
    until(lambda: len(tuner.run.iterates) > 1)
    assert (tuner.controls.problem, tuner.worker.error) == ("", None)
