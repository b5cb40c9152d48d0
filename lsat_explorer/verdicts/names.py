"""Names of rows as plain Python values, that are told apart, put in order, and written as JSON and as Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from ..data.row_names import mask_told
from ..data.tables import shown
from ..model.piece import source

__all__ = ["Row", "code_of_name", "in_order", "name_of", "read_name", "row_names", "written"]

Row = int | float | str | date
"""A number, a word, or a date, with a time of day or without."""

_LARGEST = 2**64  # beyond it, a whole number is no name that a table can hold
_DATES: dict[str, type[date]] = {"time": datetime, "date": date}


def row_names(rows: Any) -> list[Row]:
    """Return one name or several as a list of plain ones, each once.

    Parameters
    ----------
    rows : row name or iterable of row names
        Numbers, words or dates, of numpy and pandas too.

    Raises
    ------
    ValueError
        For a name that is none of these; for a mask; for a table, whose names are in its index; and for a tuple, which
        may be one name or several.

    Examples
    --------
    >>> import numpy as np
    >>> row_names(np.arange(3)), row_names("a"), row_names(["b", np.int8(2), "b"])
    ([0, 1, 2], ['a'], ['b', 2])
    """
    if hasattr(rows, "columns"):  # to go through it would give the names of its columns
        raise ValueError(f"rows is a {type(rows).__name__}, expected names of rows: give table.index.")
    if isinstance(rows, tuple):  # to go through the name of a row of a MultiIndex would give two names of no row
        raise ValueError(
            f"rows is the tuple {shown(rows)}, expected a name or a list of names: give several names as a list; where "
            "a tuple names one row, as in a pandas MultiIndex, Data.from_arrays(rows=...) gives rows plain names."
        )
    if told := mask_told(rows):
        raise ValueError(f"rows is {told}, expected names of rows: give those in data.train.rows[mask].")
    if hasattr(rows, "tolist"):  # arrays, tensors, series, indexes, and the single numbers of numpy
        rows = rows.tolist()
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
        return list(dict.fromkeys(name_of(row) for row in rows))
    return [name_of(rows)]


def name_of(row: Any) -> Row:
    """Return a name as a plain value.

    Raises
    ------
    ValueError
        When it is no name.
    """
    plain = row.item() if hasattr(row, "item") else row
    if isinstance(plain, str):
        return str(plain)
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) < _LARGEST:
        return int(plain)
    if isinstance(plain, float) and math.isfinite(plain):
        return float(plain)
    # Not a time that is missing, nor one of pandas that is finer than a datetime.
    if isinstance(plain, datetime) and plain == plain and not getattr(plain, "nanosecond", 0):
        return datetime.fromisoformat(plain.isoformat())
    if isinstance(plain, date) and not isinstance(plain, datetime):
        return date.fromisoformat(plain.isoformat())
    raise ValueError(
        f"A row is called {shown(row)}: verdicts are kept by a number, a word or a date; Data.from_arrays(rows=...) "
        "gives rows such names."
    )


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return names of rows in order: numbers, then dates, then words.

    Examples
    --------
    >>> in_order(["b", 10, "a", 9])
    [9, 10, 'a', 'b']
    """
    listed = list(rows)
    numbers = sorted(row for row in listed if isinstance(row, int | float))
    dates = sorted((row for row in listed if isinstance(row, date)), key=lambda row: row.isoformat())
    return [*numbers, *dates, *sorted(row for row in listed if isinstance(row, str))]


def read_name(value: Any) -> Row:
    """Return the name that a JSON value stands for: a number, a word, or an object with a date.

    Raises
    ------
    ValueError
        When it stands for none.

    Examples
    --------
    >>> read_name({"date": "2020-02-29"})
    datetime.date(2020, 2, 29)
    """
    if isinstance(value, dict) and len(value) == 1:
        (kind, text), *_ = value.items()
        if kind in _DATES and isinstance(text, str):
            return name_of(_DATES[kind].fromisoformat(text))
    return name_of(value)


def written(name: Row) -> Any:
    """Return the JSON value of a name.

    Examples
    --------
    >>> written(5), written(date(2020, 2, 29))
    (5, {'date': '2020-02-29'})
    """
    if isinstance(name, date):
        return {"time" if isinstance(name, datetime) else "date": name.isoformat()}
    return name


def code_of_name(name: Row) -> str:
    """Return Python for a name, given ``import datetime``.

    Examples
    --------
    >>> code_of_name("a"), code_of_name(date(2020, 2, 29))
    ('"a"', 'datetime.date(2020, 2, 29)')
    """
    return repr(name) if isinstance(name, date) else source(name)
