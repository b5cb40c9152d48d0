"""Dense least squares: its oracle, its derivatives of both orders, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from lsat_explorer import SolveError, least_squares
from lsat_explorer.solve import Reason
from lsat_explorer.solve.factor import factorize, solve_factored
from lsat_explorer.solve.gram import CHUNK, gram, mirrored, multiply, product, read


def problem(k: int = 12, n: int = 4, m: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(k, n, generator=generator, dtype=torch.float64)
    B = torch.randn(k, m, generator=generator, dtype=torch.float64)
    return A.requires_grad_(), B.requires_grad_()


def test_oracle_numpy_lstsq():
    A, B = (t.detach() for t in problem(200, 30, 5))
    expected = np.linalg.lstsq(A.numpy(), B.numpy(), rcond=None)[0]
    assert np.abs(least_squares(A, B).numpy() - expected).max() < 1e-13
    assert np.abs(least_squares(A, B[:, 0]).numpy() - expected[:, 0]).max() < 1e-13


def test_oracle_by_hand():
    # A = [1; 1], B = [0; 2]: θ = 1. ψ = θ² has C = 2θ/2 = 1: ∇_B = A C = (1, 1), ∇_A = (B − Aθ) C − A C θ = (−2, 0).
    A = torch.tensor([[1.0], [1.0]], dtype=torch.float64, requires_grad=True)
    B = torch.tensor([[0.0], [2.0]], dtype=torch.float64, requires_grad=True)
    least_squares(A, B).square().sum().backward()
    assert torch.allclose(A.grad, torch.tensor([[-2.0], [0.0]], dtype=torch.float64), atol=1e-14)
    assert torch.allclose(B.grad, torch.tensor([[1.0], [1.0]], dtype=torch.float64), atol=1e-14)


def test_gradients_of_first_order():
    assert torch.autograd.gradcheck(least_squares, problem())


def test_gradients_of_second_order():
    assert torch.autograd.gradgradcheck(least_squares, problem(8, 3, 2))


def test_gradients_agree_with_the_formulas():
    A, B = problem()
    theta = least_squares(A, B)
    slope = torch.randn_like(theta)
    grad_A, grad_B = torch.autograd.grad((theta * slope).sum(), (A, B))
    with torch.no_grad():
        C = torch.linalg.solve(A.mT @ A, slope)
        assert torch.allclose(grad_A, (B - A @ theta) @ C.mT - A @ C @ theta.mT, atol=1e-12)
        assert torch.allclose(grad_B, A @ C, atol=1e-12)


def test_float32_input_is_solved_in_float64():
    # Case 8: X = [1, 0 … 9999] in float32, as float64 to 1e-5.
    A = torch.stack([torch.ones(10_000), torch.arange(10_000.0)], 1)
    B = (3 + 0.5 * torch.arange(10_000.0))[:, None]
    theta = least_squares(A, B)
    assert theta.dtype == torch.float32
    assert torch.allclose(theta.double(), torch.tensor([[3.0], [0.5]], dtype=torch.float64), rtol=1e-5)


def test_columns_of_any_scale():
    # Case 2: scales that differ by 1e6; the solution scales back exactly.
    A, B = (t.detach() for t in problem(100, 6, 2))
    scale = torch.logspace(-6, 6, 6, dtype=torch.float64)
    expected = torch.linalg.lstsq(A, B).solution / scale[:, None]
    assert torch.allclose(least_squares(A * scale, B), expected, rtol=1e-9)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_rank_deficiency_is_an_outcome_that_names_the_column(device):
    # Case 10: the third column is the sum of the first two.
    A = torch.tensor([[1.0, 0, 1], [0, 1, 1], [1, 1, 2]], device=device)
    with pytest.raises(SolveError, match="Column 2 is a combination") as caught:
        least_squares(A, torch.ones(3, 1, device=device))
    assert caught.value.outcome.reason is Reason.RANK_DEFICIENT
    assert caught.value.outcome.column == 2


def test_a_zero_column_is_named():
    A = torch.tensor([[1.0, 0], [1, 0], [2, 0]])
    with pytest.raises(SolveError, match="Column 1"):
        least_squares(A, torch.ones(3))


def test_nan_is_never_called_rank_deficient():
    A, B = (t.detach() for t in problem())
    A[3, 1] = torch.nan
    with pytest.raises(SolveError, match="NaN"):
        least_squares(A, B)


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (torch.ones(3, 2), torch.ones(4, 1), r"\(3, 2\) and B of shape \(4, 1\)"),
        (torch.ones(3), torch.ones(3, 1), "do not fit"),
        (torch.ones(3, 2, dtype=torch.int64), torch.ones(3, 1), "int64"),
        (torch.ones(3, 2), torch.ones(3, 1, dtype=torch.float64), "float32 and B is torch.float64"),
        (torch.ones(2, 3), torch.ones(2, 1), "2 rows and 3 columns"),
        (np.ones((3, 2)), torch.ones(3, 1), "ndarray"),
    ],
)
def test_bad_input(A, B, message):
    with pytest.raises(ValueError, match=message):
        least_squares(A, B)


@pytest.mark.parametrize("n", [1, 128, 300])
def test_gram_and_product_over_several_chunks(n):
    rows = torch.randn(CHUNK + 700, n, generator=torch.Generator().manual_seed(1))
    exact = rows.double().mT @ rows.double()
    assert torch.allclose(gram(rows), exact, rtol=1e-5, atol=1e-3)
    assert torch.allclose(gram(rows, precise=True), exact, rtol=1e-12, atol=1e-10)
    assert torch.equal(gram(rows), gram(rows).mT)
    assert torch.allclose(product(rows, rows[:, :7], precise=True), rows.double().mT @ rows[:, :7].double(), rtol=1e-12)


@pytest.mark.parametrize("rows", [1, CHUNK, 2 * CHUNK, 2 * CHUNK + 1, 5 * CHUNK - 3])
@pytest.mark.parametrize("m", [1, 10, 20])
def test_products_with_many_rows_leave_no_row_out(rows, m):
    generator = torch.Generator().manual_seed(rows)
    X = torch.randn(rows, 150, generator=generator, dtype=torch.float64)
    matrix = torch.randn(150, m, generator=generator, dtype=torch.float64)
    weight = torch.randn(rows, generator=generator, dtype=torch.float64)
    assert torch.allclose(multiply(X, matrix), X @ matrix, rtol=1e-12, atol=1e-12)
    beside = torch.zeros(m, rows + 2, dtype=torch.float64)
    assert torch.equal(multiply(X, matrix, beside[:, 1:-1].mT), multiply(X, matrix))
    assert torch.equal(beside[:, 1:-1].mT, multiply(X, matrix))
    assert not beside[:, [0, -1]].any()
    assert torch.allclose(gram(X, weight=weight), X.mT @ (weight[:, None] * X), rtol=1e-10, atol=1e-10)
    E = X[:, :m]
    assert torch.allclose(product(E, X, weight=weight), E.mT @ (weight[:, None] * X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_converted_in_one_place_and_read_where_they_lie(dtype):
    rows = torch.randn(3 * CHUNK + 5, 3, dtype=dtype)
    for precise in (False, True):
        seen = [(some, chunk.data_ptr(), chunk.clone()) for some, chunk in read(rows, precise)]
        assert torch.equal(torch.cat([chunk for *_, chunk in seen]).to(dtype), rows)
        assert torch.equal(torch.cat([rows[some] for some, *_ in seen]), rows)
        if precise and dtype is torch.float32:
            assert len({place for _, place, _ in seen}) == 1
        else:
            assert [place for _, place, _ in seen] == [rows[some].data_ptr() for some, *_ in seen]


@pytest.mark.parametrize("n", [0, 1, 111, 113, 250, 885])
def test_junk_below_the_diagonal_is_gone(n):
    square = torch.randn(n, n, dtype=torch.float64)
    exact = square.triu() + square.triu(1).mT
    square[torch.ones(n, n, dtype=torch.bool).tril(-1)] = math.nan
    assert torch.equal(mirrored(square), exact)


def test_the_factor_scales_by_powers_of_two_without_a_rounding():
    A = torch.randn(60, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 10.0 ** torch.arange(7)
    G = gram(A)
    factor = factorize(G)
    assert torch.equal(factor.scaled / factor.scale / factor.scale[:, None], G)
    assert ((factor.scaled.diagonal() >= 0.5) & (factor.scaled.diagonal() <= 2)).all()
    assert torch.equal(factor.scale.log2(), factor.scale.log2().round())


@pytest.mark.parametrize(("condition", "sound"), [(1e2, True), (1e4, True), (1e6, True), (1e8, True), (1e11, False)])
def test_a_sound_factor_needs_no_refinement(condition, sound):
    generator = torch.Generator().manual_seed(0)
    V, _ = torch.linalg.qr(torch.randn(60, 60, generator=generator, dtype=torch.float64))
    exact = torch.randn(60, 3, generator=generator, dtype=torch.float64).sign()
    G = (V * torch.logspace(0, -math.log10(condition), 60, dtype=torch.float64)) @ V.mT
    factor = factorize((G + G.mT) / 2)
    right = factor.scaled / factor.scale / factor.scale[:, None] @ exact
    plain, refined, usual = (solve_factored(factor, right, refine=refine) for refine in (False, True, None))
    assert torch.equal(usual, plain if factor.sound else refined)
    assert factor.sound is sound
    if factor.sound:
        assert (plain - exact).norm() < 2 * (refined - exact).norm() + 1e-13


def test_refinement_undoes_the_rounding_of_the_factor():
    A, B = (t.detach() for t in problem(40, 8, 2))
    factor, right = factorize(gram(A)), A.mT @ B
    exact = torch.linalg.lstsq(A, B).solution
    rounded = replace(factor, lower=factor.lower.float().double())
    rough = (solve_factored(rounded, right, refine=False) - exact).norm()
    refined = (solve_factored(rounded, right, refine=True) - exact).norm()
    assert rough > 1e-9
    assert refined < 1e-5 * rough
