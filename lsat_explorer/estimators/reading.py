"""What scikit-learn refuses, said with the row and the column that are at fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from ..data.foreign import holds_times
from ..data.labels import Encoder
from ..data.row_names import row_names
from ..data.sparse_rows import check_entries, read_sparse
from ..data.tables import check_finite, numbers, plain, read_column, read_inputs, shown

__all__ = ["explained", "explained_weights", "readable", "refuse_times", "seed_of"]


@contextmanager
def explained(X: Any, y: Any = None, *, labels: bool = False) -> Iterator[None]:
    """Name the entry at fault where scikit-learn refuses X (N, d) or y inside; ``labels`` tells that y holds classes.

    Raises
    ------
    ValueError, TypeError
        As scikit-learn does, with the row, as the user names it, the column and what is there before its own words.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        words = _words(error)
        kind = TypeError if isinstance(error, TypeError) else ValueError  # its checks of estimators ask for its kind
        try:
            _look(X, y, labels)
        except ValueError as found:
            if str(found) == str(error):  # of ours, before scikit-learn saw it
                raise error from None
            raise kind(f"{found} ({words})") from None
        raise


def _words(error: Exception) -> str:
    words = " ".join(str(error).split()).rstrip(".")
    whole, _, _ = words[:300].rpartition(". ")  # the sentences that are whole
    return words if len(words) <= 300 else whole or f"{words[:297]}..."


def _look(X: Any, y: Any, labels: bool) -> None:
    """Refuse the first entry at fault, as `Data` does."""
    if (matrix := read_sparse(X, "X")) is not None:
        check_entries(matrix, "X", np.arange(matrix.shape[0]))
    else:
        inputs, names = read_inputs(X, "X")
        check_finite(inputs, "X", row_names(X, len(inputs)), names)
    if y is None:
        return
    column = read_column(y)
    rows = row_names(y, len(column.values))
    if labels:
        Encoder.fit(column, rows, "y")
        return
    check_finite(_amounts(column.values).astype(np.float64), "y", rows, column.names)


def _amounts(values: np.ndarray) -> np.ndarray:
    """Return outcomes as numbers, (N,) or (N, m)."""
    if values.dtype.kind in "biuf":
        return values
    return numbers(values.reshape(len(values), -1), "y", how=", or fit a TunedLeastSquaresClassifier to classes")


@contextmanager
def explained_weights(sample_weight: Any) -> Iterator[None]:
    """Name the row at fault where scikit-learn refuses sample weights (N,) inside.

    Raises
    ------
    ValueError
        As `explained` does.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        words = _words(error)
        try:
            _look_at_weights(sample_weight)
        except ValueError as found:
            raise ValueError(f"{found} ({words})") from None
        raise ValueError(f"sample_weight does not fit: {words}") from None


def _look_at_weights(sample_weight: Any) -> None:
    values = plain(sample_weight, "sample_weight")
    if values.ndim != 1:
        return
    if values.dtype.kind not in "biuf":
        values = numbers(values[:, None], "sample_weight")[:, 0]
    rows = row_names(sample_weight, len(values))
    check_finite(values.astype(np.float64), "sample_weight", rows)
    if (values < 0).any():
        first = int(np.argmax(values < 0))
        raise ValueError(f"sample_weight has {values[first]} at row {shown(rows[first])}, expected 0 or more")


def readable(X: Any, what: str = "X") -> Any:
    """Return what scikit-learn reads: a tensor as an array, a frame whose names are of several types with their texts.

    A masked array that hides nothing is the array below it.

    Anything else is returned as it is.

    Raises
    ------
    ValueError
        For a tensor that is sparse or holds no numbers, and for a masked array that hides an entry.
    """
    if isinstance(X, torch.Tensor):
        return plain(X, what)
    if isinstance(X, np.ma.MaskedArray):  # of which scikit-learn would take what is hidden
        if np.ma.is_masked(X):
            row = int(np.argwhere(np.ma.getmaskarray(X))[0][0])
            raise ValueError(
                f"{what} hides an entry in row {row}, expected none hidden; drop or fill in such rows first"
            )
        return X.data
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "set_axis") or len({isinstance(name, str) for name in columns}) < 2:
        return X
    return X.set_axis([str(name) for name in columns], axis="columns")


def refuse_times(X: Any, y: Any = None) -> None:
    """Refuse dates and durations in X (N, d) and in the numbers y, (N,) or (N, m), where they are given.

    scikit-learn would take them as whole numbers, of nanoseconds in one table and of microseconds in the next.

    Raises
    ------
    ValueError
        As `Data.from_arrays` does, with the column and what makes numbers of it.
    """
    if holds_times(X):
        read_inputs(X, "X")
    if y is not None and holds_times(y):
        _amounts(read_column(y).values)


def seed_of(random_state: Any) -> int:
    """Return a seed that a random state gives.

    Raises
    ------
    ValueError
        When it is none.
    """
    try:
        return int(check_random_state(random_state).randint(2**31))
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state is {random_state!r}, expected None, a whole number from 0 to 2³² − 1 or a RandomState."
        ) from None
