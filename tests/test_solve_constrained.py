"""Least squares under linear constraints: KKT conditions, design formulas, both orders, and which rows are at fault."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from lsat_explorer.solve import MINRES, LinearOperator, Reason, SolveError, constrained_least_squares
from lsat_explorer.solve.constraints import judge_constraints
from lsat_explorer.solve.matrices import DenseMatrix
from lsat_explorer.solve.operators import StackedOperator

SOLVERS = [None, MINRES(tolerance=1e-13)]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def problem(k: int = 9, n: int = 5, q: int = 2, m: int = 2) -> list[torch.Tensor]:
    shapes = [(k, n), (k, m), (q, n), (q, m)]
    return [random(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("m", [None, 1, 3])
def test_optimality_conditions(solver, m):
    A, B, C, D = (t.detach() for t in problem(30, 8, 3, m or 1))
    if m is None:
        B, D = B[:, 0], D[:, 0]
    theta, nu = constrained_least_squares(A, B, C, D, solver=solver)
    assert theta.shape == (8, *B.shape[1:])
    assert nu.shape == (3, *B.shape[1:])
    assert torch.allclose(C @ theta, D, atol=1e-12)
    assert torch.allclose(A.mT @ (A @ theta - B) + C.mT @ nu, torch.zeros_like(theta), atol=1e-11)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_oracle_null_space(solver):
    A, B, C, D = (t.detach().numpy() for t in problem(40, 10, 4, 2))
    start = np.linalg.lstsq(C, D, rcond=None)[0]
    Z = np.linalg.svd(C)[2][4:].T
    expected = start + Z @ np.linalg.lstsq(A @ Z, B - A @ start, rcond=None)[0]
    theta, _ = constrained_least_squares(*(torch.tensor(t) for t in (A, B, C, D)), solver=solver)
    assert np.abs(theta.numpy() - expected).max() < 1e-11


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("output", [0, 1], ids=["theta", "nu"])
def test_gradients_of_first_order(solver, output):
    inputs = problem()
    assert torch.autograd.gradcheck(lambda *t: constrained_least_squares(*t, solver=solver)[output], inputs)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_gradients_of_second_order(solver):
    inputs = problem(5, 3, 1, 2)
    assert torch.autograd.gradgradcheck(lambda *t: constrained_least_squares(*t, solver=solver), inputs)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_gradients_agree_with_the_formulas(solver):
    A, B, C, _ = inputs = problem()
    theta, nu = constrained_least_squares(*inputs, solver=solver)
    slopes = random(5, 2, seed=7), random(2, 2, seed=8)
    found = torch.autograd.grad((theta * slopes[0]).sum() + (nu * slopes[1]).sum(), inputs)
    with torch.no_grad():
        M = torch.cat([torch.cat([A.mT @ A, C.mT], 1), torch.cat([C, torch.zeros(2, 2, dtype=torch.float64)], 1)])
        H1, H2 = torch.linalg.solve(M, torch.cat(slopes)).split([5, 2])
        formulas = (
            (B - A @ theta) @ H1.mT - A @ H1 @ theta.mT,
            A @ H1,
            -nu @ H1.mT - H2 @ theta.mT,
            H2,
        )
    for got, expected in zip(found, formulas, strict=True):
        assert torch.allclose(got, expected, atol=1e-10)


def test_a_third_derivative_is_refused():
    A, B, C, D = problem()
    gradient = constrained_least_squares(A, B, C, D)[0].pow(3).sum()
    for _ in range(2):
        (gradient,) = torch.autograd.grad(gradient, A, create_graph=True)
        gradient = gradient.square().sum()
    with pytest.raises(RuntimeError, match="A third derivative"):
        torch.autograd.grad(gradient, A)


def test_k_below_n_when_the_constraints_determine_the_rest():
    A, B, C, D = (t.detach() for t in problem(3, 5, 2, 1))
    theta, _ = constrained_least_squares(A, B, C, D)
    assert torch.allclose(torch.cat([A, C]) @ theta, torch.cat([B, D]), atol=1e-11)


def test_no_constraints_is_least_squares():
    A, B, C, D = (t.detach() for t in problem(9, 4, 0, 2))
    theta, nu = constrained_least_squares(A, B, C, D)
    assert torch.allclose(theta, torch.linalg.lstsq(A, B).solution, atol=1e-12)
    assert nu.shape == (0, 2)


def test_columns_and_rows_of_any_scale():
    A, B, C, D = (t.detach() for t in problem(40, 6, 2, 2))
    columns, rows = torch.logspace(-5, 5, 6, dtype=torch.float64), torch.tensor([[1e-6], [1e6]], dtype=torch.float64)
    theta, nu = constrained_least_squares(A, B, C, D)
    for solver in SOLVERS:
        scaled = constrained_least_squares(A * columns, B, rows * C * columns, rows * D, solver=solver)
        assert torch.allclose(scaled[0] * columns[:, None], theta, rtol=1e-7)
        assert torch.allclose(scaled[1] * rows, nu, rtol=1e-7)


GUISES = {
    "dense": lambda C: C,
    "sparse": torch.Tensor.to_sparse,
    "scipy": lambda C: sparse.csr_array(C.detach().numpy()),
    "operator": lambda C: StackedOperator([DenseMatrix(C)], [torch.tensor(1.0, dtype=torch.float64)]),
}


@pytest.mark.parametrize("guise", GUISES)
@pytest.mark.parametrize("sizes", [(1e-170, 1e-170), (1e-170, 1.0), (1e140, 1e-170), (1e-298, 1e-300)])
def test_constraints_of_any_size_are_the_same_constraints(sizes, guise):
    A, B, C, D = problem(40, 6, 2, 2)
    rows = torch.tensor(sizes, dtype=torch.float64)[:, None]
    theta, nu = constrained_least_squares(A, B, C, D)
    slopes = random(6, 2, seed=7)
    expected = torch.autograd.grad((theta * slopes).sum(), (A, B, D))
    scaled, level = rows * C.detach(), (rows * D.detach()).requires_grad_()
    for solver in SOLVERS:
        got, multipliers = constrained_least_squares(A, B, GUISES[guise](scaled), level, solver=solver)
        torch.testing.assert_close(got, theta, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(multipliers * rows, nu, rtol=1e-8, atol=1e-8)
        found = torch.autograd.grad((got * slopes).sum(), (A, B, level))
        for one, other in zip((*found[:2], found[2] * rows), expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_constraints_of_any_size_have_their_gradients(solver):
    A, B, C, D = problem()
    rows = torch.tensor([[1e-170], [1e140]], dtype=torch.float64)
    loss = constrained_least_squares(A, B, C, D)[0].square().sum()
    (expected,) = torch.autograd.grad(loss, C)
    scaled = (rows * C.detach()).requires_grad_()
    loss = constrained_least_squares(A, B, scaled, rows * D, solver=solver)[0].square().sum()
    (slope,) = torch.autograd.grad(loss, scaled)
    torch.testing.assert_close(slope * rows, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_small_constraints_that_repeat_contradict_or_ask_too_much_are_told(solver):
    A, B, C, D = (t.detach() for t in problem(20, 6, 3, 1))
    C, D = 1e-170 * torch.cat([C, 3 * C[1:2]]), 1e-170 * torch.cat([D, 3 * D[1:2]])
    with pytest.raises(SolveError, match="redundant: row 3 of C is a combination of row 1, and so is D"):
        constrained_least_squares(A, B, C, D, solver=solver)
    D[3] *= 2
    with pytest.raises(SolveError, match="inconsistent: row 3 of C is a combination of row 1, but D is not"):
        constrained_least_squares(A, B, C, D, solver=solver)
    D[0] = 1e100
    with pytest.raises(SolveError, match="Row 0 of D is so much larger than that of C that θ would"):
        constrained_least_squares(A, B, C[:3], D[:3], solver=solver)
    C[2] *= 1e-135
    with pytest.raises(SolveError, match="Row 2 of C holds no number of 1e-301 or more in size: multiply it, and D"):
        constrained_least_squares(A, B, C[:3], D[:3], solver=solver)


def test_float32_is_solved_in_float64():
    A, B, C, D = (t.detach().float() for t in problem())
    theta, nu = constrained_least_squares(A, B, C, D)
    exact = constrained_least_squares(*(t.double() for t in (A, B, C, D)))
    assert theta.dtype == nu.dtype == torch.float32
    assert torch.equal(theta, exact[0].float())
    assert torch.equal(nu, exact[1].float())


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("kind", ["coo", "csr", "scipy", "mixed"])
def test_sparse_as_dense(kind):
    A, B, C, D = (t.detach() for t in problem(120, 30, 6, 3))
    A, C = A * (random(120, 30, seed=8) > 0.8), C * (random(6, 30, seed=9) > 0.3)
    A[:30] += 2 * torch.eye(30, dtype=torch.float64)
    convert = {
        "coo": torch.Tensor.to_sparse,
        "csr": torch.Tensor.to_sparse_csr,
        "scipy": lambda t: sparse.csr_array(t.numpy()),
        "mixed": torch.Tensor.to_sparse,
    }[kind]
    given = [convert(A), B.clone(), C.clone() if kind == "mixed" else convert(C), D.clone()]
    wanted = [i for i, t in enumerate(given) if isinstance(t, torch.Tensor)]
    for i in wanted:
        given[i].requires_grad_()
    dense = [t.requires_grad_() for t in (A, B, C, D)]
    slopes = random(30, 3, seed=10), random(6, 3, seed=11)
    results = []
    for inputs in (given, dense):
        theta, nu = constrained_least_squares(*inputs)
        loss = (theta * slopes[0]).sum() + (nu * slopes[1]).sum()
        results.append(((theta, nu), torch.autograd.grad(loss, [inputs[i] for i in wanted])))
    for got, expected in zip(results[0][0], results[1][0], strict=True):
        assert torch.allclose(got, expected, atol=1e-8)
    for got, expected in zip(results[0][1], results[1][1], strict=True):
        if got.layout is torch.strided:
            assert torch.allclose(got, expected, atol=1e-8)
        else:
            pattern = got.to_sparse_coo().coalesce()
            assert torch.allclose(pattern.values(), expected[tuple(pattern.indices())], atol=1e-8)


class Difference(LinearOperator):
    """C θ = a (θ_0 − θ_{n−1}), and A θ = a θ where ``whole``: operators with one tuned number."""

    def __init__(self, a: torch.Tensor, n: int, whole: bool) -> None:
        self.a, self.n, self.whole = a, n, whole

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n if self.whole else 1), self.n

    def matvec(self, V):
        return self.a * (V if self.whole else V[:1] - V[-1:])

    def rmatvec(self, U):
        return self.a * (U if self.whole else torch.cat([U, U.new_zeros(self.n - 2, U.shape[1]), -U]))

    def parameters(self):
        return (self.a,)


def test_operators_that_share_a_parameter():
    a = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
    B, D = random(4, 2).requires_grad_(), random(1, 2, seed=1).requires_grad_()

    def solve(a, B, D):
        A, C = Difference(a, 4, True), Difference(a, 4, False)
        return constrained_least_squares(A, B, C, D, solver=MINRES(tolerance=1e-13))

    def dense(a, B, D):
        eye = torch.eye(4, dtype=torch.float64)
        return constrained_least_squares(a * eye, B, a * (eye[:1] - eye[-1:]), D)

    for got, expected in zip(solve(a, B, D), dense(a, B, D), strict=True):
        assert torch.allclose(got, expected, atol=1e-11)
    assert torch.autograd.gradcheck(solve, (a, B, D))
    assert torch.autograd.gradgradcheck(solve, (a, B, D))


@pytest.mark.parametrize("solver", [None, MINRES()], ids=repr)
@pytest.mark.parametrize("m", [1, 2])
def test_redundant_rows_are_named(solver, m):
    A, B, C, D = (t.detach() for t in problem(20, 6, 3, m))
    mix = torch.tensor([[1.0, 0, 0], [0, 1, 0], [2, -1, 0], [0, 0, 1]], dtype=torch.float64)
    with pytest.raises(SolveError, match="redundant: row 2 of C is a combination of rows 0 and 1, and so is D") as got:
        constrained_least_squares(A, B, mix @ C, mix @ D, solver=solver)
    assert got.value.outcome.reason is Reason.REDUNDANT_CONSTRAINTS
    assert got.value.outcome.rows == (2,)


@pytest.mark.parametrize("solver", [None, MINRES()], ids=repr)
@pytest.mark.parametrize("m", [1, 2])
def test_inconsistent_rows_are_named(solver, m):
    A, B, C, D = (t.detach() for t in problem(20, 6, 3, m))
    C, D = torch.cat([C, 3 * C[1:2]]), torch.cat([D, 3 * D[1:2]])
    D[3, -1] += 1
    with pytest.raises(SolveError, match="inconsistent: row 3 of C is a combination of row 1, but D is not") as got:
        constrained_least_squares(A, B, C, D, solver=solver)
    assert got.value.outcome.reason is Reason.INCONSISTENT_CONSTRAINTS
    assert got.value.outcome.rows == (3,)


@pytest.mark.parametrize("solver", [None, MINRES()], ids=repr)
def test_a_zero_row_and_more_rows_than_columns(solver):
    A, B, C, D = (t.detach() for t in problem(20, 3, 5, 1))
    with pytest.raises(SolveError, match="rows 0, 1 and 2") as got:
        constrained_least_squares(A, B, C, C @ random(3, 1, seed=5), solver=solver)
    assert got.value.outcome.rows == (3, 4)
    C[1] = 0
    with pytest.raises(SolveError, match="row 1 of C is zero"):
        constrained_least_squares(A, B, C[:3], D[:3], solver=solver)


def test_judgement_by_hand():
    # Rows 0 and 2 are x = 1 and 2x = 2: redundant. Row 3 says x + y = 0, where rows 0 and 1 make it 1 + 1.
    C, D = np.array([[1.0, 0], [0, 1], [2, 0], [1, 1]]), np.array([[1.0], [1], [2], [0]])
    assert judge_constraints(C[:2], D[:2]).ok
    assert judge_constraints(C[:3], D[:3]).rows == (2,)
    outcome = judge_constraints(C, D)
    assert (outcome.reason, outcome.rows) == (Reason.INCONSISTENT_CONSTRAINTS, (3,))


@pytest.mark.parametrize("solver", [None, MINRES()], ids=repr)
def test_what_neither_A_nor_C_determines_is_named(solver):
    A, B, C, D = (t.detach().clone() for t in problem(20, 6, 2, 1))
    A[:, 4] = A[:, 3]
    C[:, 4] = C[:, 3]
    with pytest.raises(SolveError, match="of A and C together do not determine") as got:
        constrained_least_squares(A, B, C, D, solver=solver)
    assert got.value.outcome.reason is Reason.RANK_DEFICIENT
    assert 4 in got.value.outcome.columns
    C[0, 4] += 1
    constrained_least_squares(A, B, C, D, solver=solver)


def test_too_few_iterations_is_an_outcome():
    A, B, C, D = (t.detach() for t in problem(60, 30, 5, 1))
    with pytest.raises(SolveError, match="MINRES stopped") as got:
        constrained_least_squares(A, B, C, D, solver=MINRES(max_iterations=4))
    assert got.value.outcome.reason is Reason.NOT_CONVERGED


def test_nan_in_D_is_named():
    A, B, C, D = (t.detach() for t in problem())
    D[1, 0] = torch.nan
    with pytest.raises(SolveError, match="D holds a NaN or an infinity, first at row 1, column 0"):
        constrained_least_squares(A, B, C, D)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": torch.ones(2, 4, dtype=torch.float64)}, "A has 5 columns and C has 4"),
        ({"D": torch.ones(2, 3, dtype=torch.float64)}, "as many columns in D as in B"),
        ({"D": torch.ones(2, dtype=torch.float64)}, "as many columns in D as in B"),
        ({"D": torch.ones(3, 2, dtype=torch.float64)}, r"C of shape \(2, 5\) and D of shape \(3, 2\)"),
        ({"C": torch.ones(2, 5)}, "C is torch.float32 and D is torch.float64"),
        ({"C": [[1.0] * 5]}, "C is of type list"),
    ],
)
def test_bad_input(change, message):
    inputs = dict(zip("ABCD", (t.detach() for t in problem()), strict=True)) | change
    with pytest.raises(ValueError, match=message):
        constrained_least_squares(**inputs)
    with pytest.raises(ValueError, match="expected MINRES"):
        constrained_least_squares(*(t.detach() for t in problem()), solver="ldl")
