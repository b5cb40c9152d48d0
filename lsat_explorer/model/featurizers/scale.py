"""A shift and a scale for each column."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..piece import Omega, flag, register
from ..prepared import Block, Featurizer

__all__ = ["Scale", "centre_and_spread"]

_CHUNK = 8192
"""Rows taken to float64 at a time."""

_SMALL = 2.0**-400
_LEAST = 1e-290
"""A column that varies by less is taken for one that does not: its entries have lost digits already."""


def centre_and_spread(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and deviation (d,) of the columns in float64; the deviation is 1 where a column does not vary."""
    chunks, k = inputs.split(_CHUNK), len(inputs)
    mean = sum(rows.double().sum(0) for rows in chunks) / k
    largest = torch.maximum(inputs.amax(0).abs(), inputs.amin(0).abs()).double()
    # Squares of numbers below 10⁻¹⁵⁴ are no numbers; a power of two takes them there and back without a rounding.
    unit = torch.ones_like(largest).masked_fill(largest < _SMALL, 1 / _SMALL)
    deviation = (sum(((rows.double() - mean) * unit).square().sum(0) for rows in chunks) / k).sqrt() / unit
    varies = deviation > (1e-12 * largest).clamp_min(_LEAST)
    return mean, torch.where(varies, deviation, 1.0)


@register
@dataclass(frozen=True, repr=False)
class Scale(Featurizer):
    """φ(x)_j = e^{s_j} (x_j − b_j), ``log_scale`` s and ``shift`` b per column, both in ω.

    They start at standardisation on the training rows: b the mean, s = −log of the standard deviation, 0 where a column
    does not vary. ``tuned=False`` holds them there and leaves nothing in ω.

    Examples
    --------
    >>> Scale(tuned=False)
    Scale(tuned=False)
    """

    tuned: bool = True

    def __post_init__(self) -> None:
        flag(self.tuned, "Scale: tuned")

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block that starts at the mean and deviation of inputs (k, d)."""
        mean, deviation = centre_and_spread(inputs)
        return _Scale(-deviation.log(), mean, self.tuned)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return _Scale(state["log_scale"], state["shift"], self.tuned)


class _Scale(Block):
    light = True

    def __init__(self, log_scale: Tensor, shift: Tensor, tuned: bool) -> None:
        self._start = {"log_scale": log_scale, "shift": shift}
        self._tuned = tuned
        self.width = len(shift)

    def init(self) -> Omega:
        return dict(self._start) if self._tuned else {}

    def precompute(self, inputs: Tensor) -> Tensor:
        # The start is subtracted in float64: a column of large, close numbers then survives float32.
        return (inputs - self._start["shift"]) * self._start["log_scale"].exp()

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        if not self._tuned:
            return computed
        moved = (omega["shift"] - self._start["shift"]) * self._start["log_scale"].exp()
        scale = (omega["log_scale"] - self._start["log_scale"]).exp()
        return (computed - moved.to(computed.dtype)) * scale.to(computed.dtype)

    def state(self) -> dict[str, Tensor]:
        return dict(self._start)
