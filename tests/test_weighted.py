"""The normal equations of data fitting against stacked problems that numpy and autograd solve."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from lsat_explorer import least_squares
from lsat_explorer.solve import Reason
from lsat_explorer.solve.weighted import (
    Moments,
    PenaltyMatrix,
    feature_factors,
    solve_normal,
    weight_gradient,
)


def penalties(n: int) -> list[PenaltyMatrix]:
    """A ridge on the first half, a chain on the second, and a diagonal with a weight for each of three features."""
    half = n // 2
    chain = sparse.diags_array([np.ones(half - 1), -np.ones(half - 1)], offsets=[0, 1], shape=(half - 1, half))
    return [
        PenaltyMatrix("ridge", sparse.eye_array(half), 0, n),
        PenaltyMatrix("chain", chain, half, n),
        PenaltyMatrix("diagonal", sparse.eye_array(3), 1, n, group=np.arange(3)),
    ]


def log_weights() -> list[torch.Tensor]:
    return [torch.tensor(w, dtype=torch.float64) for w in (0.3, -0.4, [0.1, -1.0, 0.5])]


@pytest.fixture
def rows():
    generator = torch.Generator().manual_seed(0)
    X, Y, w, slope = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((30, 8), (30, 2), (30,), (8, 2))
    )
    return X, Y, 0.3 * w, slope


def stacked(X, Y, w, weights):
    """Return θ of the stacked problem, differentiable in everything."""
    blocks = [w.exp()[:, None] * X]
    for penalty, weight in zip(penalties(X.shape[1]), weights, strict=True):
        R = torch.zeros(penalty._rows.shape[0], X.shape[1], dtype=torch.float64)
        R[:, penalty.columns] = torch.as_tensor(penalty._rows.toarray())
        blocks.append((weight.exp() * torch.ones(len(R), dtype=torch.float64))[:, None] * R)
    A = torch.cat(blocks)
    B = torch.cat([w.exp()[:, None] * Y, torch.zeros(len(A) - len(Y), Y.shape[1], dtype=torch.float64)])
    return least_squares(A, B)


def assembled(X, Y, w):
    scaled = w.exp()[:, None] * X
    return Moments(scaled.mT @ scaled, scaled.mT @ (w.exp()[:, None] * Y))


def test_oracle_stacked_solution(rows):
    X, Y, w, _ = rows
    solution = solve_normal(assembled(X, Y, w), penalties(8), log_weights())
    assert solution.outcome.ok
    assert torch.allclose(solution.theta, stacked(X, Y, w, log_weights()), atol=1e-12)


def test_gradients_against_autograd_through_the_stacked_problem(rows):
    X, Y, w, slope = rows
    leaves = [X.clone().requires_grad_(), w.clone().requires_grad_(), *(t.requires_grad_() for t in log_weights())]
    loss = (stacked(leaves[0], Y, leaves[1], leaves[2:]) * slope).sum()
    grad_X, grad_w, *grad_reg = torch.autograd.grad(loss, leaves)

    solution = solve_normal(assembled(X, Y, w), penalties(8), log_weights())
    C = solution.solve(slope)
    E, XC = Y - X @ solution.theta, X @ C
    assert torch.allclose(weight_gradient(E, XC, w), grad_w, atol=1e-11)
    left, right = feature_factors(E, XC, solution.theta, C, w.exp())
    assert torch.allclose(left @ right.mT, grad_X, atol=1e-11)
    for penalty, weight, expected in zip(penalties(8), log_weights(), grad_reg, strict=True):
        assert torch.allclose(penalty.gradient(solution.theta, C, weight), expected, atol=1e-11)


def test_penalty_value_is_its_quadratic_form(rows):
    theta = rows[3]
    for penalty, weight in zip(penalties(8), log_weights(), strict=True):
        G = torch.zeros(8, 8, dtype=torch.float64)
        penalty.add_to(G, weight)
        assert torch.isclose(penalty.value(theta, weight), (theta * (G @ theta)).sum())
        assert torch.equal(G, G.mT)


def test_a_row_of_weight_zero_is_absent(rows):
    # Case 4: ω = −∞ on the last row.
    X, Y, w, slope = rows
    w = torch.cat([w[:-1], torch.tensor([-torch.inf], dtype=torch.float64)])
    with_zero = solve_normal(assembled(X, Y, w), penalties(8), log_weights())
    without = solve_normal(assembled(X[:-1], Y[:-1], w[:-1]), penalties(8), log_weights())
    assert torch.allclose(with_zero.theta, without.theta, atol=1e-13)
    gradient = weight_gradient(Y - X @ with_zero.theta, X @ with_zero.solve(slope), w)
    assert gradient[-1] == 0
    assert torch.isfinite(gradient).all()


def test_dependent_columns_name_the_regularizer_to_raise():
    # Case 6: duplicate columns 1 and 2. The ridge covers 0 … 3, the diagonal 1 … 3; both weights are far too small.
    X = torch.randn(30, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    X[:, 2] = X[:, 1]
    small = [torch.tensor(w, dtype=torch.float64) for w in (-30.0, 0.0, [-30.0, -30.0, -30.0])]
    outcome = solve_normal(Moments(X.mT @ X, X.mT @ X[:, :1]), penalties(8), small).outcome
    assert outcome.reason is Reason.RANK_DEFICIENT
    assert outcome.column == 2
    assert "raise ridge or diagonal" in outcome.sentence


def test_dependent_columns_that_nothing_covers():
    X = torch.randn(30, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    X[:, 3] = X[:, 0] + X[:, 1]
    outcome = solve_normal(Moments(X.mT @ X, X.mT @ X[:, :1]), [], []).outcome
    assert outcome.column == 3
    assert "add a regularizer that covers it" in outcome.sentence


def test_ill_conditioned_but_regularized_is_solved():
    # Case 6: X = [x, x, 1, 1] with any active ridge.
    x = torch.linspace(0, 1, 20, dtype=torch.float64)
    X = torch.stack([x, x, torch.ones_like(x), torch.ones_like(x)], 1)
    ridge = [PenaltyMatrix("ridge", sparse.eye_array(4), 0, 4)]
    weight = [torch.tensor(-6.0, dtype=torch.float64)]
    solution = solve_normal(Moments(X.mT @ X, X.mT @ (2 * x + 1)[:, None]), ridge, weight)
    assert solution.outcome.ok
    assert torch.allclose((X @ solution.theta)[:, 0], 2 * x + 1, atol=1e-4)
