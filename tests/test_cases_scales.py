"""Faults to survive, 1, 2, 7 and 8: weak weights, columns of any scale, large numbers in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import cases
import lsat_explorer as lsat
from cases import (
    QUICK,
    RIDGE,
    ROWS,
    SOLVERS,
    X,
    Y,
    data_of,
    model_of,
    numbers,
    solvers,
)
from lsat_explorer.solve.outcome import Reason, SolveError
from lsat_explorer.solve.weighted import Moments, solve_normal


@pytest.mark.parametrize("log_weight", [-17.3, -40.0])
def test_case_01_a_weight_near_zero_fits_noise_free_data_exactly(log_weight: float) -> None:
    ridge = lsat.Ridge(block="x", log_weight=log_weight)
    model = model_of(RIDGE.replace(regularizer=ridge), data_of())
    np.testing.assert_allclose(model.predict(X), Y, rtol=0, atol=1e-8)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"Feature 3 is a combination .*: raise regularizer"):
        model_of(RIDGE.replace(regularizer=ridge), data_of(twice))


@solvers
def test_case_01_a_stacked_ridge_near_zero_is_solved_exactly(solver: Any) -> None:
    A = torch.from_numpy(np.concatenate([X, np.exp(-40) * np.eye(3)]))
    B = A @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    theta = lsat.least_squares(A, B, solver=solver)
    np.testing.assert_allclose((A @ theta).numpy(), B.numpy(), rtol=0, atol=1e-8)


SCALES = np.array([2e5, 2e8, 2e11])


@numbers
def test_case_02_columns_of_any_scale_predict_alike(entry: Any) -> None:
    expected = entry(X, Y)
    np.testing.assert_allclose(entry(X * SCALES, Y), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(entry(X * [1e-200, 1.0, 1e90], Y), expected, rtol=1e-6, atol=1e-6)


@solvers
def test_case_02_columns_of_any_scale_are_solved_as_by_qr(solver: Any) -> None:
    A = X * SCALES
    theta = lsat.least_squares(torch.from_numpy(A), torch.from_numpy(Y), solver=solver).numpy()
    np.testing.assert_allclose(A @ theta, X @ np.linalg.lstsq(X, Y)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("solver", [lsat.Cholesky(), lsat.QR()], ids=["cholesky", "qr"])
def test_case_02_numbers_whose_squares_are_none_are_solved_as_others(solver: Any, size: float) -> None:
    A, B = torch.from_numpy(X * [size, 1.0, 1.0]), torch.from_numpy(Y)
    expected = lsat.least_squares(torch.from_numpy(X), B, solver=solver) / torch.tensor(
        [size, 1.0, 1.0], dtype=torch.float64
    )
    np.testing.assert_allclose(lsat.least_squares(A, B, solver=solver).numpy(), expected.numpy(), rtol=1e-9)


@pytest.mark.parametrize("solver", [lsat.LSMR(), lsat.CG()], ids=["lsmr", "cg"])
def test_case_02_an_iteration_names_numbers_that_it_cannot_square(solver: Any) -> None:
    A = torch.from_numpy(X * [1.0, 1e300, 1.0])
    for given in (A, A.to_sparse_csr()):
        with pytest.raises(SolveError, match=r"A holds the number .*e\+(299|300), .*first at row 0, column 1: divide"):
            lsat.least_squares(given, torch.from_numpy(Y), solver=solver)


@numbers
def test_case_02_a_table_names_numbers_whose_squares_are_none(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"X has .*e\+\d+ at row \d+, column 1.*at most 1e\+100 in size; divide"):
        entry(X * [1.0, 1e200, 1.0], Y)
    with pytest.raises(ValueError, match=r"y has .* at row \d+.*at most 1e\+100 in size; divide"):
        entry(X, Y * 1e200)


def test_case_02_a_column_too_large_to_be_squared_is_named() -> None:
    gram = torch.eye(3, dtype=torch.float64)
    gram[1, 1] = float("inf")
    solution = solve_normal(Moments(gram, torch.ones(3, 1, dtype=torch.float64)), [], [])
    assert solution.outcome.reason is Reason.NOT_FINITE
    assert solution.outcome.column == 1
    assert solution.outcome.sentence.startswith("Feature 1 holds numbers too large to be squared: standardise")


@numbers
def test_case_07_a_large_float32_column_that_hardly_varies_is_as_in_float64(entry: Any) -> None:
    column = np.full(ROWS, 1e8, dtype=np.float32)
    column[3] += 8
    Z = np.column_stack([column, X[:, 0].astype(np.float32)]).astype(np.float32)
    for dtype in ("float64", "float32"):
        given = QUICK.replace(dtype=dtype)
        single = cases.fitted(data_of(Z), Z, given)
        np.testing.assert_allclose(single, cases.fitted(data_of(Z.astype(float)), Z.astype(float), given), atol=1e-3)
    np.testing.assert_allclose(entry(Z, Y), entry(Z.astype(float), Y), atol=1e-3)


@pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "none"])
def test_case_08_float32_of_large_numbers_is_as_float64(solver: Any) -> None:
    A = np.column_stack([np.ones(10_000), np.arange(10_000)]).astype(np.float32)
    B = (3 + 0.5 * A[:, 1]).astype(np.float32)
    theta = lsat.least_squares(torch.from_numpy(A), torch.from_numpy(B), solver=solver).numpy()
    np.testing.assert_allclose(theta, np.linalg.lstsq(A.astype(float), B.astype(float))[0], rtol=1e-5)


def test_case_08_a_recipe_in_float32_is_as_in_float64() -> None:
    Z, target = np.arange(2000.0)[:, None].astype(np.float32), 3 + 0.5 * np.arange(2000.0)
    models = [model_of(RIDGE.replace(dtype=dtype), data_of(Z, target)).predict(Z) for dtype in ("float32", "float64")]
    np.testing.assert_allclose(models[0], models[1], rtol=1e-5, atol=1e-2)
