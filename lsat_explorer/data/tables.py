"""The boundary: whatever table the user has becomes one plain matrix, with its names and its row index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from lsat_explorer.data.as_numbers import as_numbers, encoding, is_number, no_numbers, refuse_categories
from lsat_explorer.data.foreign import collected, column_of, frame_of, index_of, is_time, output_names, rows_at
from lsat_explorer.data.row_names import untouched

__all__ = [
    "LARGEST",
    "Column",
    "Table",
    "check_finite",
    "default_names",
    "fitting",
    "numbers",
    "plain",
    "read_column",
    "read_inputs",
    "read_table",
    "shown",
]

LARGEST = 1e100
"""Size of the largest number in a table: sums of squares, and products of these, are numbers too then."""

_CHUNK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Column:
    """The outcome of every row as it came: labels (N,), or targets (N,) or (N, m).

    Parameters
    ----------
    values
        Array as it came, of any type that holds labels or numbers.
    categories
        All labels in the user's order when the column is a pandas categorical, else None.
    names
        Names (m,) of the columns, empty where they have none.
    """

    values: np.ndarray
    categories: tuple[Any, ...] | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """Rows ready to be divided: inputs (N, d) float32 or float64, outcomes, the user's row index (N,), column names."""

    inputs: Any
    outcome: Column
    rows: np.ndarray
    names: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, positions: np.ndarray) -> Table:
        """Copy of the rows at these positions."""
        outcome = replace(self.outcome, values=self.outcome.values[positions])
        return Table(rows_at(self.inputs, positions), outcome, self.rows[positions], self.names)


def read_table(X: Any, y: Any, *, rows: Any = None, image_shape: Sequence[int] | None = None, split: str = "") -> Table:
    """One checked table out of the inputs and outcomes of the user, which stay as they are.

    Parameters
    ----------
    X
        Inputs (N, d): numpy array, torch tensor, pandas or polars frame, list of rows; images (N, h, w)
        with `image_shape`.
    y
        Labels (N,), or targets (N,) or (N, m), of the same kinds.
    rows
        Name of each row (N,); the index of X or y where None, or else 0..N-1.
    image_shape
        Shape of one image, for inputs that are not flattened.
    split
        Name of the split, for messages.

    Raises
    ------
    ValueError
        When shapes, lengths or types do not fit; the sentence names the split.
    """
    prefix, X, y = f"{split} " if split else "", collected(X), collected(y)
    inputs, names = read_inputs(X, f"{prefix}X", image_shape)
    outcome = read_column(y, f"{prefix}y")
    if len(outcome.values) != len(inputs):
        raise ValueError(
            f"{prefix}X has {len(inputs):,} rows and {prefix}y has {len(outcome.values):,}; give one label or target "
            f"for each row of X"
        )
    if not len(inputs):
        raise ValueError(f"{prefix}X has no rows; give at least two")
    return Table(inputs, outcome, _read_rows(rows, X, y, len(inputs), prefix), names)


def default_names(features: int, image_shape: tuple[int, ...] | None) -> tuple[str, ...]:
    """Names of the columns of a table without any: ``x0``, ``x1``, ..., or ``pixel_row_column``."""
    if image_shape is None:
        return tuple(f"x{column}" for column in range(features))
    return tuple("pixel_" + "_".join(map(str, place)) for place in np.ndindex(*image_shape))


def shown(value: Any) -> str:
    """Write a label, row or entry for a message: as code, at most 60 characters."""
    given = value.item() if isinstance(value, np.generic) else value
    text = str(value) if is_time(value) and isinstance(given, int) else repr(given)  # nanoseconds, by numpy
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_finite(
    values: np.ndarray, what: str, rows: np.ndarray, names: Sequence[str] | None = None, *, fill: str = ""
) -> None:
    """Refuse NaN, infinities and what is beyond `LARGEST` in (N,) or (N, m), naming the first by row and column."""
    if not values.size:
        return
    flat = values.reshape(len(values), -1)
    for start, block in _blocks(flat):
        fits = fitting(block)
        if not fits.all():
            row, column = np.argwhere(~fits)[0]
            where = f"row {shown(rows[start + row])}"
            if values.ndim == 2:
                where += f", column {_column(int(column), names)}"
            expected = "finite numbers; drop or fill in such rows first"
            if np.isnan(block[row, column]):
                expected = f"finite numbers, and nan is a missing one; drop or fill in such rows first{fill}"
            if np.isfinite(block[row, column]):
                expected = f"numbers of at most {LARGEST:.0e} in size; divide them by a constant first"
            raise ValueError(f"{what} has {block[row, column]} at {where}, expected {expected}")


def fitting(values: np.ndarray) -> np.ndarray:
    """Which entries are numbers of at most `LARGEST` in size."""
    largest = min(LARGEST, float(np.finfo(values.dtype).max))
    return np.asarray((values <= largest) & (values >= -largest))


