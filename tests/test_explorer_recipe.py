"""The explorer's recipe, changed by hand, as text and from Python: what is taken up at once, and what waits."""

from __future__ import annotations

from typing import Any

import pytest

import lsat_explorer as lsat
from live import LAMBDA
from lsat_explorer.widgets import Explorer
from lsat_explorer.widgets.worker import Activity
from waiting import until


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


def test_the_text_of_the_recipe_keeps_step_with_the_sliders_once_the_run_has_ended(explorer: Explorer) -> None:
    def copied() -> lsat.Recipe:
        names: dict[str, Any] = {}
        exec(explorer.heading.source, names)
        names["explorer"].close()
        recipe: lsat.Recipe = names["recipe"]
        return recipe

    def move(value: float) -> None:
        explorer.sliders.set_state({"values": {**explorer.sliders.values, LAMBDA: value}})

    explorer.start()
    explorer.wait(60)
    ran = explorer.run.recipe
    code = explorer.panel.code
    move(0.5)
    assert lsat.Recipe.from_json(code.json) == copied() == explorer.recipe != ran
    code.set_state({"draft": code.json.replace('"seed": 0', '"seed": 9')})
    move(0.25)
    assert code.behind
    code.revert()
    code.apply()
    assert explorer.sliders.values[LAMBDA] == 0.25
    explorer.restart()
    explorer.wait(60)
    explorer.table.set_state({"chosen": 1})
    assert lsat.Recipe.from_json(code.json) == copied() == explorer.runs[0].used
