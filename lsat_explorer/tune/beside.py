"""The same loss on rows that ψ does not see: those of the fit itself, and those of early stopping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..model.piece import within
from .evaluation import Evaluation

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["stopping_loss", "training_loss"]


def training_loss(problem: Problem, at: Evaluation) -> float:
    """Return the loss on the training rows, unweighted, each predicted by the first fit that was trained on it."""
    if not at.outcome.ok:
        return math.nan
    with torch.no_grad():
        predictions, targets = [], []
        for p in problem.whole.trained:
            fitted = at.fitted.get(p)
            if fitted is None:
                fit = next(index for index, fit in enumerate(problem.fits) if p in fit.trained)
                fitted = problem.parts[p].rows.predict(at.moving[p], at.solutions[fit].theta)
            predictions.append(fitted)
            targets.append(problem.parts[p].rows.targets)
        return float(problem.loss.value(_together(predictions), _together(targets), within("loss", at.there)))


def stopping_loss(problem: Problem, at: Evaluation) -> float:
    """Return the loss on the rows of early stopping, NaN where there are none."""
    rows = problem.stopping
    if rows is None or not at.outcome.ok:
        return math.nan
    with torch.no_grad():
        moving = rows.moving(within("featurizer", at.there))
        theta = at.solution.theta if len(problem.fits) == 1 else problem.coefficients(at.omega)[0]
        predictions = rows.predict(moving, theta).double()
        return float(problem.loss.value(predictions, rows.targets.double(), within("loss", at.there)))


def _together(parts: list[Tensor]) -> Tensor:
    """Return rows of parts one after the other in float64, with no second copy of an only one."""
    return (parts[0] if len(parts) == 1 else torch.cat(parts)).double()
