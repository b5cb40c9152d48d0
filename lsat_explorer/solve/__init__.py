"""Least squares solves with gradients: matrices in, matrices out; nothing here knows of data sets or models."""

from __future__ import annotations

from .constrained import constrained_least_squares
from .dense import least_squares
from .matrices import SparseMatrix
from .multi import multi_objective
from .operators import LinearOperator
from .outcome import Outcome, Reason, SolveError
from .solvers import CG, LSMR, MINRES, QR, Cholesky

__all__ = [
    "CG",
    "LSMR",
    "MINRES",
    "QR",
    "Cholesky",
    "LinearOperator",
    "Outcome",
    "Reason",
    "SolveError",
    "SparseMatrix",
    "constrained_least_squares",
    "least_squares",
    "multi_objective",
]
