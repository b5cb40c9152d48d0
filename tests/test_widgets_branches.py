"""Branches of a run without a browser: the mark where one begins, the settings that it takes, what the table says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import traitlets

import lsat_explorer as lsat
from live import LAMBDA, end, opened, rows, send, slower, trace, weighting
from lsat_explorer.widgets import Explorer, LiveTuner


@pytest.fixture
def recipe() -> lsat.Recipe:
    return weighting(5)


@pytest.fixture
def tuner(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[LiveTuner]:
    yield from opened(data, recipe)


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
