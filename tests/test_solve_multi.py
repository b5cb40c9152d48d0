"""Several objectives at once: the stacked problem is the oracle."""

from __future__ import annotations

import pytest
import torch

from lsat_explorer.solve import CG, LSMR, QR, Cholesky, SolveError, least_squares, multi_objective

SOLVERS = [Cholesky(), LSMR(tolerance=1e-13), CG(tolerance=1e-13)]


def terms(n: int = 4, m: int = 2) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    options = {"generator": generator, "dtype": torch.float64}
    return [
        (
            torch.randn(k, n, **options).requires_grad_(),
            torch.randn(k, m, **options).requires_grad_(),
            torch.rand((), **options).requires_grad_(),
        )
        for k in (7, 5, 2)
    ]


def regroup(flat):
    return [tuple(flat[i : i + 3]) for i in range(0, len(flat), 3)]


def stacked(groups):
    return least_squares(
        torch.cat([weight.sqrt() * A for A, _, weight in groups]), torch.cat([w.sqrt() * B for _, B, w in groups])
    )


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_equal_to_the_stacked_solution_with_all_gradients(solver):
    groups = terms()
    flat = [t for group in groups for t in group]
    slope = torch.randn(4, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    theta, expected = multi_objective(groups, solver=solver), stacked(groups)
    assert torch.allclose(theta, expected, rtol=0, atol=1e-10)
    found, wanted = (torch.autograd.grad((t * slope).sum(), flat) for t in (theta, expected))
    for got, want in zip(found, wanted, strict=True):
        assert torch.allclose(got, want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_gradients_of_both_orders(solver):
    flat = [t for group in terms(2, 1)[:2] for t in group]
    solve = lambda *t: multi_objective(regroup(t), solver=solver)  # noqa: E731
    assert torch.autograd.gradcheck(solve, flat)
    assert torch.autograd.gradgradcheck(solve, flat)


def test_gradients_agree_with_the_formulas():
    groups = terms()
    theta = multi_objective(groups)
    slope = torch.ones_like(theta)
    found = regroup(torch.autograd.grad(theta.sum(), [t for group in groups for t in group]))
    with torch.no_grad():
        C = torch.linalg.solve(sum(w * A.mT @ A for A, _, w in groups), slope)
        for (A, B, weight), (grad_A, grad_B, grad_weight) in zip(groups, found, strict=True):
            E = B - A @ theta
            assert torch.allclose(grad_weight, (E * (A @ C)).sum(), atol=1e-12)
            assert torch.allclose(grad_A, weight * (E @ C.mT - A @ C @ theta.mT), atol=1e-12)
            assert torch.allclose(grad_B, weight * A @ C, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_a_weight_of_zero_has_a_gradient_and_no_effect(solver):
    (A, B, _), (A2, B2, _), _ = terms()
    zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
    theta = multi_objective([(A, B, 1.0), (A2, B2, zero)], solver=solver)
    assert torch.allclose(theta, least_squares(A, B), atol=1e-11)
    (slope,) = torch.autograd.grad(theta.sum(), zero)
    C = torch.linalg.solve(A.mT @ A, torch.ones_like(theta))
    assert torch.allclose(slope, ((B2 - A2 @ theta) * (A2 @ C)).sum(), atol=1e-9)


def test_sparse_and_dense_terms_together():
    groups = terms()
    mixed = [(groups[0][0].detach().to_sparse().requires_grad_(), *groups[0][1:]), *groups[1:]]
    theta, expected = multi_objective(mixed), multi_objective(groups)
    assert torch.allclose(theta, expected, atol=1e-9)
    got = torch.autograd.grad(theta.sum(), [mixed[0][0], mixed[0][2], mixed[1][0]])
    want = torch.autograd.grad(expected.sum(), [groups[0][0], groups[0][2], groups[1][0]])
    assert torch.allclose(got[0].to_dense(), want[0], atol=1e-8)
    for left, right in zip(got[1:], want[1:], strict=True):
        assert torch.allclose(left, right, atol=1e-8)


def test_one_tensor_in_two_terms_gets_both_gradients():
    (A, B, _), (A2, B2, _), _ = terms()
    weight = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    for solver in SOLVERS:
        solve = lambda w, s=solver: multi_objective([(A, B, w), (A2, B2, 2 * w), (A, 2 * B, 1.0)], solver=s)  # noqa: E731
        assert torch.autograd.gradcheck(solve, weight)


def test_right_hand_sides_of_one_dimension_and_float32():
    groups = [(A.detach().float(), B.detach()[:, 0].float(), float(w)) for A, B, w in _detached(terms())]
    theta = multi_objective(groups)
    assert theta.shape == (4,)
    assert theta.dtype == torch.float32


def _detached(groups):
    return [tuple(t.detach() for t in group) for group in groups]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_undetermined_columns_are_named(solver):
    (A, B, _), *_ = _detached(terms())
    A[:, 2] = 0
    with pytest.raises(SolveError, match="Column 2"):
        multi_objective([(A, B, 1.0), (2 * A, B, 0.5)], solver=solver)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda A, B: [], "no term"),
        (lambda A, B: [(A, B)], "Term 0 has 2 parts"),
        (lambda A, B: [(A, B, -1.0)], "weight of term 0 is -1.0"),
        (lambda A, B: [(A, B, float("nan"))], "weight of term 0 is nan"),
        (lambda A, B: 3, "terms is of type int: expected a list of"),
        (lambda A, B: [3], r"Term 0 is of type int: expected \(A, B, weight\)"),
        (lambda A, B: [(A, B, "2")], "weight of term 0 is '2': expected a real number"),
        (lambda A, B: [(A, B, None)], "weight of term 0 is None: expected a real number"),
        (lambda A, B: [(A, B, 1.0), (A, B, 1j)], "weight of term 1 is 1j: expected a real number"),
        (lambda A, B: [(A, B, torch.tensor(1j))], "weight of term 0 is tensor.*: expected a real number"),
        (lambda A, B: [(A, B, "a")], "weight of term 0 is 'a': expected a real number"),
        (lambda A, B: [(A, B, torch.ones(2))], r"shape \(2,\)"),
        (lambda A, B: [(A, B, 1.0), (A[:, :2], B, 1.0)], "Term 1 has"),
        (lambda A, B: [(A, B, 1.0), (A, B[:3], 1.0)], "B of term 1"),
        (lambda A, B: [(A, B, 1.0), (A.float(), B.float(), 1.0)], "B of term 1 is torch.float32"),
        (lambda A, B: [(A, B * torch.nan, 1.0)], "B of term 0 holds a NaN"),
        (lambda A, B: [(A.numpy(), B, 1.0)], "A of term 0 is of type ndarray"),
    ],
)
def test_bad_input(change, message):
    (A, B, _), *_ = _detached(terms())
    with pytest.raises(ValueError, match=message):
        multi_objective(change(A, B))


def test_a_solver_that_cannot_sum_is_refused():
    (A, B, _), *_ = _detached(terms())
    with pytest.raises(ValueError, match=r"solver is QR\(\)"):
        multi_objective([(A, B, 1.0)], solver=QR())
    with pytest.raises(ValueError, match="needs dense matrices"):
        multi_objective([(A.to_sparse(), B, 1.0)], solver=Cholesky())
