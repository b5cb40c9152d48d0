"""Dates and times among the inputs: what is advised to make numbers of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_numbers"]


def as_numbers(entry: Any, column: int, names: Sequence[str] | None, otherwise: str) -> str:
    """Return what makes numbers of a column that holds this entry; ``otherwise`` where it is no date and no duration.

    What is advised takes the column of any library, and gives a row the same number whatever other rows there are: days
    since the first one would count from another day in the table to predict.

    Examples
    --------
    >>> as_numbers(np.timedelta64(5, "s"), 0, ["age"], "drop it").split(", ")[1]
    "such as pandas.to_timedelta(numpy.asarray(X['age'])).total_seconds().to_numpy()"
    >>> as_numbers("Bern", 0, ["age"], "drop it")
    'drop it'
    """
    import pandas as pd

    one = "" if names is None else _taken(column, names)
    if isinstance(entry, datetime.timedelta | np.timedelta64):
        unit, how = "seconds", f"pandas.to_timedelta(numpy.asarray({one})).total_seconds().to_numpy()"
    elif isinstance(entry, pd.Period):
        unit, how = "days", f"pandas.PeriodIndex({one}).to_timestamp().to_julian_date().to_numpy()"
    elif isinstance(entry, datetime.date | np.datetime64):  # a time of day with its date is a date, too
        unit, how = "days", f"pandas.to_datetime(numpy.asarray({one}), utc=True).to_julian_date().to_numpy()"
    else:
        return otherwise
    return f"write that column as {unit} first{f', such as {how},' if one else ','} or drop it"


def _taken(column: int, names: Sequence[str]) -> str:
    """Return the code that takes a column from its frame; pandas has names that are numbers, where ours are text."""
    name = names[column]
    return f"X[X.columns[{column}]]" if name.isdecimal() else f"X[{name!r}]"
