"""Sparse and matrix-free least squares: as dense, on the pattern only, within memory, or an outcome."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

from lsat_explorer.solve import CG, LSMR, QR, LinearOperator, Reason, SolveError, SparseMatrix, least_squares

SOLVERS = [LSMR(), CG(), LSMR(jacobi=False), CG(jacobi=False)]
EXACT = [LSMR(tolerance=1e-13), CG(tolerance=1e-13)]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def matrix(k: int = 400, n: int = 60, density: float = 0.1, seed: int = 0) -> torch.Tensor:
    """Return a dense tensor with many zeros and independent columns."""
    kept = torch.rand(k, n, generator=torch.Generator().manual_seed(seed)) < density
    return random(k, n, seed=seed) * kept + torch.eye(k, n, dtype=torch.float64)


def gradients(A, B, solver=None):
    theta = least_squares(A, B, solver=solver)
    slope = random(*theta.shape, seed=99)
    wanted = [t for t in (A, B) if isinstance(t, torch.Tensor) and t.requires_grad]
    return theta, torch.autograd.grad((theta * slope).sum(), wanted)


def on_pattern(gradient: torch.Tensor, dense: torch.Tensor) -> None:
    """The sparse gradient is the dense one where the matrix has entries."""
    pattern = gradient.to_sparse_coo().coalesce()
    assert torch.allclose(pattern.values(), dense[tuple(pattern.indices())], rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_same_answer_and_gradient_as_dense(solver, layout):
    dense, B = matrix().requires_grad_(), random(400, 5, seed=1).requires_grad_()
    expected, (grad_A, grad_B) = gradients(dense, B)
    convert = torch.Tensor.to_sparse if layout == "coo" else torch.Tensor.to_sparse_csr
    A = convert(dense.detach()).requires_grad_()
    theta, (sparse_A, sparse_B) = gradients(A, B, solver)
    assert torch.allclose(theta, expected, rtol=0, atol=1e-8)
    assert torch.allclose(sparse_B, grad_B, rtol=0, atol=1e-8)
    assert sparse_A.layout == A.layout
    assert sparse_A._nnz() == A._nnz()
    on_pattern(sparse_A, grad_A)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array], ids=lambda f: f.__name__)
def test_scipy_is_a_constant(solver, make):
    dense, B = matrix(), random(400, seed=1).requires_grad_()
    expected, (grad_B,) = gradients(dense, B)
    theta, (found,) = gradients(make(dense.numpy()), B, solver)
    assert theta.shape == (60,)
    assert torch.allclose(theta, expected, rtol=0, atol=1e-8)
    assert torch.allclose(found, grad_B, rtol=0, atol=1e-8)


def test_gradient_by_the_formula_on_the_pattern():
    # (b_i − a_iθ) · C_j − (a_i C) · θ_j at the entries (i, j), and nowhere else.
    A, B = matrix(30, 8, 0.3).to_sparse().requires_grad_(), random(30, 2, seed=1)
    theta, (found,) = gradients(A, B, LSMR(tolerance=1e-13))
    dense, slope = A.detach().to_dense(), random(*theta.shape, seed=99)
    C = torch.linalg.solve(dense.mT @ dense, slope)
    pattern = found.coalesce()
    E, AC = B - dense @ theta, dense @ C
    for (i, j), value in zip(pattern.indices().T.tolist(), pattern.values(), strict=True):
        assert value.item() == pytest.approx((E[i] @ C[j] - AC[i] @ theta[j]).item(), abs=1e-10)
    assert torch.equal(pattern.indices(), A.detach().coalesce().indices())


@pytest.mark.parametrize("solver", EXACT, ids=repr)
def test_gradients_of_both_orders_in_the_values(solver):
    coo = matrix(7, 3, 0.4).to_sparse()

    def solve(values, B):
        return least_squares(SparseMatrix(coo.indices(), values, coo.shape), B, solver=solver)

    inputs = coo.values().clone().requires_grad_(), random(7, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(solve, inputs)
    assert torch.autograd.gradgradcheck(solve, inputs)


def test_entries_given_twice_and_in_any_order():
    rows, columns = torch.tensor([[2, 0, 1, 2, 0], [1, 0, 1, 1, 0]])
    values = torch.tensor([1.0, 2, 3, 4, 5], dtype=torch.float64, requires_grad=True)
    B = random(3, seed=1)
    A = torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (3, 2), check_invariants=False)
    theta = least_squares(A, B)
    assert torch.allclose(theta, least_squares(A.detach().to_dense(), B), atol=1e-9)
    (slope,) = torch.autograd.grad(theta.sum(), values)
    assert slope[0] == slope[3]
    assert slope[1] == slope[4]
    twice = sparse.csr_matrix((values.detach().numpy(), (rows.numpy(), columns.numpy())), shape=(3, 2))
    assert torch.allclose(least_squares(twice, B), theta, atol=1e-12)


def test_weights_and_a_constant_column():
    # Case 15.
    weights = torch.logspace(-2, 2, 400, dtype=torch.float64)[:, None]
    X = torch.cat([matrix(), torch.ones(400, 1, dtype=torch.float64)], 1)
    y = random(400, 2, seed=3)
    A = sparse.diags_array(weights[:, 0].numpy()) @ sparse.hstack(
        [sparse.csr_array(X[:, :-1].numpy()), np.ones((400, 1))]
    )
    assert torch.allclose(least_squares(A, weights * y), least_squares(weights * X, weights * y), rtol=0, atol=1e-8)


def test_float32_is_solved_in_float64():
    A, B = matrix().float(), random(400, 2, seed=1).float()
    sparse_A = A.to_sparse().requires_grad_()
    theta = least_squares(sparse_A, B)
    assert theta.dtype == torch.float32
    assert torch.allclose(theta, least_squares(A, B), atol=1e-6)
    (slope,) = torch.autograd.grad(theta.sum(), sparse_A)
    assert slope.dtype == torch.float32


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


def test_second_order_agrees_with_dense():
    # A check of gradients passes over an output that lost its graph; this does not.
    coo, B = matrix(7, 3, 0.4).to_sparse(), random(7, 1, seed=1)
    values = coo.values().clone().requires_grad_()
    results = []
    for make in (
        lambda: SparseMatrix(coo.indices(), values, (7, 3)),
        lambda: torch.zeros(7, 3, dtype=torch.float64).index_put(tuple(coo.indices()), values),
    ):
        (slope,) = torch.autograd.grad(least_squares(make(), B).pow(3).sum(), values, create_graph=True)
        results.append(torch.autograd.grad(slope.square().sum(), values)[0])
    assert torch.allclose(*results, atol=1e-8)
    A = coo.clone().requires_grad_()
    (slope,) = torch.autograd.grad(least_squares(A, B).pow(3).sum(), A, create_graph=True)
    (twice,) = torch.autograd.grad(slope.coalesce().values().square().sum(), A)
    assert torch.allclose(twice.coalesce().values(), results[0], atol=1e-8)


def test_where_torch_drops_a_second_derivative_it_is_refused():
    coo = matrix(7, 3, 0.4).to_sparse()
    values = coo.values().clone().requires_grad_()
    A = torch.sparse_coo_tensor(coo.indices(), values, coo.shape, check_invariants=False)
    loss = least_squares(A, random(7, 1, seed=1)).pow(3).sum()
    with pytest.raises(RuntimeError, match="SparseMatrix"):
        torch.autograd.grad(loss, values, create_graph=True)


def test_a_third_derivative_is_refused():
    coo = matrix(7, 3, 0.4).to_sparse()
    values = coo.values().clone().requires_grad_()
    total = least_squares(SparseMatrix(coo.indices(), values, (7, 3)), random(7, 1, seed=1)).pow(3).sum()
    for _ in range(2):
        (slope,) = torch.autograd.grad(total, values, create_graph=True)
        total = slope.square().sum()
    with pytest.raises(RuntimeError, match="A third derivative"):
        torch.autograd.grad(total, values)


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([[0, 2], [0, 1]], [1.0, 2], r"Entry \(2, 1\) lies outside a matrix of shape \(2, 2\)"),
        ([[0, 1], [0, -1]], [1.0, 2], r"Entry \(1, -1\)"),
        ([[0, 1]], [1.0, 2], r"indices \(1, 2\)"),
        ([[0, 1], [0, 1]], [1, 2], "int64 values"),
        ([[0, 1], [0, 1]], [1, float("nan")], "A holds a NaN"),
    ],
)
def test_a_sparse_matrix_that_does_not_fit_is_refused(indices, values, message):
    with pytest.raises(ValueError, match=message):
        SparseMatrix(torch.tensor(indices), torch.tensor(values), (2, 2))


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


def test_one_sparse_matrix_serves_many_backward_passes():
    A, B = matrix(), random(400, 2, seed=1)
    entries = A.to_sparse().coalesce()
    shuffled = torch.randperm(entries._nnz(), generator=torch.Generator().manual_seed(0))
    values = entries.values()[shuffled].requires_grad_()
    S = SparseMatrix(entries.indices()[:, shuffled], values, A.shape)
    found = []
    for scale in (1.0, 2.0):
        values.grad = None
        least_squares(S, scale * B).square().sum().backward()
        found.append(values.grad)
    assert torch.allclose(found[1], 4 * found[0], rtol=1e-6)


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


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(
    ("A", "message"),
    [
        (
            lambda: matrix().to_sparse_csc(),
            r"layout sparse_csc: expected CSR or COO, convert it with .to_sparse_csr\(\)",
        ),
        (lambda: matrix().to_sparse_bsr((2, 2)), "layout sparse_bsr"),
        (lambda: sparse.csr_array(np.ones((400, 2)) * 1j), "complex128: expected real"),
        (lambda: matrix().float().to_sparse(), "A is torch.float32 and B is torch.float64"),
        (lambda: matrix(40, 60).to_sparse(), r"A of shape \(40, 60\)"),
        (lambda: sparse.csr_array(np.full((400, 2), np.nan)), "A holds a NaN"),
        (lambda: (torch.nan * matrix()).to_sparse(), "A holds a NaN"),
    ],
)
def test_bad_input(A, message):
    with pytest.raises(ValueError, match=message):
        least_squares(A(), random(400))


def test_a_dense_solver_for_a_sparse_matrix_is_refused():
    with pytest.raises(ValueError, match=r"QR\(\) needs a dense A: use LSMR\(\) or CG\(\)"):
        least_squares(matrix().to_sparse(), random(400), solver=QR())


def test_no_warning_reaches_the_user():
    code = """
        import warnings
        import torch
        from scipy import sparse
        warnings.simplefilter("error")
        from lsat_explorer.solve import least_squares
        A = torch.eye(4, dtype=torch.float64).to_sparse().requires_grad_()
        B = torch.ones(4, dtype=torch.float64)
        before = list(warnings.filters)
        least_squares(A, B).sum().backward()
        least_squares(sparse.eye_array(4), B)
        assert all(kept in warnings.filters for kept in before)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


