"""Matrix-free least squares: operators of any make, gradients in their parameters, and faults that are named."""

from __future__ import annotations

import pytest
import torch

from lsat_explorer.solve import LinearOperator, least_squares
from thin import EXACT, random


class Blur(LinearOperator):
    """A θ = a θ + b (θ shifted by one) under a ridge: two tuned numbers, one of them computed upstream."""

    def __init__(self, a: torch.Tensor, log_b: torch.Tensor, n: int) -> None:
        self.a, self.b, self.n = a, log_b.exp(), n

    @property
    def shape(self) -> tuple[int, int]:
        return 2 * self.n, self.n

    def matvec(self, V):
        return torch.cat([self.a * V + self.b * V.roll(1, 0), V])

    def rmatvec(self, U):
        return self.a * U[: self.n] + self.b * U[: self.n].roll(-1, 0) + U[self.n :]

    def parameters(self):
        return self.a, self.b


def dense_blur(a, log_b, n):
    eye = torch.eye(n, dtype=torch.float64)
    return torch.cat([a * eye + log_b.exp() * eye.roll(1, 0), eye])


@pytest.mark.parametrize("solver", EXACT, ids=repr)
def test_gradients_of_both_orders_in_the_parameters_of_an_operator(solver):
    a = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    log_b = torch.tensor(-0.4, dtype=torch.float64, requires_grad=True)
    B = random(12, 2).requires_grad_()
    expected = least_squares(dense_blur(a, log_b, 6), B)
    theta = least_squares(Blur(a, log_b, 6), B, solver=solver)
    assert torch.allclose(theta, expected, atol=1e-11)
    for got, want in zip(
        torch.autograd.grad(theta.pow(2).sum(), (a, log_b, B)),
        torch.autograd.grad(expected.pow(2).sum(), (a, log_b, B)),
        strict=True,
    ):
        assert torch.allclose(got, want, atol=1e-10)

    def solve(a, log_b, B):
        return least_squares(Blur(a, log_b, 6), B, solver=solver)

    assert torch.autograd.gradcheck(solve, (a, log_b, B))
    assert torch.autograd.gradgradcheck(solve, (a, log_b, B))


class Wrong(LinearOperator):
    """An operator with a fault."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    @property
    def shape(self) -> tuple[int, int]:
        return 4, 4

    def matvec(self, V):
        return V[:3] if self.fault == "shape" else V.float() if self.fault == "dtype" else V.roll(1, 0)

    def rmatvec(self, U):
        return U.roll(1, 0)

    def parameters(self):
        return ()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("shape", r"matvec of A returned torch.float64 of shape \(3, 1\): expected torch.float64 of shape \(4, 1\)"),
        ("dtype", r"matvec of A returned torch.float32"),
        ("transpose", "rmatvec of A is not the transpose of matvec"),
    ],
)
def test_a_wrong_operator_is_refused(fault, message):
    with pytest.raises(ValueError, match=message):
        least_squares(Wrong(fault), random(4))


def test_an_operator_that_lacks_a_method_cannot_be_made():
    class Half(LinearOperator):
        def matvec(self, V):
            return V

    with pytest.raises(TypeError, match="abstract"):
        Half()