def _blocks(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    step = max(1, _CHUNK_ENTRIES // max(1, values.shape[1]))
    return ((start, values[start : start + step]) for start in range(0, len(values), step))


def _column(position: int, names: Sequence[str] | None) -> str:
    return f"{position} ({shown(names[position])})" if names else str(position)


def plain(values: Any, what: str) -> np.ndarray:
    """Numpy array of any array-like, without a copy where that can be; missing entries become NaN or None.

    Raises
    ------
    ValueError
        For what is sparse, has rows of different lengths, or holds no numbers yet.
    """
    if isinstance(values, torch.Tensor):
        if values.layout != torch.strided:
            raise ValueError(f"{what} is a sparse tensor, expected a dense one; pass {what.split()[-1]}.to_dense()")
        if values.is_meta:
            raise ValueError(f"{what} is a tensor on the device meta, which holds no numbers; pass one that does")
        values = values.detach().cpu()
        # numpy has no bfloat16, and half precision becomes float64 anyway
        half = values.dtype in (torch.bfloat16, torch.float16)
        return np.asarray((values.double() if half else values).numpy())
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise ValueError(f"{what} is a sparse matrix, expected a dense one; pass {what.split()[-1]}.toarray()")
    if isinstance(values, np.ma.MaskedArray):
        plain: np.ndarray = np.asarray(values.data, dtype=object).copy()
        plain[np.ma.getmaskarray(values)] = None
        return plain
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{what} has rows of different lengths, expected a rectangle; make all rows equally long"
        ) from error


def read_inputs(
    X: Any, what: str, image_shape: Sequence[int] | None = None
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return inputs (N, d) as float32 or float64, and the names of the columns of a frame.

    Raises
    ------
    ValueError
        When they have another shape, or are no real numbers, or numbers that are declared to be categories.
    """
    names, values = frame_of(X) or (None, plain(X, what))
    refuse_categories(X, what)
    if image_shape is not None and values.ndim > 2 and values.shape[1:] == tuple(image_shape):
        values = values.reshape(len(values), -1)
    if not values.ndim:
        how = "pandas.DataFrame(X) makes one" if isinstance(X, dict) else "datasets.from_csv(path, target) reads a file"
        raise ValueError(f"{what} is a {type(X).__name__}, expected a table (N, d): an array or a data frame; {how}")
    if values.ndim != 2:
        advice = "flatten each row, or give its image_shape"
        if values.ndim == 1:
            advice = "X.reshape(-1, 1) makes one column, X.reshape(1, -1) one row"
        raise ValueError(f"{what} has shape {values.shape}, expected (N, d) with one row per observation; {advice}")
    if not values.shape[1]:
        raise ValueError(f"{what} has shape {values.shape}, expected at least one column; give the features")
    native = values.dtype.newbyteorder("=")
    if native in (np.float32, np.float64):
        return values.astype(native, copy=False), names
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), names
    if values.dtype.kind in "OU":
        return numbers(values, what, names, f": {encoding(X)}"), names
    raise no_numbers(values.dtype, what, names)


def numbers(values: np.ndarray, what: str, names: Sequence[str] | None = None, how: str = "") -> np.ndarray:
    """Read an object array (N, m) as float64, None and pandas' NA as NaN; name the first that is no number."""
    import pandas as pd

    read = np.empty(values.shape, dtype=np.float64)
    for column in range(values.shape[1]):
        entries = values[:, column].astype(object)
        entries = np.where(pd.isna(entries), np.nan, entries)
        try:
            if any(map(is_time, entries)):
                raise TypeError
            read[:, column] = entries.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            position = next((row for row, entry in enumerate(entries) if not is_number(entry)), 0)
            advice = as_numbers(values[position, column], column, names, f"encode or drop that column first{how}")
            place = f"position {position}, column {_column(column, names)}"
            found = shown(values[position, column])
            raise ValueError(f"{what} has {found} at {place}, expected numbers; {advice}") from None
    return read


def read_column(y: Any, what: str = "y") -> Column:
    """Outcomes (N,) or (N, m) as they came; a single column is (N,).

    Raises
    ------
    ValueError
        When they are neither labels nor real numbers, or have another shape.
    """
    values, known = column_of(y) or ((frame_of(y) or (None, plain(y, what)))[1], None)
    values = untouched(y, values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise ValueError(f"{what} has shape {values.shape}, expected labels (N,) or targets (N,) or (N, m); reshape it")
    if values.dtype.kind not in "biufOUS":
        raise ValueError(f"{what} is of type {values.dtype}, expected labels or real numbers; convert it first")
    if values.dtype.kind == "O" and values.ndim == 2:
        values = numbers(values, what)
    return Column(values, known, output_names(y))


def _read_rows(rows: Any, X: Any, y: Any, count: int, prefix: str) -> np.ndarray:
    """Return the user's name of each row (N,): given, the index of a frame or series, or 0..N-1."""
    import pandas as pd

    indexes = [index for index in map(index_of, (X, y)) if index is not None]
    if len(indexes) == 2 and not indexes[0].equals(indexes[1]):
        raise ValueError(
            f"{prefix}X and {prefix}y have different row indexes, so it is not clear which label belongs to which row; "
            f"pass y.loc[X.index], or y.to_numpy() if they already stand in the same order"
        )
    if rows is not None:
        names = untouched(rows, np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows))
        source = "rows"
    elif indexes:
        names, source = np.asarray(indexes[0].to_numpy()), "the row index"
    else:
        return np.arange(count)
    if names.dtype == "datetime64[ns]" and (names.astype("datetime64[us]") == names).all():
        names = names.astype("datetime64[us]")  # as plain values, times in nanoseconds would be whole numbers
    if names.shape != (count,):
        raise ValueError(f"{source} has shape {names.shape}, expected ({count},); name each row of X once")
    if (missing := pd.isna(names)).any():
        place = int(np.argmax(missing))
        raise ValueError(
            f"{source} of {prefix}X has {shown(names[place])} at position {place}, expected a name of each row; fill "
            f"it in, or number the rows instead"
        )
    if (twice := pd.Series(names).duplicated()).any():
        name = shown(names[int(np.argmax(twice))])
        raise ValueError(f"{source} of {prefix}X names {name} twice; make it unique, for instance by reset_index")
    return names
