"""Splines of each column."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..piece import number, one_of, register, whole
from ..prepared import Block, Featurizer
from .piecewise import BasisBlock, PiecewiseBlock, affine_start

__all__ = ["Spline"]


@register
@dataclass(frozen=True, repr=False)
class Spline(Featurizer):
    r"""φ(x)_j = Σ_p C_{j,i,p} s^p, a polynomial of x_j on each interval i between knots; ``coefficients`` C in ω.

    s ∈ [0, 1] is the position of x_j inside its interval. C (d, knots + 1, degree + 1) is read through the orthogonal
    projection onto the linear constraint that the derivatives of orders 0 … ``continuity`` agree at every knot:
    whatever ω is, φ is that smooth. It starts at standardisation, the straight line (x − mean) / deviation.

    With ``basis="bspline"`` the features are instead the B-splines of each column, B_{j,1}(x_j) … B_{j,q}(x_j),
    q = m (degree − continuity) + degree + 1 with m knots, and θ holds their coefficients: nothing is in ω. They sum
    to one in each column, so only a ridge makes the fit unique.

    Parameters
    ----------
    knots : int or tuple of float
        Interior knots of each column: their number, spread evenly over the training rows, or for each the share of
        training rows below it, increasing within 0 … 1. Where such quantiles coincide, the same shares of the range.
    degree : int
        Degree of the polynomials, 1 to 7.
    continuity : int or None
        Highest order of derivative that is continuous, 0 (φ itself) to degree − 1, which None stands for.
    basis : {"polynomial", "bspline"}
        Coefficients in ω, one feature a column; or the basis as features.

    Notes
    -----
    Beyond the training rows φ stays at its value at the first or last of them.

    Examples
    --------
    >>> Spline(knots=3, degree=2)
    Spline(knots=3, degree=2)
    >>> Spline(knots=(0.1, 0.5, 0.9))
    Spline(knots=(0.1, 0.5, 0.9))
    """

    knots: int | tuple[float, ...] = 4
    degree: int = 3
    continuity: int | None = None
    basis: str = "polynomial"

    bases: ClassVar[tuple[str, ...]] = ("polynomial", "bspline")
    apart: ClassVar[float] = 0.001
    """Least distance of two knots that are given as shares of the rows."""

    def __post_init__(self) -> None:
        if isinstance(self.knots, tuple | list):
            object.__setattr__(self, "knots", _shares(self.knots))
        else:
            whole(self.knots, "Spline: knots", high=1000)
        whole(self.degree, "Spline: degree", high=7)
        if self.continuity is not None:
            whole(self.continuity, "Spline: continuity", low=0, high=self.degree - 1)
        one_of(self.basis, "Spline: basis", self.bases)

    def block(self, inputs: Tensor, targets: Tensor, generator: torch.Generator) -> Block:
        """Return the block with knots at quantiles of inputs (k, d)."""
        kind: dict[str, Any] = {"dtype": torch.float64, "device": inputs.device}
        given = self.knots
        at = torch.linspace(0, 1, given + 2, **kind) if isinstance(given, int) else torch.tensor([0, *given, 1], **kind)
        knots = _knots(inputs.double(), at)
        start = affine_start(knots, inputs, self.degree) if self.basis == "polynomial" else None
        return self._block(knots, start)

    def restore_block(self, state: dict[str, Tensor]) -> Block:
        """Return the block again."""
        return self._block(state["knots"], state.get("coefficients"))

    def _block(self, knots: Tensor, start: Tensor | None) -> Block:
        continuity = self.degree - 1 if self.continuity is None else self.continuity
        if start is None:
            return BasisBlock(knots, self.degree, continuity)
        return PiecewiseBlock(knots, start, continuity)


def _shares(given: tuple[float, ...] | list[float]) -> tuple[float, ...]:
    """Check knots that are given as shares of the rows."""
    shares = tuple(number(share, "Spline: a knot", low=0.0, high=1.0) for share in given)
    if not shares or any(high - low < Spline.apart for low, high in pairwise((0.0, *shares, 1.0))):
        raise ValueError(
            f"Spline: knots is {tuple(given)!r}, expected a number of knots or increasing shares of the rows between 0 "
            f"and 1, at least {Spline.apart} apart."
        )
    return shares


def _knots(rows: Tensor, at: Tensor) -> Tensor:
    """Return the knots (d, levels) of each column at increasing levels from 0 to 1, themselves increasing."""
    ordered = rows.sort(0).values
    place = at * (len(rows) - 1)
    below = place.floor().long()
    above = place.ceil().long()
    knots = (ordered[below] + (place - below)[:, None] * (ordered[above] - ordered[below])).mT
    low, high = ordered[0][:, None], ordered[-1][:, None]
    span = torch.where(high > low, high - low, torch.ones_like(high))
    even = low + span * at
    apart = (knots.diff(dim=1) > 1e-6 * span).all(1, keepdim=True)
    return torch.where(apart, knots, even).contiguous()
