"""What predictions are worth: ψ of those of the scored rows with its slopes, and their error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..model.losses import misclassified
from ..model.piece import Omega, prefixed, within

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Score", "error_of", "together", "unfitted", "unit_of"]


@dataclass(frozen=True)
class Score:
    """ψ with what its gradient needs, which is not formed anew.

    ``known`` are its slopes by prediction and by parameter of the loss, where ψ is the loss's own mean over rows and
    the loss has a formula for them. Elsewhere ``value`` holds the graph of torch's differentiation down to the others.
    """

    value: Tensor
    predictions: Tensor
    leverage: Tensor | None
    loss: Omega
    known: tuple[Tensor, Omega] | None = None

    @classmethod
    def of(cls, problem: Problem, predictions: Tensor, leverage: Tensor | None, loss: Omega) -> Score:
        """Return ψ of float64 predictions (N, m), leverages (N,) and the loss's own parameters, local names."""
        predictions = predictions.detach()
        known = problem.loss.with_slopes(predictions, problem.targets, loss) if problem.criterion.by_row else None
        if known is not None:
            return cls(known[0], predictions, leverage, loss, known[1:])
        with torch.enable_grad():
            predictions.requires_grad_()
            leverage = None if leverage is None else leverage.detach().requires_grad_()
            loss = {name: value.detach().clone().requires_grad_() for name, value in loss.items()}
            return cls(problem.score(predictions, leverage, loss), predictions, leverage, loss)

    def slopes(self, names: Sequence[str]) -> tuple[Tensor, Tensor | None, Omega]:
        """Return ∂ψ/∂(predictions) (N, m), ∂ψ/∂h (N,) or None, and the slopes of the loss's parameters ``names``."""
        if self.known is not None:
            return self.known[0], None, {name: self.known[1][name] for name in names}
        leverage = [] if self.leverage is None else [self.leverage]
        leaves = [self.predictions, *leverage, *(self.loss[name] for name in names)]
        found = list(torch.autograd.grad(self.value, leaves, retain_graph=True))
        slopes, through_leverage = found.pop(0), None if self.leverage is None else found.pop(0)
        return slopes, through_leverage, dict(zip(names, found, strict=True))


def unfitted(problem: Problem, omega: Omega, predictions: Tensor) -> float:
    """Return ψ of predictions (N, m) of the scored rows that no fit has made."""
    targets = problem.targets.double()
    parameters = {name: value.to(targets.device) for name, value in within("loss", omega).items()}
    with torch.no_grad():
        return float(problem.loss.value(predictions.to(targets), targets, parameters))


def unit_of(problem: Problem) -> float:
    """Return the size of F beside which its rounding is told: ψ of zero predictions, but at most 1.

    It is 1 for a loss of the user's own, which may have no value there.
    """
    if not problem.loss.by_row or not len(problem.targets):
        return 1.0
    nothing = unfitted(problem, prefixed("loss", problem.loss.init()), torch.zeros_like(problem.targets))
    return min(nothing, 1.0) if nothing > 0 else 1.0


def together(parts: Sequence[Tensor]) -> Tensor:
    """Return rows of parts one after the other in float64, with no second copy of an only one."""
    return (parts[0] if len(parts) == 1 else torch.cat(list(parts))).double()


def error_of(predictions: Tensor, targets: Tensor, task: str, mean: Callable[[Tensor], Tensor] = torch.mean) -> Tensor:
    """Return the share of rows misclassified, or the root mean square, a scalar, by a ``mean`` over rows.

    The mean square is that of all entries of the errors (N, m): over rows, and over the m outputs of each.
    """
    if task == "classification":
        return mean(misclassified(predictions, targets).double())
    return mean((predictions - targets).square().mean(1)).sqrt()
