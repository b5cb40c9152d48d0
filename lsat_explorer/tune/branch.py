"""On from an earlier iterate of a run, as another run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.losses import usual_loss
from ..model.recipe import Recipe

if TYPE_CHECKING:
    from .run import Run

__all__ = ["branch", "refuse_other_pieces", "takes_up"]


def branch(run: Run, number: int, recipe: Recipe) -> Run:
    """Return a new run from the ω of iterate ``number``; see `lsat_explorer.Run.branch`."""
    refuse_other_pieces(run.recipe, recipe, run.data.task, "branch()")
    if isinstance(number, bool) or number not in range(len(run.iterates)):
        there = f"those from 0 to {run.iterates[-1].number}" if run.iterates else "none yet"
        raise ValueError(f"The run has no iterate {number!r}: there are {there}.")
    found, whole = run.iterates[number], run.iterates.whole(number)
    if whole.number != number:
        lacking = ", ".join(name for name in whole.omega if name not in found.omega)
        raise ValueError(
            f"Iterate {number} is kept without {lacking}: a long or saved run keeps some iterates whole, branch from "
            f"{whole.number}, the nearest of them."
        )
    from .run import Run

    other = Run(recipe, run.data, found.omega)
    if run.problem is not None:
        other.problem = run.problem.branched(recipe, found.omega, other._check)
    return other


def takes_up(old: Recipe, new: Recipe, task: str) -> bool:
    """Whether a run of one recipe can go on with the other: nothing differs that its rows and features depend on.

    That is so of hyper-penalties and method, of a loss of the same kind, and of the patience of early stopping. A
    recipe that names no loss has the usual one of the ``task`` of the data.
    """
    return not _others(old, new, task)


def refuse_other_pieces(old: Recipe, new: Recipe, task: str, taker: str) -> None:
    """Raise for a recipe that a run cannot go on with, and for what is no recipe."""
    if not isinstance(new, Recipe):
        raise ValueError(f"{taker} got {new!r}, expected a Recipe: give one such as run.recipe.replace(…).")
    if names := _others(old, new, task):
        raise ValueError(
            f"{taker} takes other hyper-penalties, another method and other numbers of the loss, but this recipe "
            f"differs in {names}: start a new Run."
        )


def _others(old: Recipe, new: Recipe, task: str) -> str:
    kept = {"hyper_penalties": old.hyper_penalties, "method": old.method}
    if type(old.loss or usual_loss(task)) is type(new.loss or usual_loss(task)):
        kept["loss"] = old.loss
    if old.early_stopping is not None and new.early_stopping is not None:
        kept["early_stopping"] = old.early_stopping
    return new.replace(**kept).differs(old)
