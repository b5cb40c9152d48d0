"""The history of runs without a browser: branches, names, notes, curves beside each other, what is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

import lsat_explorer as lsat
from fake_run import FakeRun
from live import LAMBDA
from lsat_explorer import plots
from lsat_explorer.plots.omega import MOST_NAMES, hide_omega, show_omega, update_omega
from lsat_explorer.tune.iterates import Iterates
from lsat_explorer.widgets import Explorer, LiveTuner
from lsat_explorer.widgets.facts import devices, seconds_to_go
from lsat_explorer.widgets.history import OmegaColumns
from lsat_explorer.widgets.live_curves import LiveCurves
from lsat_explorer.widgets.run_list import MOST_OVERLAID, RunList
from lsat_explorer.widgets.run_table import RunTable
from waiting import SOON, until


@pytest.fixture(scope="module")
def data(digits: lsat.Data) -> lsat.Data:
    return digits


@pytest.fixture(scope="module")
def recipe() -> lsat.Recipe:
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=1)
    return recipe.replace(method=lsat.ProximalGradient(max_iterations=5))


@pytest.fixture
def tuner(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[LiveTuner]:
    tuner = LiveTuner(data, recipe)
    yield tuner
    tuner.close()


def send(view: Any, **content: Any) -> None:
    """What a page sends."""
    view._handle_custom_msg(content, [])


def trace(tuner: LiveTuner, name: str) -> Any:
    """Return a curve of the figure."""
    return next(trace for trace in tuner.plot.data if trace.name == name)


def rows(tuner: LiveTuner, name: str) -> list[Any]:
    """Return a column of the table, the newest run first."""
    return [row[name] for row in tuner.table.get_state()["rows"]]


def end(tuner: LiveTuner) -> None:
    """Run to the end."""
    tuner.start()
    tuner.wait(60)


def slower(tuner: LiveTuner, step: float) -> lsat.Recipe:
    """Return the recipe with another step size."""
    method: Any = tuner.recipe.method
    return tuner.recipe.replace(method=lsat.ProximalGradient(step=step, max_iterations=method.max_iterations))


# --- branches -----------------------------------------------------------------------------------------------------


def test_a_branch_begins_at_the_marked_iterate(tuner: LiveTuner) -> None:
    end(tuner)
    first = tuner.run
    tuner.controls.set_state({"marked": 3})
    assert tuner.controls.get_state()["marking"].startswith(f"loss {first.iterates[3].loss:.4f}, step ")
    assert (trace(tuner, "marked").x.tolist(), trace(tuner, "marked").y[0]) == ([3.0], first.iterates[3].loss)
    assert tuner.plot.layout.shapes[0].visible
    send(tuner.controls, command="branch")
    tuner.wait(60)
    assert tuner.run is not first
    assert tuner.run.iterates[0].objective == pytest.approx(first.iterates[3].objective, rel=1e-12)
    assert tuner.run.iterates[-1].objective <= first.iterates[3].objective
    assert rows(tuner, "name") == ["Run 2", "Run 1"]
    assert rows(tuner, "differs") == ["from iteration 3 of Run 1", ""]
    assert tuner.controls.get_state()["marked"] is None
    assert not tuner.plot.layout.shapes[0].visible
    assert len(trace(tuner, "validation loss").x) == len(tuner.run.iterates)


def test_a_branch_goes_on_with_the_settings_that_are_shown(tuner: LiveTuner) -> None:
    end(tuner)
    tuner.change(slower(tuner, 0.5))
    tuner.branch(2)
    tuner.wait(60)
    assert tuner.run.iterates[0].step == 0.5
    assert rows(tuner, "differs")[0] == "from iteration 2 of Run 1, first step size 1 → 0.5"
    tuner.table.set_state({"chosen": 1})
    tuner.branch(4)  # of the earlier run, with its own step
    tuner.wait(60)
    assert tuner.run.iterates[0].step == 1.0
    assert rows(tuner, "differs")[0] == "from iteration 4 of Run 1"
    assert tuner.table.chosen == 0


def test_a_branch_and_the_run_that_it_left_both_stay_in_the_table(tuner: LiveTuner) -> None:
    end(tuner)
    tuner.branch(1)
    tuner.wait(60)
    tuner.restart()  # the same recipe as the branch: it is another run all the same
    tuner.wait(60)
    assert rows(tuner, "name") == ["Run 3", "Run 2", "Run 1"]


def test_branching_needs_a_mark_that_is_there(tuner: LiveTuner) -> None:
    send(tuner.controls, command="branch")
    assert "No iteration is marked: click" in tuner.controls.problem
    with pytest.raises(traitlets.TraitError, match="marked is 2, expected None, as there is no iterate yet"):
        tuner.controls.marked = 2
    end(tuner)
    with pytest.raises(traitlets.TraitError, match="marked is 99, expected a number from 0 to 5"):
        tuner.controls.marked = 99
    assert tuner.controls.marked is None
    with pytest.raises(ValueError, match="no iterate 99"):
        tuner.branch(99)
    assert len(tuner.runs) == 1


def test_a_click_marks_a_point_and_a_second_one_takes_the_mark_away(tuner: LiveTuner) -> None:
    end(tuner)
    click = {
        "event_type": "plotly_click",
        "points": {"trace_indexes": [tuner.plot.data.index(trace(tuner, "validation loss"))], "point_indexes": [2]}
        | {"xs": [2], "ys": [tuner.run.iterates[2].loss]},
        "device_state": None,
        "selector": None,
    }
    tuner.plot._js2py_pointsCallback = click
    assert tuner.controls.marked == 2
    tuner.plot._js2py_pointsCallback = {}
    tuner.plot._js2py_pointsCallback = click
    assert tuner.controls.marked is None


def test_what_is_marked_belongs_to_the_run_that_is_shown(tuner: LiveTuner) -> None:
    end(tuner)
    tuner.restart(slower(tuner, 0.5))
    tuner.wait(60)
    tuner.controls.set_state({"marked": 3})
    tuner.table.set_state({"chosen": 1})
    assert tuner.controls.marked is None
    tuner.controls.set_state({"marked": 3})
    assert f"{tuner.runs[0].run.iterates[3].loss:.4f}" in tuner.controls.marking


# --- names, notes and what is taken out ---------------------------------------------------------------------------


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


# --- looking at another run ---------------------------------------------------------------------------------------


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


# --- curves beside each other -------------------------------------------------------------------------------------


def test_chosen_runs_are_drawn_beside_the_shown_one_under_their_names(tuner: LiveTuner) -> None:
    end(tuner)
    first = tuner.run
    tuner.restart(slower(tuner, 0.5))
    tuner.wait(60)
    tuner.runs[0].name = "100 %{y} <b>"
    send(tuner.table, command="overlay", run=1, on=True)
    beside = trace(tuner, "overlay 0")
    assert beside.y.tolist() == [iterate.loss for iterate in first.iterates]
    assert beside.hovertemplate == "100 &#37;{y} &lt;b&gt; %{y:.5~g}<extra></extra>"
    assert (rows(tuner, "slot"), tuner.runs.overlaid) == ([None, 0], [tuner.runs[0]])
    tuner.table.set_state({"chosen": 1})
    assert len(trace(tuner, "overlay 0").x) == 0  # it is the shown one now
    tuner.table.set_state({"chosen": 0})
    send(tuner.table, command="overlay", run=1, on=False)
    assert len(trace(tuner, "overlay 0").x) == 0


def test_at_most_six_runs_lie_beside_the_shown_one_each_in_its_colour(data: lsat.Data) -> None:
    runs = RunList()
    table = RunTable(runs)
    runs.changed = table.edited
    for step in range(MOST_OVERLAID + 2):
        run = FakeRun(lsat.Recipe(method=lsat.ProximalGradient(step=step + 1.0)), data, last=1)
        list(run.steps())
        runs.follow(run, run.recipe, 1.0)
    table.refresh(False)
    for index in range(MOST_OVERLAID):
        runs.overlay(index)
    send(table, command="overlay", run=7, on=True)
    assert "at most 6 can be told apart" in table.problem
    assert not any(row["room"] for row in table.rows)
    runs.overlay(2, False)
    runs.overlay(6)
    assert [kept.slot for kept in runs] == [0, 1, None, 3, 4, 5, 2, None]
    del runs[0]
    runs.overlay(1)
    runs.undo()  # its colour is taken
    assert [kept.slot for kept in runs][:3] == [None, 1, 0]


def test_an_overlaid_run_widens_the_axes() -> None:
    long = {n: np.arange(40.0) for n in ("number", "loss", "step", "residual", "accepted")}
    short = {n: v[:3] + (n == "accepted") for n, v in long.items()}
    figure = plots.run_plotly({})
    plots.update_run(figure, short, None, {2: ("longer", long)}, 1)
    assert figure.layout.xaxis.tickvals[-1] > 10
    assert figure.layout.yaxis.tickvals[-1] > 10
    points = {t.name: t.x.tolist() for t in figure.data}
    assert points["overlay 2"] == list(range(40))
    assert points["marked"] == [1.0]


# --- ω on demand --------------------------------------------------------------------------------------------------


def test_omega_is_drawn_when_asked_for(tuner: LiveTuner) -> None:
    end(tuner)
    count, height = len(tuner.plot.data), tuner.plot.layout.height
    assert [t.name for t in tuner.plot.data if t.meta] == ["last look"]
    tuner.controls.set_state({"with_omega": True})
    drawn = {(t.name, t.meta.split()[-1]): t for t in tuner.plot.data if t.meta}
    smooth, weights = drawn["smooth log weight", "median"], drawn["log row weights", "greatest"]
    assert smooth.y.tolist() == [float(i.omega["regularizer.smooth.log_weight"]) for i in tuner.run.iterates]
    assert weights.y[-1] == float(tuner.run.omega["data_weights.log_weight"].max())
    assert drawn["gradient norm", "gradient"].y[-1] == tuner.run.iterates[-1].gradient_norm
    assert tuner.plot.layout.height > height
    assert tuner.plot.layout.xaxis.anchor == "y6"
    tuner.branch(2)  # and follows the next run
    tuner.wait(60)
    assert len(drawn["smooth log weight", "median"].x) == len(tuner.run.iterates)
    tuner.controls.set_state({"with_omega": False})
    assert tuner.plot.layout.height == height
    assert tuner.plot.layout.xaxis.anchor == "y3"
    assert len([t for t in tuner.plot.data if t.visible is not False]) == count


def test_the_panels_lie_where_they_lay_once_omega_is_gone() -> None:
    figure = plots.run_plotly({})
    before = figure.layout.to_plotly_json()
    show_omega(figure)
    places = [figure.layout[axis].domain for axis in ("yaxis", "yaxis2", "yaxis4", "yaxis3", "yaxis5", "yaxis6")]
    assert all(0 <= low < high <= 1 for low, high in places)
    assert all(upper[0] > lower[1] for upper, lower in pairwise(places))
    hide_omega(figure)
    after = figure.layout.to_plotly_json()
    for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4"):
        assert after[axis]["domain"] == pytest.approx(before[axis]["domain"])
    assert [a["y"] for a in after["annotations"]] == pytest.approx([a["y"] for a in before["annotations"]])


def test_of_many_hyper_parameters_those_that_moved_most_are_drawn() -> None:
    figure = plots.run_plotly({})
    show_omega(figure)
    number = np.arange(4.0)
    moving = {f"weight {k}": k * number for k in range(12)}
    update_omega(figure, {"number": number, "gradient_norm": number + 1, **moving})
    names = [t.name for t in figure.data if t.meta and t.showlegend]
    assert names == [f"weight {k}" for k in range(12 - MOST_NAMES, 12)]
    assert "8 of 12, those that moved most" in figure.layout.annotations[8].text
    update_omega(figure, {"number": number[:0], "gradient_norm": number[:0]})
    assert not figure.layout.annotations[8].text
    assert all(len(t.x) == 0 for t in figure.data)


def test_few_columns_are_drawn_each_by_its_name_and_many_by_their_ends() -> None:
    recipe = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), method=lsat.ProximalGradient(max_iterations=3))
    targets = np.random.default_rng(0).normal(size=40)
    for count in (3, MOST_NAMES + 1):
        X = np.random.default_rng(1).normal(size=(40, count))
        names = [f"<i>{k}</i>" for k in range(count)]
        data = lsat.Data.from_arrays(X, targets, task="regression", feature_names=names)
        run = lsat.tune(recipe, data, progress=False)
        curves = LiveCurves(lambda number: None)
        curves.with_omega(True)
        curves.draw(run, recipe, [], None)
        shown = [t for t in curves.figure.data if t.meta and t.showlegend]
        said = " ".join(t.name for t in shown)
        assert all((f"&lt;i&gt;{k}&lt;/i&gt;" in said) == (count == 3) for k in range(count)), said
        if count == 3:
            for k, trace in enumerate(shown):
                expected = [float(one.omega["regularizer.log_weight"][k]) for one in run.iterates]
                np.testing.assert_allclose(np.interp(range(len(expected)), trace.x, trace.y), expected)
        curves.close()


def test_omega_of_a_loaded_run_has_gaps_where_it_was_not_saved() -> None:
    whole = {"data_weights.log_weight": torch.arange(5.0), "regularizer.log_weight": torch.tensor(2.0)}
    iterates = [lsat.Iterate(k, 1.0, 1.0, 0.0, 1.0, whole) for k in range(3)]
    iterates[0] = lsat.Iterate(0, 1.0, 1.0, 0.0, 1.0, {"regularizer.log_weight": torch.tensor(1.0)})
    columns, loaded = OmegaColumns(), Iterates(iterates)
    columns.of(Iterates(iterates[:1]))
    assert np.isnan(OmegaColumns().of(loaded)["log row weights"][0]).all()
    assert OmegaColumns().of(loaded)["log row weights"][1:].tolist() == [[0.0, 2.0, 4.0]] * 2
    assert columns.of(loaded)["log weight"].tolist() == [1.0, 2.0, 2.0]


# --- what is told -------------------------------------------------------------------------------------------------


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


def test_the_loss_of_the_rows_that_stop_a_run_early_is_drawn(data: lsat.Data, recipe: lsat.Recipe) -> None:
    tuner = LiveTuner(data, recipe.replace(early_stopping=lsat.EarlyStopping(patience=50)))
    end(tuner)
    assert trace(tuner, "early-stopping loss").y.tolist() == [i.stopping_loss for i in tuner.run.iterates]
    assert "early stopping dash-dotted" in tuner.plot.layout.annotations[0].text
    tuner.close()


def test_a_device_says_its_memory() -> None:
    assert "GiB free" in devices()["cpu"]


# --- the whole page -----------------------------------------------------------------------------------------------


def test_the_explorer_branches_with_its_sliders(data: lsat.Data, recipe: lsat.Recipe) -> None:
    explorer = Explorer(data, recipe)
    explorer.start()
    explorer.wait(60)
    first = explorer.run
    explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: 0.5}})
    explorer.tuner.controls.set_state({"marked": 4})
    send(explorer.tuner.controls, command="branch")
    explorer.wait(60)
    assert explorer.run.iterates[0].loss == pytest.approx(first.iterates[4].loss, rel=1e-12)
    assert explorer.run.recipe == explorer.sliders.recipe == explorer.recipe
    assert explorer.table.rows[0]["differs"] == "from iteration 4 of Run 1, λ of log row weights 0.001 → 0.5"
    assert [kept.run for kept in explorer.runs] == [first, explorer.run]
    state = {
        name: value for name, value in explorer.table.get_state().items() if name not in ("_esm", "_css", "layout")
    }
    json.dumps(state, allow_nan=False)
    explorer.close()
