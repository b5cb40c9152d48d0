"""What one pass over rows takes along, and what it brings back: sums, and a number for each row where rows are weighed.

A loss that is a mean over rows travels to the rows, and not their predictions to the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..model.losses import Loss, misclassified
from ..model.piece import Omega

__all__ = ["Flow", "Flowed", "Judge", "Judged", "Largest", "Left", "LeftOut", "Verdict", "plus"]


class Verdict(NamedTuple):
    """What `Judge.of` says of some rows: their part of ψ, and of the error, and slopes, where they were asked for."""

    loss: Tensor
    error: Tensor
    slopes: Tensor | None
    own: Omega
    through: Tensor | None = None
    """Slopes by leverage."""


class Judge(NamedTuple):
    """A loss that is a mean over rows, with all that it needs where the rows are.

    ``omega`` are its parameters, local names, of which ``names`` are tuned; ``share`` is 1/N for N rows in all, so that
    what parts of the rows say adds up to ψ. Without ``sloping`` only ψ is wanted. Where rows are left out, each
    from the fit to all, ``left_out`` returns what each is without itself, from predictions, targets and leverages.
    """

    loss: Loss
    classifies: bool
    omega: Omega
    share: float
    names: tuple[str, ...] = ()
    sloping: bool = True
    left_out: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None

    def of(self, predictions: Tensor, targets: Tensor, leverage: Tensor | None = None) -> Verdict:
        """Judge predictions (r, m) for targets (r, m), with leverages (r,) where rows are left out."""
        predictions, targets = _by_columns(predictions), _by_columns(targets)
        if self.left_out is not None and leverage is not None:
            return self._without(self.left_out, predictions, targets, leverage)
        share = self.share * len(targets)
        if not self.sloping:
            loss = self.loss.value(predictions, targets, self.omega) * share
            return Verdict(loss, torch.zeros((), device="cpu"), None, {})
        error = self._wrong(predictions, targets).sum() * self.share
        known = self.loss.with_slopes(predictions, targets, self.omega)
        if known is not None:
            loss, slopes, found = known
            return Verdict(loss * share, error, slopes * share, {name: found[name] * share for name in self.names})
        with torch.enable_grad():
            predictions.requires_grad_()
            own = {name: value.detach().clone().requires_grad_() for name, value in self.omega.items()}
            loss = self.loss.value(predictions, targets, own) * share
            slopes, *rest = torch.autograd.grad(loss, [predictions, *(own[name] for name in self.names)])
        return Verdict(loss.detach(), error, slopes, dict(zip(self.names, rest, strict=True)))

    def _wrong(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Return which rows are misclassified (r,), or the mean squares of their errors over outputs."""
        if not self.classifies:
            return (predictions - targets).square().mean(1)
        return misclassified(predictions, targets).double()

    def _without(self, left_out: Any, predictions: Tensor, targets: Tensor, leverage: Tensor) -> Verdict:
        """Judge what rows are without themselves, and go back to their predictions and leverages."""
        with torch.enable_grad():
            leaves = [predictions.clone().requires_grad_(), leverage.detach().clone().requires_grad_()]
            judged = left_out(leaves[0], targets, leaves[1])
            found = self._replace(left_out=None).of(judged, targets)
            slopes, through = torch.autograd.grad(judged, leaves, found.slopes)
        return found._replace(slopes=slopes, through=through)


def _by_columns(rows: Tensor) -> Tensor:
    """Return rows (r, m) in float64 that lie column by column: sums over few columns then run along memory."""
    return rows.detach().double().mT.contiguous().mT


class Judged(NamedTuple):
    """Sums of rows at θ: of ψ, of the error, ∇_θψ (n, m), and of the slopes of the loss's own parameters.

    The error is the share of rows misclassified, or the mean square of the errors, over rows and outputs.
    """

    loss: Tensor
    error: Tensor
    right: Tensor | None
    own: Omega


class Left(NamedTuple):
    """What flows through leverages h_i = w_i² κ_i, κ_i = x_iᵀG⁻¹x_i, takes: the factor L and scale of G, its N.

    With s = ∂ψ/∂h it is ∂ψ/∂ω_i = 2 w_i² (s_i κ_i − x_iᵀ N x_i) and ∂ψ/∂x_i = 2 w_i² (s_i G⁻¹ − N) x_i; s comes of
    ``judge``, or is ``slope`` for every row. The judge tells the slopes by prediction too.
    """

    lower: Tensor
    scale: Tensor
    N: Tensor
    judge: Judge
    slope: float | None = None


class Fitted(NamedTuple):
    """A fit to all rows, for what each is without itself: θ (n, m), L (n, n) and D (n) of D G D = L Lᵀ, who judges."""

    theta: Tensor
    lower: Tensor
    scale: Tensor
    judge: Judge


class Largest(NamedTuple):
    """The largest leverage, and its row; of two that are added, the larger is left."""

    leverage: float
    row: int


class LeftOut(NamedTuple):
    """Sums of rows at θ, each left out: as `Judged`, with Xᵀ diag(s w²) X (n, n), Σ h, and the largest h."""

    loss: Tensor
    error: Tensor
    right: Tensor
    own: Omega
    middle: Tensor | None
    leverage: Tensor
    largest: Largest


class Flow(NamedTuple):
    """One fit for what flows back through its rows: ``C`` where they were trained on, ``judge`` where they are judged.

    A judge of trained rows that is not ``sloping`` tells the loss on them beside; ``left`` is for rows left out.
    """

    theta: Tensor
    C: Tensor | None
    judge: Judge | None
    left: Left | None = None


class Flowed(NamedTuple):
    """∂ψ/∂ω_i (N,) of weighed rows, the gradient of the features' parameters, local names, and the judged loss."""

    weights: Tensor | None
    features: Omega
    loss: Tensor | None


def plus(one: Any, other: Any) -> Any:
    """Return the sum of what two passes brought back: tensors, added into the first, or arrays, in tuples and dicts.

    What one of them lacks, or is None there, is as in the other.
    """
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, Largest):
        return max(one, other)
    if isinstance(one, tuple):
        return type(one)(*map(plus, one, other)) if hasattr(one, "_fields") else tuple(map(plus, one, other))
    if isinstance(one, dict):
        return {name: plus(one.get(name), other.get(name)) for name in one | other}
    return one.add_(other) if isinstance(one, Tensor) else np.asarray(one + other)  # which numpy gives as a scalar
