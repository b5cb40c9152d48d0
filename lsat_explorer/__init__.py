"""Least squares auto-tuning: tune the hyper-parameters of least squares fits by descending the validation loss.

Barratt and Boyd, "Least squares auto-tuning" (2019).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .data import Data, Split
from .engines import available_devices
from .model import (
    Box,
    Concat,
    Constant,
    CrossEntropy,
    Frozen,
    Graph,
    Identity,
    KMeansArchetypes,
    LogWeights,
    Recipe,
    Ridge,
    Scale,
    Smooth,
    SquaredError,
    Stack,
    SumSquares,
    ZeroSum,
    graphs,
    recipes,
)
from .model.hyper_penalties import Sum
from .solve import Outcome, SolveError, least_squares
from .tune import (
    GCV,
    FittedModel,
    HeldOut,
    Iterate,
    KFold,
    LeaveOneOut,
    Problem,
    ProximalGradient,
    Run,
    Status,
    tune,
)

if TYPE_CHECKING:
    from . import plots, widgets
    from .data import datasets

__version__ = "0.1.0"

__all__ = [
    "GCV",
    "Box",
    "Concat",
    "Constant",
    "CrossEntropy",
    "Data",
    "FittedModel",
    "Frozen",
    "Graph",
    "HeldOut",
    "Identity",
    "Iterate",
    "KFold",
    "KMeansArchetypes",
    "LeaveOneOut",
    "LogWeights",
    "Outcome",
    "Problem",
    "ProximalGradient",
    "Recipe",
    "Ridge",
    "Run",
    "Scale",
    "Smooth",
    "SolveError",
    "Split",
    "SquaredError",
    "Stack",
    "Status",
    "Sum",
    "SumSquares",
    "ZeroSum",
    "available_devices",
    "datasets",
    "graphs",
    "least_squares",
    "plots",
    "recipes",
    "tune",
    "widgets",
]

_LAZY = {"datasets": "lsat_explorer.data.datasets", "plots": "lsat_explorer.plots", "widgets": "lsat_explorer.widgets"}


def __getattr__(name: str) -> Any:
    """Load what is heavy when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    globals()[name] = module
    return module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
