"""A weight for each training row, in ω."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from .piece import Omega, Piece, register

__all__ = ["DataWeights", "LogWeights"]


class DataWeights(Piece, ABC):
    """Description of how training rows are weighted; row i counts e^{2ω_i} times."""

    @abstractmethod
    def init(self, targets: Tensor) -> Omega:
        """Return the starting values for training rows with ``targets`` (k, m)."""

    @abstractmethod
    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ω_i (k,), one a training row, differentiable in ``omega``."""


@register
@dataclass(frozen=True, repr=False)
class LogWeights(DataWeights):
    """One log weight ω_i for each training row, which then counts e^{2ω_i} times; starts at 0.

    Pair it with `SumSquares` and `ZeroSum` as hyper-penalties: there are as many weights as rows, and they fit the
    validation rows.

    Examples
    --------
    >>> LogWeights()
    LogWeights()
    """

    def init(self, targets: Tensor) -> Omega:
        """Return ``log_weight`` (k,), zeros."""
        return {"log_weight": torch.zeros(len(targets), dtype=torch.float64)}

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ``log_weight`` itself."""
        return omega["log_weight"]
