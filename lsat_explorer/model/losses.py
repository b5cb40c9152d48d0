"""Losses: the true objective ψ, a mean over validation rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from .piece import Omega, Piece, register, tensor

__all__ = ["CrossEntropy", "Loss", "SquaredError"]


class Loss(Piece, ABC):
    """Description of a loss; parameters that it tunes live in ω under ``loss.``."""

    classifies = False
    """Whether the targets are one-hot classes."""

    def init(self) -> Omega:
        """Return the starting values of the loss's own parameters."""
        return {}

    @abstractmethod
    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean loss of ``predictions`` (N, m) for ``targets`` (N, m), a scalar."""


@register
@dataclass(frozen=True, repr=False)
class SquaredError(Loss):
    """ψ = (1/N) Σ_i ‖ŷ_i − y_i‖².

    Examples
    --------
    >>> import torch
    >>> SquaredError().value(torch.tensor([[3.0]]), torch.tensor([[1.0]]), {}).item()
    4.0
    """

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean squared norm of the errors."""
        return (predictions - targets).square().sum(1).mean()


@register
@dataclass(frozen=True, repr=False)
class CrossEntropy(Loss):
    """ψ = −(1/N) Σ_i y_iᵀ log softmax(e^τ ŷ_i), y_i one-hot; τ = 0, or tuned when ``temperature`` is True.

    Least squares scores lie between 0 and 1: without a temperature even perfect ones have the loss log(1 + (m−1)/e),
    1.461 for ten classes.

    Examples
    --------
    >>> import torch
    >>> round(CrossEntropy().value(torch.eye(10), torch.eye(10), {}).item(), 3)
    1.461
    """

    temperature: bool = False
    classifies = True

    def __post_init__(self) -> None:
        if not isinstance(self.temperature, bool):
            raise ValueError(f"CrossEntropy: temperature is {self.temperature!r}, expected True (tuned) or False.")

    def init(self) -> Omega:
        """Return ``log_temperature`` τ = 0 when it is tuned."""
        return {"log_temperature": tensor(0.0)} if self.temperature else {}

    def scores(self, predictions: Tensor, omega: Omega) -> Tensor:
        """Return the logits e^τ ŷ."""
        return predictions * omega["log_temperature"].exp() if self.temperature else predictions

    def value(self, predictions: Tensor, targets: Tensor, omega: Omega) -> Tensor:
        """Return the mean cross-entropy."""
        return -(targets * torch.log_softmax(self.scores(predictions, omega), dim=1)).sum(1).mean()
