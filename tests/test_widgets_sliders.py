"""Sliders without a browser: what they replace in a recipe, what they refuse, and what a run does with it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import traitlets

import lsat_explorer as lsat
from fake_run import FakeRun
from live import LAMBDA
from lsat_explorer.widgets import HyperSliders, LiveTuner
from waiting import SOON, until


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


def test_what_others_changed_of_a_run_stays_when_a_slider_is_moved(recipe: lsat.Recipe, digits: lsat.Data) -> None:
    run = lsat.Run(recipe, digits)
    penalties, method = HyperSliders(run, group="penalties"), HyperSliders(run, group="method")
    penalties.values = {**penalties.values, LAMBDA: 0.5}
    method.values = {**method.values, "method/max_iterations": 7}
    run.change(run.wanted.replace(seed=run.recipe.seed, method=run.wanted.method.__class__(max_iterations=8)))
    method.values = {**method.values, "method/tolerance": 0.25}
    next(run.steps())
    assert run.recipe.hyper_penalties["data_weights.log_weight"] == lsat.SumSquares(0.5) + lsat.ZeroSum()
    assert (run.recipe.method.max_iterations, run.recipe.method.tolerance) == (8, 0.25)
    assert method.recipe == run.recipe


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


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method/max_iteration": 50}, r"no number at 'method/max_iteration': did you mean 'method/max_iterations'\?"),
        ({"nonsense": 1}, "no number at 'nonsense': expected one of method/tolerance, method/max_iterations"),
        ({"method/max_iterations": "x"}, "maximum iterations is 'x': expected a finite number"),
        ({"method/max_iterations": 7.6}, "maximum iterations is 7.6: expected a whole number"),
        ({"method/tolerance": -1}, "tolerance is -1.0: expected a finite number of at least 0"),
        ({"method/tolerance": float("nan")}, "tolerance is nan: expected a finite number"),
        ({"method/tolerance": np.ones(2)}, r"tolerance is array\(\[1., 1.\]\): expected a finite number"),
        ({"method/tolerance": 0.5, "nonsense": 1}, "no number at 'nonsense'"),
    ],
)
def test_what_is_assigned_in_python_and_cannot_be_raises_and_leaves_all_as_it_was(
    given: dict[str, Any], says: str
) -> None:
    sliders = HyperSliders(lsat.Recipe())
    before = dict(sliders.values)
    with pytest.raises(ValueError, match=says):
        sliders.values = given
    assert (sliders.recipe, sliders.values, sliders.get_state()["_problem"]) == (lsat.Recipe(), before, "")
    with pytest.raises(ValueError, match=says):
        HyperSliders(lsat.Recipe(), values=given)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("method/grow", 0.5, "step growth is 0.5: expected a finite number of at least 1."),
        ("method/shrink", 1.5, "step cut is 1.5: expected a finite number between"),
        (LAMBDA, -1.0, "λ of log row weights is -1.0: expected a finite number of at least 0"),
    ],
)
def test_what_a_piece_refuses_is_told_by_the_name_beside_its_slider(
    path: str, value: float, says: str, recipe: lsat.Recipe
) -> None:
    sliders = HyperSliders(recipe)
    sliders.set_state({"values": {**sliders.values, path: value}})
    assert sliders.get_state()["_problem"].startswith(says)


def test_numbers_of_numpy_move_the_sliders() -> None:
    sliders = HyperSliders(lsat.Recipe())
    sliders.values = {"method/max_iterations": np.int64(50), "method/tolerance": np.float32(0.5)}
    assert sliders.recipe.method == lsat.LineSearch(tolerance=0.5, max_iterations=50)


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
