"""Text among the columns of a table: what is a category, and its columns of 0 and 1, ``colour=red``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsat_explorer.data.labels import FEW
from lsat_explorer.data.tables import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_text", "coded", "indicators", "refuse_numbers"]

MOST_VALUES = 100
"""Text with more different values than this is no category, but says something else of each row."""

_DECIMAL_COMMA = r"\s*[-+]?\d*,\d+\s*"
_THOUSANDS = r"\s*[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?\s*"

_BEGINS_WITH_A_NUMBER = r"\s*[-+$€£¥]?\s*[.,]?\d"


def indicators(column: pd.Series[Any], where: str, *, sure: bool = False, separator: str = "") -> dict[str, np.ndarray]:
    """Return a column of 0 and 1 (N,) for each of its values, as ``name=value``, NaN where the entry is missing.

    Parameters
    ----------
    column : Series
        Text or a categorical, or anything that the user calls categories.
    where : str
        What to call the table in errors.
    sure : bool
        Whether the user called it categories. Else text of which half or more of the entries are numbers is refused,
        and so is what has more than 100 different values, or begins with a number in more than 20 different ways; and
        more than two texts are in two rows each on average.
    separator : str
        What stands between the columns of the file that it was read from.

    Raises
    ------
    ValueError
        When it is no category; the sentence says how to say that it is one.
    """
    import pandas as pd

    name = str(column.name)
    if not isinstance(column.dtype, pd.CategoricalDtype):
        if not sure:
            refuse_numbers(column, where, separator)
        column = column.map(as_text, na_action="ignore")
    codes, values = coded(column, where, f"leave it out: drop=[{name!r}]")
    if not sure:
        _refuse_many(column, len(values), where)
    absent = codes < 0
    return {f"{name}={as_text(value)}": np.where(absent, np.nan, codes == place) for place, value in enumerate(values)}


def refuse_numbers(column: pd.Series[Any], where: str, separator: str = "") -> None:
    """Refuse text of which at least half are numbers: an entry that is none has made text of them all.

    Where commas are the ``separator`` of columns, 1,001 is not taken for a number with a decimal comma.

    Raises
    ------
    ValueError
        With the first entry that is no number, and its row, or the first with a decimal comma or thousands separators.
    """
    import pandas as pd

    present, name = column.dropna(), str(column.name)
    text = present.map(lambda entry: isinstance(entry, str)).to_numpy(dtype=bool)
    if not text.any():
        return
    numeric = pd.to_numeric(present.where(text), errors="coerce").notna().to_numpy(dtype=bool)
    commas = present.astype(str).str.fullmatch(_DECIMAL_COMMA).to_numpy(dtype=bool)
    thousands = present.astype(str).str.fullmatch(_THOUSANDS).to_numpy(dtype=bool)
    whole = separator == "," and thousands.any() and bool((thousands | ~commas).all())
    if whole and 2 * (numeric | thousands).sum() >= len(present):
        first = present.iloc[int(np.argmax(thousands))]
        raise ValueError(
            f"{where} has {shown(first)} and {int(thousands.sum()) - 1:,} more numbers with thousands separators, as "
            f"it seems, in column {shown(name)}, expected numbers without; remove them, or read the file yourself, by "
            f'pandas.read_csv(path, thousands=","), and give the table to Data.from_arrays, or say that all are '
            f"categories: categories=[{name!r}]"
        )
    if commas.any() and 2 * (numeric | commas).sum() >= len(present):
        first = present.iloc[int(np.argmax(commas))]
        raise ValueError(
            f"{where} has {shown(first)} and {int(commas.sum()) - 1:,} more numbers with a decimal comma in column "
            f"{shown(name)}, expected numbers; read CSV with decimal=',', or say that all are categories: "
            f"categories=[{name!r}]"
        )
    if 2 * numeric.sum() < len(present):
        return
    first = int(np.argmin(numeric))
    others = "" if numeric.all() else f" and {shown(present.iloc[first])} at row {shown(present.index[first])}"
    raise ValueError(
        f"{where} has {int(numeric.sum()):,} numbers{' as text' if numeric.all() else ''}{others} in column "
        f"{shown(name)}, expected numbers or categories; write it as a number, or as an empty entry where it is "
        f"missing, or say that all are categories: categories=[{name!r}]"
    )


def _refuse_many(column: pd.Series[Any], different: int, where: str) -> None:
    """Refuse text that says something else of each row."""
    import pandas as pd

    present, name = column.dropna(), str(column.name)
    remedy = (
        f"leave it out by drop=[{name!r}], let it name the rows by index={name!r}, or say that these are categories: "
        f"categories=[{name!r}]"
    )
    if different > MOST_VALUES:
        raise ValueError(
            f"{where} has {different:,} different texts in column {shown(name)}, expected at most {MOST_VALUES} "
            f"categories; {remedy}"
        )
    if isinstance(column.dtype, pd.CategoricalDtype):
        return
    if different > max(2, len(present) // 2):
        raise ValueError(
            f"{where} has {different:,} different texts in {len(present):,} rows of column {shown(name)}, expected "
            f"categories of two rows or more on average; {remedy}"
        )
    begins = present.astype(str).str.match(_BEGINS_WITH_A_NUMBER).to_numpy(dtype=bool)
    if different > FEW and 2 * begins.sum() >= len(present):
        raise ValueError(
            f"{where} has {shown(present.iloc[int(np.argmax(begins))])} and {different - 1:,} other texts in column "
            f"{shown(name)}, most of them with a number at their start, expected numbers or at most {FEW} categories "
            f"of that kind; write numbers alone, a date for instance as days, or {remedy}"
        )


def coded(column: pd.Series[Any], where: str, remedy: str) -> tuple[np.ndarray, list[Any]]:
    """Return the place (N,) of each entry among the values, −1 where it is missing, and the values as JSON has them.

    Raises
    ------
    ValueError
        For lists, arrays and dicts, which are no values to tell apart.
    """
    import pandas as pd

    try:
        category = column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype("category")
    except TypeError:
        kinds = sorted({type(entry).__name__ for entry in column.dropna()})
        raise ValueError(
            f"{where} has entries of type {', '.join(kinds)} in column {shown(str(column.name))}, expected numbers or "
            f"text; {remedy}"
        ) from None
    category = category.cat.remove_unused_categories()
    values = [value if isinstance(value, str | bool | int | float) else str(value) for value in category.cat.categories]
    return category.cat.codes.to_numpy(dtype=np.int64), values


def as_text(value: Any) -> Any:
    """Return a number or a flag as text, a whole number alike of every type; anything else as it is."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value) if isinstance(value, bool | int | float | np.generic) else value
