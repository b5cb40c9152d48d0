"""Weights of samples, which count in the fit and where it is judged, and of a recipe, which count in the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.data import Data
from ..model.data_weights import DataWeights, FixedWeights, Times
from ..model.recipe import Recipe
from ..tune.criteria import Counted

__all__ = ["counted", "refuse_held_out"]


def refuse_held_out(weights: DataWeights | None, rows: int, training: int) -> None:
    """Refuse weights of a recipe with an entry for each row of X where some of these are held out.

    Raises
    ------
    ValueError
        With the numbers of rows, and how all of them are weighed.
    """
    entries = None if weights is None else weights.entries
    if entries in (None, training) or training == rows:
        return
    by_sample = "weigh them by fit(X, y, sample_weight=…), or " if isinstance(weights, FixedWeights) else ""
    raise ValueError(
        f"{type(weights).__name__} has {entries:,} entries, but of the {rows:,} rows {rows - training:,} are held out "
        f"for validation and {training:,} are fitted: {by_sample}hold none out by criterion=lsat.KFold() in the recipe."
    )


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
