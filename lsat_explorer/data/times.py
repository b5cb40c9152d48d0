"""Dates and times among the inputs: what is advised to make numbers of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_numbers"]


def as_numbers(entry: Any, column: int, names: Sequence[str] | None, otherwise: str) -> str:
    """Return what makes numbers of a column that holds this entry; ``otherwise`` where it is no date and no duration.

    Examples
    --------
    >>> as_numbers(np.datetime64("2024-05-17"), 0, ["age"], "drop it")
    "write that column as days first, such as (X['age'] - X['age'].min()).dt.days, or drop it"
    >>> as_numbers("Bern", 0, ["age"], "drop it")
    'drop it'
    """
    import pandas as pd

    one = "" if names is None else f"X[{names[column]!r}]"
    if isinstance(entry, datetime.timedelta | np.timedelta64):
        unit, how = "seconds", f"{one}.dt.total_seconds()"
    elif isinstance(entry, pd.Timestamp | np.datetime64):
        unit, how = "days", f"({one} - {one}.min()).dt.days"
    elif isinstance(entry, datetime.date):  # of another library than pandas, or plain objects
        unit, how = "days", f"pandas.to_datetime(list({one})).to_julian_date().to_numpy()"
    else:
        return otherwise
    return f"write that column as {unit} first{f', such as {how},' if one else ','} or drop it"
