"""The explorer without a browser: it runs, keeps its runs, and carries their state and pictures."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import lsat_explorer as lsat
from live import LAMBDA, command
from lsat_explorer.widgets import Explorer, stills
from lsat_explorer.widgets.worker import Activity
from waiting import until

PNG = b"\x89PNG\r\n\x1a\n"


def test_the_explorer_runs_and_keeps_its_runs(explorer: Explorer, recipe: lsat.Recipe) -> None:
    assert explorer.table.rows[0]["loss"] is None
    explorer.start()
    explorer.wait(60)
    assert explorer.run.status is lsat.Status.MAX_ITERATIONS
    assert explorer.table.rows[0]["iterations"] == 6
    assert explorer.heading.facts[1:] == ["75 features", "902 hyper-parameters"]
    assert explorer.model.theta.shape[1] == 10
    first = explorer.run
    explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: 0.5}})
    assert explorer.recipe == explorer.sliders.recipe
    explorer.restart()
    explorer.wait(60)
    assert explorer.run is not first
    assert [row["differs"] for row in explorer.table.rows] == ["λ of log row weights 0.001 → 0.5", ""]
    explorer.restart()  # the same again is a run of its own
    explorer.wait(60)
    assert [row["name"] for row in explorer.table.rows] == ["Run 3", "Run 2", "Run 1"]
    explorer.table.chosen = 2
    shown = next(trace for trace in explorer.tuner.plot.data if trace.name == "validation loss")
    assert shown.y[-1] == first.iterates[-1].loss


def test_a_press_of_a_button_is_one_command(explorer: Explorer) -> None:
    for count in (1, 2):
        command(explorer.tuner, "step")
        until(lambda count=count: len(explorer.run.iterates) >= count)  # type: ignore[misc]
        until(lambda: explorer.tuner.worker.activity is Activity.PAUSED)
        assert len(explorer.run.iterates) == count


def test_a_chosen_run_shows_its_own_settings(explorer: Explorer) -> None:
    def penalty() -> str:
        return dict(explorer.panel.tabs.get_state()["cards"]["Weights"][0]["facts"])["penalty"]

    explorer.start()
    explorer.wait(60)
    before = penalty()
    explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: 0.5}})
    explorer.tuner.worker.report()
    assert penalty() == before  # the run that has ended used another
    assert "Restart" in explorer.tuner.controls.sentence
    assert explorer.run.model is not None
    explorer.restart()
    explorer.wait(60)
    assert penalty() != before
    explorer.table.set_state({"chosen": 1})
    assert penalty() == before
    fixed = {knob["path"]: knob["value"] for knob in explorer.sliders.get_state()["_fixed"]}
    assert (fixed[LAMBDA], explorer.sliders.values[LAMBDA]) == (1e-3, 0.5)
    assert explorer.panel.tabs.get_state()["fixed"]
    assert explorer.panel.tabs.get_state()["whose"] == "Run 1"
    explorer.table.set_state({"chosen": 0})
    assert explorer.sliders.get_state()["_fixed"] is None
    assert not explorer.panel.tabs.get_state()["fixed"]


def test_a_difference_knows_of_a_slider_moved_during_the_run(explorer: Explorer, recipe: lsat.Recipe) -> None:
    worker = explorer.tuner.worker
    explorer.step()
    until(lambda: worker.activity is Activity.PAUSED)
    explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: 0.5}})
    explorer.step()
    until(lambda: len(explorer.run.iterates) == 2 and worker.activity is Activity.PAUSED)
    explorer.restart(recipe)
    explorer.wait(60)
    assert [row["differs"] for row in explorer.table.rows] == ["λ of log row weights 0.5 → 0.001", ""]


def test_the_explorer_shows_its_recipe_as_code(explorer: Explorer) -> None:
    space: dict[str, Any] = {}
    exec(explorer.heading.source, space)
    assert space["recipe"] == explorer.recipe == lsat.Recipe.from_json(explorer.panel.code.json)
    space["explorer"].close()
    assert explorer.panel.code.python == explorer.recipe.to_source()


def test_the_state_of_every_view_is_json(explorer: Explorer) -> None:
    explorer.start()
    explorer.wait(60)
    for part in (explorer.heading, explorer.panel.tabs, explorer.table, explorer.sliders, explorer.tuner.controls):
        state = {name: value for name, value in part.get_state().items() if name not in ("_esm", "_css", "layout")}
        json.dumps(state, allow_nan=False)


def test_the_picture_of_a_run_that_is_over_has_the_tolerance_that_it_used(
    explorer: Explorer, recipe: lsat.Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[float] = []
    monkeypatch.setattr(stills, "tolerance", lambda recipe: drawn.append(recipe.method.tolerance))
    explorer.start()
    explorer.wait(60)
    explorer.recipe = recipe.replace(method=lsat.ProximalGradient(max_iterations=6, tolerance=1e-7))
    drawn.clear()
    explorer.picture()
    assert drawn == [lsat.ProximalGradient().tolerance]


@pytest.mark.parametrize("view", ["explorer", "tuner", "sliders"])
def test_each_view_carries_a_picture_and_constant_words(explorer: Explorer, view: str) -> None:
    shown: Any = explorer if view == "explorer" else getattr(explorer, view)
    data, metadata = shown._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(PNG)
    assert "text/html" not in data
    assert "application/vnd.jupyter.widget-view+json" in data
    assert metadata["image/png"]["width"] <= 1000
    explorer.start()
    explorer.wait(60)
    assert shown._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]


def test_displaying_writes_the_view_and_then_its_picture(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[tuple[dict[str, Any], dict[str, Any]]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append((data, more)))
    explorer._ipython_display_()
    (live, _), (still, about) = published
    assert "image/png" not in live
    assert "application/vnd.jupyter.widget-view+json" not in still
    explorer.start()
    explorer.wait(60)
    last, more = published[-1]
    assert more["update"]
    assert more["transient"] == about["transient"]
    assert last["image/png"] != still["image/png"]


def test_each_place_says_how_a_run_that_came_to_its_limit_goes_on_there(explorer: Explorer) -> None:
    explorer.start()
    explorer.wait(60)
    assert explorer.run.status is lsat.Status.MAX_ITERATIONS
    said = explorer.tuner.controls.sentence
    assert said.startswith("Stopped at the maximum number of iterations. Press Go on for as many again.")
    assert "max_iterations" not in said
    assert "run.steps()" in explorer.run.message
    count = len(explorer.run.iterates)
    for _ in explorer.run.steps():
        pass
    assert len(explorer.run.iterates) == count + 7  # its last point, and six more
    command(explorer.tuner, "start")
    explorer.wait(60)
    assert len(explorer.run.iterates) == count + 14
