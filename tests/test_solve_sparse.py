"""Sparse least squares: the answer and the gradients of dense ones, on the pattern only, and within memory."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from scipy import sparse

from lsat_explorer.solve import LSMR, SparseMatrix, least_squares
from thin import EXACT, SOLVERS, gradients, matrix, random


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


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_inference_mode_gives_the_same_answer(solver):
    A, B = sparse.csr_array(matrix().numpy()), random(400, 5, seed=1)
    expected = least_squares(A, B, solver=solver)
    with torch.inference_mode():
        torch.testing.assert_close(least_squares(A, B, solver=solver), expected, rtol=0, atol=0)


def test_indices_of_32_bits_count_beyond_their_range():
    size = 70_000
    places = torch.tensor([[size - 1, 0, 3], [size - 2, 1, size - 1]], dtype=torch.int32)
    A = SparseMatrix(places, torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64), (size, size))
    V = torch.arange(size, dtype=torch.float64)[:, None]
    found = A.matvec(V)
    assert found.nonzero()[:, 0].tolist() == [0, 3, size - 1]
    assert found[[0, 3, size - 1], 0].tolist() == [3.0, 4.0 * (size - 1), 2.0 * (size - 2)]
