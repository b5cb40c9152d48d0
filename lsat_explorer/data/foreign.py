"""The one adapter for tables of other libraries: what is asked of pandas, polars, pyarrow and the like, by narwhals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = [
    "categories_of",
    "collected",
    "column_of",
    "frame_of",
    "holds_times",
    "in_memory",
    "index_of",
    "is_time",
    "numbered",
    "output_names",
    "rows_at",
]


def frame_of(table: Any) -> tuple[tuple[str, ...], np.ndarray] | None:
    """Return the names (d,) and the entries (N, d) of a data frame, None for anything else.

    Parameters
    ----------
    table : data frame of pandas, polars, pyarrow or another library that narwhals knows
        Frames of numbers stay numbers, without a copy where their library has none to make; others become objects,
        with None, NaN or NA where an entry is missing, and also where there are dates. A lazy frame is collected.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_of(pd.DataFrame({"age": [30.0, 41.0]}))
    (('age',), array([[30.],
           [41.]]))
    """
    import narwhals as nw

    found, names = _seen(table)
    if not isinstance(found, nw.DataFrame):
        return None
    if found.implementation.is_pandas_like() or not any(kind.is_temporal() for kind in found.schema.values()):
        return names, found.to_numpy()
    entries = np.empty(found.shape, dtype=object)  # polars would make numbers of dates beside numbers
    for place in range(found.shape[1]):
        entries[:, place] = found[:, place].to_list()
    return names, entries


def categories_of(table: Any) -> dict[int, tuple[str, np.ndarray]]:
    """Return the name and the entries (N,) of each column of a frame that is declared to hold categories, by its place.

    Examples
    --------
    >>> import pandas as pd
    >>> categories_of(pd.DataFrame({"age": [30, 41], "ward": pd.Categorical([3, 5])}))
    {1: ('ward', array([3, 5]))}
    """
    import narwhals as nw

    found, names = _seen(table)
    kinds = found.schema.values() if isinstance(found, nw.DataFrame) else ()
    places = [place for place, kind in enumerate(kinds) if kind in (nw.Categorical, nw.Enum)]
    return {place: (names[place], found[:, place].to_numpy()) for place in places}


def holds_times(values: Any) -> bool:
    """Whether a frame, series, array or list holds dates or durations, which numpy would turn into whole numbers.

    Examples
    --------
    >>> holds_times(np.array(["2020-02-29"], "M8[us]")), holds_times([[np.timedelta64(5), 1.0]]), holds_times([2.5])
    (True, True, False)
    """
    import narwhals as nw

    found, _ = _seen(values)
    if isinstance(found, nw.DataFrame):
        return any(holds_times(found[:, place].to_native()) for place in range(found.shape[1]))
    if isinstance(found, nw.Series) and (found.dtype.is_temporal() or found.dtype != nw.Object):
        return bool(found.dtype.is_temporal())
    kind = "O" if isinstance(values, list | tuple) else getattr(getattr(values, "dtype", None), "kind", "")
    if kind not in ("m", "M", "O"):
        return False
    try:
        entries = np.asarray(values)
    except ValueError:  # rows of different lengths
        return False
    return entries.dtype.kind in "mM" or (entries.dtype.kind == "O" and any(map(is_time, entries.flat)))


def is_time(entry: Any) -> bool:
    """Whether an entry is a date or duration of numpy, which float takes as a whole number in its own units."""
    return isinstance(entry, np.datetime64 | np.timedelta64)


def numbered(table: Any) -> bool:
    """Whether pandas numbered the columns of a frame, 0 … d − 1, as it does where they were given no names.

    Examples
    --------
    >>> import pandas as pd
    >>> numbered(pd.DataFrame([[1.0, 2.0]])), numbered(pd.DataFrame({5: [1.0], 7: [2.0]}))
    (True, False)
    """
    import pandas as pd

    return isinstance(table, pd.DataFrame) and table.columns.equals(pd.RangeIndex(table.shape[1]))


def column_of(values: Any) -> tuple[np.ndarray, tuple[Any, ...] | None] | None:
    """Return the entries (N,) of a series, a frame of one column or a categorical, and its categories; or else None.

    The categories are in the user's order, None where there are none or they have no order.

    Examples
    --------
    >>> import pandas as pd
    >>> column_of(pd.Series(["well", "ill"], dtype=pd.CategoricalDtype(["well", "ill"])))
    (array(['well', 'ill'], dtype=object), ('well', 'ill'))
    """
    import narwhals as nw

    found, _ = _seen(values)
    if isinstance(found, nw.DataFrame) and found.shape[1] == 1:
        found = found[:, 0]
    native = found.to_native() if isinstance(found, nw.Series) else values
    # polars has `Enum` for this, pandas `categories` of any categorical; those of polars' `Categorical` have no order.
    known: Any = getattr(getattr(native, "dtype", None), "categories", None)
    categories = tuple(known.to_list()) if hasattr(known, "to_list") else None
    if isinstance(found, nw.Series):
        return np.asarray(found.to_numpy()), categories
    return None if categories is None else (np.asarray(values), categories)


def output_names(y: Any) -> tuple[str, ...]:
    """Return the names (m,) that outcomes bring along: of a frame's columns, or a series'; none where one has none.

    Columns that pandas numbered, 0 … m − 1, have none, and columns of which two have the same.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"height": [1.8], "weight": [80.0]})
    >>> output_names(frame), output_names(frame["height"]), output_names(frame.to_numpy())
    (('height', 'weight'), ('height',), ())
    """
    import narwhals as nw

    found, names = _seen(y)
    if isinstance(found, nw.Series):
        names = () if found.name is None else (str(found.name),)
    return names if all(names) and len(set(names)) == len(names) and not numbered(y) else ()


def in_memory(y: Any) -> Any:
    """Return outcomes of which [a:b] gives some rows: numbers that have names as they are, others as an array.

    Examples
    --------
    >>> import polars
    >>> in_memory(polars.DataFrame({"height": [1.8, 1.6], "weight": [80.0, 60.0]}))[1:2].columns
    ['height', 'weight']
    >>> in_memory(["well", "ill"])
    array(['well', 'ill'], dtype='<U4')
    """
    array = np.asarray(y)
    return y if output_names(y) and array.dtype.kind in "biuf" else array


def collected(table: Any) -> Any:
    """Return a lazy frame as one that holds its rows, worked out once; anything else as it is."""
    import narwhals as nw

    found = nw.from_native(table, allow_series=True, pass_through=True) if hasattr(table, "collect") else table
    return found.collect().to_native() if isinstance(found, nw.LazyFrame) else table


def index_of(table: Any) -> Any:
    """Return the row index of a frame or series that has one, None for anything else."""
    import narwhals as nw

    found, _ = _seen(table)
    return nw.maybe_get_index(found) if isinstance(found, nw.DataFrame | nw.Series) else None


def _seen(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Return a table as narwhals sees it, or the very thing where it is none, and the names of its columns."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(table, allow_series=True, pass_through=True)
        found = found.collect() if isinstance(found, nw.LazyFrame) else found
        names = found.columns if isinstance(found, nw.DataFrame) else []
    except DuplicateError:  # pandas has columns of one name, which are told apart by their places
        found, names = nw.from_native(table.set_axis(range(table.shape[1]), axis=1)), table.columns
    return found, tuple(str(name) for name in names)


def rows_at(inputs: Any, positions: np.ndarray) -> Any:
    """Return a copy of the rows of an array (N, d) at these positions, in order in memory, or of a sparse matrix."""
    found = inputs[positions]
    return found if sparse.issparse(found) else np.ascontiguousarray(found)
