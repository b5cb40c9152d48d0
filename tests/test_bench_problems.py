"""The problems of the benchmarks: finite starts, the rows that they read, and those of the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benches import stand_in, tensors
from lsat_explorer.bench import problems
from lsat_explorer.bench.problems import Source


@pytest.fixture
def digits_for_mnist(monkeypatch, digits):
    stand_in(monkeypatch, digits)


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_every_problem_has_a_finite_start_and_something_to_tune(name, digits_for_mnist):
    problem = problems.PROBLEMS[name](Source(None, 5_000, 0))
    at = problem.evaluate(problem.init())
    gradient = problem.gradient(at)
    assert math.isfinite(at.objective)
    assert gradient
    assert all(bool(value.isfinite().all()) for value in gradient.values())


def test_the_paper_problems_read_the_images_of_one_scale_once(monkeypatch, digits):
    asked = []
    monkeypatch.setattr(problems.datasets, "mnist", lambda folder, **choices: asked.append(choices) or digits)
    source = Source("here", 5_000, 3)
    for name in ("reg2", "feat", "weighting"):
        assert problems.PROBLEMS[name](source).recipe.seed == 3
    shared = {"size": 5_000, "seed": 3, "deskew": True}
    assert asked == [{**shared, "scale": "standard"}, {**shared, "scale": "raw"}]


def test_two_ridges_has_rows_of_its_own(digits_for_mnist, digits):
    problem = problems.two_ridges(Source(None, 5_000, 7))
    # In the order of scikit-learn's file; of 1,347 rows that are no test rows, 70 % are fitted.
    parts = (digits.train, digits.validation)
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    pixels = torch.cat([part.inputs for part in parts]).numpy()[order]
    chosen = np.random.RandomState(0).permutation(1347)
    train = pixels[chosen[:942]]
    deviation = np.where(train.std(0) > 0, train.std(0), 1.0)
    np.testing.assert_allclose(problem.data.train.inputs, (train - train.mean(0)) / deviation, atol=1e-12)
    expected = (pixels[chosen[942:]] - train.mean(0)) / deviation
    np.testing.assert_allclose(problem.data.validation.inputs, expected, atol=1e-12)
    labels = np.concatenate([part.labels for part in parts])[order]
    np.testing.assert_array_equal(problem.data.validation.labels, labels[chosen[942:]])


@pytest.mark.mnist
def test_two_ridges_is_the_problem_of_the_reference(mnist_folder):
    problem = problems.two_ridges(Source(str(mnist_folder), 5_000, 0))
    at = {"regularizer.ridge.log_weight": 1.25, "regularizer.smooth.log_weight": 2.12}
    # The optimum to three digits: F is 1.8179336 there, to second order in what the digits leave out.
    assert problem.evaluate(tensors(at)).objective == pytest.approx(1.8179336, abs=2e-7)
