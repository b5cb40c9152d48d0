"""The columns of a frame in the order of those that a model was tuned on, by name; text as its columns of 0 and 1."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lsat_explorer.data.categories import as_text
from lsat_explorer.data.tables import default_names, shown

__all__ = ["coded_columns", "in_order"]


def in_order(
    names: Sequence[str],
    entries: np.ndarray,
    wanted: Sequence[str],
    *,
    unnamed: bool = False,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the entries (N, d) of a frame, as objects or numbers, in the order of the wanted columns, by name.

    A wanted column ``colour=red`` that the frame lacks is made of its column ``colour``: 1 where that says ``red``, NaN
    where the entry is missing. Their order counts where no name is a wanted one, there are as many, and the frame's
    or the wanted ones were made up: those of an array, or the frame is ``unnamed``. ``rows`` (N,) are what the user
    calls the rows, by default 0 … N − 1.

    Raises
    ------
    ValueError
        When columns are not there, twice there or not wanted, all of them named, or one says what is none of the wanted
        values.

    Examples
    --------
    >>> in_order(["metal", "weight"], np.array([["iron", 2.5]], dtype=object), ["weight", "metal=iron", "metal=zinc"])
    array([[2.5, 1.0, 0.0]], dtype=object)
    """
    given = set(names)
    rows = np.arange(len(entries)) if rows is None else rows
    names, entries = _with_indicators(list(names), entries, wanted, rows)
    if names == list(wanted):
        return entries
    if len(names) == len(wanted) and not set(names) & set(wanted) and (unnamed or _made_up(wanted) or _counted(names)):
        return entries
    places, asked = {name: place for place, name in enumerate(names)}, set(wanted)
    lacking = [name for name in wanted if name not in places]
    unknown = [name for name in places if name not in asked]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if lacking or unknown or twice is not None:
        trouble = f"has the column {shown(twice)} twice"
        own = _as_given(wanted, given)
        if lacking:
            trouble = f"lacks {_told_lacking(lacking, own)}"
        elif unknown:
            out = ", ".join(map(repr, unknown))
            trouble = f"has the unknown {_columns(unknown)}, to leave out by X.drop(columns=[{out}])"
        expected = list(dict.fromkeys(own.values()))
        known = ", ".join(map(repr, expected[:6])) + (", …" if len(expected) > 6 else "")
        raise ValueError(f"X {trouble}: give the columns {known} by name.")
    return entries[:, [places[name] for name in wanted]]


def _columns(names: Sequence[str]) -> str:
    """Return a column by its name, or several by the first of theirs."""
    told = ", ".join(map(shown, names[:6])) + (", …" if len(names) > 6 else "")
    return f"column{'s' if len(names) > 1 else ''} {told}"


def _told_lacking(lacking: Sequence[str], own: Mapping[str, str]) -> str:
    """Return the wanted columns that are not there, each as it is to be given."""
    columns = list(dict.fromkeys(own[name] for name in lacking))
    text = len(columns) == 1 and columns[0] != lacking[0]
    return _columns(columns) + (f" of text, or {shown(lacking[0])}" if text else "")


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


def _with_indicators(
    names: list[str], entries: np.ndarray, wanted: Sequence[str], rows: np.ndarray
) -> tuple[list[str], np.ndarray]:
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
        parts.append(_indicators_of(column, entries[:, names.index(column)], its, known, rows))
    return [names[place] for place in kept] + [name for its in made.values() for name in its], np.hstack(parts)


def _indicators_of(
    column: str, entries: np.ndarray, made: Sequence[str], known: Sequence[str], rows: np.ndarray
) -> np.ndarray:
    """Return the columns (N, made) of 0 and 1 of one column's entries (N,), NaN where they are missing."""
    import pandas as pd

    absent = np.asarray(pd.isna(entries), dtype=bool)
    texts = np.array([None if gone else as_text(entry) for entry, gone in zip(entries, absent, strict=True)], object)
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
            f"X has {shown(texts[row])} at row {shown(rows[row])}, column {shown(column)}, which no row of the model's "
            f"data had: expected one of {told}; leave the row out, or the entry empty where the model fills those."
        )
    columns = [np.where(absent, np.nan, texts == name.removeprefix(f"{column}=")) for name in made]
    return np.stack(columns, axis=1).astype(object)


def _otherwise(text: str, written: bool, known: Sequence[str]) -> str:
    """Return the known text of the same number or flag, if one alone is: 1 for the ``written`` 1.0; 01 for a 1."""
    plainly = _plainly(text)
    same = [each for each in known if _plainly(each) == plainly]
    return same[0] if len(same) == 1 and (same[0] == plainly or not written) else text


def _plainly(text: str) -> str:
    """Return the text of a number or a flag as `as_text` would write that."""
    written = text.strip()
    if re.fullmatch(r"[-+]?\d{1,18}(\.0*)?", written):
        return str(int(written.partition(".")[0]))
    return written.capitalize() if written.lower() in ("true", "false") else text


def coded_columns(wanted: Sequence[str]) -> list[str]:
    """Return the columns that a frame may have in place of wanted ones: ``colour`` for ``colour=red``."""
    asked = set(wanted)
    starts = (name[: sign.start()] for name in wanted for sign in re.finditer("=", name))
    return [column for column in dict.fromkeys(starts) if column not in asked]
