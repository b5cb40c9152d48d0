"""From a recipe and data to a tuned model."""

from __future__ import annotations

from .checkpoint import Checkpoint
from .criteria import GCV, Counted, HeldOut, KFold, LeaveOneOut
from .driver import tune
from .evaluation import Evaluation
from .fitted import FittedModel
from .iterate import Iterate, Status
from .last_fit import refit
from .last_look import TestResult
from .multi_start import Grid, MultiStart
from .problem import Problem
from .proximal_gradient import LineSearch, ProximalGradient
from .quasi_newton import LBFGS
from .run import Run

__all__ = [
    "GCV",
    "LBFGS",
    "Checkpoint",
    "Counted",
    "Evaluation",
    "FittedModel",
    "Grid",
    "HeldOut",
    "Iterate",
    "KFold",
    "LeaveOneOut",
    "LineSearch",
    "MultiStart",
    "Problem",
    "ProximalGradient",
    "Run",
    "Status",
    "TestResult",
    "refit",
    "tune",
]
