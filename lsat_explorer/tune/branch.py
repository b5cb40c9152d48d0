"""On from an earlier iterate of a run, as another run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.recipe import Recipe

if TYPE_CHECKING:
    from .run import Run

__all__ = ["branch", "refuse_other_pieces", "takes_up"]


def branch(run: Run, number: int, recipe: Recipe) -> Run:
    """Return a new run from the ω of iterate ``number``; see `lsat_explorer.Run.branch`."""
    refuse_other_pieces(run.recipe, recipe, "branch()")
    found = next((iterate for iterate in run.iterates if iterate.number == number), None)
    if found is None:
        there = f"those from 0 to {run.iterates[-1].number}" if run.iterates else "none yet"
        raise ValueError(f"The run has no iterate {number!r}: there are {there}.")
    # entries of a loss come and go with its numbers, and begin anew
    if lacking := [name for name in run.omega if name not in found.omega and not name.startswith("loss.")]:
        raise ValueError(
            f"Iterate {number} was loaded without {', '.join(lacking)}: a saved run keeps every hyper-parameter of "
            f"iterate {run.kept.number} alone, branch from there."
        )
    from .run import Run

    other = Run(recipe, run.data, found.omega)
    if run.problem is not None:
        other.problem = run.problem.branched(recipe, found.omega, other._check)
    return other


def takes_up(old: Recipe, new: Recipe) -> bool:
    """Whether a run of one recipe can go on with the other: nothing differs that its rows and features depend on.

    That is so of hyper-penalties and method, of a loss of the same kind, and of the patience of early stopping.
    """
    return not _others(old, new)


def refuse_other_pieces(old: Recipe, new: Recipe, taker: str) -> None:
    """Raise for a recipe that a run cannot go on with."""
    if names := _others(old, new):
        raise ValueError(
            f"{taker} takes other hyper-penalties, another method and other numbers of the loss, but {names} differ: "
            "start a new Run."
        )


def _others(old: Recipe, new: Recipe) -> str:
    kept = {"hyper_penalties": old.hyper_penalties, "method": old.method}
    if type(old.loss) is type(new.loss):
        kept["loss"] = old.loss
    if old.early_stopping is not None and new.early_stopping is not None:
        kept["early_stopping"] = old.early_stopping
    return new.replace(**kept).differs(old)
