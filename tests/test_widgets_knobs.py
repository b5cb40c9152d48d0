"""Which numbers of a recipe have sliders, and what moving one gives."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

import lsat_explorer as lsat
from lsat_explorer.model.choices import Criterion, EarlyStopping, Method
from lsat_explorer.model.hyper_penalties import HyperPenalty
from lsat_explorer.model.losses import Loss
from lsat_explorer.model.piece import REGISTRY
from lsat_explorer.tune.branch import takes_up
from lsat_explorer.widgets.knobs import knobs, set_knob
from pieces import examples

WITH_NUMBERS = (HyperPenalty, Loss, Criterion, Method, EarlyStopping)

WEIGHTING = lsat.recipes.paper_weighting()
RECIPES = {
    "default": lsat.Recipe(),
    "ls": lsat.recipes.paper_ls(),
    "reg2": lsat.recipes.paper_reg2(),
    "feat": lsat.recipes.paper_feat(),
    "weighting": WEIGHTING,
    "bfgs": lsat.Recipe(method=lsat.MultiStart(lsat.LBFGS()), loss=lsat.Huber()),
    "grid": lsat.Recipe(method=lsat.Grid(), criterion=lsat.KFold()),
    "search": lsat.Recipe(method=lsat.LineSearch(), early_stopping=lsat.EarlyStopping()),
    "robust": WEIGHTING.replace(
        loss=lsat.Bisquare(),
        hyper_penalties={
            "data_weights.log_weight": lsat.AbsoluteValue(0.1),
            "featurizer.mask": lsat.Cardinality(0.3),
        },
    ),
    "boxes": WEIGHTING.replace(
        hyper_penalties={
            "regularizer.smooth.log_weight": lsat.Box(-3.0, 3.0),
            "featurizer.archetypes.log_scale": lsat.SumSquares(0.5) + lsat.Box(-2.0, 5.0),
        }
    ),
}
ALL = [(name, knob) for name, recipe in RECIPES.items() for knob in knobs(recipe)]


def test_the_papers_weighting_has_its_lambda_and_the_methods_numbers() -> None:
    assert [(k.path, k.value, k.log, k.group) for k in knobs(WEIGHTING)] == [
        ("hyper_penalties/data_weights.log_weight/terms/0/weight", 1e-3, True, "penalties"),
        ("loss/temperature", 0.0, False, "loss"),
        ("method/step", 1.0, True, "method"),
        ("method/tolerance", 1e-4, True, "method"),
        ("method/max_iterations", 250, True, "method"),
        ("method/grow", 1.2, True, "method"),
        ("method/shrink", 0.5, False, "method"),
    ]


@pytest.mark.parametrize(("name", "knob"), ALL, ids=[f"{name}-{knob.path}" for name, knob in ALL])
def test_moving_one_moves_it_alone_and_back_again(name: str, knob: Any) -> None:
    recipe = RECIPES[name]
    value = 1.0 - knob.value if knob.switch else 3.0 if knob.whole else knob.value + 0.05 * (knob.high - knob.value)
    moved = set_knob(recipe, knob.path, value)
    assert moved != recipe
    assert [k.value for k in knobs(moved) if k.path == knob.path] == [value]
    assert [k for k in knobs(moved) if k.path != knob.path] == [k for k in knobs(recipe) if k.path != knob.path]
    assert set_knob(moved, knob.path, knob.value) == recipe
    assert lsat.Recipe.from_json(moved.to_json()) == moved


@pytest.mark.parametrize(("name", "knob"), ALL, ids=[f"{name}-{knob.path}" for name, knob in ALL])
def test_every_slider_reaches_its_value_and_says_what_it_is(name: str, knob: Any) -> None:
    assert knob.low <= knob.value <= knob.high
    assert not knob.log or knob.low > 0
    assert knob.label
    assert re.search(r"\. Unit: \S[^.]*\.$", knob.meaning), knob.meaning
    assert "{" not in knob.label + knob.meaning


@pytest.mark.parametrize("name", [name for name, kind in REGISTRY.items() if issubclass(kind, WITH_NUMBERS)])
def test_every_number_of_every_piece_has_a_slider(name: str) -> None:
    kind = REGISTRY[name]
    place = {HyperPenalty: "hyper_penalties", Loss: "loss", Criterion: "criterion", Method: "method"}
    place |= {EarlyStopping: "early_stopping"}
    part = next(part for base, part in place.items() if issubclass(kind, base))
    found = set()
    numbers = {f.name for f in fields(kind) if re.fullmatch(r"(float|int|bool)( \| None)?", str(f.type))}
    for piece in [*examples(kind), *([kind(step=2.0)] if "step" in numbers else [])]:  # no step is estimated, not set
        recipe = lsat.Recipe(**{part: {"data_weights.log_weight": piece} if part == "hyper_penalties" else piece})
        found |= {knob.path.split("/")[-1] for knob in knobs(recipe) if knob.path.split("/")[0] == part}
    assert numbers <= found


def test_every_method_has_sliders_for_its_stopping() -> None:
    assert [knob.path for knob in knobs(RECIPES["bfgs"])] == [
        "loss/threshold",
        "method/method/tolerance",
        "method/method/max_iterations",
        "method/method/memory",
        "method/starts",
        "method/spread",
    ]
    stopping = ["method/tolerance", "method/max_iterations", "early_stopping/patience"]
    assert [knob.path for knob in knobs(RECIPES["search"])] == stopping


def test_what_no_run_takes_up_is_held_once_one_has_begun() -> None:
    recipe = lsat.Recipe(criterion=lsat.KFold(), method=lsat.Grid())
    assert {knob.path: bool(knob.held) for knob in knobs(recipe)} == {
        "criterion/folds": True,
        "method/low": False,
        "method/high": False,
        "method/points": False,
    }
    alone = lsat.widgets.HyperSliders(recipe)
    alone.values = {"criterion/folds": 7}
    assert alone.recipe.criterion == lsat.KFold(7)
    assert not alone.get_state()["_begun"]
    steered = lsat.widgets.HyperSliders(lsat.Run(recipe, lsat.datasets.digits()))
    assert steered.get_state()["_begun"]
    with pytest.raises(ValueError, match="criterion"):
        steered.values = {**steered.values, "criterion/folds": 7}
    assert (steered.recipe, steered.values["criterion/folds"]) == (recipe, 5)
    steered.set_state({"values": {**steered.values, "criterion/folds": 7}})
    assert steered.recipe == recipe
    assert "criterion" in steered.get_state()["_problem"]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_number_is_held_just_where_a_run_would_refuse_it(recipe: lsat.Recipe) -> None:
    for knob in knobs(recipe):
        other = set_knob(
            recipe, knob.path, 1.0 - knob.value if knob.switch else 3.0 if knob.whole else knob.value / 1.1
        )
        assert takes_up(recipe, other, "classification") != bool(knob.held), knob.path


def test_a_value_beyond_the_usual_range_widens_the_slider() -> None:
    wide = set_knob(lsat.Recipe(method=lsat.ProximalGradient()), "method/step", 1e6)
    assert next(knob for knob in knobs(wide) if knob.path == "method/step").high == 1e6


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("method/stepp", 1.0, r"no number at 'method/stepp': did you mean 'method/step'\?"),
        pytest.param("method/max_iterations", 10**400, "maximum iterations is a int: expected", id="a long number"),
        ("method/step", -1.0, "step"),
        ("loss/temperature", 0.5, "expected 0 for off or 1 for on"),
        ("method/step", float("nan"), "finite"),
        ("method/step", "1", "finite"),
        ("method/max_iterations", 2.5, "whole"),
        ("hyper_penalties/data_weights.log_weight/terms/0/weight", -1.0, "weight"),
    ],
)
def test_bad_numbers_are_refused_in_a_sentence(path: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        set_knob(WEIGHTING, path, value)
