"""What a piece says of fields that it refuses, in the unit in which the page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lsat_explorer.model.featurizers import Spline

__all__ = ["complaint"]


def complaint(kind: str, fields: Mapping[str, Any], error: Exception) -> str:
    """Return why a piece refuses its fields.

    Parameters
    ----------
    kind : str
        The type's name in the registry.
    fields : mapping of str to JSON value
        What was typed.
    error : Exception
        What the piece raised.

    Examples
    --------
    >>> complaint("Spline", {"knots": [0.25, 1.2]}, ValueError("1.2"))
    'Spline: knot 2 is at 120 %: expected a percentage from 0.1 to 99.9.'
    >>> complaint("LowRank", {"rank": 0}, ValueError("rank is 0"))
    'rank is 0'
    """
    knots = fields.get("knots")
    if kind == "Spline" and isinstance(knots, list) and not _taken(knots):
        return _of_places(knots)
    return str(error)


def _taken(knots: Sequence[Any]) -> bool:
    """Whether knots may lie at these shares of the rows."""
    try:
        Spline(knots=tuple(knots))
    except ValueError:
        return False
    return True


def _of_places(knots: Sequence[Any]) -> str:
    """Return which knot lies where none may, or too near the one before."""
    for number, share in enumerate(knots, 1):
        if not _taken([share]):
            percentage = isinstance(share, int | float) and not isinstance(share, bool)
            said = f"at {_per_cent(share)}" if percentage else repr(share)
            ends = f"from {100 * Spline.apart:g} to {100 - 100 * Spline.apart:g}"
            return f"Spline: knot {number} is {said}: expected a percentage {ends}."
    near = (number for number, pair in enumerate(pairwise(knots), 2) if not _taken(pair))
    number = next(near, len(knots))
    before, share = knots[number - 2 : number]
    return (
        f"Spline: knot {number} is at {_per_cent(share)} and knot {number - 1} at {_per_cent(before)}: "
        f"expected each at least {_per_cent(Spline.apart)} above the one before."
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.4g} %"
