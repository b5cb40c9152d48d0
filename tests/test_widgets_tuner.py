"""Buttons and curves of a run without a browser: what each press does and says, and in which order it is shown."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest

import lsat_explorer as lsat
from fake_run import FakeRun
from live import command
from lsat_explorer.widgets import Explorer, LiveTuner
from waiting import SOON, until


def test_buttons_steer_the_run_and_state_is_in_traits(run: FakeRun, tuner: LiveTuner) -> None:
    run.last = 50
    assert tuner.controls.activity == "ready"
    command(tuner, "step")
    until(lambda: tuner.controls.activity == "paused")
    assert tuner.controls.sentence == "Paused after iteration 0."
    command(tuner, "start")
    tuner.wait(SOON)
    state = tuner.controls.get_state()
    assert (state["activity"], state["tone"], state["accepted"], state["rejected"]) == ("ended", "good", 50, 0)
    loss = next(trace for trace in tuner.plot.data if trace.name == "validation loss")
    assert len(loss.x) == 51  # the whole history, for a view that is opened later
    assert isinstance(loss.y, np.ndarray)
    sent = tuner.plot.get_state(["_widget_data"])["_widget_data"]  # what a page that is loaded again asks for
    assert next(trace["x"]["shape"] for trace in sent if trace["name"] == "validation loss") == (51,)


def test_a_step_does_not_wait_for_a_picture(run: FakeRun, tuner: LiveTuner, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    tuner._ipython_display_()
    del published[:]
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 1000.0)
    command(tuner, "step")
    until(lambda: tuner.controls.sentence == "Paused after iteration 0.")
    assert published == []
    with pytest.raises(TimeoutError):
        tuner.wait(0.01)
    assert len(published) == 1
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 0.01)
    command(tuner, "step")
    until(lambda: len(published) == 2)  # after a rest, in the background


def test_the_end_of_a_cell_saves_the_picture_of_a_run_that_goes_on_but_seldom(
    run: FakeRun, tuner: LiveTuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[dict[str, Any]] = []
    heard: list[Callable[[], None]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    monkeypatch.setattr("lsat_explorer.widgets.shown.after_cells", lambda act: heard.append(act) or heard.clear)
    tuner._ipython_display_()
    tuner._ipython_display_()
    (cell_ends,) = heard
    del published[:]
    cell_ends()
    assert published == []  # nothing has begun
    run.gate.clear()
    tuner.start()
    until(run.inside.is_set)
    cell_ends()
    assert len(published) == 1  # it no longer says that nothing has begun
    run.gate.set()
    until(lambda: len(run.iterates) > 1)
    for _ in range(3):
        cell_ends()
    assert len(published) == 2  # with the first iterates, and not again at once
    now = time.monotonic
    monkeypatch.setattr("time.monotonic", lambda: now() + 1e6)
    cell_ends()
    assert len(published) == 3
    monkeypatch.undo()
    tuner.close()
    assert heard == []


@pytest.mark.parametrize(("last", "goes_on"), [(3, False), (1_000_000, True)])
def test_a_run_that_reached_its_goal_does_not_offer_to_go_on(
    run: FakeRun, tuner: LiveTuner, last: int, goes_on: bool
) -> None:
    run.last = last
    tuner.start()
    until(lambda: len(run.iterates) > 3)
    tuner.stop()
    tuner.wait(SOON)
    assert tuner.controls.get_state()["can_go_on"] is goes_on


def test_an_unknown_command_and_a_failing_one_do_no_harm(run: FakeRun, tuner: LiveTuner) -> None:
    command(tuner, "format")
    tuner.controls.obey({"start": lambda: 1 / 0})
    command(tuner, "start")
    assert "ZeroDivisionError" in tuner.controls.problem


def test_an_error_of_the_run_ends_in_the_view_and_in_wait(run: FakeRun, tuner: LiveTuner) -> None:
    run.fails_at = 1
    tuner.start()
    with pytest.raises(ArithmeticError, match="iteration 1 broke"):
        tuner.wait(SOON)
    assert tuner.controls.activity == "failed"
    assert tuner.controls.sentence == "The run failed: Restart begins it anew."
    assert "iteration 1 broke" in tuner.controls.problem


@pytest.mark.parametrize(("button", "shown"), [("stop", "stopping"), ("pause", "paused")])
def test_a_button_does_not_wait_for_curves_that_are_being_drawn(
    run: FakeRun, tuner: LiveTuner, monkeypatch: pytest.MonkeyPatch, button: str, shown: str
) -> None:
    drawing, drawn = threading.Event(), threading.Event()

    def slow(*_: Any) -> None:
        if run.iterates:
            drawing.set()
            assert drawn.wait(SOON)

    monkeypatch.setattr("lsat_explorer.widgets.live_curves.update_run", slow)
    tuner.start()
    assert tuner.controls.activity != "ready"  # the words of a press are there when it returns
    assert drawing.wait(SOON)
    count = len(run.iterates)
    press = threading.Thread(target=command, args=(tuner, button), daemon=True)
    press.start()
    press.join(SOON / 2)
    assert not press.is_alive()
    assert tuner.controls.activity == shown
    drawn.set()
    until(lambda: tuner.worker.resting or not tuner.worker.alive)
    assert len(run.iterates) == count


def test_words_come_before_curves_and_no_curves_between_stop_and_end(
    run: FakeRun, tuner: LiveTuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("lsat_explorer.widgets.live_curves.update_run", lambda *_: seen.append(tuner.controls.activity))
    tuner.listeners.append(lambda activity: seen.append(activity.value))
    tuner.worker.period = 0.0
    tuner.start()
    until(lambda: len(seen) > 4)
    run.gate.clear()
    until(run.inside.is_set)
    tuner.stop()
    assert (tuner.controls.activity, tuner.controls.sentence) == ("stopping", "Stopping…")
    tuner.worker.report()
    run.gate.set()
    tuner.wait(SOON)
    assert "stopping" not in seen
    assert seen[-2:] == ["ended", "ended"]


def test_going_on_does_not_wait_for_the_picture_of_the_end(
    run: FakeRun, tuner: LiveTuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 1000.0)
    tuner._ipython_display_()
    del published[:]
    tuner.start()
    until(lambda: len(run.iterates) > 2)
    command(tuner, "stop")
    until(lambda: tuner.controls.activity == "ended")
    count = len(run.iterates)
    command(tuner, "start")
    until(lambda: len(run.iterates) > count)
    assert published == []
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 0.01)
    command(tuner, "stop")
    until(lambda: len(published) == 1)


def test_a_pause_says_whether_an_iteration_is_being_finished(run: FakeRun, tuner: LiveTuner) -> None:
    run.gate.clear()
    tuner.start()
    until(run.inside.is_set)
    tuner.pause()
    assert (tuner.controls.activity, tuner.controls.sentence) == ("paused", "Pausing after this iteration…")
    run.gate.set()
    until(lambda: tuner.controls.sentence == "Paused after iteration 0.")


def test_a_tuner_says_what_it_needs(data: lsat.Data, run: FakeRun) -> None:
    with pytest.raises(ValueError, match=r"LiveTuner\(data, recipe\)"):
        LiveTuner(data)
    with pytest.raises(ValueError, match="has its own"):
        LiveTuner(run, lsat.Recipe())
    with pytest.raises(ValueError, match="LiveTuner got data and no recipe"):
        LiveTuner(data)
    with pytest.raises(TypeError, match="layout"):
        LiveTuner(run, layuot={})


@pytest.mark.parametrize("view", [Explorer, LiveTuner])
def test_rows_that_are_no_data_are_refused_with_what_to_write(view: Any, data: lsat.Data) -> None:
    X, y = pandas.DataFrame(np.eye(3)), np.arange(3)
    name = view.__name__
    for rows, came in (((X, y), "a DataFrame and a ndarray"), ((X, lsat.Recipe()), "a DataFrame"), ((y,), "a ndarray")):
        said = (
            f"{name} got {came}, expected Data and a Recipe: make data of your rows first, "
            f"data = lsat.Data.from_arrays(X, y), then {name}(data, lsat.Recipe())."
        )
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            view(*rows)
    with pytest.raises(ValueError, match=rf"{name} got the recipe first: give {name}\(data, recipe\)"):
        view(lsat.Recipe(), data)
    with pytest.raises(ValueError, match=f"{name} got data and a ndarray as recipe"):
        view(data, y)
    with pytest.raises(ValueError, match=f"{name} got a run and a recipe"):
        view(lsat.Run(lsat.Recipe(), data), lsat.Recipe())