LARGE = """
    import json, time
    import torch
    from lsat_explorer.bench.machine import peak_memory
    from lsat_explorer.solve import LSMR, least_squares
    k, n, entries, m = 200_000, 20_000, 10, 5
    generator = torch.Generator().manual_seed(0)
    index = torch.stack([
        torch.arange(k).repeat_interleave(entries), torch.randint(0, n, (k * entries,), generator=generator)
    ])
    values = torch.randn(k * entries, generator=generator, dtype=torch.float64)
    A = torch.sparse_coo_tensor(index, values, (k, n), check_invariants=False).coalesce().requires_grad_()
    B = torch.randn(k, m, generator=generator, dtype=torch.float64, requires_grad=True)
    start = time.perf_counter()
    theta = least_squares(A, B, solver=LSMR(tolerance=1e-8))
    solved = time.perf_counter()
    theta.square().sum().backward()
    A, theta = A.detach(), theta.detach()
    residual = A.t() @ (B.detach() - A @ theta)
    print(json.dumps({
        "peak_mib": peak_memory() / 2**20,
        "solve_seconds": solved - start, "gradient_seconds": time.perf_counter() - solved,
        "residual": (residual.norm() / (A.t() @ B.detach()).norm()).item(),
    }))
"""


@pytest.mark.slow
def test_two_hundred_thousand_rows_stay_below_one_gigabyte():
    words = [sys.executable, "-c", textwrap.dedent(LARGE)]
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    print(report)
    assert report["peak_mib"] < 1000
    assert report["residual"] < 1e-8


def test_the_caller_keeps_his_filters():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        least_squares(matrix().to_sparse(), random(400))
        warnings.warn("heard", UserWarning, stacklevel=1)
    assert [str(w.message) for w in seen] == ["heard"]
