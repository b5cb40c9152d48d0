"""From a recipe and data to a tuned model."""

from __future__ import annotations

from .criteria import HeldOut
from .fitted import FittedModel
from .iterate import Iterate, Status
from .problem import Evaluation, Problem
from .proximal_gradient import ProximalGradient
from .run import Run, TestResult, tune

__all__ = [
    "Evaluation",
    "FittedModel",
    "HeldOut",
    "Iterate",
    "Problem",
    "ProximalGradient",
    "Run",
    "Status",
    "TestResult",
    "tune",
]
