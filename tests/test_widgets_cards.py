"""Words and drawings of the widgets: cards, graphs, differences, extremes, and the script of the curves."""

from __future__ import annotations

import math
import re
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.regularizers import Regularizer
from lsat_explorer.widgets import Explorer
from lsat_explorer.widgets.base import static
from lsat_explorer.widgets.cards import TABS, cards, graph_picture
from lsat_explorer.widgets.facts import difference, extremes, known
from pieces import examples


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


def test_a_module_is_tuned_where_it_froze_no_parameter_of_its_own(data: lsat.Data) -> None:
    def made(d: int, freeze: bool) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(d, 3)).requires_grad_(not freeze)

    for name, freeze in (("cards, tuned", False), ("cards, frozen", True)):
        lsat.register_module(name, partial(made, freeze=freeze))
        recipe = lsat.Recipe(featurizer=lsat.FromModule(name), regularizer=lsat.Ridge())
        run = lsat.Run(recipe, data)
        assert cards(recipe, *known(run, recipe))["Features"][0].tuned is None
        next(run.steps())
        assert cards(recipe, *known(run, recipe))["Features"][0].tuned is not freeze
    freed = recipe.replace(hyper_penalties={"featurizer.0.weight": lsat.SumSquares(1.0)})
    run = lsat.Run(freed, data)
    next(run.steps())
    assert cards(freed, *known(run, freed))["Features"][0].tuned is True


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


@pytest.mark.parametrize("weights", [[2.0] * 898, [math.nan] * 898, [math.nan] * 897 + [1.0]])
def test_weights_that_are_all_alike_or_not_finite_have_no_extremes(data: lsat.Data, weights: list[float]) -> None:
    assert extremes(data, SimpleNamespace(weights=lambda: np.array(weights))) == (None, [])
