"""Faults to survive, 6, 10 and 15: columns that depend on each other, matrices without full rank, sparse ones."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from cases import RIDGE, ROWS, X, Y, data_of, model_of, numbers, solvers
from lsat_explorer.solve.outcome import Reason, SolveError

one = X[:, :1]
DEPENDENT = {
    "x x 1 1": np.column_stack([one, one, np.ones((ROWS, 2))]),
    "constant": np.column_stack([X, np.ones(ROWS)]),
    "zero": np.column_stack([X, np.zeros(ROWS)]),
    "sum": np.column_stack([X, X.sum(1)]),
}


@pytest.mark.parametrize("kind", DEPENDENT)
@numbers
def test_case_06_dependent_columns_are_solved_by_a_ridge(kind: str, entry: Any) -> None:
    assert np.isfinite(entry(DEPENDENT[kind], Y)).all()


@pytest.mark.parametrize("kind", DEPENDENT)
def test_case_06_without_a_ridge_dependent_columns_are_named(kind: str) -> None:
    Z = DEPENDENT[kind]
    difference = np.eye(Z.shape[1])[:1] - np.eye(Z.shape[1])[1:2]
    more = {"one": lsat.Constant()} if kind == "constant" else {}
    features = lsat.Concat(x=lsat.Identity(), **more)
    recipe = RIDGE.replace(regularizer=lsat.Matrix(difference, block="x"), featurizer=features)
    with pytest.raises(ValueError, match=r"Feature \d is a combination of the features before it"):
        model_of(recipe, data_of(Z))


@solvers
def test_case_06_a_solver_names_dependent_columns(solver: Any) -> None:
    with pytest.raises(SolveError, match=r"[Cc]olumns? .*(combination|dependent|zero)") as error:
        lsat.least_squares(torch.from_numpy(DEPENDENT["x x 1 1"]), torch.from_numpy(Y), solver=solver)
    assert error.value.outcome.reason is Reason.RANK_DEFICIENT
    assert error.value.outcome.column is not None or error.value.outcome.columns


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
@pytest.mark.parametrize("solver", [lsat.Cholesky(), lsat.QR(), lsat.LSMR()], ids=["cholesky", "qr", "lsmr"])
def test_case_10_a_rank_deficient_matrix_has_the_same_outcome_everywhere(solver: Any, device: str) -> None:
    A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype=torch.float64, device=device)
    with pytest.raises(SolveError) as error:
        lsat.least_squares(A, torch.ones(3, dtype=torch.float64, device=device), solver=solver)
    assert error.value.outcome.reason is Reason.RANK_DEFICIENT


@pytest.mark.parametrize("solver", [lsat.LSMR(), lsat.CG()], ids=["lsmr", "cg"])
def test_case_15_a_sparse_matrix_with_weights_and_a_constant_is_as_a_dense_one(solver: Any) -> None:
    k, n = 40_000, 200
    S = sparse.random_array((k, n), density=0.002, rng=np.random.default_rng(0), format="csr")
    S = sparse.csr_array(sparse.hstack([S, np.ones((k, 1))]))
    root = np.sqrt(np.random.default_rng(1).uniform(0.5, 2, k))
    A = sparse.csr_array(sparse.diags_array(root) @ S)
    B = torch.from_numpy(root * np.random.default_rng(2).normal(size=k))
    tracemalloc.start()
    theta = lsat.least_squares(A, B, solver=solver)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * k * n * 8
    expected = lsat.least_squares(torch.from_numpy(A.toarray()), B)
    np.testing.assert_allclose(theta.numpy(), expected.numpy(), rtol=0, atol=1e-8 * float(expected.abs().max()) * 10)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_case_15_the_estimator_takes_sparse_rows_as_dense_ones(form: Any) -> None:
    Z = np.column_stack([np.where(X > 1, X, 0.0), np.ones(ROWS)])
    weights = np.linspace(0.5, 2, ROWS)
    expected = lsat.TunedLeastSquaresRegressor().fit(Z, Y, sample_weight=weights).predict(Z)
    found = lsat.TunedLeastSquaresRegressor().fit(form(Z), Y, sample_weight=weights)
    np.testing.assert_allclose(found.predict(form(Z)), expected, atol=1e-8)
