"""Names of rows as users give them: their places, and masks of rows, which are no names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["mask_told", "place_of", "row_names", "untouched"]


def place_of(value: Any, places: Mapping[Any, int]) -> int | None:
    """Return the place of a row name or label, None where it is unknown or can be none; True is not taken for 1.

    Examples
    --------
    >>> place_of(np.int64(7), {3: 0, 7: 1}), place_of(True, {1: 0}), place_of([7], {7: 1})
    (1, None, None)
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) and not isinstance(next(iter(places), None), bool | np.bool_):
        return None
    try:
        return places.get(plain)
    except TypeError:
        return None


def mask_told(given: Any) -> str:
    """Return what to call a mask that was given in place of names of rows, empty for what is none.

    Examples
    --------
    >>> mask_told(np.array([True, False])), mask_told([1, 0]), mask_told(True)
    ('a mask of 2 true and false', '', '')
    """
    values = given.tolist() if hasattr(given, "tolist") else given  # arrays, tensors, series
    if not isinstance(values, list | tuple) or not values or not all(isinstance(v, bool | np.bool_) for v in values):
        return ""
    return f"a mask of {len(values):,} true and false"


def untouched(given: Any, values: np.ndarray) -> np.ndarray:
    """Return what numpy read of a list, its very entries (N,) where numpy turned some into text or cut their ends off.

    Examples
    --------
    >>> untouched([1, "a"], np.asarray([1, "a"]))
    array([1, 'a'], dtype=object)
    """
    if not isinstance(given, list | tuple) or values.ndim != 1 or values.dtype.kind not in "US":
        return values
    if all(isinstance(entry, str | bytes) for entry in given) and values.tolist() == list(given):
        return values
    entries = np.empty(len(given), dtype=object)
    entries[:] = given
    return entries


def row_names(X: Any, rows: int) -> np.ndarray:
    """Return the user's name of each row (N,): the index of a frame or series that names each once, or 0 … N − 1.

    Examples
    --------
    >>> import pandas as pd
    >>> row_names(pd.Series([0.5, 1.5], index=["a", "b"]), 2), row_names(pd.Series([0.5, 1.5], index=["a", "a"]), 2)
    (array(['a', 'b'], dtype=object), array([0, 1]))
    """
    import pandas as pd

    index = getattr(X, "index", None)
    names = np.arange(rows) if index is None or callable(index) else np.asarray(index)
    fit = len(names) == rows and not pd.isna(names).any() and pd.Index(names).is_unique
    return names if fit else np.arange(rows)
