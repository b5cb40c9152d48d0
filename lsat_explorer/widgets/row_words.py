"""What a browser of rows says beside them: how strongly the weights are held, and what the numbers warn of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsat_explorer.model.hyper_penalties import HyperPenalty, Sum, SumSquares
from lsat_explorer.tune.advice import overfitting
from lsat_explorer.tune.run import Run

__all__ = ["ELSEWHERE", "FETCHED", "carried", "offer", "unasked", "warning"]

ELSEWHERE = "These rows are not in memory: sort training rows by doubt to have them judged, by a pass over them all."
FETCHED = (
    "These rows are not in memory, and what is chosen here takes numbers of every one of them; orders by weight, row "
    "and label take those of the rows on show alone."
)


def carried(comes: bool, goes: bool, count: int) -> str:
    """Return what filters and order carry between here and workers that have the weights; empty where that is nothing.

    Parameters
    ----------
    comes : bool
        Whether a range of weights goes with another order than theirs.
    goes : bool
        Whether rows are chosen by what is known here alone, their verdicts or the cells of the confusion matrix.
    count : int
        Number of rows.

    Examples
    --------
    >>> carried(True, False, 70_000).partition(";")[0]
    'The weights lie with workers: a range of them in this order brings a byte per row here, 70,000 in all'
    """
    why = []
    if comes:
        why.append(
            f"a range of them in this order brings a byte per row here, {count:,} in all; orders by weight bring none"
        )
    if goes:
        why.append(
            f"verdict and confusion cell are known here, so that to filter by them sends a byte per row, {count:,} in "
            "all, to the workers"
        )
    return f"The weights lie with workers: {'; '.join(why)}." if why else ""


def unasked(*, begun: bool, apart: bool) -> str:
    """Return how to have the columns "predicted" and "loss" of a table filled, which show a dash."""
    if not begun:
        return "Predicted and loss show “–” until the run has begun: start it."
    if apart:
        return (
            "Predicted and loss show “–” until they are asked for, as that takes a pass over all rows: press the head "
            "“predicted” or “loss”."
        )
    return "Predicted and loss show “–” until the run has ended; press the head of either to have them now."


def offer(run: Any) -> dict[str, str]:
    """Return the strength λ = ρ/N of the penalty on the row weights of a run's recipe, and what ρ = 1 would be.

    Returns
    -------
    dict
        ``short``, a phrase, and ``long``, what it means; empty texts where the recipe tunes no row weights.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> penalties = {"data_weights.log_weight": lsat.SumSquares(0.01)}
    >>> recipe = lsat.Recipe(data_weights=lsat.LogWeights(), hyper_penalties=penalties)
    >>> offer(lsat.Run(recipe, lsat.datasets.digits()))["short"]
    'λ = 0.01 is ρ/N with ρ = 8.98; ρ = 1 is λ = 0.0011'
    """
    recipe = getattr(run, "recipe", None)
    if recipe is None or recipe.data_weights is None:
        return {"short": "", "long": ""}
    count = len(run.data.train)
    held = [
        found
        for name, penalty in recipe.hyper_penalties.items()
        if name.startswith("data_weights.")
        for found in _strengths(penalty)
    ]
    one = f"{1 / count:.2g}"
    meaning = (
        f"λ‖ω‖² holds the N = {count:,} row weights near one, and its strength means the same for another number of "
        f"rows only as λ = ρ/N. SumSquares(1 / {count}) is ρ = 1; a smaller ρ lets the weights spread farther. The "
        "slider λ of HyperSliders sets it."
    )
    if not held:
        return {"short": f"no λ‖ω‖² holds the weights; ρ = 1 is λ = {one}", "long": meaning}
    return {"short": f"λ = {held[0]:.3g} is ρ/N with ρ = {held[0] * count:.3g}; ρ = 1 is λ = {one}", "long": meaning}


def _strengths(penalty: HyperPenalty) -> Iterator[float]:
    """Yield the λ of each λ‖ω‖² of a penalty."""
    terms = penalty.terms if isinstance(penalty, Sum) else (penalty,)
    yield from (term.weight for term in terms if isinstance(term, SumSquares))


def warning(run: Any) -> str:
    """Return the warning of a run along which the validation loss fell and the validation error rose."""
    return overfitting(run) if isinstance(run, Run) and run.iterates else ""
