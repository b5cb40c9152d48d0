"""The hyper-penalty of entries of ω that a recipe says nothing about."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ..model.hyper_penalties import HyperPenalty
from ..model.piece import Omega, nearest

__all__ = ["Reach", "completed"]

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


def completed(
    given: Mapping[str, HyperPenalty], own: Mapping[str, HyperPenalty], start: Omega
) -> dict[str, HyperPenalty]:
    """Return a hyper-penalty for each entry of ω: that of the recipe, the featurizer's ``own``, or a reach.

    Raises
    ------
    ValueError
        When a name is none of ω's.
    """
    for name in given:
        if name not in start:
            raise ValueError(f"hyper_penalties: ω has no entry {name!r}{nearest(name, start)}")
    known = {**own, **given}
    return {name: known[name] if name in known else Reach(name, value) for name, value in start.items()}
