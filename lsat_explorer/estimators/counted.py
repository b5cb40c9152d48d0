"""What a sample weight means: the row counts so many times, in the fit and where the fit is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.data import Data
from ..model.choices import Criterion, Fit
from ..model.data_weights import DataWeights, FixedWeights
from ..model.losses import Loss
from ..model.piece import Omega
from ..model.recipe import Recipe

__all__ = ["Counted", "Times", "counted"]


@dataclass(frozen=True, repr=False)
class Counted(Criterion):
    """ψ = Σ_i c_i ℓ(ŷ_i, y_i) / Σ_i c_i over the rows that ``criterion`` scores: row i stands for c_i copies.

    Where a row is left out, one copy of it is: its leverage is h_i / c_i for c_i ≥ 1. A row that counts less than once
    is left out whole.

    Parameters
    ----------
    criterion : Criterion
        The criterion that counts every row once.
    counts : tuple of float
        c_i > 0 of each scored row, in the order in which they are scored.
    """

    criterion: Criterion
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "held_out", self.criterion.held_out)
        object.__setattr__(self, "leverage", self.criterion.leverage)

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
        """Return the mean of the rows' losses, each counted c_i times."""

        def of_one_row(prediction: Tensor, target: Tensor) -> Tensor:
            return loss.value(prediction[None], target[None], omega)

        judged = self.predictions(predictions, targets, leverage)
        losses: Tensor = torch.vmap(of_one_row)(judged, targets)
        counts = self._counts(losses)
        return (counts * losses).sum() / counts.sum()

    def _counts(self, like: Tensor) -> Tensor:
        return torch.tensor(self.counts, dtype=like.dtype, device=like.device)


@dataclass(frozen=True, repr=False)
class Times(DataWeights):
    """Training row i counts ``counts[i]`` times what ``weights`` gives it."""

    weights: DataWeights
    counts: tuple[float, ...]

    def init(self, targets: Tensor) -> Omega:
        """Return what ``weights`` tunes."""
        return self.weights.init(targets)

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ω_i + ½ log(counts[i])."""
        counts = torch.tensor(self.counts, dtype=torch.float64, device=targets.device)
        return self.weights.log_weights(omega, targets) + 0.5 * counts.log()


def counted(recipe: Recipe, data: Data, train: np.ndarray, validation: np.ndarray) -> Recipe:
    """Return the recipe where the training and validation rows count as often as these sample weights say."""
    criterion, weights = recipe.criterion, recipe.data_weights
    positions = criterion.parts(data.train.targets, data.task == "classification", recipe.seed)
    counts = [train[index] for index in positions] + [validation]
    order = [part for fit in criterion.fits(len(positions)) for part in fit.scored]
    scored = np.concatenate([counts[part] for part in order])
    mine = _plain(train)
    return recipe.replace(
        data_weights=FixedWeights(mine) if weights is None else Times(weights, mine),
        criterion=Counted(criterion, _plain(scored)),
    )


def _plain(values: np.ndarray) -> Any:
    return tuple(values.tolist())
