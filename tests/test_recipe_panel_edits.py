"""What becomes of penalties and of a run that goes on when features and graphs are edited, and of what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import lsat_explorer as lsat
from live import send
from lsat_explorer.widgets import Explorer
from lsat_explorer.widgets.featurizer_builder import FeaturizerBuilder
from lsat_explorer.widgets.fitting_pieces import with_features
from lsat_explorer.widgets.hyper_sliders import HyperSliders
from lsat_explorer.widgets.recipe_panel import RecipePanel
from waiting import until

BLOCKS = lsat.Concat(pixels=lsat.Scale(), other=lsat.Scale(), one=lsat.Constant())
OTHER = "featurizer.other.log_scale"
SMOOTH = "regularizer.smooth.log_weight"


@pytest.fixture
def changes() -> list[lsat.Recipe]:
    return []


@pytest.fixture
def panels(digits: lsat.Data, changes: list[lsat.Recipe]) -> Iterator[Any]:
    made = []

    def panel(recipe: lsat.Recipe) -> RecipePanel:
        made.append(RecipePanel(digits, recipe, HyperSliders(recipe), changes.append))
        return made[-1]

    yield panel
    for each in made:
        each.close()


@pytest.fixture
def begun(data: lsat.Data) -> Iterator[Explorer]:
    """An explorer whose run has begun and holds; one step of its features is not tuned."""
    method = lsat.ProximalGradient(max_iterations=3)
    explorer = Explorer(data, lsat.Recipe(BLOCKS, lsat.Ridge(), hyper_penalties={OTHER: lsat.Frozen()}, method=method))
    explorer.step()
    until(lambda: explorer.run.iterates and explorer.tuner.worker.resting)
    explorer.panel.edit("Features")
    explorer.panel.featurizer_builder.wait()
    yield explorer
    explorer.close()


def test_a_block_that_is_removed_stays_held_in_the_run_that_goes_on(begun: Explorer) -> None:
    builder = begun.panel.featurizer_builder
    assert list(builder.held) == [OTHER]
    send(builder, do="remove", path=[1])
    builder.wait()
    assert list(begun.recipe.featurizer.members) == ["pixels", "one"]
    assert begun.recipe.hyper_penalties == {}
    assert begun.tuner.planned
    begun.step()
    until(lambda: len(begun.run.iterates) > 1)
    assert begun.run.recipe.hyper_penalties == {OTHER: lsat.Frozen()}
    first, last = (begun.run.iterates[i].omega[OTHER] for i in (0, -1))
    assert first.equal(last)


def test_a_block_with_what_is_held_is_renamed_once_a_run_has_begun(begun: Explorer) -> None:
    builder = begun.panel.featurizer_builder
    send(builder, do="rename", path=[1], name="px")
    builder.wait()
    assert list(begun.recipe.featurizer.members) == ["pixels", "px", "one"]
    assert begun.recipe.hyper_penalties == {"featurizer.px.log_scale": lsat.Frozen()}
    assert begun.run.recipe.hyper_penalties == {OTHER: lsat.Frozen()}


def test_a_recipe_that_is_refused_is_not_taken_and_why_is_said_until_the_next_one(data: lsat.Data) -> None:
    def refuse(recipe: lsat.Recipe) -> None:
        if recipe.featurizer == lsat.Scale():
            raise ValueError("Not this one.")

    recipe = lsat.Recipe(lsat.Identity(), lsat.Ridge())
    panel = RecipePanel(data, recipe, HyperSliders(recipe), refuse)
    panel.edit("Features")
    for featurizer, said in ((lsat.Scale(), "Not this one."), (lsat.LowRank(3), "")):
        panel.featurizer_builder.featurizer = featurizer
        panel.featurizer_builder.wait()
        panel.show(panel.recipe, None, None)  # a report of a run that goes on
        assert panel.tabs.problem == said
        assert panel.recipe.featurizer == (recipe.featurizer if said else featurizer)
    panel.close()


def test_what_a_card_is_refused_is_said_until_the_next_command(explorer: Explorer) -> None:
    tabs, controls, report = explorer.panel.tabs, explorer.tuner.controls, explorer.tuner.worker.report
    send(tabs, path="smooth", weight="abc")
    send(controls, command="branch")
    report()
    assert "'abc'" in tabs.problem
    assert "No iteration is marked" in controls.problem
    send(tabs, path="smooth", weight=2.0)
    send(controls, command="pause")
    assert (tabs.problem, controls.problem) == ("", "")
    report()
    assert (tabs.problem, controls.problem) == ("", "")


def test_penalties_of_a_graph_follow_its_name_and_come_back_with_it(panels: Any, changes: list) -> None:
    recipe = lsat.Recipe(regularizer=lsat.Stack(smooth=lsat.Smooth(lsat.graphs.grid(8, 8)), ridge=lsat.Ridge()))
    panel = panels(recipe.replace(hyper_penalties={SMOOTH: lsat.Frozen()}))
    panel.edit("Regularizers")
    editor = panel.graph_editor
    send(editor, do="rename", name="neighbours")
    assert changes[-1].hyper_penalties == {"regularizer.neighbours.log_weight": lsat.Frozen()}
    editor.undo()
    assert changes[-1].hyper_penalties == {SMOOTH: lsat.Frozen()}
    editor.graphs = {"ring": lsat.graphs.ring(64)}
    assert changes[-1].hyper_penalties == {}
    editor.undo()
    assert changes[-1].hyper_penalties == {SMOOTH: lsat.Frozen()}


def test_penalties_of_a_block_go_with_it_and_come_back_with_it(panels: Any, changes: list, data: lsat.Data) -> None:
    penalties = {OTHER: lsat.SumSquares(0.1), "featurizer.pixels.shift": lsat.SumSquares(0.2)}
    panel = panels(lsat.Recipe(BLOCKS, lsat.Ridge(), hyper_penalties=penalties))
    panel.edit("Features")
    builder = panel.featurizer_builder
    send(builder, do="remove", path=[1])
    builder.wait()
    assert set(changes[-1].hyper_penalties) == {"featurizer.pixels.shift"}
    lsat.Problem(changes[-1], data)
    send(builder, do="undo")
    builder.wait()
    assert changes[-1].hyper_penalties == penalties


def test_penalties_follow_a_step_into_a_chain_and_out_of_it() -> None:
    recipe = lsat.Recipe(lsat.Scale(), hyper_penalties={"featurizer.log_scale": lsat.SumSquares(0.1)})
    longer = with_features(recipe, lsat.Chain(lsat.Scale(), lsat.LowRank(3)), {})
    assert list(longer.hyper_penalties) == ["featurizer.scale.log_scale"]
    assert with_features(longer, lsat.Scale(), {}) == recipe
    assert with_features(recipe, lsat.LowRank(3), {}).hyper_penalties == {}


def test_what_is_changed_while_steps_are_being_tried_for_the_first_time_is_taken(
    panels: Any, changes: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, tried = threading.Event(), FeaturizerBuilder._try

    def gated(self: FeaturizerBuilder, *wish: Any) -> None:
        gate.wait(60)
        tried(self, *wish)

    monkeypatch.setattr(FeaturizerBuilder, "_try", gated)
    panel = panels(lsat.Recipe(lsat.Scale(), hyper_penalties={"featurizer.log_scale": lsat.Frozen()}))
    panel.edit("Features")
    builder = panel.featurizer_builder
    assert list(builder.held) == ["featurizer.log_scale"]
    send(builder, do="add", path=[], kind="LowRank")
    gate.set()
    builder.wait()
    assert [type(change.featurizer) for change in changes] == [lsat.Chain]
    assert changes[-1].hyper_penalties == {"featurizer.scale.log_scale": lsat.Frozen()}
