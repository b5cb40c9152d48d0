"""`recipes.mnist_one_percent`: a value like every recipe, and patches and temperature that earn their place."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import lsat_explorer as lsat

TUNED = {"regularizer.pixel_ridge.log_weight", "regularizer.patch_ridge.log_weight", "loss.log_temperature"}


def pixels_alone(recipe: lsat.Recipe) -> lsat.Recipe:
    """Return the recipe without its patches."""
    featurizer = lsat.Concat(pixels=lsat.Identity(), one=lsat.Constant())
    return recipe.replace(featurizer=featurizer, regularizer=lsat.Stack(pixel_ridge=lsat.Ridge(block="pixels")))


def smaller(**choices: int) -> lsat.Recipe:
    """Return the recipe for 8 × 8 digits."""
    return lsat.recipes.mnist_one_percent((8, 8), **{"patches": 30, "size": 4, "cells": 2, **choices})


@pytest.fixture(scope="module")
def run(digits):
    return lsat.tune(smaller(), digits, progress=False)


@pytest.mark.parametrize("recipe", [lsat.recipes.mnist_one_percent(), smaller()], ids=["MNIST", "digits"])
def test_it_round_trips_as_json_and_as_source(recipe):
    scope: dict[str, object] = {}
    exec(recipe.to_source(), scope)
    assert lsat.Recipe.from_json(recipe.to_json()) == scope["recipe"] == recipe


def test_its_arguments_are_those_of_the_patches():
    recipe = lsat.recipes.mnist_one_percent((9, 8), patches=7, size=5, cells=3)
    assert recipe.featurizer.members["patches"] == lsat.RandomPatches((9, 8), patches=7, size=5, cells=3)


def test_it_tunes_two_ridges_and_a_temperature_and_no_feature_moves(run):
    assert run.status is lsat.Status.CONVERGED
    assert set(run.problem.tuned) == set(run.omega) == TUNED
    assert len(run.model.theta) == 64 + 30 * 4 + 1
    start = run.problem.init()
    assert all(abs(float(run.omega[name] - start[name])) > 0.1 for name in TUNED)


def test_features_of_patches_are_the_same_where_a_gradient_flows(run, digits):
    block, rows = run.problem.prepared.parts["patches"], digits.validation.inputs[:70]
    plain, traced = block.precompute(rows), block.precompute(rows.clone().requires_grad_())
    assert plain.shape == (70, 30 * 4)
    assert torch.equal(plain, traced.detach())
    assert traced.requires_grad


def test_patches_halve_the_validation_error_of_the_pixels_alone(run, digits):
    alone = lsat.tune(pixels_alone(run.recipe), digits, progress=False)
    assert alone.kept.error < 0.1
    assert run.kept.error < alone.kept.error / 2
    assert run.kept.loss < alone.kept.loss / 2


def test_the_temperature_makes_probabilities_of_the_scores(run, digits):
    cold = lsat.tune(replace(run.recipe, loss=lsat.CrossEntropy()), digits, progress=False)
    assert cold.kept.loss > 1.4
    assert run.kept.loss < 0.15
    assert run.kept.error <= cold.kept.error


@pytest.mark.mnist
def test_a_few_rows_of_mnist_are_read_with_few_errors(mnist_folder):
    data = lsat.datasets.mnist(mnist_folder, size=2_000, deskew=True, scale="unit")
    recipe = lsat.recipes.mnist_one_percent(patches=40)
    run = lsat.tune(recipe, data, progress=False)
    alone = lsat.tune(pixels_alone(recipe), data, progress=False)
    assert run.kept.error < alone.kept.error / 2
    wrong = lsat.refit(run).predict(data.test.inputs[:2_000]) != data.test.labels[:2_000]
    assert wrong.mean() < 0.05
