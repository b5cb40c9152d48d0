"""QR for ill-conditioned matrices, the choice of a solver, and the hard numbers of both dense solvers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lsat_explorer.solve import CG, LSMR, MINRES, QR, Cholesky, Reason, SolveError, least_squares

SOLVERS = [Cholesky(), QR(), LSMR(tolerance=1e-13), CG(tolerance=1e-13)]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def conditioned(k: int, n: int, condition: float) -> torch.Tensor:
    """Return U diag(s) Vᵀ with singular values from 1 to 1 / condition."""
    U, V = torch.linalg.qr(random(k, n))[0], torch.linalg.qr(random(n, n, seed=1))[0]
    return U * torch.logspace(0, -np.log10(condition), n, dtype=torch.float64) @ V.mT


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("m", [None, 1, 3])
def test_oracle_numpy_lstsq(solver, m):
    A, B = random(40, 6), random(*((40,) if m is None else (40, m)), seed=2)
    expected = np.linalg.lstsq(A.numpy(), B.numpy(), rcond=None)[0]
    assert np.abs(least_squares(A, B, solver=solver).numpy() - expected).max() < 1e-11


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_gradients_of_both_orders(solver):
    inputs = random(6, 3).requires_grad_(), random(6, 2, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda A, B: least_squares(A, B, solver=solver), inputs)
    assert torch.autograd.gradgradcheck(lambda A, B: least_squares(A, B, solver=solver), inputs)


@pytest.mark.parametrize("solver", [Cholesky(), QR()], ids=repr)
def test_gradients_of_third_order(solver):
    A = random(5, 2).requires_grad_()
    B = random(5, 1, seed=2)

    def slope(A):
        (first,) = torch.autograd.grad(least_squares(A, B, solver=solver).pow(3).sum(), A, create_graph=True)
        return first

    assert torch.autograd.gradgradcheck(slope, A)


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e11])
def test_qr_is_backward_stable(condition):
    A, theta = conditioned(60, 12, condition), random(12, 2, seed=3)
    noise = torch.linalg.qr(torch.cat([A, random(60, 2, seed=4)], 1))[0][:, -2:]
    solved = least_squares(A, A @ theta + 1e-3 * noise, solver=QR())
    # To first order the error is κ ε ‖θ‖ + κ² ε ‖r‖ / ‖A‖.
    allowed = 50 * 2.2e-16 * (condition * theta.norm() + condition**2 * 1e-3)
    assert (solved - theta).norm() < allowed
    consistent = least_squares(A, A @ theta, solver=QR())
    assert (consistent - theta).norm() < 50 * 2.2e-16 * condition * theta.norm()
    assert (A @ (consistent - theta)).norm() < 1e-13 * theta.norm()


def test_qr_where_cholesky_refuses():
    A = conditioned(60, 12, 1e11)
    with pytest.raises(SolveError, match=r"solver=QR\(\)") as got:
        least_squares(A, A.sum(1), solver=Cholesky())
    assert got.value.outcome.reason is Reason.RANK_DEFICIENT
    assert torch.allclose(least_squares(A, A.sum(1), solver=QR()), torch.ones(12, dtype=torch.float64), atol=1e-3)


def test_gradients_of_an_ill_conditioned_matrix_by_qr():
    # With A = U s, U orthonormal: θ = s⁻¹ Uᵀ B, so ∇_B of Σ s θ is U · 1 however small s gets.
    U, s = torch.linalg.qr(random(30, 5))[0], torch.logspace(0, -9, 5, dtype=torch.float64)
    B = random(30, seed=1).requires_grad_()
    V = torch.linalg.qr(random(5, 5, seed=2))[0]
    theta = least_squares(U * s @ V.mT, B, solver=QR())
    (slope,) = torch.autograd.grad((s * (V.mT @ theta)).sum(), B)
    assert torch.allclose(slope, U.sum(1), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_float32_is_solved_in_float64(solver):
    A, B = random(50, 4).float(), random(50, 2, seed=1).float()
    theta = least_squares(A, B, solver=solver)
    exact = torch.linalg.lstsq(A.double(), B.double()).solution
    assert theta.dtype == torch.float32
    assert torch.allclose(theta, exact.float(), rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_weak_ridge_on_noise_free_data(solver):
    # Case 1: λ = 1e-15 under noise-free rows leaves the exact fit.
    A, theta = random(40, 6), random(6, 2, seed=1)
    rows = torch.cat([A, 1e-15 * torch.eye(6, dtype=torch.float64)])
    right = torch.cat([A @ theta, torch.zeros(6, 2, dtype=torch.float64)])
    assert torch.allclose(least_squares(rows, right, solver=solver), theta, rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_columns_whose_scales_differ(solver):
    # Case 2: scales from 2e5 to 2e11.
    scale = torch.logspace(5, 11, 6, dtype=torch.float64) * 2
    A, B = random(80, 6) * scale, random(80, 2, seed=1)
    expected = A @ least_squares(A, B, solver=QR())
    assert torch.allclose(A @ least_squares(A, B, solver=solver), expected, rtol=0, atol=1e-6)


def test_a_large_column_that_hardly_varies():
    # Case 7: float32 column at 1e8 with one entry 1e8 + 8, beside a constant: y = 1 where it differs, so θ = 1/8.
    A = torch.full((10, 2), 1e8)
    A[3, 0] += 8
    A[:, 1] = 1
    B = torch.zeros(10)
    B[3] = 1
    assert least_squares(A, B, solver=QR())[0] == pytest.approx(1 / 8, rel=1e-3)
    with pytest.raises(SolveError, match=r"Column 1 is a combination .* solver=QR\(\)"):
        least_squares(A, B, solver=Cholesky())


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_rank_deficient_three_by_three(solver, device):
    # Case 10.
    A = torch.tensor([[1.0, 0, 1], [0, 1, 1], [1, 1, 2]], device=device)
    with pytest.raises(SolveError) as got:
        least_squares(A, torch.ones(3, 1, device=device), solver=solver)
    outcome = got.value.outcome
    assert outcome.reason is Reason.RANK_DEFICIENT
    assert outcome.column == 2 or outcome.columns == (0, 1, 2)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_duplicate_and_zero_columns_are_named(solver):
    # Case 6: X = [x, x, 1, 1], then an all-zero column; any ridge makes the first solvable.
    x = torch.arange(8.0, dtype=torch.float64)
    A = torch.stack([x, x, torch.ones_like(x), torch.ones_like(x)], 1)
    with pytest.raises(SolveError) as got:
        least_squares(A, x, solver=solver)
    assert got.value.outcome.column == 1 or got.value.outcome.columns == (0, 1, 2, 3)
    ridge = torch.cat([A, 0.1 * torch.eye(4, dtype=torch.float64)])
    theta = least_squares(ridge, torch.cat([x, x.new_zeros(4)]), solver=solver)
    assert torch.allclose(theta[0], theta[1])
    A[:, 2] = 0
    with pytest.raises(SolveError, match="Column"):
        least_squares(A[:, [0, 2]], x, solver=solver)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_what_is_not_finite_is_said_and_placed(solver, value):
    A, B = random(6, 3), random(6, 2, seed=1)
    B[4, 1] = value
    with pytest.raises(SolveError, match="B holds a NaN or an infinity, first at row 4, column 1") as got:
        least_squares(A, B, solver=solver)
    assert got.value.outcome.reason is Reason.NOT_FINITE
    A[2, 1] = value
    with pytest.raises(SolveError, match="A holds a NaN or an infinity"):
        least_squares(A, random(6, 2), solver=solver)


@pytest.mark.parametrize("solver", [*SOLVERS, LSMR(jacobi=False), MINRES(max_iterations=7)], ids=repr)
def test_descriptions_round_trip(solver):
    names = {"Cholesky": Cholesky, "QR": QR, "LSMR": LSMR, "CG": CG, "MINRES": MINRES}
    assert eval(repr(solver), names) == solver
    assert hash(solver) == hash(eval(repr(solver), names))


@pytest.mark.parametrize("kind", [LSMR, CG, MINRES])
@pytest.mark.parametrize("bad", [{"tolerance": 0.0}, {"tolerance": 2}, {"max_iterations": 0}, {"max_iterations": 1.5}])
def test_descriptions_refuse_bad_limits(kind, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        kind(**bad)


def test_an_unknown_solver_is_refused():
    with pytest.raises(ValueError, match=r"solver is 'qr': expected Cholesky\(\)"):
        least_squares(random(4, 2), random(4), solver="qr")
