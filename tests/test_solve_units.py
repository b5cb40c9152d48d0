"""Numbers whose products leave the range of floats: θ and its gradients are those of other units."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lsat_explorer as lsat

_RANDOM = torch.Generator().manual_seed(0)
_SHAPES = ((12, 4), (12, 2), (2, 4), (2, 2))
A, B, C, D = (torch.randn(shape, generator=_RANDOM, dtype=torch.float64) for shape in _SHAPES)
UNITS = [(-200, -200), (200, 200), (160, 160), (-160, -160), (-200, 0), (0, -200), (0, 200), (100, -200)]


def close(found: torch.Tensor, expected: torch.Tensor, power: int) -> None:
    """Compare with what is 10 to the ``power`` times as large, where that is a float."""
    for half in (power // 2, power - power // 2):
        found = found * 10.0**-half
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11 * float(expected.abs().max()))


@pytest.mark.parametrize("solver", [None, lsat.QR(), lsat.LSMR(), lsat.CG()], ids=repr)
@pytest.mark.parametrize(("a", "b"), UNITS)
def test_least_squares_and_its_gradients_in_units_of_any_size(a, b, solver):
    plain = [part.clone().requires_grad_() for part in (A, B)]
    other = [(part * 10.0**power).requires_grad_() for part, power in ((A, a), (B, b))]
    one, two = (lsat.least_squares(*parts, solver=solver) for parts in (plain, other))
    close(two.detach(), one.detach(), b - a)
    for theta in (one, two):
        theta.sum().backward()
    close(other[1].grad, plain[1].grad, -a)
    if abs(b - 2 * a) < 300:
        close(other[0].grad, plain[0].grad, b - 2 * a)


@pytest.mark.parametrize("solver", [None, lsat.Cholesky(), lsat.LSMR()], ids=repr)
@pytest.mark.parametrize(("a", "b"), UNITS)
def test_summed_objectives_in_units_of_any_size(a, b, solver):
    terms = [(A, B, 1.0), (2 * A[:5], B[:5], 0.5)]
    found = lsat.multi_objective([(A * 10.0**a, B * 10.0**b, w) for A, B, w in terms], solver=solver)
    close(found, lsat.multi_objective(terms, solver=solver), b - a)


@pytest.mark.parametrize(("a", "b"), UNITS)
def test_constrained_fits_in_units_of_any_size(a, b):
    theta, nu = lsat.constrained_least_squares(A * 10.0**a, B * 10.0**b, C, D * 10.0 ** (b - a))
    expected = lsat.constrained_least_squares(A, B, C, D)
    close(theta, expected[0], b - a)
    if abs(a + b) < 300:
        close(nu, expected[1], a + b)


def test_a_matrix_without_columns_has_a_solution_without_rows():
    assert lsat.least_squares(torch.zeros(0, 0), torch.zeros(0, 1)).shape == (0, 1)
    assert lsat.least_squares(torch.zeros(3, 0), torch.zeros(3)).shape == (0,)


@pytest.mark.parametrize("seed", range(8, 13))
@pytest.mark.parametrize("solver", [lsat.LSMR(), lsat.CG()], ids=["LSMR", "CG"])
def test_iterations_go_on_to_the_digits_that_the_matrix_allows(solver, seed):
    """Of a condition of 10⁵, with a right-hand side far from its range: an error of κ² times the tolerance, or less."""
    random = np.random.default_rng(seed)
    U, V = (np.linalg.qr(random.normal(size=shape))[0] for shape in ((30, 5), (5, 5)))
    A, theta, away = U * np.geomspace(1, 1e-5, 5) @ V.T, random.normal(size=5), random.normal(size=30)
    away -= U @ (U.T @ away)
    away /= np.linalg.norm(away)
    found = lsat.least_squares(torch.from_numpy(A), torch.from_numpy(A @ theta + away), solver=solver).numpy()
    assert np.linalg.norm(found - theta) < 3e-5 * np.linalg.norm(theta)
