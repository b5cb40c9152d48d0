"""Least squares solves with gradients: matrices in, matrices out; nothing here knows of data sets or models."""

from __future__ import annotations

from .dense import least_squares
from .outcome import Outcome, Reason, SolveError

__all__ = ["Outcome", "Reason", "SolveError", "least_squares"]
