"""Text among the columns of a table: what is a category, and its columns of 0 and 1, ``colour=red``, made and found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lsat_explorer.data.labels import FEW
from lsat_explorer.data.tables import default_names, shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["coded", "coded_columns", "in_order", "indicators", "refuse_numbers"]

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
        column = column.map(_text, na_action="ignore")
    codes, values = coded(column, where, f"leave it out: drop=[{name!r}]")
    if not sure:
        _refuse_many(column, len(values), where)
    absent = codes < 0
    return {f"{name}={_text(value)}": np.where(absent, np.nan, codes == place) for place, value in enumerate(values)}


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


def in_order(names: Sequence[str], entries: np.ndarray, wanted: Sequence[str], *, unnamed: bool = False) -> np.ndarray:
    """Return the entries (N, d) of a frame, as objects or numbers, in the order of the wanted columns, by name.

    A wanted column ``colour=red`` that the frame lacks is made of its column ``colour``: 1 where that says ``red``, NaN
    where the entry is missing. Their order counts where no name is a wanted one, there are as many, and the frame's
    or the wanted ones were made up: those of an array, or the frame is ``unnamed``.

    Raises
    ------
    ValueError
        When a column is not there, twice there or not wanted, or says what is none of the wanted values.

    Examples
    --------
    >>> in_order(["metal", "weight"], np.array([["iron", 2.5]], dtype=object), ["weight", "metal=iron", "metal=zinc"])
    array([[2.5, 1.0, 0.0]], dtype=object)
    """
    given = set(names)
    names, entries = _with_indicators(list(names), entries, wanted)
    if names == list(wanted):
        return entries
    if len(names) == len(wanted) and not set(names) & set(wanted) and (unnamed or _made_up(wanted) or _counted(names)):
        return entries
    places, asked = {name: place for place, name in enumerate(names)}, set(wanted)
    lacking = next((name for name in wanted if name not in places), None)
    unknown = next((name for name in names if name not in asked), None)
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if lacking is not None or unknown is not None or twice is not None:
        trouble = f"has the column {shown(twice)} twice"
        own = _as_given(wanted, given)
        if lacking is not None:
            text = own[lacking] != lacking
            trouble = f"lacks column {shown(own[lacking])}{f' of text, or {shown(lacking)}' if text else ''}"
        elif unknown is not None:
            trouble = f"has the unknown column {shown(unknown)}, to leave out by X.drop(columns=[{unknown!r}])"
        expected = list(dict.fromkeys(own.values()))
        known = ", ".join(map(repr, expected[:6])) + (", …" if len(expected) > 6 else "")
        raise ValueError(f"X {trouble}: give the columns {known} by name.")
    return entries[:, [places[name] for name in wanted]]


def _made_up(wanted: Sequence[str]) -> bool:
    """Whether these are no names of the user's, but those of an array, of images or of a frame without names."""
    every = list(wanted)
    arrays = (list(default_names(len(every), None)), list(map(str, range(len(every)))))
    return every in arrays or _counted(every) or all(re.fullmatch(r"pixel(_\d+)+", name) for name in every)


def _counted(names: Sequence[str]) -> bool:
    """Whether these are the names that polars gives to the columns of an array."""
    return list(names) == [f"column_{place}" for place in range(len(names))]


def _as_given(wanted: Sequence[str], given: set[str]) -> dict[str, str]:
    """Return each wanted column with the one to give for it: that of text for those made of it, if none is given."""
    made: dict[str, list[str]] = {}
    for name in wanted:
        made.setdefault(name.partition("=")[0], []).append(name)
    of_text = {column for column, its in made.items() if len(its) > 1 and not given & set(its)}
    return {name: column if column in of_text else name for column, its in made.items() for name in its}


def _with_indicators(names: list[str], entries: np.ndarray, wanted: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Replace columns of text by the wanted columns of 0 and 1 that stand for them."""
    there, asked = set(names), set(wanted)
    lacking = [name for name in wanted if "=" in name and name not in there]
    made: dict[str, list[str]] = {}
    for name in lacking:
        # a name may have that sign of its own
        starts = [column for column in names if name.startswith(f"{column}=") and column not in asked]
        if starts:
            made.setdefault(max(starts, key=len), []).append(name)
    if not made:
        return names, entries
    kept = [place for place, name in enumerate(names) if name not in made]
    parts = [entries[:, kept].astype(object)]
    for column, its in made.items():
        known = [name.removeprefix(f"{column}=") for name in wanted if name.startswith(f"{column}=")]
        parts.append(_indicators_of(column, entries[:, names.index(column)], its, known))
    return [names[place] for place in kept] + [name for its in made.values() for name in its], np.hstack(parts)


def _indicators_of(column: str, entries: np.ndarray, made: Sequence[str], known: Sequence[str]) -> np.ndarray:
    """Return the columns (N, made) of 0 and 1 of one column's entries (N,), NaN where they are missing."""
    import pandas as pd

    absent = np.asarray(pd.isna(entries), dtype=bool)
    texts = np.array([None if gone else _text(entry) for entry, gone in zip(entries, absent, strict=True)], object)
    strange = ~absent & ~np.isin(texts.astype(str), known)
    if strange.any():
        asked = [
            (str(text), isinstance(entry, str)) for text, entry in zip(texts[strange], entries[strange], strict=True)
        ]
        meant = {each: _otherwise(*each, known) for each in set(asked)}
        texts[strange] = [meant[each] for each in asked]
    unseen = ~absent & ~np.isin(texts.astype(str), known)
    if unseen.any():
        row = int(np.argmax(unseen))
        told = ", ".join(map(shown, known[:10])) + (", …" if len(known) > 10 else "")
        raise ValueError(
            f"X has {shown(texts[row])} at row {row}, column {shown(column)}, which no row of the model's data had: "
            f"expected one of {told}; leave the row out, or the entry empty where the model fills those."
        )
    columns = [np.where(absent, np.nan, texts == name.removeprefix(f"{column}=")) for name in made]
    return np.stack(columns, axis=1).astype(object)


def _otherwise(text: str, as_text: bool, known: Sequence[str]) -> str:
    """Return the known text of the same number or flag, if one alone is: 1 for the text 1.0; 01 for the number 1."""
    plainly = _plainly(text)
    same = [each for each in known if _plainly(each) == plainly]
    return same[0] if len(same) == 1 and (same[0] == plainly or not as_text) else text


def _plainly(text: str) -> str:
    """Return the text of a number or a flag as `_text` would write that."""
    written = text.strip()
    if re.fullmatch(r"[-+]?\d{1,18}(\.0*)?", written):
        return str(int(written.partition(".")[0]))
    return written.capitalize() if written.lower() in ("true", "false") else text


def coded_columns(wanted: Sequence[str]) -> list[str]:
    """Return the columns that a frame may have in place of wanted ones: ``colour`` for ``colour=red``."""
    asked = set(wanted)
    starts = (name[: sign.start()] for name in wanted for sign in re.finditer("=", name))
    return [column for column in dict.fromkeys(starts) if column not in asked]


def _text(value: Any) -> Any:
    """Return a number or a flag as text, a whole number alike of every type; anything else as it is."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value) if isinstance(value, bool | int | float | np.generic) else value
