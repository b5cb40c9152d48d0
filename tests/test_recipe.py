"""Recipes as values: code, JSON, equality, and text from strangers."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.model.losses import Loss
from lsat_explorer.model.piece import REGISTRY

RECIPES = {
    "default": lsat.Recipe(),
    "paper_ls": lsat.recipes.paper_ls(),
    "paper_reg2": lsat.recipes.paper_reg2(),
    "paper_feat": lsat.recipes.paper_feat((8, 8), 5),
    "paper_weighting": lsat.recipes.paper_weighting(penalty=0.02),
    "choices": lsat.Recipe(loss=lsat.CrossEntropy(temperature=True), seed=7, dtype="float32", device="auto"),
}
everything = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)


@everything
def test_round_trip_as_json(recipe):
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe


@everything
def test_round_trip_as_repr(recipe):
    assert eval(repr(recipe), {name: getattr(lsat, name) for name in lsat.__all__}) == recipe


@everything
def test_round_trip_as_source(recipe):
    scope: dict[str, object] = {}
    exec(recipe.to_source(), scope)
    assert scope["recipe"] == recipe
    assert max(map(len, recipe.to_source().splitlines())) <= 120


def test_a_piece_that_is_registered_elsewhere_goes_by_its_own_name_in_source(monkeypatch):
    @dataclass(frozen=True, repr=False)
    class Mine(Loss):
        sharpness: float = 1.0

        def value(self, predictions, targets, omega):
            return self.sharpness * (predictions - targets).abs().mean()

    monkeypatch.setitem(REGISTRY, "Mine", Mine)
    recipe = lsat.Recipe(loss=Mine(2.0))
    scope: dict[str, object] = {"Mine": Mine}
    exec(recipe.to_source(), scope)
    assert scope["recipe"] == recipe == lsat.Recipe.from_json(recipe.to_json())


def test_equality_sees_every_choice():
    assert len({repr(recipe) for recipe in RECIPES.values()}) == len(RECIPES)
    assert all(a != b for i, a in enumerate(RECIPES.values()) for b in list(RECIPES.values())[:i])


def test_differs_names_the_choices():
    assert lsat.recipes.paper_feat().differs(lsat.recipes.paper_weighting()) == "data weights, hyper penalties"
    assert lsat.Recipe().differs(lsat.Recipe()) == ""


def edited(**changes: object) -> str:
    return json.dumps({**json.loads(lsat.Recipe().to_json()), **changes})


def smooth(**graph: object) -> str:
    return edited(regularizer={"type": "Smooth", "graph": {"type": "Graph", **graph}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not readable JSON"),
        ("[" * 100_000, "not readable JSON|nested too deeply"),
        ("[1]", "is a list"),
        ("{}", "format is None"),
        (edited(format=99), "format is 99"),
        (edited(regularzer={}), "'regularzer': did you mean 'regularizer'"),
        (edited(regularizer={"type": "Rigde"}), "regularizer: unknown type 'Rigde': did you mean 'Ridge'"),
        (edited(regularizer={"type": "Ridge", "weight": 1}), "regularizer: Ridge has no 'weight'"),
        (edited(regularizer={"type": "Ridge", "log_weight": "__import__('os')"}), 'log_weight is "__import__'),
        (edited(regularizer={"type": "Stack", "members": [1]}), "regularizer.members"),
        (edited(regularizer={"type": "Stack", "members": {"a": {"type": "Ridge", "block": 1}}}), "members.a: Ridge"),
        (edited(featurizer={"type": "Ridge"}), "featurizer is Ridge"),
        (edited(loss={"type": ["CrossEntropy"]}), "unknown type"),
        (edited(seed=-1), "seed is -1"),
        (edited(dtype="float16"), "dtype is 'float16'"),
        (edited(engine="cloud"), "engine is 'cloud'"),
        (edited(device=1), "device is 1"),
        (edited(hyper_penalties=[1]), "hyper_penalties"),
        (edited(hyper_penalties={"a": 1}), r"hyper_penalties\['a'\] is 1"),
        (edited(method={"type": "ProximalGradient", "step": 1e400}), "Infinity|inf"),
        ('{"format": 1, "seed": NaN}', "NaN"),
        (edited(regularizer={"type": "Smooth", "graph": {"type": "Graph", "preset": "gird"}}), "preset 'gird'"),
        (edited(regularizer={"type": "Ridge", "log_weight": 10**400}), "whole number of 401 digits"),
        (edited(seed=10**19), "whole number of 20 digits: expected at most 19"),
        (edited(regularizer={"type": "Ridge", "log_weight": -(10**19)}), "whole number of 20 digits: expected at most"),
        (
            edited(engine={"type": "Chunks", "memory": "9" * 400 + " GB"}),
            "engine: Chunks: memory is .* expected a size",
        ),
        (edited(format=True), "format is True"),
        (edited(format=1.0), "format is 1.0"),
        ('{"format": 1, "seed": 1, "seed": 2}', "The recipe holds 'seed' twice"),
        ('{"format": 1, "loss": {"type": "Huber", "type": "SquaredError"}}', "The recipe holds 'type' twice"),
        (edited(hyper_penalties={"half a \ud800": {"type": "Frozen"}}), "no surrogate alone"),
        (edited(device="half a \ud800"), "device holds .* no surrogate alone"),
        (smooth(preset="gird"), "preset 'gird'"),
        (smooth(preset="grid", arguments=[1e9, 2]), "h is"),
    ],
)
def test_text_from_a_stranger_is_refused_by_the_key(text, message):
    with pytest.raises(ValueError, match=message):
        lsat.Recipe.from_json(text)


def test_a_recipe_of_wrong_pieces_is_refused():
    with pytest.raises(ValueError, match="regularizer is Identity"):
        lsat.Recipe(regularizer=lsat.Identity())
    with pytest.raises(ValueError, match="hyper_penalties"):
        lsat.Recipe(hyper_penalties={"regularizer.log_weight": 0.5})


def test_a_hyper_penalty_by_the_name_of_the_kind_of_a_piece_is_refused():
    with pytest.raises(ValueError, match="hyper_penalties names 'type'"):
        lsat.Recipe(hyper_penalties={"type": lsat.Frozen()})


def test_text_that_begins_with_the_mark_of_its_encoding_is_read():
    assert lsat.Recipe.from_json("\ufeff" + lsat.Recipe(seed=3).to_json()).seed == 3


def test_the_largest_whole_numbers_that_are_accepted_are_read_again():
    recipe = lsat.Recipe(seed=2**63 - 1, regularizer=lsat.Ridge(log_weight=-(2**63)))
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe


def test_equal_recipes_are_one_key_in_whatever_order_their_hyper_penalties_stand():
    penalties = {"a": lsat.Frozen(), "b": lsat.Box(-1, 1)}
    turned = dict(reversed(penalties.items()))
    assert len({lsat.Recipe(hyper_penalties=penalties), lsat.Recipe(hyper_penalties=turned), lsat.Recipe()}) == 2


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"data_weights": np.ones(3)}, r"data_weights is array\(\[1\., 1\., 1\.\]\), .* write FixedWeights\(…\)\."),
        ({"data_weights": np.ones(500)}, r"data_weights is a ndarray of 500, expected a DataWeights or None: .* Fixed"),
        ({"data_weights": [1.0] * 500}, r"data_weights is a tuple of 500, .* write FixedWeights\(…\)\."),
        ({"data_weights": torch.ones(3)}, r"data_weights is tensor.*, .* write FixedWeights\(…\)\."),
        ({"data_weights": lsat.LogWeights}, r"data_weights is <class .*: write LogWeights\(\)\."),
        ({"data_weights": 3}, r"data_weights is 3, .*: one of LogWeights, FixedWeights, "),
        ({"loss": lsat.CrossEntropy}, r"loss is <class .*>, expected a Loss or None: write CrossEntropy\(\)\."),
        ({"loss": "cross_entropy"}, r"loss is 'cross_entropy', .*: write CrossEntropy\(\)\."),
        ({"method": "lbfgs"}, r"method is 'lbfgs', expected a Method: write LBFGS\(\)\."),
        ({"regularizer": 1e-3}, r"regularizer is 0\.001, expected a Regularizer: one of Ridge, "),
        ({"featurizer": lsat.Ridge()}, r"featurizer is Ridge\(\), expected a Featurizer: one of .*Scale"),
        ({"early_stopping": 3}, r"early_stopping is 3, expected an EarlyStopping or None: write EarlyStopping\(\)\."),
        ({"hyper_penalties": [3] * 500}, "hyper_penalties is a tuple of 500, expected a dict"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else each[:20],
)
def test_what_is_no_piece_is_answered_by_the_piece_to_give(choices, message):
    with pytest.raises(ValueError, match=f"^Recipe: {message}") as told:
        lsat.Recipe(**choices)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 300
