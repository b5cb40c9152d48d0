"""Criteria: what "validation loss" is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..model.choices import Criterion, Fit
from ..model.losses import Loss, SquaredError
from ..model.piece import Omega, register

__all__ = ["GCV", "HeldOut", "KFold", "LeaveOneOut"]


@dataclass(frozen=True, repr=False)
class _WholeTrainingSet(Criterion):
    """One fit to all training rows."""

    def parts(self, targets: Tensor, classifies: bool, seed: int) -> list[np.ndarray]:
        """Return all training rows as one part."""
        return [np.arange(len(targets))]

    def fits(self, parts: int) -> list[Fit]:
        """Return the fit that is scored on its own rows."""
        return [Fit((0,), (0,))]


@register
@dataclass(frozen=True, repr=False)
class HeldOut(_WholeTrainingSet):
    """ψ is the loss, on the validation rows, of the fit to the training rows.

    Examples
    --------
    >>> HeldOut()
    HeldOut()
    """

    held_out = True

    def fits(self, parts: int) -> list[Fit]:
        """Return the fit that is scored on the validation rows."""
        return [Fit((0,), (1,))]


@register
@dataclass(frozen=True, repr=False)
class KFold(Criterion):
    """ψ is the mean loss of training rows, each predicted by the fit to the other ``folds`` − 1 folds.

    Folds are drawn at random with the recipe's seed, of like class shares in classification (scikit-learn's KFold and
    StratifiedKFold). The Gram matrix of a fit is the sum of those of its folds, each formed once. Validation rows are
    not used.

    Examples
    --------
    >>> KFold(folds=10)
    KFold(folds=10)
    """

    folds: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise ValueError(f"KFold: folds is {self.folds!r}, expected a whole number of at least 2.")

    def parts(self, targets: Tensor, classifies: bool, seed: int) -> list[np.ndarray]:
        """Return the rows of each fold."""
        from sklearn import model_selection

        k = len(targets)
        if self.folds > k:
            raise ValueError(f"KFold: {self.folds} folds of {k} training rows: use at most one fold a row.")
        kind = model_selection.KFold
        labels = targets.argmax(1).cpu().numpy() if classifies else np.zeros(k)
        if classifies and np.unique(labels, return_counts=True)[1].min() >= self.folds:
            kind = model_selection.StratifiedKFold
        folds = kind(self.folds, shuffle=True, random_state=seed % 2**32)
        return [scored for _, scored in folds.split(np.zeros((k, 1)), labels)]

    def fits(self, parts: int) -> list[Fit]:
        """Return one fit a fold, to the other folds."""
        return [Fit(tuple(p for p in range(parts) if p != fold), (fold,)) for fold in range(parts)]


@register
@dataclass(frozen=True, repr=False)
class LeaveOneOut(_WholeTrainingSet):
    """ψ is the mean loss of training rows, each predicted by the fit without it, in closed form from one factor.

    ŷ_{−i} = y_i − (y_i − ŷ_i) / (1 − h_i),  h_i = w_i² x_iᵀ G⁻¹ x_i. Features stay those prepared on all training rows;
    validation rows are not used.

    Examples
    --------
    >>> LeaveOneOut()
    LeaveOneOut()
    """

    leverage = True

    def predictions(self, predictions: Tensor, targets: Tensor, leverage: Tensor | None) -> Tensor:
        """Return ŷ_{−i}."""
        if leverage is None:
            raise ValueError("LeaveOneOut needs leverages.")
        return targets - (targets - predictions) / (1 - leverage)[:, None]


@register
@dataclass(frozen=True, repr=False)
class GCV(_WholeTrainingSet):
    """ψ = (1/k) Σ_i ‖y_i − ŷ_i‖² / (1 − (1/k) Σ_i h_i)², generalized cross-validation, for equally weighted rows.

    Golub, Heath and Wahba (1979). Validation rows are not used.

    Examples
    --------
    >>> GCV()
    GCV()
    """

    leverage = True

    def check(self, loss: Loss, weighted: bool) -> None:
        """Refuse losses other than the squared error, and row weights."""
        if not isinstance(loss, SquaredError):
            raise ValueError(
                f"GCV is defined for the squared error, not for {loss!r}: use SquaredError or LeaveOneOut."
            )
        if weighted:
            raise ValueError("GCV is defined for equally weighted rows: use LeaveOneOut or KFold with data weights.")

    def value(self, loss: Loss, predictions: Tensor, targets: Tensor, leverage: Tensor | None, omega: Omega) -> Tensor:
        """Return the mean squared residual over (1 − mean leverage)²."""
        if leverage is None:
            raise ValueError("GCV needs leverages.")
        return loss.value(predictions, targets, omega) / (1 - leverage.mean()).square()
