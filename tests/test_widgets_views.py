"""The views without a browser: what they hold, what they refuse, and what a moved slider does to a run."""

from __future__ import annotations

import base64
import json
import math
import re
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest
import traitlets
from IPython.core.interactiveshell import InteractiveShell

import lsat_explorer as lsat
from fake_run import FakeRun
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.regularizers import Regularizer
from lsat_explorer.widgets import Explorer, HyperSliders, LiveTuner
from lsat_explorer.widgets.base import static
from lsat_explorer.widgets.cards import TABS, cards, graph_picture
from lsat_explorer.widgets.facts import difference, extremes
from lsat_explorer.widgets.worker import Activity
from pieces import examples
from test_widgets_worker import SOON, until

LAMBDA = "hyper_penalties/data_weights.log_weight/terms/0/weight"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def data(digits: lsat.Data) -> lsat.Data:
    return digits


@pytest.fixture(scope="module")
def recipe() -> lsat.Recipe:
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=1)
    return recipe.replace(method=lsat.ProximalGradient(max_iterations=6))


@pytest.fixture
def explorer(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[Explorer]:
    explorer = Explorer(data, recipe)
    yield explorer
    explorer.close()


@pytest.fixture
def run(data: lsat.Data) -> Iterator[FakeRun]:
    run = FakeRun(lsat.recipes.paper_weighting(), data)
    yield run
    run.gate.set()
    run.stop()


@pytest.fixture
def tuner(run: FakeRun) -> Iterator[LiveTuner]:
    tuner = LiveTuner(run)
    yield tuner
    run.gate.set()
    tuner.close()


def command(tuner: LiveTuner, name: str) -> None:
    """What a button sends."""
    tuner.controls._handle_custom_msg({"command": name}, [])


# --- sliders ------------------------------------------------------------------------------------------------------


def test_a_moved_slider_replaces_the_frozen_recipe(recipe: lsat.Recipe) -> None:
    sliders = HyperSliders(recipe)
    sliders.set_state({"values": {**sliders.values, LAMBDA: 0.5}})
    assert sliders.recipe.hyper_penalties["data_weights.log_weight"] == lsat.SumSquares(0.5) + lsat.ZeroSum()
    assert recipe.hyper_penalties["data_weights.log_weight"] == lsat.SumSquares(1e-3) + lsat.ZeroSum()
    assert sliders.get_state()["values"][LAMBDA] == 0.5


def test_a_slider_moved_during_a_run_acts_on_the_next_iteration(run: FakeRun, tuner: LiveTuner) -> None:
    sliders = HyperSliders(tuner)
    run.gate.clear()
    tuner.start()
    until(run.inside.is_set)
    moved = threading.Thread(target=lambda: sliders.set_state({"values": {**sliders.values, "method/step": 0.25}}))
    moved.start()  # a front end may call from a thread of its own
    moved.join()
    run.gate.set()
    until(lambda: len(run.iterates) > 2)
    assert {iterate.step for iterate in run.iterates} == {0.25}
    assert tuner.recipe.method.step == sliders.recipe.method.step == 0.25


@pytest.mark.parametrize("value", [-1.0, float("inf"), "much", None])
def test_a_refused_value_leaves_everything_as_it_was_and_says_why(recipe: lsat.Recipe, value: Any) -> None:
    sliders = HyperSliders(recipe)
    before = dict(sliders.values)
    sliders.set_state({"values": {**before, LAMBDA: value}})
    assert sliders.recipe == recipe
    assert sliders.values == before
    assert sliders.get_state()["_problem"]
    sliders.set_state({"_problem": ""})  # a page that was typed a valid value into
    sliders.set_state({"values": {**before, LAMBDA: value}})
    assert sliders.get_state()["_problem"]  # and the same again is refused in words again
    sliders.set_state({"values": {**before, LAMBDA: 2.0}})
    assert sliders.get_state()["_problem"] == ""


def test_a_recipe_assigned_in_python_moves_the_sliders(recipe: lsat.Recipe) -> None:
    sliders = HyperSliders(recipe)
    sliders.recipe = recipe.replace(method=lsat.ProximalGradient(step=7.0))
    assert sliders.values["method/step"] == 7.0
    with pytest.raises(traitlets.TraitError):
        sliders.recipe = "recipe"


def test_sliders_refuse_what_they_do_not_know(recipe: lsat.Recipe) -> None:
    with pytest.raises(TypeError, match="group"):
        HyperSliders(recipe, grup="method")
    with pytest.raises(ValueError, match="Recipe"):
        HyperSliders("recipe")
    with pytest.raises(traitlets.TraitError):
        HyperSliders(recipe, group="methods")


# --- the tuner ----------------------------------------------------------------------------------------------------


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


def test_a_slider_moved_after_the_end_starts_nothing_and_is_taken_up_by_the_next_iteration(
    run: FakeRun, tuner: LiveTuner
) -> None:
    sliders = HyperSliders(tuner)
    tuner.start()
    until(lambda: len(run.iterates) > 2)
    tuner.stop()
    tuner.wait(SOON)
    count = len(run.iterates)
    sliders.set_state({"values": {**sliders.values, "method/step": 0.25}})
    assert not tuner.worker.alive
    assert "Restart" in tuner.controls.sentence
    assert tuner.recipe.method.step == 0.25
    tuner.step()
    until(lambda: tuner.worker.resting)
    assert [iterate.step for iterate in run.iterates[count:]] == [0.25]


def test_a_restart_follows_a_failure(run: FakeRun, tuner: LiveTuner) -> None:
    run.fails_at = 1
    tuner.start()
    until(lambda: tuner.controls.activity == "failed")
    assert tuner.controls.get_state()["can_go_on"] is False
    command(tuner, "restart")
    until(lambda: len(tuner.run.iterates) > 1)
    assert (tuner.controls.problem, tuner.worker.error) == ("", None)


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


# --- the explorer -------------------------------------------------------------------------------------------------


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


# --- words and drawings -------------------------------------------------------------------------------------------


def test_cards_say_what_is_tuned(recipe: lsat.Recipe, data: lsat.Data) -> None:
    found = cards(recipe)
    assert set(found) == set(TABS) - {"Code"}
    assert [card.name for card in found["Regularizers"]] == ["pixel_ridge", "archetype_ridge", "smooth"]
    assert [card.tuned for card in found["Features"]] == [None, True, None]
    assert found["Regularizers"][0].facts[0] == ("weight e²ω", "7.389")
    frozen = cards(lsat.recipes.paper_ls())["Regularizers"][0]
    assert (frozen.name, frozen.kind, frozen.tuned) == ("Ridge", "all features", False)
    problem = lsat.Problem(recipe, data)
    now = cards(recipe, problem.init(), {"pixels": 64})
    assert now["Weights"][0].facts[0] == ("weight e²ω", "1 to 1")
    assert ("columns", "64") in now["Features"][0].facts


@pytest.mark.parametrize("piece", [*examples(Featurizer), *examples(Regularizer)], ids=lambda piece: repr(piece)[:60])
def test_a_card_of_any_piece_is_plain_text_in_the_words_of_its_editor(piece: Any) -> None:
    kind = "featurizer" if isinstance(piece, Featurizer) else "regularizer"
    for card in cards(lsat.Recipe(**{kind: piece}))["Features" if kind == "featurizer" else "Regularizers"]:
        assert {type(text) for text in (card.name, card.kind, *sum(card.facts, ()))} == {str}
        assert not {"True", "False"} & {text for _, text in card.facts}
    alone = cards(lsat.Recipe(featurizer=lsat.KMeansArchetypes(per_class=3)))["Features"][0]
    assert {("k per class", "3"), ("restarts", "10")} <= set(alone.facts)


def test_a_graph_is_drawn_with_every_edge() -> None:
    assert graph_picture(lsat.graphs.grid(8, 8)).count("M") == 112
    assert graph_picture(lsat.graphs.path(5)).count("M") == 4
    assert graph_picture(lsat.graphs.path(10_000)) == ""


def test_a_difference_is_told_in_numbers_where_it_is_one(recipe: lsat.Recipe) -> None:
    slower = recipe.replace(method=lsat.ProximalGradient(step=0.5, max_iterations=6))
    assert difference(recipe, slower) == "first step size 1 → 0.5"
    assert difference(recipe, recipe) == ""
    assert difference(recipe, slower.replace(seed=3)) == "first step size 1 → 0.5, seed"


def test_the_page_keeps_every_kind_of_message_that_plotly_has(explorer: Explorer) -> None:
    kept = re.search(r"MESSAGES = \[(.*?)\]", static("live_plot.js"), re.DOTALL)
    assert kept is not None
    names = {f"_py2js_{name}" for name in re.findall(r'"(\w+)"', kept[1])}
    assert names == {name for name in explorer.tuner.plot.trait_names() if name.startswith("_py2js_")}


def test_plotlys_script_is_sent_once_and_as_bytes(explorer: Explorer) -> None:
    state = explorer.tuner.plot.get_state()
    assert b" as default}" in state["_module"]
    assert len(state["_esm"]) < 20_000
    assert state["_module_name"].startswith("plotly ")


# --- the recipe by hand, as text and from Python --------------------------------------------------------------------


def test_a_recipe_is_changed_before_the_run_begins_from_anywhere(explorer: Explorer, recipe: lsat.Recipe) -> None:
    ring = lsat.Stack(smooth=lsat.Smooth(lsat.graphs.ring(64), block="pixels"))
    explorer.regularizer = ring
    assert explorer.run.recipe == explorer.recipe == recipe.replace(regularizer=ring)
    assert len(explorer.runs) == 1
    explorer.panel.edit("Regularizers")
    explorer.panel.graph_editor.graph = lsat.graphs.path(64)
    assert explorer.run.recipe.regularizer.members["smooth"].graph == lsat.graphs.path(64)
    code = explorer.panel.code
    code.set_state({"draft": code.json.replace('"seed": 0', '"seed": 9')})
    code.apply()
    assert explorer.recipe.seed == explorer.run.recipe.seed == explorer.sliders.recipe.seed == 9
    explorer.start()
    explorer.wait(60)
    assert explorer.run.status is lsat.Status.MAX_ITERATIONS
    assert explorer.run.recipe.regularizer.members["smooth"].graph == lsat.graphs.path(64)
    assert lsat.Recipe.from_json(explorer.panel.code.json) == explorer.run.recipe


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


def test_other_pieces_wait_for_a_restart_and_numbers_do_not(explorer: Explorer, recipe: lsat.Recipe) -> None:
    explorer.start()
    explorer.wait(60)
    first = explorer.run
    featurizer = lsat.Concat(pixels=lsat.Scale(tuned=False), archetypes=lsat.KMeansArchetypes(per_class=2))
    explorer.featurizer = featurizer
    assert explorer.run is first
    assert first.recipe == recipe
    assert explorer.recipe == recipe.replace(featurizer=featurizer)
    assert explorer.tuner.planned
    assert explorer.tuner.controls.sentence.endswith("Restart to use the changed settings.")
    kinds = [card["kind"] for card in explorer.panel.tabs.cards["Features"]]
    assert kinds == ["Scale", "KMeansArchetypes"]  # what is assembled, not what ran
    explorer.featurizer = recipe.featurizer  # and back again
    assert not explorer.tuner.planned
    explorer.featurizer = featurizer
    explorer.restart()
    explorer.wait(60)
    assert explorer.run.recipe.featurizer == featurizer
    assert [row["differs"] for row in explorer.table.rows] == ["featurizer", ""]
    assert explorer.panel.recipe == explorer.recipe


def test_cards_tell_where_a_paused_run_stands_until_another_begins(explorer: Explorer, recipe: lsat.Recipe) -> None:
    def told() -> dict[str, tuple[str, float]]:
        shown = explorer.panel.tabs.get_state()["cards"]["Regularizers"]
        return {card["name"]: (card["facts"][0][1], round(card["start"], 3)) for card in shown}

    def standing() -> str:
        return f"{float((2 * explorer.run.omega['regularizer.smooth.log_weight']).exp()):.4g}"

    for number in range(3):
        explorer.step()
        until(lambda number=number: len(explorer.run.iterates) > number)  # type: ignore[misc]
        until(lambda: explorer.tuner.worker.resting)
    explorer.tuner.worker.report()
    before = told()
    now = standing()
    assert before["smooth"] == (now, 7.389)
    assert now != "7.389"
    columns = explorer.panel.tabs.get_state()["cards"]["Features"][0]["facts"]
    explorer.panel.tabs._handle_custom_msg({"path": "smooth", "weight": 20.0}, [])
    assert explorer.tuner.planned
    assert told() == before | {"smooth": (now, 20.0)}
    assert explorer.panel.tabs.get_state()["cards"]["Features"][0]["facts"] == columns
    members = explorer.recipe.regularizer.members
    explorer.regularizer = lsat.Stack(**{**members, "pixel_ridge": lsat.Diagonal("pixels"), "one": lsat.Ridge()})
    assert told() == before | {"smooth": (now, 20.0), "pixel_ridge": ("1", 1.0), "one": ("1", 1.0)}
    explorer.restart(recipe.replace(regularizer=lsat.Stack(**members)))
    explorer.wait(60)
    assert told()["smooth"] == (standing(), 20.0)


def test_folds_are_held_while_a_run_goes_on_and_wait_for_a_restart_after_it(data: lsat.Data) -> None:
    recipe = lsat.Recipe(criterion=lsat.KFold(3), method=lsat.ProximalGradient(max_iterations=2))
    explorer = Explorer(data, recipe)
    assert not explorer.sliders.get_state()["_begun"]
    explorer.step()
    until(lambda: explorer.sliders.get_state()["_begun"])
    until(lambda: explorer.tuner.worker.activity is Activity.PAUSED)
    assert explorer.sliders.get_state()["_begun"]
    explorer.start()
    explorer.wait(60)
    assert not explorer.sliders.get_state()["_begun"]
    explorer.sliders.values = {**explorer.sliders.values, "criterion/folds": 4}
    assert explorer.run.recipe == recipe
    assert explorer.recipe.criterion == lsat.KFold(4)
    assert explorer.tuner.controls.sentence.endswith("Restart to use the changed settings.")
    explorer.close()


def test_a_recipe_that_is_none_is_refused(explorer: Explorer) -> None:
    with pytest.raises(ValueError, match="Recipe"):
        explorer.recipe = 3  # type: ignore[assignment]
    with pytest.raises(ValueError, match="featurizer is 3"):
        explorer.featurizer = 3  # type: ignore[assignment]


def test_the_cell_that_is_copied_makes_the_same_explorer(explorer: Explorer) -> None:
    explorer.recipe = explorer.recipe.replace(seed=4)
    names: dict[str, object] = {}
    exec(explorer.heading.source, names)
    other = names["explorer"]
    assert isinstance(other, Explorer)
    assert (other.recipe, len(other.data.train)) == (explorer.recipe, len(explorer.data.train))
    other.close()


def test_looks_at_the_test_rows_are_counted(explorer: Explorer) -> None:
    look = explorer.last_look
    assert look.get_state()["reason"] == "There is no model yet: start the run."
    explorer.start()
    explorer.wait(60)
    assert (look.reason, look.count, look.result) == ("", 0, "")
    look._handle_custom_msg({"command": "look"}, [])
    result = explorer.run.test()
    assert look.count == 1
    assert f"{100 * result.error:.2f} %" in look.result
    assert f"{result.loss:.4f}" in look.result
    (drawn,) = explorer.tuner.plot.select_traces({"name": "last look"})
    assert (drawn.x.tolist(), drawn.y.tolist()) == ([explorer.run.kept.number], [result.loss])
    explorer.tuner.worker.report()
    assert look.count == explorer.run.looks == 2
    explorer.restart()
    explorer.wait(60)
    assert (look.count, look.result) == (0, "")
    assert len(drawn.x) == 0


def test_where_test_rows_stop_a_run_the_look_is_at_the_final_ones(data: lsat.Data, recipe: lsat.Recipe) -> None:
    X, y = data.train.inputs.numpy(), data.train.labels
    final = lsat.Data.from_arrays(X, y, validation=0.3, test=0.2, final=0.2)
    early = lsat.Recipe(method=recipe.method, early_stopping=lsat.EarlyStopping(patience=3))
    explorer = Explorer(final, early)
    explorer.start()
    explorer.wait(60)
    loss = explorer.last_look.look().loss
    assert explorer.last_look.result.startswith("Final error ")
    (drawn,) = explorer.tuner.plot.select_traces({"name": "last look"})
    assert drawn.y.tolist() == [loss]
    assert drawn.hovertemplate.startswith("final loss ")
    explorer.close()


def test_a_look_from_a_cell_is_counted_once_the_cell_has_been_run(
    data: lsat.Data, recipe: lsat.Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    explorer = shell.user_ns["explorer"] = Explorer(data, recipe)
    explorer.start()
    explorer.wait(60)
    before = len(shell.events.callbacks["post_run_cell"])
    shell.run_cell("explorer.run.test();")
    assert explorer.last_look.count == explorer.run.looks == 1
    explorer.last_look._handle_custom_msg({"command": "look"}, [])
    assert explorer.last_look.count == explorer.run.looks == 2
    explorer.close()
    assert len(shell.events.callbacks["post_run_cell"]) == before - 1


def test_a_device_that_is_applied_is_shown_and_one_that_is_chosen_stays(explorer: Explorer) -> None:
    explorer.recipe = explorer.recipe.replace(device="auto")
    assert explorer.heading.device == explorer.run.recipe.device == "auto"
    assert len(explorer.runs) == 1
    explorer.recipe = explorer.recipe.replace(device="cpu")
    explorer.start()
    explorer.wait(60)
    explorer.heading.device = "auto"  # for the next run
    assert "Restart to go on with auto" in explorer.tuner.controls.sentence
    explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: 0.5}})
    assert explorer.heading.device == "auto"
    explorer.restart()
    explorer.wait(60)
    assert explorer.run.recipe.device == "auto"


@pytest.mark.parametrize("weights", [[2.0] * 898, [math.nan] * 898, [math.nan] * 897 + [1.0]])
def test_weights_that_are_all_alike_or_not_finite_have_no_extremes(data: lsat.Data, weights: list[float]) -> None:
    assert extremes(data, SimpleNamespace(weights=lambda: np.array(weights))) == (None, [])
