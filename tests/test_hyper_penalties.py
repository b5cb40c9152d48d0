"""Each proximal operator by its definition, and against a scalar root, a linear system and all subsets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import lsat_explorer as lsat
from lsat_explorer.model.hyper_penalties import HyperPenalty, Sum
from pieces import examples
from test_pieces import short

PENALTIES = examples(HyperPenalty)


@pytest.mark.parametrize("penalty", PENALTIES, ids=short)
@pytest.mark.parametrize("step", [0.1, 3.0])
def test_prox_by_its_definition(penalty, step):
    """No neighbour inside the domain has a lower r(x) + ‖x − v‖² / 2t."""
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(6, generator=generator, dtype=torch.float64)
    best = penalty.prox(v, step)
    if isinstance(penalty, lsat.Frozen):
        assert torch.equal(best, v)
        return

    def total(x: torch.Tensor) -> float:
        return float(penalty.value(x) + (x - v).square().sum() / (2 * step))

    assert math.isfinite(total(best))
    tried = 0
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(200):
            x = project(penalty, best + scale * torch.randn(6, generator=generator, dtype=torch.float64))
            if math.isfinite(float(penalty.value(x))):
                tried += 1
                assert total(x) >= total(best) - 1e-12
    assert tried >= 600


def project(penalty: HyperPenalty, x: torch.Tensor) -> torch.Tensor:
    """Bring a random neighbour into the domain, so that the comparison is not with +∞."""
    terms = penalty.terms if isinstance(penalty, Sum) else (penalty,)
    domain = [term for term in terms if isinstance(term, lsat.Box | lsat.ZeroSum | lsat.Cardinality)]
    for term in domain if len(domain) == 1 else [Sum(tuple(domain))] if domain else []:
        x = term.prox(x, 1.0)
    return x


@pytest.mark.parametrize("penalty", [p for p in examples(Sum) if lsat.ZeroSum() in p.terms], ids=short)
@pytest.mark.parametrize("shape", [(1,), (7,), (40, 50)])
def test_prox_with_zero_sum_oracle_scalar_root(penalty, shape):
    """prox = h(v − ν), Σ h = 0, with h written out again and ν by Brent's method."""
    v = torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 0.3
    t, weight = 0.7, {type(term): getattr(term, "weight", 0.0) for term in penalty.terms}
    low, high = next((term.ends() for term in penalty.terms if isinstance(term, lsat.Box)), (-np.inf, np.inf))

    def h(nu: float) -> np.ndarray:
        moved = v.numpy() - nu
        soft = np.sign(moved) * np.maximum(np.abs(moved) - weight.get(lsat.AbsoluteValue, 0.0) * t, 0)
        return np.clip(soft / (1 + 2 * weight.get(lsat.SumSquares, 0.0) * t), low, high)

    nu = brentq(lambda nu: h(nu).sum(), -20, 20, xtol=1e-15)
    found = penalty.prox(v, t)
    assert abs(float(found.sum())) <= 1e-13 * v.numel()
    assert np.allclose(found.numpy(), h(nu), atol=1e-12)


@pytest.mark.parametrize("fraction", [0.0, 0.34, 0.5, 1.0])
def test_prox_of_cardinality_oracle_all_subsets(fraction):
    v = torch.randn(6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    count = math.floor(6 * fraction)
    masks = [torch.tensor([float(i in kept) for i in range(6)]) for kept in itertools.combinations(range(6), count)]
    best = min(masks, key=lambda mask: float((mask - v).square().sum()))
    penalty = lsat.Cardinality(fraction)
    assert torch.equal(penalty.prox(v, 0.3), best.double())
    assert penalty.value(best.double()) == 0
    assert penalty.value(v) == math.inf


def test_cardinality_counts_as_written():
    assert lsat.Cardinality(0.29).count(100) == 29
    assert [lsat.Cardinality(0.3).count(n) for n in (10, 3, 4)] == [3, 0, 1]


def test_prox_of_zero_sum_solves_its_optimality_system():
    # Block elimination of [(1 + 2λt) I, 1; 1ᵀ, 0] [ω; ν] = [v; 0].
    v, lam, t = torch.tensor([3.0, 1.0, -2.5], dtype=torch.float64), 0.7, 0.9
    system = torch.zeros(4, 4, dtype=torch.float64)
    system[:3, :3] = (1 + 2 * lam * t) * torch.eye(3)
    system[:3, 3] = system[3, :3] = 1
    expected = torch.linalg.solve(system, torch.cat([v, torch.zeros(1, dtype=torch.float64)]))[:3]
    assert torch.allclose((lsat.SumSquares(lam) + lsat.ZeroSum()).prox(v, t), expected, atol=1e-14)


@pytest.mark.parametrize("penalty", [p for p in examples(Sum) if lsat.ZeroSum() in p.terms], ids=short)
def test_no_numbers_at_all_sum_to_zero(penalty):
    empty = torch.zeros(0, dtype=torch.float64)
    assert penalty.prox(empty, 1.0).shape == empty.shape
