"""A data frame of a file as numbers: text and categories become one column for each value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsat_explorer.data.categories import coded, indicators, refuse_numbers
from lsat_explorer.data.separators import SPACES
from lsat_explorer.data.tables import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Rows",
    "check_columns",
    "names_in",
    "other_separator",
    "plain_names",
    "rows_of_frame",
    "target_names",
    "targets_of",
]


@dataclass(frozen=True, eq=False)
class Rows:
    """What was read: inputs (N, d), outcomes (N,) or (N, m), names of the d columns and of the N rows, or None.

    Where ``labels`` are given, ``y`` holds their places (N,), −1 for a label that is missing.
    """

    X: np.ndarray
    y: np.ndarray
    labels: list[Any] | None = None
    names: list[str] | None = None
    rows: list[Any] | None = None

    def outcome(self, target: str | Sequence[str] = ()) -> Any:
        """Return y as `Data.from_arrays` takes it, numbers under the names of their columns where these are told."""
        import pandas as pd

        if self.labels is None and target:
            names = names_in(target, "target")
            return pd.Series(self.y, name=names[0]) if self.y.ndim == 1 else pd.DataFrame(self.y, columns=names)
        if self.labels is None:
            return self.y
        return pd.Categorical.from_codes(self.y, categories=pd.Index(self.labels))


def targets_of(target: str | Sequence[str], columns: Sequence[str], where: str) -> list[str]:
    """Return the names of the target columns, after a look at whether they are there.

    Raises
    ------
    ValueError
        When one is not, or is named twice, or there is none; the sentence names the columns that are.
    """
    targets = target_names(target)
    check_columns(targets, columns, where, "target")
    return targets


def target_names(target: Any) -> list[str]:
    """Return the name of the target column, or of several, as a list.

    Raises
    ------
    ValueError
        When there is none, or one is named twice.
    """
    targets = names_in(target, "target")
    if not targets:
        raise ValueError(f"target is {shown(target)}, expected the name of a column; name the one to predict")
    twice = next((name for name in targets if targets.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"target= names {shown(twice)} twice, expected each column once; leave one out")
    return targets


def names_in(names: Any, option: str) -> list[str]:
    """Return one name, or several, as a list; those of a set in sorted order.

    Raises
    ------
    ValueError
        When they are neither.
    """
    if not isinstance(names, str | Iterable):
        raise ValueError(f"{option} is {shown(names)}, expected the name of a column, or several; pass names")
    told = [str(name) for name in ([names] if isinstance(names, str) else names)]
    return sorted(told) if isinstance(names, set | frozenset) else told


def plain_names(names: Any, option: str) -> str | Sequence[str]:
    """Return one name as text, several as a list of it and none as (): as a call and the cache write them.

    Raises
    ------
    ValueError
        When they are neither.

    Examples
    --------
    >>> plain_names({"b", "a"}, "drop"), plain_names(np.array(["a"]), "drop"), plain_names("a", "drop")
    (['a', 'b'], ['a'], 'a')
    """
    told = names_in(names, option)
    return told[0] if isinstance(names, str) else told or ()


def check_columns(names: Sequence[str], columns: Sequence[str], where: str, option: str) -> None:
    """Refuse the name of a column that is not there."""
    for name in names:
        if name not in columns:
            known = ", ".join(columns[:10]) + (", …" if len(columns) > 10 else "")
            between = other_separator(columns)
            if between is None and len(columns) == 1 and name in columns[0].split():
                between = SPACES
            if between is not None:
                known += f" alone; if {between!r} stands between columns, pass separator={between!r}, or else"
            raise ValueError(f"{where} has no column {shown(name)} for {option}=, it has {known}; name one of these")


def other_separator(columns: Sequence[str]) -> str | None:
    """Return what may stand between the names in a single one, or None."""
    return next((mark for mark in ";,\t|" if len(columns) == 1 and mark in columns[0]), None)


def rows_of_frame(
    frame: pd.DataFrame,
    where: str,
    *,
    target: str | Sequence[str],
    index: str | None,
    drop: str | Sequence[str],
    categories: str | Sequence[str] = (),
    separator: str = "",
) -> Rows:
    """Divide a frame into inputs and outcomes, text and categories among the inputs as one column for each value.

    Parameters
    ----------
    frame : DataFrame
    where : str
        What to call it in errors.
    target : str or sequence of str
        Column of the outcomes, or several of numbers.
    index : str or None
        Column that names the rows; the frame's own index where it has one of its own.
    drop : str or sequence of str
        Column to leave out, or several.
    categories : str or sequence of str
        Column of categories, or several, whatever they hold.
    separator : str
        What stands between the columns of the file that it was read from, where that is text.

    Raises
    ------
    ValueError
        For a column that is not there or is a target and something else, a frame without rows, a column of a file of
        text that has neither a name nor an entry, or no name and a number for each row, inputs that are neither numbers
        nor categories (`indicators` has the rule), a target of text half of which are numbers, and text in one of
        several targets.
    """
    import pandas as pd

    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    columns = list(frame.columns)
    targets = targets_of(target, columns, where)
    dropped = names_in(drop, "drop")
    for option, named in (("drop", dropped), ("index", [] if index is None else [index])):
        check_columns(named, columns, where, option)
        both = next((name for name in named if name in targets), None)
        if both is not None:
            raise ValueError(
                f"column {shown(both)} of {where} is named by target= and by {option}=, expected by one of them; leave "
                f"it out of the other"
            )
    sure = names_in(categories, "categories")
    check_columns(sure, columns, where, "categories")
    if not len(frame):
        raise ValueError(f"{where} has no rows; give at least two")
    if index is not None:
        frame = frame.set_index(index)
    # of a column of evenly spaced numbers pandas makes a RangeIndex, too
    numbered = index is None and isinstance(frame.index, pd.RangeIndex)
    rows = None if numbered else frame.index.astype(object).tolist()
    outcome = frame[targets[0]] if len(targets) == 1 else frame[targets]
    features = [name for name in frame.columns if name not in {*targets, *dropped}]
    if separator:
        _refuse_nameless(frame, features, where, separator)
        _refuse_numbers_of_rows(frame, features, where, index)
    inputs = [_columns(frame[name], where, name in sure, separator) for name in features]
    if not inputs:
        raise ValueError(f"{where} has no column beside the target; give the file that has the features")
    names = [name for column in inputs for name in column]
    arrays = [values for column in inputs for values in column.values()]
    single = all(values.dtype == np.float32 for values in arrays)
    X = np.stack([values.astype(np.float32 if single else np.float64) for values in arrays], axis=1)
    y, labels = _outcome(outcome, where, targets[0] in sure, separator)
    return Rows(X, y, labels, names, rows)


def _refuse_nameless(frame: pd.DataFrame, features: Sequence[str], where: str, separator: str) -> None:
    """Refuse features that have neither an entry nor a name, in whose place pandas puts one."""
    bare = [name for name in features if re.fullmatch(r"Unnamed: \d+", name) and frame[name].isna().all()]
    if bare:
        at_end = bare[-1] == frame.columns[-1]
        remedy = f"remove the {separator!r} at the end of the lines" if at_end else "remove it from the file"
        raise ValueError(
            f"{where} has a column without a name and without entries, expected columns with both; {remedy}, or leave "
            f"it out: drop={bare!r}"
        )


def _refuse_numbers_of_rows(frame: pd.DataFrame, features: Sequence[str], where: str, index: str | None) -> None:
    """Refuse a first feature without a name that numbers the rows, as pandas writes its index: it tells their order."""
    from pandas.api import types

    name = str(frame.columns[0])
    if name not in features or not re.fullmatch(r"Unnamed: 0(\.\d+)?", name):
        return
    if types.is_integer_dtype(frame[name].dtype) and frame[name].is_unique:
        names = "" if index is not None else f", or have it name the rows: index={name!r}"
        raise ValueError(
            f"{where} has a first column without a name that numbers the rows, as pandas writes its index, expected "
            f"columns of what is known of them; leave it out: drop=[{name!r}]{names}"
        )


def _columns(column: pd.Series[Any], where: str, sure: bool, separator: str) -> dict[str, np.ndarray]:
    """Return one input as numbers by name, NaN where it is missing; ``sure`` tells that it holds categories."""
    import pandas as pd
    from pandas.api import types

    name, dtype = str(column.name), column.dtype
    if sure:
        return indicators(column, where, sure=True)
    if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
        kept = dtype == np.float32
        return {name: column.to_numpy(dtype=np.float32 if kept else np.float64, na_value=np.nan)}
    if not (isinstance(dtype, pd.CategoricalDtype) or types.is_string_dtype(dtype) or types.is_object_dtype(dtype)):
        raise ValueError(
            f"{where} has {dtype} in column {shown(name)}, expected numbers or text; leave it out: drop=[{name!r}]"
        )
    return indicators(column, where, separator=separator)


def _outcome(
    outcome: pd.Series[Any] | pd.DataFrame, where: str, sure: bool, separator: str
) -> tuple[np.ndarray, list[Any] | None]:
    """Return y, with the labels where it holds places among them."""
    import pandas as pd
    from pandas.api import types

    if isinstance(outcome, pd.DataFrame):
        return np.stack([_target(column, where) for _, column in outcome.items()], axis=1), None
    dtype = outcome.dtype
    sure = sure or isinstance(dtype, pd.CategoricalDtype) or types.is_bool_dtype(dtype)
    if sure or not types.is_numeric_dtype(dtype):
        if not sure:
            refuse_numbers(outcome, where, separator)
        codes, labels = coded(outcome, where, "name another target")
        return codes, labels
    whole = types.is_integer_dtype(dtype) and not outcome.isna().any()
    if whole:
        return outcome.to_numpy(dtype=np.int64), None
    return outcome.to_numpy(dtype=np.float64, na_value=np.nan), None


def _target(column: pd.Series[Any], where: str) -> np.ndarray:
    """Return one of several targets (N,) as numbers."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        name = str(column.name)
        raise ValueError(
            f"{where} has what is no number in column {shown(name)}, and several targets are numbers; name it alone, "
            f"target={name!r}, or leave it out of target="
        ) from None
