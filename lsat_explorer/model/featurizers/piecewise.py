"""Piecewise polynomials of each column, by coefficients or by B-splines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..piece import Omega
from ..prepared import Block
from .scale import centre_and_spread

__all__ = ["BasisBlock", "PiecewiseBlock", "affine_start"]


def affine_start(knots: Tensor, inputs: Tensor, degree: int) -> Tensor:
    """Return the coefficients (d, intervals, degree + 1) of the straight line (x − mean) / deviation."""
    mean, deviation = centre_and_spread(inputs)
    start = torch.zeros(len(knots), knots.shape[1] - 1, degree + 1, dtype=torch.float64, device=knots.device)
    start[:, :, 0] = (knots[:, :-1] - mean[:, None]) / deviation[:, None]
    start[:, :, 1] = knots.diff(dim=1) / deviation[:, None]
    return start


def smooth_projection(knots: Tensor, degree: int, continuity: int) -> Tensor:
    """Return the projections (d, q, q) onto coefficients whose derivatives up to ``continuity`` agree at the knots.

    The r-th derivative at the right end of an interval of width w is Σ_p p! / (p − r)! C_p / w^r, at its left end
    r! C_r / w^r.
    """
    width = knots.diff(dim=1)
    d, intervals = width.shape
    size = degree + 1
    system = torch.zeros(
        d, (intervals - 1) * (continuity + 1), intervals * size, dtype=knots.dtype, device=knots.device
    )
    row = 0
    for i in range(intervals - 1):
        ratio = width[:, i] / width[:, i + 1]
        for r in range(continuity + 1):
            # Multiplied by w_i^r, and by the greater of the two sides, so that no row is tiny or huge.
            norm = torch.maximum(ratio**r, torch.ones_like(ratio))
            for p in range(r, size):
                system[:, row, i * size + p] = math.perm(p, r) / norm
            system[:, row, (i + 1) * size + r] = -math.factorial(r) * ratio**r / norm
            row += 1
    orthonormal = torch.linalg.qr(system.mT).Q
    return torch.eye(intervals * size, dtype=knots.dtype, device=knots.device) - orthonormal @ orthonormal.mT


class PiecewiseBlock(Block):
    """One polynomial piece an interval and column; ``knots`` (d, intervals + 1), ``start`` the coefficients."""

    def __init__(self, knots: Tensor, start: Tensor, continuity: int) -> None:
        self._knots, self._start = knots, start
        self._interior = knots[:, 1:-1].contiguous()
        self._projection = smooth_projection(knots, start.shape[2] - 1, continuity)
        self.width = len(knots)

    def init(self) -> Omega:
        """Return the starting ``coefficients``."""
        return {"coefficients": self._start}

    def precompute(self, inputs: Tensor) -> Tensor:
        """Return i + s (N, d): the number of the interval and the position in it."""
        rows = torch.minimum(torch.maximum(inputs, self._knots[:, 0]), self._knots[:, -1])
        interval = torch.searchsorted(self._interior, rows.detach().mT.contiguous(), right=True)
        left = self._knots.gather(1, interval).mT
        right = self._knots.gather(1, interval + 1).mT
        return interval.mT + (rows - left) / (right - left)

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        """Return the polynomials (N, d), by Horner's rule."""
        d, intervals, size = self._start.shape
        smooth = (self._projection @ omega["coefficients"].reshape(d, -1, 1)).reshape(d * intervals, size)
        interval = computed.detach().floor().clamp(0, intervals - 1)
        s = computed - interval
        which = interval.long() + intervals * torch.arange(d, device=computed.device)
        columns = smooth.to(computed.dtype).unbind(1)
        value = columns[-1][which]
        for column in columns[-2::-1]:
            value = value * s + column[which]
        return value

    def state(self) -> dict[str, Tensor]:
        """Return knots and starting coefficients."""
        return {"knots": self._knots, "coefficients": self._start}


class BasisBlock(Block):
    """The B-splines of each column, interior knots repeated ``degree − continuity`` times."""

    def __init__(self, knots: Tensor, degree: int, continuity: int) -> None:
        self._knots, self._degree = knots, degree
        inside = np.repeat(knots[:, 1:-1].cpu().numpy(), degree - continuity, axis=1)
        first, last = (np.repeat(knots[:, [i]].cpu().numpy(), degree + 1, axis=1) for i in (0, -1))
        self._full = np.concatenate([first, inside, last], axis=1)
        self.width = len(knots) * (self._full.shape[1] - degree - 1)

    def precompute(self, inputs: Tensor) -> Tensor:
        """Return the values of every B-spline (N, width)."""
        rows = torch.minimum(torch.maximum(inputs, self._knots[:, 0]), self._knots[:, -1])
        values: Tensor = _Basis.apply(rows, self._full, self._degree)
        return values

    def features(self, omega: Omega, computed: Tensor) -> Tensor:
        """Return them: nothing is tuned."""
        return computed

    def state(self) -> dict[str, Tensor]:
        """Return the knots."""
        return {"knots": self._knots}


class _Basis(torch.autograd.Function):
    """B-splines by scipy (N, d q), with their derivative for a chain that tunes what comes before."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, knots: np.ndarray, degree: int) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.knots, ctx.degree = knots, degree
        return _evaluate(rows, knots, degree, 0).flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        slopes = _evaluate(rows, ctx.knots, ctx.degree, 1)
        return (slopes * gradients[0].reshape(slopes.shape)).sum(2), None, None


def _evaluate(rows: Tensor, knots: np.ndarray, degree: int, order: int) -> Tensor:
    """Return the derivatives of that order (N, d, q) of every B-spline."""
    from scipy.interpolate import BSpline

    points = rows.detach().cpu().double().numpy()
    unit = np.eye(knots.shape[1] - degree - 1)
    values = np.empty((*points.shape, len(unit)))
    for j, own in enumerate(knots):
        values[:, j] = BSpline(own, unit, degree)(points[:, j], nu=order)
    return torch.as_tensor(values, device=rows.device)
