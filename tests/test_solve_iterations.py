"""Solves by iterations: columns of any scale, few and many digits, too few iterations, dependent columns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lsat_explorer.solve import CG, LSMR, Reason, SolveError, least_squares
from thin import EXACT, SOLVERS, matrix, random


def test_columns_that_converge_early_stay_as_they_are():
    A, B = matrix(), torch.zeros(400, 3, dtype=torch.float64)
    B[:, 1] = random(400, seed=1)
    B[:, 2] = 1e12 * random(400, seed=2)
    for solver in EXACT:
        theta = least_squares(A.to_sparse(), B, solver=solver)
        assert torch.equal(theta[:, 0], torch.zeros(60, dtype=torch.float64))
        for column in (1, 2):
            alone = least_squares(A.to_sparse(), B[:, column], solver=solver)
            assert torch.allclose(theta[:, column], alone, rtol=1e-9)


def test_columns_of_any_scale():
    A, B = matrix(), random(400, 2, seed=1)
    scale = torch.logspace(-6, 6, 60, dtype=torch.float64)
    expected = least_squares(A, B)
    for solver in (LSMR(), CG()):
        theta = least_squares((A * scale).to_sparse(), B, solver=solver)
        assert torch.allclose(theta * scale[:, None], expected, atol=1e-8)


def test_lsmr_keeps_more_digits_than_cg():
    k, n = 300, 20
    U, V = torch.linalg.qr(random(k, n))[0], torch.linalg.qr(random(n, n, seed=1))[0]
    A = U * torch.logspace(0, -6, n, dtype=torch.float64) @ V.mT
    theta = random(n, 1, seed=2)
    error = {}
    for solver in (LSMR(tolerance=1e-14), CG(tolerance=1e-14)):
        error[type(solver)] = (least_squares(A, A @ theta, solver=solver) - theta).norm().item()
    assert error[LSMR] < 1e-7
    assert error[LSMR] < error[CG]


@pytest.mark.parametrize("solver", [LSMR(max_iterations=3), CG(max_iterations=3)], ids=repr)
def test_too_few_iterations_is_an_outcome(solver):
    A = matrix().to_sparse()
    with pytest.raises(SolveError, match=r"stopped within 3 iterations .* raise max_iterations") as got:
        least_squares(A, random(400, 2, seed=1), solver=solver)
    assert got.value.outcome.reason is Reason.NOT_CONVERGED


def test_a_loose_tolerance_takes_fewer_iterations():
    A, B = matrix().to_sparse(), random(400, 2, seed=1)
    rough = least_squares(A, B, solver=LSMR(tolerance=1e-3, max_iterations=30))
    fine = least_squares(A, B)
    assert 1e-9 < (rough - fine).norm() / fine.norm() < 1e-2


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_dependent_columns_of_a_sparse_matrix_are_named(solver):
    A = matrix()
    A[:, 7] = A[:, 3] + A[:, 5]
    with pytest.raises(SolveError, match="Columns 3, 5, 7 of A are linearly dependent") as got:
        least_squares(A.to_sparse(), random(400, seed=1), solver=solver)
    assert got.value.outcome.reason is Reason.RANK_DEFICIENT
    assert got.value.outcome.columns == (3, 5, 7)
    A[:, 7] = 0
    with pytest.raises(SolveError, match="Column 7 of A is zero"):
        least_squares(A.to_sparse(), random(400, seed=1), solver=solver)


LOOSE = [CG(tolerance=1e-4), LSMR(tolerance=1e-4)]


@pytest.mark.parametrize(("solver", "condition"), [(LOOSE[0], 1e2), (LOOSE[1], 1e3)], ids=repr)
def test_a_solve_that_stops_early_is_not_taken_for_dependent_columns(solver, condition):
    left, right = (torch.linalg.qr(random(size, 30, seed=size)).Q for size in (90, 30))
    A = left * torch.logspace(0, -np.log10(condition), 30, dtype=torch.float64) @ right.mT
    theta = least_squares(A.to_sparse(), B := random(90, seed=1), solver=solver)
    assert (A.mT @ (B - A @ theta)).norm() <= 2 * solver.tolerance * (A.mT @ B).norm()


@pytest.mark.parametrize("solver", LOOSE, ids=repr)
def test_dependent_columns_are_named_at_a_loose_tolerance(solver):
    A = matrix()
    A[:, 7] = A[:, 3] + A[:, 5]
    with pytest.raises(SolveError, match="Columns 3, 5, 7 of A are linearly dependent"):
        least_squares(A.to_sparse(), random(400, seed=1), solver=solver)
