"""Rows by the user's own names: their positions in a split, or a sentence that says which name is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..data.row_names import mask_told, place_of
from ..data.split import SPLITS, Split
from ..data.tables import shown

__all__ = ["position_of", "positions_of"]


def positions_of(names: Any, split: Split, kind: str, argument: str) -> list[int]:
    """Return the positions of some rows within a split, each once.

    Parameters
    ----------
    names : row name or iterable of row names
        As they stand in ``split.rows``.
    split : Split
        The rows.
    kind : {"train", "validation", "test", "final"}
        Which split it is, for the sentence.
    argument : str
        What the user calls ``names``, for the sentence.

    Raises
    ------
    ValueError
        When a name is not in the split, or is given twice; for a mask.
    """
    listed = list(names) if isinstance(names, Iterable) and not isinstance(names, str | bytes) else [names]
    if not listed:
        return []
    places = {name: place for place, name in enumerate(split.rows.tolist())}
    found: list[int] = []
    seen: set[int] = set()
    for name in listed:
        place = place_of(name, places)
        if place is None:
            if told := mask_told(names if len(listed) > 1 else name):
                raise ValueError(f"{argument} is {told}, expected names of rows: give those in data.{kind}.rows[mask].")
            known = ", ".join(shown(row) for row in split.rows[:3])
            raise ValueError(
                f"{argument} names row {shown(name)}, which is not among the {len(split):,} {SPLITS[kind]} rows: give "
                f"names as in data.{kind}.rows, such as {known}."
            )
        if place in seen:
            raise ValueError(f"{argument} names row {shown(name)} twice: give each row once.")
        seen.add(place)
        found.append(place)
    return found


def position_of(name: Any, split: Split, kind: str, argument: str) -> int:
    """Return the position of one row within a split, as `positions_of` does for several."""
    found = positions_of([name], split, kind, argument)
    return found[0]
