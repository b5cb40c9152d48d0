"""Least squares auto-tuning: tune the hyper-parameters of least squares fits by descending the validation loss.

Barratt and Boyd, "Least squares auto-tuning" (2019).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .data import Data, Split
from .engines import available_devices
from .model import (
    AbsoluteValue,
    Bisquare,
    Box,
    Cardinality,
    Chain,
    Chunks,
    Concat,
    Constant,
    CrossEntropy,
    CustomLoss,
    Dask,
    Diagonal,
    EarlyStopping,
    FixedWeights,
    FromModule,
    Frozen,
    Graph,
    GroupWeights,
    Huber,
    Identity,
    KMeansArchetypes,
    LogWeights,
    LowRank,
    Matrix,
    Memory,
    PowerTransform,
    RandomPatches,
    Recipe,
    Ridge,
    Scale,
    SelectFeatures,
    Smooth,
    Spline,
    SquaredError,
    Stack,
    Sum,
    SumSquares,
    Times,
    ZeroSum,
    graphs,
    recipes,
    register_loss,
    register_module,
)
from .solve import (
    CG,
    LSMR,
    MINRES,
    QR,
    Cholesky,
    LinearOperator,
    Outcome,
    SolveError,
    SparseMatrix,
    constrained_least_squares,
    least_squares,
    multi_objective,
)
from .solve.first_calls import call_elementary_once
from .tune import (
    GCV,
    LBFGS,
    Checkpoint,
    Counted,
    FittedModel,
    Grid,
    HeldOut,
    Iterate,
    KFold,
    LeaveOneOut,
    LineSearch,
    MultiStart,
    Problem,
    ProximalGradient,
    Run,
    Status,
    refit,
    tune,
)

if TYPE_CHECKING:
    from . import explain, plots, streams, widgets
    from .data import datasets
    from .estimators import TunedLeastSquaresClassifier, TunedLeastSquaresRegressor
    from .verdicts import Verdicts

__version__ = "0.1.0"

call_elementary_once()  # before any number is computed by several threads

__all__ = [
    "CG",
    "GCV",
    "LBFGS",
    "LSMR",
    "MINRES",
    "QR",
    "AbsoluteValue",
    "Bisquare",
    "Box",
    "Cardinality",
    "Chain",
    "Checkpoint",
    "Cholesky",
    "Chunks",
    "Concat",
    "Constant",
    "Counted",
    "CrossEntropy",
    "CustomLoss",
    "Dask",
    "Data",
    "Diagonal",
    "EarlyStopping",
    "FittedModel",
    "FixedWeights",
    "FromModule",
    "Frozen",
    "Graph",
    "Grid",
    "GroupWeights",
    "HeldOut",
    "Huber",
    "Identity",
    "Iterate",
    "KFold",
    "KMeansArchetypes",
    "LeaveOneOut",
    "LineSearch",
    "LinearOperator",
    "LogWeights",
    "LowRank",
    "Matrix",
    "Memory",
    "MultiStart",
    "Outcome",
    "PowerTransform",
    "Problem",
    "ProximalGradient",
    "RandomPatches",
    "Recipe",
    "Ridge",
    "Run",
    "Scale",
    "SelectFeatures",
    "Smooth",
    "SolveError",
    "SparseMatrix",
    "Spline",
    "Split",
    "SquaredError",
    "Stack",
    "Status",
    "Sum",
    "SumSquares",
    "Times",
    "TunedLeastSquaresClassifier",
    "TunedLeastSquaresRegressor",
    "Verdicts",
    "ZeroSum",
    "available_devices",
    "constrained_least_squares",
    "datasets",
    "explain",
    "graphs",
    "least_squares",
    "multi_objective",
    "plots",
    "recipes",
    "refit",
    "register_loss",
    "register_module",
    "streams",
    "tune",
    "widgets",
]

_LAZY = {
    "TunedLeastSquaresClassifier": "lsat_explorer.estimators:TunedLeastSquaresClassifier",
    "TunedLeastSquaresRegressor": "lsat_explorer.estimators:TunedLeastSquaresRegressor",
    "Verdicts": "lsat_explorer.verdicts:Verdicts",
    "datasets": "lsat_explorer.data.datasets",
    "explain": "lsat_explorer.explain",
    "plots": "lsat_explorer.plots",
    "streams": "lsat_explorer.streams",
    "widgets": "lsat_explorer.widgets",
}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    found: Any = importlib.import_module(module)
    found = getattr(found, attribute) if attribute else found
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
