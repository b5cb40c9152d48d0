"""A look at rows that decided nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from .score import error_of

if TYPE_CHECKING:
    from ..model.recipe import Recipe
    from .run import Run

__all__ = ["TestResult", "last_rows", "look"]


@dataclass(frozen=True)
class TestResult:
    """The test split's ``loss`` and ``error``, and how many times it has been looked at."""

    __test__ = False

    loss: float
    error: float
    looks: int


def last_rows(recipe: Recipe) -> str:
    """Return the name of the split that decided nothing: with early stopping that is not the test rows."""
    return "test" if recipe.early_stopping is None else "final"


def look(run: Run) -> TestResult:
    """Return the loss and error of a run's model on the test rows, and count the look; see `lsat_explorer.Run.test`."""
    name = last_rows(run.recipe)
    split = getattr(run.data, name)
    if split is None:
        raise ValueError(f"The data have no {name} split: make one with Data.from_arrays(…, {name}=0.2).")
    model, targets = run.model, split.targets
    scores = torch.from_numpy(model.decision_function(split.inputs))
    omega = {k.removeprefix("loss."): v.cpu() for k, v in model.omega.items() if k.startswith("loss.")}
    loss, error = float(model.loss.value(scores, targets, omega)), float(error_of(scores, targets, run.data.task))
    run.looks += 1
    return TestResult(loss, error, run.looks)
