"""The same loss on rows that ψ does not see: those of the fit itself, and those of early stopping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..engines.row_sums import RowSums
from ..model.piece import within
from . import apart
from .evaluation import Evaluation
from .score import together

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["loss_beside", "losses_beside"]


def loss_beside(problem: Problem, at: Evaluation, name: str) -> float:
    """Return one of the losses at a point, as it came with the gradient or found now; NaN where there is none."""
    if at.outcome.ok and not at.beside:
        found = apart.losses_beside(problem, at) if isinstance(at, apart.Apart) else losses_beside(problem, at)
        at.beside.update({name: float(value) for name, value in found.items()})
    return at.beside.get(name, math.nan)


def losses_beside(problem: Problem, at: Evaluation) -> dict[str, Tensor]:
    """Return the losses on rows of a finite F that ψ does not see, scalars where the rows are.

    ``training`` is on the training rows, unweighted, each predicted by the first fit that was trained on it;
    ``stopping``, where there are such rows, on those of early stopping.
    """
    with torch.no_grad():
        found = {"training": _training(problem, at)}
        return found if problem.stopping is None else {**found, "stopping": _stopping(problem, problem.stopping, at)}


def _training(problem: Problem, at: Evaluation) -> Tensor:
    predictions, targets = [], []
    for p in problem.whole.trained:
        fitted = at.fitted.get(p)
        if fitted is None:
            fit = next(index for index, fit in enumerate(problem.fits) if p in fit.trained)
            fitted = problem.parts[p].rows.predict(at.moving[p], at.solutions[fit].theta)
        predictions.append(fitted)
        targets.append(problem.parts[p].rows.targets)
    return problem.loss.value(together(predictions), together(targets), within("loss", at.there)).double()


def _stopping(problem: Problem, rows: RowSums, at: Evaluation) -> Tensor:
    moving = rows.moving(within("featurizer", at.there))
    theta = at.solution.theta if len(problem.fits) == 1 else problem.coefficients(at.omega)[0]
    predictions = rows.predict(moving, theta).double()
    return problem.loss.value(predictions, rows.targets.double(), within("loss", at.there)).double()
