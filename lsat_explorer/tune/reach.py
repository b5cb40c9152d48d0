"""The hyper-penalty of entries of ω that a recipe says nothing about."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..model.hyper_penalties import HyperPenalty

__all__ = ["Reach"]

_REACH = 8.0


class Reach(HyperPenalty):
    """Keep log units within ±8 of their start, entry by entry, and other units free: one step cannot run away."""

    def __init__(self, name: str, start: Tensor) -> None:
        reach = _REACH if name.rpartition(".")[2].startswith("log_") else math.inf
        self.low, self.high = start - reach, start + reach

    def __repr__(self) -> str:
        return "the default reach"

    def value(self, omega: Tensor) -> Tensor:
        """Return 0 within reach of the start, else +∞."""
        return torch.where(((omega >= self.low) & (omega <= self.high)).all(), 0.0, math.inf)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        """Return ω clipped to the reach."""
        return omega.clamp(self.low, self.high)
