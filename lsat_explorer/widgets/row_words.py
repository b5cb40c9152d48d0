"""What a browser of rows says beside them: how strongly the weights are held, and what the numbers warn of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsat_explorer.model.hyper_penalties import HyperPenalty, Sum, SumSquares
from lsat_explorer.tune.advice import overfitting
from lsat_explorer.tune.run import Run

__all__ = ["offer", "warning"]


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
