"""What a sample weight means: the row counts so many times, in the fit and where the fit is judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.data import Data
from ..model.data_weights import FixedWeights, Times
from ..model.recipe import Recipe
from ..tune.criteria import Counted

__all__ = ["counted"]


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
