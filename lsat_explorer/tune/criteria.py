"""Criteria: what "validation loss" is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..model.choices import Criterion, Fit
from ..model.data_weights import positive
from ..model.losses import Loss, SquaredError
from ..model.piece import Omega, register, whole

__all__ = ["GCV", "Counted", "HeldOut", "KFold", "LeaveOneOut"]


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
    by_row = True

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
    by_row = True
    apart = "each predicted by the fit to the other folds"

    def __post_init__(self) -> None:
        whole(self.folds, "KFold: folds", low=2, high=10**9)

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
    apart = "each predicted without itself"

    def predictions(self, predictions: Tensor, targets: Tensor, leverage: Tensor | None) -> Tensor:
        """Return ŷ_{−i}."""
        if leverage is None:
            raise ValueError("LeaveOneOut needs leverages.")
        return targets - (targets - predictions) / (1 - leverage)[:, None]


@register
@dataclass(frozen=True, repr=False)
class GCV(_WholeTrainingSet):
    """ψ = (1/k) Σ_i ‖y_i − ŷ_i‖² / (1 − (1/k) Σ_i h_i)², generalized cross-validation, for equally weighted rows.

    Golub, Heath and Wahba (1979). Validation rows are not used. No row is predicted without itself: the error beside ψ
    is that of the training rows in the fit to all of them.

    Examples
    --------
    >>> GCV()
    GCV()
    """

    leverage = True
    error_rows = "training"

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


@register
@dataclass(frozen=True, repr=False)
class Counted(Criterion):
    """ψ = Σ_i c_i ℓ(ŷ_i, y_i) / Σ_i c_i over the rows that ``criterion`` scores: row i stands for c_i copies.

    The error beside ψ is counted alike; that of the test rows is not, which have no counts.
    Where a row is left out, one copy of it is: its leverage is h_i / c_i for c_i ≥ 1. A row that counts less than once
    is left out whole. ``criterion`` must be a mean over rows: not `GCV`, whose rows count alike, nor a counted one.

    Parameters
    ----------
    criterion : Criterion
        The criterion that counts every row once.
    counts : tuple of float
        c_i > 0 of each scored row, in the order in which they are scored.

    Raises
    ------
    ValueError
        For a criterion that is no mean over rows; for a count that is not finite and positive; with the data, when
        there are not as many as scored rows.

    Examples
    --------
    >>> Counted(HeldOut(), (1.0, 2.0, 0.5))
    Counted(criterion=HeldOut(), counts=(1.0, 2.0, 0.5))
    """

    criterion: Criterion
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.criterion, Criterion):
            raise ValueError(f"Counted: criterion is {self.criterion!r}, expected a criterion such as HeldOut().")
        if isinstance(self.criterion, GCV):
            raise ValueError(
                "Counted: GCV is defined for equally weighted rows, without counts or sample weights: use LeaveOneOut "
                "or KFold."
            )
        if isinstance(self.criterion, Counted):
            raise ValueError("Counted: criterion is Counted itself: multiply the counts, and give them once.")
        object.__setattr__(self, "counts", positive(self.counts, "Counted: counts"))
        object.__setattr__(self, "held_out", self.criterion.held_out)
        object.__setattr__(self, "leverage", self.criterion.leverage)
        object.__setattr__(self, "apart", self.criterion.apart)

    def parts(self, targets: Tensor, classifies: bool, seed: int) -> list[np.ndarray]:
        """Return the criterion's own parts."""
        return self.criterion.parts(targets, classifies, seed)

    def fits(self, parts: int) -> list[Fit]:
        """Return the criterion's own fits."""
        return self.criterion.fits(parts)

    def check(self, loss: Loss, weighted: bool) -> None:
        """Refuse what the criterion refuses."""
        self.criterion.check(loss, weighted)

    def predictions(self, predictions: Tensor, targets: Tensor, leverage: Tensor | None) -> Tensor:
        """Return the criterion's predictions, one copy of each row left out where it leaves rows out."""
        share = None if leverage is None else leverage / self._counts(leverage).clamp_min(1.0)
        return self.criterion.predictions(predictions, targets, share)

    def value(self, loss: Loss, predictions: Tensor, targets: Tensor, leverage: Tensor | None, omega: Omega) -> Tensor:
        """Return the `mean` of the rows' losses."""

        def of_one_row(prediction: Tensor, target: Tensor) -> Tensor:
            return loss.value(prediction[None], target[None], omega)

        judged = self.predictions(predictions, targets, leverage)
        try:
            values = torch.vmap(of_one_row)(judged, targets)
        except RuntimeError:  # of a loss that looks at its numbers
            values = torch.stack([of_one_row(*row) for row in zip(judged, targets, strict=True)])
        return self.mean(loss.checked(values, judged))  # within vmap nothing needs a gradient

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of a number (N,) of each scored row, each counted c_i times."""
        counts = self._counts(values)
        counts = counts / counts.max()  # so that neither sum leaves the range of floats
        return (counts * values).sum() / counts.sum()

    def _counts(self, like: Tensor) -> Tensor:
        """Return the count of each scored row, of which ``like`` (N,) tells a number."""
        if len(self.counts) != len(like):
            raise ValueError(
                f"Counted: counts has {len(self.counts):,} entries, but {len(like):,} rows are scored: give one a row."
            )
        return torch.tensor(self.counts, dtype=like.dtype, device=like.device)
