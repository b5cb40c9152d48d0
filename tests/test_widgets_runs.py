"""The history of runs without a browser: names, notes, what is taken out, which run is shown, what is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lsat_explorer as lsat
from fake_run import FakeRun
from live import end, opened, rows, send, slower, trace, weighting
from lsat_explorer.plots.curves import value_text
from lsat_explorer.widgets import LiveTuner
from lsat_explorer.widgets.facts import devices, seconds_to_go
from waiting import SOON, until


@pytest.fixture
def recipe() -> lsat.Recipe:
    return weighting(5)


@pytest.fixture
def tuner(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[LiveTuner]:
    yield from opened(data, recipe)


def test_a_run_gets_a_name_and_a_note(tuner: LiveTuner) -> None:
    end(tuner)
    send(tuner.table, command="rename", run=1, text="  small \n step ")
    send(tuner.table, command="note", run=1, text="worth another look")
    assert (rows(tuner, "name"), rows(tuner, "note")) == (["small step"], ["worth another look"])
    assert (tuner.runs[0].name, tuner.runs[0].note) == ("small step", "worth another look")
    tuner.branch(2)
    tuner.wait(60)
    assert rows(tuner, "differs")[0] == "from iteration 2 of small step"
    tuner.runs[0].name = "larger step"
    assert rows(tuner, "differs")[0] == "from iteration 2 of larger step"
    assert tuner.table.get_state()["compared"] == "larger step"
    send(tuner.table, command="rename", run=1, text="")
    assert rows(tuner, "name") == ["Run 2", "Run 1"]


@pytest.mark.parametrize(
    ("criterion", "of", "judging", "title"),
    [
        (lsat.HeldOut(), "validation", "validation rows", "Validation loss"),
        (lsat.LeaveOneOut(), "validation", "training rows, each predicted without itself", "Loss"),
        (lsat.GCV(), "training", "training rows", "Loss"),
    ],
)
def test_table_and_curves_tell_whose_loss_and_error_they_show(
    criterion: Any, of: str, judging: str, title: str, data: lsat.Data
) -> None:
    recipe = lsat.Recipe(criterion=criterion, method=lsat.LineSearch(max_iterations=1))
    for tuner in opened(data, recipe):
        assert (rows(tuner, "error_rows"), rows(tuner, "judging")) == ([of], [judging])
        assert tuner.table.error_name == title.replace("Loss", "Error").replace("loss", "error")
        said = tuner.plot.layout.annotations[0].text
        assert title in said
        assert ("Validation" in said, judging in said) == (title != "Loss", title == "Loss")
        assert tuner.picture().startswith(b"\x89PNG")


def test_errors_of_numbers_have_the_name_of_what_they_are() -> None:
    inputs = np.random.default_rng(0).standard_normal((40, 2))
    for criterion, name in ((lsat.HeldOut(), "Validation RMSE"), (lsat.LeaveOneOut(), "RMSE")):
        for tuner in opened(lsat.Data.from_arrays(inputs, inputs[:, 0]), lsat.Recipe(criterion=criterion)):
            assert tuner.table.error_name == name


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6])
def test_the_table_tells_a_loss_of_any_size_in_the_digits_of_the_curves(scale: float) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((40, 2))
    targets = scale * (inputs @ [1.0, 2.0] + rng.standard_normal(40))
    recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=1))
    for tuner in opened(lsat.Data.from_arrays(inputs, targets), recipe):
        assert rows(tuner, "loss_text") == [""]
        end(tuner)
        assert rows(tuner, "loss_text") == [value_text(tuner.run.kept.loss)]
        assert float(rows(tuner, "loss_text")[0]) == pytest.approx(tuner.run.kept.loss, rel=1e-3)


def test_the_table_shows_the_iterate_that_early_stopping_keeps() -> None:
    loss, stops = lsat.CrossEntropy(temperature=True), lsat.EarlyStopping(3)
    recipe = lsat.Recipe(loss=loss, data_weights=lsat.LogWeights(), early_stopping=stops)
    for tuner in opened(lsat.datasets.digits(), recipe):
        end(tuner)
        kept, last = tuner.run.kept, tuner.run.iterates[-1]
        assert kept.number < last.number
        assert (rows(tuner, "loss"), rows(tuner, "error")) == ([kept.loss], [kept.error])
        assert rows(tuner, "iterations") == [last.number]


def test_a_run_that_was_computed_stays_when_it_is_restarted(tuner: LiveTuner) -> None:
    end(tuner)
    first = tuner.run
    tuner.restart()
    tuner.wait(60)
    assert rows(tuner, "name") == ["Run 2", "Run 1"]
    assert rows(tuner, "iterations") == [5, 5]
    assert tuner.runs[0].run is first


def test_a_run_that_goes_on_is_stopped_by_a_restart_and_stays(data: lsat.Data) -> None:
    run = FakeRun(lsat.Recipe(), data)
    tuner = LiveTuner(run)
    tuner.start()
    until(lambda: len(run.iterates) > 30)
    tuner.restart()
    until(lambda: run.status is lsat.Status.STOPPED_BY_USER and len(tuner.run.iterates) > 0)
    tuner.stop()
    tuner.wait(SOON)
    assert [kept.run for kept in tuner.runs] == [run, tuner.run]
    assert rows(tuner, "iterations")[1] >= 30
    tuner.close()


def test_a_run_without_an_iterate_gives_way_but_not_its_name(tuner: LiveTuner) -> None:
    tuner.change(slower(tuner, 0.5))
    tuner.change(tuner.recipe.replace(seed=1))
    assert rows(tuner, "name") == ["Run 1"]
    tuner.runs[0].note = "keep"
    tuner.change(tuner.recipe.replace(seed=2))
    assert rows(tuner, "note") == ["", "keep"]


def test_a_deleted_run_comes_back_once(tuner: LiveTuner) -> None:
    end(tuner)
    for step in (0.5, 0.25):
        tuner.restart(slower(tuner, step))
        tuner.wait(60)
    first, second, third = tuner.runs
    tuner.table.set_state({"chosen": 2})
    send(tuner.table, command="delete", run=2)
    assert rows(tuner, "name") == ["Run 3", "Run 1"]
    assert tuner.table.chosen == 1  # the run that was chosen still is
    assert tuner.table.shown is first
    assert tuner.table.get_state()["undoes"] == "Run 2"
    send(tuner.table, command="undo")
    assert list(tuner.runs) == [first, second, third]
    assert tuner.table.shown is first
    send(tuner.table, command="undo")
    assert len(tuner.runs) == 3
    del tuner.runs[0]  # the one that is shown: the present one is shown then
    assert tuner.table.shown is third
    assert trace(tuner, "validation loss").y[-1] == third.run.iterates[-1].loss
    assert rows(tuner, "differs") == ["first step size 0.5 → 0.25", ""]


def test_the_run_that_the_buttons_steer_is_not_deleted(tuner: LiveTuner) -> None:
    tuner.step()
    send(tuner.table, command="delete", run=1)
    assert "Run 1 is the run that the buttons steer" in tuner.table.get_state()["problem"]
    assert len(tuner.runs) == 1
    assert rows(tuner, "stays") == [True]
    send(tuner.table, command="delete", run=77)  # another view was faster
    assert tuner.table.problem == ""


def test_a_number_is_given_once(tuner: LiveTuner) -> None:
    end(tuner)
    tuner.branch(1)
    tuner.wait(60)
    del tuner.runs[0]
    tuner.branch(1)
    tuner.wait(60)
    assert rows(tuner, "name") == ["Run 3", "Run 2"]


@pytest.fixture
def three(tuner: LiveTuner) -> LiveTuner:
    """A tuner with three runs that have ended, the first of which is looked at."""
    end(tuner)
    for step in (0.5, 0.25):
        tuner.restart(slower(tuner, step))
        tuner.wait(60)
    tuner.table.set_state({"chosen": 2})
    return tuner


def test_the_panel_says_which_run_is_shown_and_which_one_the_buttons_steer(three: LiveTuner) -> None:
    first = three.runs[0].run
    accepted, rejected = first.iterates.counts
    said = three.controls.get_state()["looking"]
    assert (said["name"], said["steered"], said["goes_on"]) == ("Run 1", "Run 3", True)
    assert said["told"].startswith(f"{accepted} accepted, {rejected} rejected, {three.runs[0].seconds:.1f} s. ")
    assert "Press Go on for as many again." in said["told"]
    assert first.iterates[-1].number == 5
    send(three.controls, command="back")
    assert three.controls.get_state()["looking"] == {}
    assert (three.table.chosen, three.table.shown) == (0, three.runs[2])


def test_the_buttons_bring_back_the_run_that_they_steer(three: LiveTuner) -> None:
    third, count = three.run, len(three.run.iterates)
    send(three.controls, command="step")
    until(lambda: len(third.iterates) == count + 1)
    assert three.controls.get_state()["looking"] == {}
    assert three.table.shown.run is third
    assert len(three.runs[0].run.iterates) == 6


def test_the_shown_run_goes_on_where_it_was_and_the_other_stays(three: LiveTuner) -> None:
    first, second, third = three.runs
    losses = [iterate.loss for iterate in first.run.iterates]
    three.runs[0].name = "mine"
    send(three.controls, command="go_on")
    three.wait(60)
    assert three.run is first.run
    assert [iterate.loss for iterate in first.run.iterates][:6] == losses
    assert len(first.run.iterates) > 6
    assert list(three.runs) == [second, third, first]
    assert rows(three, "name") == ["mine", "Run 3", "Run 2"]
    assert rows(three, "differs") == ["", "first step size 1 → 0.25", "first step size 1 → 0.5"]
    assert three.controls.get_state()["looking"] == {}
    assert three.recipe == first.run.recipe
    three.restart()
    three.wait(60)
    assert rows(three, "name") == ["Run 4", "mine", "Run 3", "Run 2"]


def test_going_on_with_another_run_stops_the_one_that_goes_on(data: lsat.Data) -> None:
    run = FakeRun(lsat.Recipe(), data)
    tuner = LiveTuner(run)
    tuner.start()
    until(lambda: len(run.iterates) > 3)
    tuner.restart()
    second: Any = tuner.run
    until(lambda: len(second.iterates) > 3 and run.status.final)
    count = len(run.iterates)
    tuner.table.set_state({"chosen": 1})
    tuner.go_on()
    until(lambda: second.status is lsat.Status.STOPPED_BY_USER and len(run.iterates) > count)
    assert [kept.run for kept in tuner.runs] == [second, run]
    tuner.close()


def test_a_run_that_has_ended_elsewhere_can_go_on_where_it_stopped_short(data: lsat.Data) -> None:
    method = lsat.ProximalGradient(max_iterations=1)
    tuner = LiveTuner(lsat.tune(lsat.Recipe(method=method), data, progress=False))
    state = tuner.controls.get_state()
    assert (state["activity"], state["can_go_on"]) == ("ended", True)
    tuner.close()


def test_the_time_that_is_left_at_most_is_told_while_a_run_goes_on(data: lsat.Data) -> None:
    run = FakeRun(data=data)
    assert seconds_to_go(run, 0.0) is None
    run.limit = 100
    run.iterates = [lsat.Iterate(k, 1.0, 1.0, 0.0, 1.0, {}) for k in range(21)]
    assert seconds_to_go(run, 42.0) == pytest.approx(160.0)
    run.limit = 20
    assert seconds_to_go(run, 42.0) == 0.0
    run.limit = None  # of a method without a maximum
    assert seconds_to_go(run, 42.0) is None


def test_expected_time_is_a_trait_of_a_run_that_goes_on(tuner: LiveTuner) -> None:
    tuner.step()
    while tuner.controls.activity != "paused":
        tuner.worker.over.wait(0.01)
    assert tuner.controls.get_state()["expected"] == pytest.approx(5 * tuner.controls.seconds)
    end(tuner)
    assert tuner.controls.get_state()["expected"] is None


def test_a_device_says_its_memory() -> None:
    assert "GiB free" in devices()["cpu"]
