"""A weight for each training row, in ω."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from .piece import Omega, Piece, register

__all__ = ["DataWeights", "LogWeights"]


class DataWeights(Piece, ABC):
    """Description of how training rows are weighted; row i counts e^{2ω_i} times."""

    @abstractmethod
    def init(self, rows: int) -> Omega:
        """Return the starting values for so many training rows."""


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

    def init(self, rows: int) -> Omega:
        """Return ``log_weight`` (rows,), zeros."""
        return {"log_weight": torch.zeros(rows, dtype=torch.float64)}
