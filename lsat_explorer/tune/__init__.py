"""From a recipe and data to a tuned model."""

from __future__ import annotations

from .criteria import GCV, HeldOut, KFold, LeaveOneOut
from .evaluation import Evaluation
from .fitted import FittedModel
from .iterate import Iterate, Status
from .problem import Problem
from .proximal_gradient import ProximalGradient
from .run import Run, TestResult, tune

__all__ = [
    "GCV",
    "Evaluation",
    "FittedModel",
    "HeldOut",
    "Iterate",
    "KFold",
    "LeaveOneOut",
    "Problem",
    "ProximalGradient",
    "Run",
    "Status",
    "TestResult",
    "tune",
]
