"""Sparse matrices that do not fit, and what else is refused; of the warnings on the way none reaches the user."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

from lsat_explorer.solve import QR, SparseMatrix, least_squares
from thin import matrix, random


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


def test_the_caller_keeps_his_filters():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        least_squares(matrix().to_sparse(), random(400))
        warnings.warn("heard", UserWarning, stacklevel=1)
    assert [str(w.message) for w in seen] == ["heard"]
