"""Matrices of one solve that are computed from one another, or from their weights: each path counts once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import lsat_explorer as lsat
from lsat_explorer.solve import CG, LSMR, MINRES, LinearOperator, SparseMatrix
from lsat_explorer.solve.solvers import Cholesky


def random(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def differences(H: Tensor) -> tuple[Tensor, Tensor, float]:
    return H[1:] - H[:-1], H.new_zeros(len(H) - 1, 1), 0.3


Y = torch.linspace(-1.0, 2.0, 6, dtype=torch.float64)[:, None]
TERMS: dict[str, Callable[[Tensor], list[tuple[Any, Any, Any]]]] = {
    "multiple": lambda H: [(H, Y, 0.5), (2 * H, Y.flip(0), 2.0)],
    "differences": lambda H: [(H, Y, 1.0), differences(H)],
    "given last": lambda H: [differences(H), (H, Y, 1.0)],
    "slices of another": lambda H: [(H.square(), Y, 1.0), (H, Y, 1.0), (H[:2], Y[:2], 1.0)],
    "weights": lambda H: [(H, Y, 1.0), (H.exp(), Y, H.square().sum())],
    "matrix from its weight": lambda H: [(H, Y, (w := H.norm())), (w * Y @ Y[:3].mT, Y, w)],
    "targets": lambda H: [(H, H.sum(1, keepdim=True), 1.0), (H.sin(), H[:, :1], 1.0)],
    "twice the same": lambda H: [(H, Y, 1.0), (H, Y.flip(0), 1.0)],
}


@pytest.mark.parametrize("solver", [Cholesky(), LSMR(tolerance=1e-13), CG(tolerance=1e-13)], ids=repr)
@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_terms_that_share_what_they_are_computed_from_have_the_gradient_of_the_formula(
    terms: Callable[[Tensor], list[tuple[Any, Any, Any]]], solver: Any
) -> None:
    def formula(H: Tensor) -> Tensor:
        made = terms(H)
        return torch.linalg.solve(sum(w * A.mT @ A for A, _, w in made), sum(w * A.mT @ B for A, B, w in made))

    H = random(6, 3)

    def solve(H: Tensor) -> Tensor:
        return lsat.multi_objective(terms(H), solver=solver)

    for function in (solve, formula):
        assert gradcheck(function, (H,), atol=1e-6)
    direction = random(3, 1, seed=1).detach()
    ours, expected = (torch.autograd.grad((f(H) * direction).sum(), H)[0] for f in (solve, formula))
    torch.testing.assert_close(ours, expected, rtol=1e-8, atol=1e-9)


def test_terms_that_share_have_derivatives_of_the_second_order() -> None:
    assert gradgradcheck(lambda H: lsat.multi_objective(TERMS["differences"](H)), (random(6, 3),), atol=1e-5)


@pytest.mark.parametrize("solver", [None, MINRES(tolerance=1e-13)], ids=repr)
@pytest.mark.parametrize(
    "constraints",
    [
        lambda A, B: (A[:1] + A[1:2], torch.ones(1, 1, dtype=torch.float64)),
        lambda A, B: (A[:1], B[:1]),
        lambda A, B: (A[:2].sin(), A[:2, :1]),
    ],
    ids=["rows of A", "rows of A and B", "functions of A"],
)
def test_constraints_from_the_matrix_have_the_gradient_of_the_formula(
    constraints: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], solver: Any
) -> None:
    A, B = random(6, 3), random(6, 1, seed=1)

    def formula(A: Tensor, B: Tensor) -> Tensor:
        C, D = constraints(A, B)
        M = torch.cat([torch.cat([A.mT @ A, C.mT], 1), torch.cat([C, C.new_zeros(len(C), len(C))], 1)])
        return torch.linalg.solve(M, torch.cat([A.mT @ B, D]))

    def solve(A: Tensor, B: Tensor) -> Tensor:
        return torch.cat(lsat.constrained_least_squares(A, B, *constraints(A, B), solver=solver))

    assert gradcheck(solve, (A, B), atol=1e-6)
    ours, expected = (torch.autograd.grad(f(A, B).square().sum(), (A, B)) for f in (solve, formula))
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


def test_sparse_matrices_that_share_their_values_have_the_gradient_of_the_dense_ones() -> None:
    indices = torch.tensor([[0, 1, 2, 3, 3], [0, 1, 2, 0, 2]])
    values, B = random(5), torch.arange(4.0, dtype=torch.float64)[:, None]

    def terms(values: Tensor, dense: bool) -> list[tuple[Any, Tensor, float]]:
        made = [SparseMatrix(indices, v, (4, 3)) for v in (values, values.square())]
        if dense:
            made = [m.matvec(torch.eye(3, dtype=torch.float64)) for m in made]
        return [(made[0], B, 1.0), (made[1], B, 0.5)]

    ours, expected = (
        torch.autograd.grad(lsat.multi_objective(terms(values, dense)).sum(), values)[0] for dense in (False, True)
    )
    torch.testing.assert_close(ours, expected, rtol=1e-7, atol=1e-8)
    assert gradcheck(lambda v: lsat.multi_objective(terms(v, True)), (values,), atol=1e-6)


class Scaled(LinearOperator):
    """The matrix ``scale`` X."""

    def __init__(self, scale: Tensor, X: Tensor, *, listed: Sequence[Tensor] | None = None) -> None:
        self._scale, self._X = scale, X
        self._listed = (scale,) if listed is None else listed

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape[0], self._X.shape[1]

    def matvec(self, V: Tensor) -> Tensor:
        return self._scale * (self._X @ V)

    def rmatvec(self, U: Tensor) -> Tensor:
        return self._scale * (self._X.mT @ U)

    def parameters(self) -> Sequence[Tensor]:
        return self._listed


def test_parameters_of_an_operator_from_which_others_are_computed_are_refused_and_a_clone_is_right() -> None:
    a, X = torch.tensor(2.0, dtype=torch.float64, requires_grad=True), random(6, 3).detach()

    def chained(first: Tensor, a: Tensor) -> list[list[tuple[Any, Tensor, float]]]:
        return [
            [(Scaled(first, X), Y, 1.0), (Scaled(3 * a, X), Y, 1.0)],
            [(Scaled(first, X), Y, 1.0), (a.square() * X, Y, 1.0)],
        ]

    for terms in chained(a, a):
        with pytest.raises(ValueError, match=r"counts? twice: let the operator use and list a clone\(\)"):
            lsat.multi_objective(terms)
    with pytest.raises(ValueError, match=r"list a clone\(\)"):
        lsat.least_squares(Scaled(2 * a, X, listed=((b := 2 * a), a, b)), Y)
    with pytest.raises(ValueError, match=r"list a clone\(\)"):
        lsat.constrained_least_squares(Scaled(a, X), Y, a * X[:1], Y[:1])
    for place in range(2):
        for order in (1, -1):
            assert gradcheck(
                lambda a, place=place, order=order: lsat.multi_objective(chained(a.clone(), a)[place][::order]),
                (a,), atol=1e-6,
            )  # fmt: skip


@pytest.mark.parametrize("size", [1e-158, 1e-161, 1e-200, 1e140])
def test_terms_of_any_size_have_the_solution_of_their_multiples(size: float) -> None:
    A, B = random(6, 3).detach(), random(6, 1, seed=1).detach()
    found, expected = (lsat.multi_objective([(s * A, B, 1.0), (s * A[:2].exp(), B[:2], 0.3)]) for s in (size, 1.0))
    torch.testing.assert_close(found * size, expected, rtol=1e-12, atol=0)
