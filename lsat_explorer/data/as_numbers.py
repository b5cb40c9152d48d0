"""Dates, durations, categories and text among the inputs: what is advised to make numbers of them."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from lsat_explorer.data.foreign import categories_of, is_time

__all__ = ["as_numbers", "encoding", "is_number", "no_numbers", "refuse_categories"]


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

    one = "" if names is None else _taken(column, names[column])
    if isinstance(entry, datetime.timedelta | np.timedelta64):
        unit, how = "seconds", f"pandas.to_timedelta(numpy.asarray({one})).total_seconds().to_numpy()"
    elif isinstance(entry, pd.Period):
        unit, how = "days", f"pandas.PeriodIndex({one}).to_timestamp().to_julian_date().to_numpy()"
    elif isinstance(entry, datetime.date | np.datetime64):  # a time of day with its date is a date, too
        unit, how = "days", f"pandas.to_datetime(numpy.asarray({one}), utc=True).to_julian_date().to_numpy()"
    else:
        return otherwise
    return f"write that column as {unit} first{f', such as {how},' if one else ','} or drop it"


def no_numbers(dtype: np.dtype[Any], what: str, names: Sequence[str] | None) -> ValueError:
    """Return the error of a table of this type, which is none of numbers; ``names`` are those of a frame's columns."""
    advice = as_numbers(np.zeros((), dtype)[()], 0, names, "convert it to numbers first")
    return ValueError(f"{what} is of type {dtype}, expected real numbers; {advice}")


def encoding(table: Any) -> str:
    """Return what makes numbers of the text and the categories of a table."""
    frame = "X.to_pandas()" if hasattr(table, "to_pandas") else "X"
    return f"pandas.get_dummies({frame}) does, and datasets.from_csv with the text of a file"


def refuse_categories(table: Any, what: str, texts: Collection[str] = ()) -> None:
    """Refuse numbers in a column of a frame that is declared to hold categories: they are codes, no amounts.

    Where categories are other text, `numbers` refuses them as it does text.

    Parameters
    ----------
    table
        What the user gave as a table.
    what : str
        What to call it.
    texts : collection of str
        Columns that are to hold categories.

    Raises
    ------
    ValueError
        With the first such column, and how to encode it, or to have its numbers taken as amounts.

    Examples
    --------
    >>> import pandas as pd
    >>> refuse_categories(pd.DataFrame({"age": [30, 41]}), "X")
    """
    import pandas as pd

    for place, (name, entries) in categories_of(table).items():
        present = entries[~pd.isna(entries)].tolist()
        if name in texts or not all(map(is_number, present)):
            continue
        found = f", such as {present[0]!r}" if present else ""
        raise ValueError(
            f"{what} has categories in column {place} ({name!r}){found}, expected numbers; encode or drop that column "
            f"first: {encoding(table)}, or write them as numbers where they are amounts: "
            f"numpy.asarray({_taken(place, name)}).astype(float)"
        )


def is_number(entry: Any) -> bool:
    """Whether an entry of a table can be read as a number."""
    try:
        float(entry)
    except (TypeError, ValueError, OverflowError):
        return False
    return not is_time(entry)


def _taken(column: int, name: str) -> str:
    """Return the code that takes a column from its frame; pandas has names that are numbers, where ours are text."""
    return f"X[X.columns[{column}]]" if name.isdecimal() else f"X[{name!r}]"
