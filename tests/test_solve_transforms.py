"""Dense least squares under torch.func: every transform that the docstring promises, for both solvers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import func

from lsat_explorer.solve import QR, Cholesky, SolveError, least_squares

# The first forward-mode derivative of a process has torch compile its own rules by its own deprecated means.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")

SOLVERS = [Cholesky(), QR()]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(left: torch.Tensor, right: torch.Tensor) -> None:
    assert left.shape == right.shape
    assert torch.allclose(left, right, rtol=1e-9, atol=1e-10)


@pytest.fixture(params=SOLVERS, ids=repr)
def solve(request):
    return lambda A, B: least_squares(A, B, solver=request.param)


def test_grad_agrees_with_autograd(solve):
    A, B, slope = random(9, 3), random(9, 2, seed=1), random(3, 2, seed=2)
    graphed = [t.clone().requires_grad_() for t in (A, B)]
    expected = torch.autograd.grad((solve(*graphed) * slope).sum(), graphed)
    for got, want in zip(func.grad(lambda A, B: (solve(A, B) * slope).sum(), (0, 1))(A, B), expected, strict=True):
        close(got, want)


@pytest.mark.parametrize("transform", [func.jacrev, func.jacfwd], ids=["jacrev", "jacfwd"])
@pytest.mark.parametrize("argument", [0, 1], ids=["A", "B"])
def test_jacobians_agree_with_autograd(solve, transform, argument):
    inputs = (random(7, 3), random(7, 2, seed=1))
    expected = torch.autograd.functional.jacobian(solve, inputs)[argument]
    close(transform(solve, argument)(*inputs), expected)


HESSIANS = {
    "jacrev of jacrev": (func.jacrev, func.jacrev),
    "jacfwd of jacrev": (func.jacfwd, func.jacrev),
    "jacrev of jacfwd": (func.jacrev, func.jacfwd),
}


def loss(solve):
    return lambda A, B: solve(A, B).pow(4).sum()


@pytest.mark.parametrize("argument", [0, 1], ids=["A", "B"])
@pytest.mark.parametrize("order", HESSIANS)
def test_hessian_agrees_with_autograd(solve, order, argument):
    inputs = (random(6, 2), random(6, 2, seed=1))
    outer, inner = HESSIANS[order]
    expected = torch.autograd.functional.hessian(loss(solve), inputs)[argument][argument]
    close(outer(inner(loss(solve), argument), argument)(*inputs), expected)


def test_forward_mode_inside_forward_mode_is_refused(solve):
    with pytest.raises(ValueError, match="does not work under jvp inside jvp"):
        func.jacfwd(func.jacfwd(loss(solve)))(random(6, 2), random(6, 2, seed=1))


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (1, 2), (None, 1)])
def test_vmap_agrees_with_a_loop(solve, in_dims):
    size = 4
    A, B = random(8, 3), random(8, 2, seed=1)
    tensors = [
        t if dim is None else random(*t.shape[:dim], size, *t.shape[dim:], seed=9 + dim)
        for t, dim in zip((A, B), in_dims, strict=True)
    ]
    columns = [
        [t if dim is None else t.select(dim, i) for i in range(size)] if dim is not None else [t] * size
        for t, dim in zip(tensors, in_dims, strict=True)
    ]
    expected = torch.stack([solve(a, b) for a, b in zip(*columns, strict=True)])
    close(func.vmap(solve, in_dims)(*tensors), expected)


@pytest.mark.parametrize("in_dims", [(0, 0), (None, 0), (1, 0)])
@pytest.mark.parametrize("size", [(), (2,)])
def test_vmap_over_no_problems_at_all(solve, in_dims, size):
    A = random(*{0: (0, 8, 3), 1: (8, 0, 3), None: (8, 3)}[in_dims[0]]).requires_grad_()
    B = random(0, 8, *size, seed=1).requires_grad_()
    theta = func.vmap(solve, in_dims)(A, B)
    assert theta.shape == (0, 3, *size)
    for tensor, slope in zip((A, B), torch.autograd.grad(theta.sum(), (A, B)), strict=True):
        assert slope.shape == tensor.shape


def test_nested_vmap_and_a_gradient_for_each_sample(solve):
    A, B = random(2, 3, 8, 3), random(2, 3, 8, seed=1)
    expected = torch.stack(
        [torch.stack([solve(a, b) for a, b in zip(*pair, strict=True)]) for pair in zip(A, B, strict=True)]
    )
    close(func.vmap(func.vmap(solve))(A, B), expected)
    gradient = func.vmap(func.grad(lambda a, b: solve(a, b).square().sum()))(A[0], B[0])
    for i in range(3):
        close(gradient[i], func.grad(lambda a, b: solve(a, b).square().sum())(A[0, i], B[0, i]))


def test_forward_mode_agrees_with_finite_differences(solve):
    inputs = (random(7, 3).requires_grad_(), random(7, 2, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(solve, inputs, check_forward_ad=True, check_batched_grad=True)


def test_a_failure_inside_vmap_still_names_the_column(solve):
    A = random(3, 6, 2)
    A[1, :, 1] = 2 * A[1, :, 0]
    with pytest.raises(SolveError, match="Column 1"):
        func.vmap(solve)(A, random(3, 6, seed=1))


def test_iterative_solves_say_that_they_do_not_work_here():
    A = sparse.csr_array(np.eye(4))
    with pytest.raises(ValueError, match="do not work inside"):
        func.grad(lambda B: least_squares(A, B).sum())(random(4))
