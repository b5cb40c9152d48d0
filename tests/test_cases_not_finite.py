"""Fault to survive, 9: NaN and infinities, named by split, row and column by every way in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import cases
import lsat_explorer as lsat
from cases import LABELS, RIDGE, ROWS, X, Y, data_of, model_of, numbers, solvers
from lsat_explorer.solve.outcome import SolveError

NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
not_finite = pytest.mark.parametrize("value", NOT_FINITE.values(), ids=NOT_FINITE)


def spoilt(values: np.ndarray, value: float, *place: int) -> np.ndarray:
    copied = values.astype(float)
    copied[place] = value
    return copied


@not_finite
@numbers
def test_case_09_the_first_entry_that_is_not_finite_is_named(value: float, entry: Any) -> None:
    with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 2"):
        entry(spoilt(X, value, 5, 2), Y)
    with pytest.raises(ValueError, match=rf"y has {value} at row 7"):
        entry(X, spoilt(Y, value, 7))
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"], index=[f"r{i}" for i in range(ROWS)])
    frame.loc["r5", "c"] = value
    named = "r5" if entry is not cases.from_rows else 5
    with pytest.raises(ValueError, match=rf"X has {value} at row {named!r}, column 2 \('c'\)"):
        entry(frame, pd.Series(Y, index=frame.index))


@not_finite
def test_case_09_other_splits_weights_and_recipes_name_what_is_not_finite(value: float) -> None:
    for split in ("validation", "test", "final"):
        given = {"train": (X, Y), "validation": (X, Y), split: (spoilt(X, value, 3, 1), Y)}
        with pytest.raises(ValueError, match=rf"{split} X has {value} at row 3, column 1"):
            lsat.Data.from_splits(**given)
        given[split] = (X, spoilt(Y, value, 4))
        with pytest.raises(ValueError, match=rf"{split} y has {value} at row 4"):
            lsat.Data.from_splits(**given)
    for make in (cases.regressor, cases.classifier):
        with pytest.raises(ValueError, match=rf"sample_weight has {value} at row 2"):
            make(X, LABELS, sample_weight=spoilt(np.ones(ROWS), value, 2))
    with pytest.raises(ValueError, match=rf"X holds {value} in row 1, column 'x2'"):
        model_of(RIDGE, data_of()).predict(spoilt(X, value, 1, 2))
    for make_piece in (
        lambda: lsat.Ridge(log_weight=value),
        lambda: lsat.SumSquares(value),
        lambda: lsat.AbsoluteValue(value),
        lambda: lsat.FixedWeights([1.0, value]),
        lambda: lsat.Huber(value),
        lambda: lsat.Matrix([[1.0, value]]),
        lambda: lsat.PowerTransform(exponent=value),
        lambda: lsat.LineSearch(tolerance=value),
    ):
        with pytest.raises(ValueError, match=r"nan|NaN|inf"):
            make_piece()


@not_finite
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_case_09_an_estimator_places_what_is_not_finite_in_sparse_rows(value: float, form: Any) -> None:
    with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 2"):
        cases.regressor(form(spoilt(X, value, 5, 2)), Y)


@not_finite
@solvers
def test_case_09_a_solver_places_what_is_not_finite(value: float, solver: Any) -> None:
    A, B = torch.from_numpy(spoilt(X, value, 5, 2)), torch.from_numpy(Y)
    forms = [A] if isinstance(solver, lsat.Cholesky | lsat.QR) else [A, A.to_sparse_csr(), sparse.csr_array(A.numpy())]
    for form in forms:
        with pytest.raises(SolveError, match="A holds a NaN or an infinity, first at row 5, column 2"):
            lsat.least_squares(form, B, solver=solver)
    with pytest.raises(SolveError, match="B holds a NaN or an infinity, first at row 7, column 0"):
        lsat.least_squares(torch.from_numpy(X), torch.from_numpy(spoilt(Y, value, 7)), solver=solver)


@not_finite
def test_case_09_a_table_in_a_file_names_what_is_not_finite(value: float, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    frame.loc[5, "b"] = value
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for read in (lsat.datasets.from_csv, lsat.datasets.from_parquet):
        path = tmp_path / f"t.{read.__name__.removeprefix('from_')}"
        with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 1 \('b'\)"):
            read(path, "y", progress=False, cache=False)
