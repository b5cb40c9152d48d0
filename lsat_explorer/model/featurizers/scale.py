"""A shift and a scale for each column."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy import sparse
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
    """Return mean and deviation (d,) of the columns in float64; the deviation is 1 where a column does not vary.

    The inputs (k, d) may be a sparse tensor by rows, each entry of which is there once.
    """
    if inputs.layout is torch.sparse_csr:
        return _of_sparse(inputs)
    chunks, k = inputs.split(_CHUNK), len(inputs)
    mean = sum(rows.double().sum(0) for rows in chunks) / k
    largest = torch.maximum(inputs.amax(0).abs(), inputs.amin(0).abs()).double()
    unit = _unit(largest)
    squares = sum(((rows.double() - mean) * unit).square().sum(0) for rows in chunks)
    return mean, _deviation(squares / k, unit, largest)


def _unit(largest: Tensor) -> Tensor:
    """Return a power of two for each column, which takes numbers that have no squares there and back unrounded."""
    return torch.ones_like(largest).masked_fill(largest < _SMALL, 1 / _SMALL)


def _deviation(variance: Tensor, unit: Tensor, largest: Tensor) -> Tensor:
    deviation = variance.sqrt() / unit
    varies = deviation > (1e-12 * largest).clamp_min(_LEAST)
    return torch.where(varies, deviation, 1.0)


def _of_sparse(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same of a sparse tensor, whose entries that are not there are zeros."""
    from sklearn.utils.sparsefuncs import mean_variance_axis

    columns, values = inputs.col_indices(), inputs.values().double()
    largest = values.new_zeros(inputs.shape[1]).scatter_reduce_(0, columns, values.abs(), "amax")
    unit = _unit(largest)
    scaled = (values * unit[columns]).numpy(), columns.numpy(), inputs.crow_indices().numpy()
    mean, variance = map(
        torch.from_numpy, mean_variance_axis(sparse.csr_array(scaled, shape=(len(inputs), len(largest))), 0)
    )
    return mean / unit, _deviation(variance, unit, largest)


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

    def takes_sparse(self) -> bool:
        """Return True."""
        return True

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

    def columnwise(self, omega: Omega) -> tuple[Tensor, Tensor]:
        at = omega if self._tuned else self._start
        return at["log_scale"].exp(), at["shift"]

    def state(self) -> dict[str, Tensor]:
        return dict(self._start)
