"""Archetypes near zero, far away, and at scales out of all proportion: their slope, their digits, where they start."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise_distances

import lsat_explorer as lsat
from test_featurizers import generator


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_the_slope_of_memberships_is_that_of_torch(kernel):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(40, 5, generator=generator, dtype=torch.float64)
    block = lsat.KMeansArchetypes(total=4, kernel=kernel).prepare(X, X[:, :1], generator).parts[""]
    omega = {"log_scale": torch.tensor(0.3, dtype=torch.float64)}
    computed = block.precompute(X)
    jacobian = torch.autograd.functional.jacobian
    expected = jacobian(lambda sigma: block.features({"log_scale": sigma}, computed), omega["log_scale"])
    before = block.features(omega, computed)
    torch.testing.assert_close(block.slope(omega, computed, before), expected, rtol=1e-12, atol=1e-14)
    assert torch.equal(before, block.features(omega, computed))  # neither is changed in place
    assert torch.equal(computed, block.precompute(X))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_closeness_too_small_to_count_is_zero(kernel, dtype):
    """Products with numbers below the smallest that has all its digits are slow, and these have lost theirs."""
    X = 30 * torch.randn(400, 6, generator=generator(), dtype=torch.float64)
    block = lsat.KMeansArchetypes(total=8, kernel=kernel).prepare(X, X[:, :1], generator()).parts[""]
    squares, least = block.squares(X), 2.0**11 * torch.finfo(dtype).tiny
    reaches = []
    for sigma in (-8.0, -2.0, -1.0, 0.0, 1.0, 3.0):
        omega = {"log_scale": torch.tensor(sigma, dtype=torch.float64)}
        found = block.features(omega, block.precompute(X).to(dtype))
        exponents = -squares.sqrt() * math.exp(-sigma) if kernel == "softmax" else -squares / 2 * math.exp(-2 * sigma)
        exact = torch.softmax(exponents, 1) if kernel == "softmax" else exponents.exp()
        assert bool(((found == 0) | (found >= least)).all())
        assert bool(((found > 0) | (exact < 2 * least)).all())
        assert float((found - exact).abs().max()) < 400 * torch.finfo(dtype).eps
        reaches.append(float((found == 0).double().mean()))
    assert max(reaches) > 0.5 > 0 == min(reaches)


def test_what_the_distances_of_a_row_share_takes_no_digits():
    """Rows far from every centre: float32 tells 10⁵ + 0.3 from 10⁵ + 0.6 by two digits, and 0.3 from 0.6 by seven."""
    X = torch.randn(60, 5, generator=generator(), dtype=torch.float64)
    block = lsat.KMeansArchetypes(total=4).prepare(X, X[:, :1], generator()).parts[""]
    omega, far = {"log_scale": torch.tensor(0.0, dtype=torch.float64)}, X + 1e5
    exact = torch.softmax(-block.distances(far), 1)
    assert float((block.features(omega, block.precompute(far).float()) - exact).abs().max()) < 1e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
def test_closeness_saturates_where_its_scale_is_out_of_all_proportion(kernel, dtype):
    X = 1e20 * torch.randn(60, 3, generator=generator(), dtype=torch.float64)
    block = lsat.KMeansArchetypes(total=4, kernel=kernel).prepare(X, X[:, :1], generator()).parts[""]
    computed = block.precompute(torch.cat([X, block.centres])).to(dtype)
    assert bool(computed.isfinite().all())
    everywhere = 0.25 if kernel == "softmax" else 1.0
    for sigma, others in ((-1000.0, 0.0), (-95.0, 0.0), (1000.0, everywhere)):
        omega = {"log_scale": torch.tensor(sigma, dtype=torch.float64, requires_grad=True)}
        found = block.features(omega, computed)
        if kernel == "softmax" or sigma > 0:
            expected = torch.full((4, 4), others, dtype=dtype).fill_diagonal_(others or 1.0)
            torch.testing.assert_close(found[-4:], expected)
        else:  # distances of 1e20 are known to 1e4, of a centre from itself too
            assert bool((found <= 1).all())
            assert found.detach().mean() < 0.02
        (slope,) = torch.autograd.grad(found.sum(), [omega["log_scale"]])
        assert slope == 0
        assert bool((block.slope(omega, computed, found.detach()) == 0).all())


def test_a_gaussian_starts_at_the_scale_of_rows_that_are_mostly_archetypes():
    """Of rows that are archetypes the nearest other one counts; where all are, the units still do."""
    X = torch.randn(30, 3, generator=generator(), dtype=torch.float64)
    for total in (4, 20, 30):
        starts = []
        for unit in (1e-3, 1.0, 1e3):
            gaussian = lsat.KMeansArchetypes(total=total, kernel="gaussian")
            block = gaussian.prepare(unit * X, X[:, :1], generator()).parts[""]
            starts.append(block.start - math.log(unit))
        assert starts == pytest.approx([starts[1]] * 3, abs=1e-6)
        distances = np.sort(pairwise_distances(X, block.centres / 1e3), 1)
        nearest = np.where(distances[:, 0] > 1e-6, distances[:, 0], distances[:, 1])
        assert starts[1] == pytest.approx(np.log(np.sort(nearest)[14]), abs=1e-6)
