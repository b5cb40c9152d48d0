"""Columns measured in very different units under linear constraints: what is solved is checked in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lsat_explorer.solve import MINRES, Reason, SolveError, constrained_least_squares, kkt
from lsat_explorer.solve.constraints import refuse_missed
from lsat_explorer.solve.elimination import Elimination

Array = NDArray[np.float64]
SOLVERS = [None, MINRES(tolerance=1e-13)]


def exact(A: Array, B: Array, C: Array, D: Array) -> Array:
    """Return [θ; ν] of the floats as they are, by elimination in fractions."""
    k, n, q = *A.shape, len(C)
    a, b, c, d = ([[Fraction(x) for x in row] for row in np.atleast_2d(part).tolist()] for part in (A, B, C, D))
    dots = [[sum(a[r][i] * a[r][j] for r in range(k)) for j in range(n)] for i in range(n)]
    rows = [dots[i] + [c[r][i] for r in range(q)] + [sum(a[r][i] * b[0][r] for r in range(k))] for i in range(n)]
    rows += [c[r] + [Fraction(0)] * q + [d[0][r]] for r in range(q)]
    for i in range(n + q):
        pivot = next(r for r in range(i, n + q) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n + q):
            if r != i and rows[r][i]:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return np.array([float(row[-1]) for row in rows])


def tensors(*parts: Array) -> list[torch.Tensor]:
    return [torch.from_numpy(part) for part in parts]


def units(columns: Array, k: int = 5, q: int = 2, seed: int = 237) -> list[Array]:
    r = np.random.default_rng(seed)
    A, C = r.normal(size=(k, len(columns))) * columns, r.normal(size=(q, len(columns)))
    return [A, r.normal(size=k), C, r.normal(size=q)]


def agree(got: tuple[torch.Tensor, torch.Tensor], parts: list[Array], tolerance: float) -> None:
    """Compare θ in the units of A's columns, its constraints, and ν with those of the exact solution."""
    A, _, C, D = parts
    n, expected = A.shape[1], exact(*parts)
    theta, nu = (part.numpy() for part in got)
    lengths = np.linalg.norm(A, axis=0)
    assert np.abs(lengths * (theta - expected[:n])).max() <= tolerance * np.abs(lengths * expected[:n]).max()
    assert np.abs(nu - expected[n:]).max() <= 1e3 * tolerance * np.abs(expected[n:]).max()
    assert (np.abs(C @ theta - D) <= 1e-9 * (np.abs(C) @ np.abs(theta) + np.abs(D))).all()


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("size", [1e2, 1e3, 1e4, 1e6, 1e10])
def test_a_column_small_in_A_and_not_in_C(size, solver):
    parts = units(np.array([size, 1 / size, size]))
    agree(constrained_least_squares(*tensors(*parts), solver=solver), parts, 1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("power", [4, 6, 10])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_random_units(q, power, solver):
    for seed in range(12):
        columns = 10.0 ** np.random.default_rng(seed).choice([-power, power], 4)
        parts = units(columns, 6, q, seed)
        agree(constrained_least_squares(*tensors(*parts), solver=solver), parts, 1e-11)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("seed", [31, 149])
def test_constraints_that_count_and_leave_a_column_alone(seed, solver):
    r = np.random.default_rng(seed)
    A, _ = r.normal(size=(6, 4)) * 10.0 ** r.choice([-8, 8], 4), r.normal(size=(2, 4))
    C = r.integers(0, 2, (2, 4)).astype(float)
    parts = [A, r.normal(size=6), C, r.normal(size=2)]
    agree(constrained_least_squares(*tensors(*parts), solver=solver), parts, 1e-12)


@pytest.mark.parametrize("seed", [153, 154, 205])
def test_units_that_no_factor_of_the_whole_system_bears(seed):
    r = np.random.default_rng(seed)
    A, C = r.normal(size=(5, 3)) * 10.0 ** r.integers(-10, 11, 3), r.normal(size=(2, 3))
    parts = [A, r.normal(size=5), C, r.normal(size=2)]
    agree(constrained_least_squares(*tensors(*parts)), parts, 1e-12)


@pytest.mark.parametrize(("solver", "tolerance"), [(None, 1e-9), (MINRES(tolerance=1e-13), 1e-7)])
def test_derivatives_keep_to_the_constraints(solver, tolerance):
    A, B, C, D = tensors(*units(np.array([1e4, 1e-4, 1e4])))

    def theta(B: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
        return constrained_least_squares(A, B, C, D, solver=solver)[0]

    by_B, by_D = torch.autograd.functional.jacobian(theta, (B, D))
    torch.testing.assert_close(C @ by_D, torch.eye(2, dtype=torch.float64), rtol=0, atol=tolerance)
    assert (C @ by_B).abs().max() <= tolerance * by_B.abs().max()


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_gradients_in_different_units(solver):
    parts = [part.requires_grad_() for part in tensors(*units(np.array([20.0, 0.05, 20.0])))]
    assert torch.autograd.gradcheck(lambda *t: constrained_least_squares(*t, solver=solver), parts, atol=1e-4)
    assert torch.autograd.gradgradcheck(lambda *t: constrained_least_squares(*t, solver=solver)[0], parts, atol=1e-4)


def test_constraints_too_many_to_be_eliminated_count_for_the_scale(monkeypatch):
    monkeypatch.setattr(kkt, "_ELIMINATED", 0)
    A, B, C, D = tensors(*units(np.array([1e4, 1e-4, 1e4])))
    theta, _ = constrained_least_squares(A.to_sparse(), B, C.to_sparse(), D)
    torch.testing.assert_close(C @ theta, D, rtol=1e-10, atol=1e-10)


def test_a_matrix_too_small_to_be_squared():
    r = np.random.default_rng(0)
    A, B = tensors(r.normal(size=(60, 3)), r.normal(size=60))
    C, D = torch.ones(1, 3, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    theta, nu = constrained_least_squares(A, B, C, D)
    small = constrained_least_squares(1e-170 * A, B, C, D)
    torch.testing.assert_close(1e-170 * small[0], theta, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(1e170 * small[1], nu, rtol=1e-12, atol=1e-12)
    with pytest.raises(SolveError, match="Column 0 of A holds numbers too small to be squared: multiply it"):
        constrained_least_squares((1e-170 * A).to_sparse(), B, C, D)
    with pytest.raises(SolveError, match="Column 0 of A holds no number of 1e-301 or more in size: multiply it"):
        constrained_least_squares(torch.tensor([1e-305, 1.0, 1.0], dtype=torch.float64) * A, B, C, D)


def test_columns_of_zeros_are_determined_by_constraints_or_named():
    A, B, C, D = tensors(*units(np.array([1.0, 0.0, 1e-3, 0.0]), 6, 3))
    theta, _ = constrained_least_squares(A, B, C, D)
    torch.testing.assert_close(C @ theta, D, rtol=1e-12, atol=1e-12)
    with pytest.raises(SolveError, match="Columns 1, 3 of A and C together do not determine θ") as got:
        constrained_least_squares(A, B, C[:1], D[:1])
    assert got.value.outcome.columns == (1, 3)


def test_no_column_is_eliminated_that_is_a_combination_of_those_before():
    # Columns 0 and 1 are one direction: however large their units, the second cannot serve the second row.
    C = torch.tensor([[0.1, 0.3, 1.0], [0.3, 0.9, 2.0]], dtype=torch.float64)
    kept = Elimination(C, torch.tensor([1e40, 1e40, 1.0], dtype=torch.float64))
    assert 2 in kept.basis.tolist()


def test_a_solution_that_misses_its_constraints_is_refused():
    theta, D = torch.ones(3, 1, dtype=torch.float64), torch.tensor([[3.0], [4.0]], dtype=torch.float64)
    C = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]], dtype=torch.float64)
    refuse_missed(C @ theta - D, theta, C.amax(1, keepdim=True), D)
    with pytest.raises(SolveError, match=r"C θ − D is -1\.0e-06 in row 1, where at most 1\.0e-08 was") as got:
        refuse_missed(C @ theta - D - 1e-6 * D.gt(3), theta, C.amax(1, keepdim=True), D)
    assert (got.value.outcome.reason, got.value.outcome.rows) == (Reason.NOT_CONVERGED, (1,))
