"""Which rows pass a filter, and the counts that show what there is to filter: plain functions of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.curves import weight_bins

__all__ = ["Ends", "check_ends", "confusion_counts", "counts_told", "in_cell", "in_range", "range_counts"]

Ends = tuple[float | None, float | None]
"""The least and the largest weight to show, None where there is no such limit."""

_STEEP = 200  # times the least count of a bin: above, the small ones would vanish beside the large


def check_ends(value: Any) -> Ends | None:
    """Return a range of weights as two ends, None where it limits nothing.

    Parameters
    ----------
    value : None or (low, high)
        Numbers, or None for an end that is open.

    Raises
    ------
    ValueError
        If it is something else, or low is above high.

    Examples
    --------
    >>> check_ends((None, 0.5)), check_ends((None, None)), check_ends(None)
    ((None, 0.5), None, None)
    """
    if value is None:
        return None
    given = list(value) if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else []
    numbers = [isinstance(end, int | float | np.number) and not isinstance(end, bool) for end in given]
    if len(given) != 2 or not all(number or end is None for number, end in zip(numbers, given, strict=True)):
        raise ValueError(f"weights is {value!r}, expected (low, high) with None for an open end; give two numbers")
    low, high = (None if end is None or np.isinf(end) else float(end) for end in given)
    if any(end is not None and np.isnan(end) for end in (low, high)) or (
        low is not None and high is not None and low > high
    ):
        raise ValueError(f"weights is {value!r}, expected low no larger than high; give the smaller number first")
    return None if low is None and high is None else (low, high)


def in_range(weights: ArrayLike, ends: Ends | None) -> NDArray[np.bool_]:
    """Return which weights (k,) lie within a range, its ends included; a weight that is NaN lies in none.

    Examples
    --------
    >>> in_range([0.2, 1.0, 3.0], (None, 1.0)).tolist()
    [True, True, False]
    """
    values = np.asarray(weights, dtype=np.float64)
    if ends is None:
        return np.ones(len(values), dtype=bool)
    low, high = ends
    inside: NDArray[np.bool_] = (values >= (-np.inf if low is None else low)) & (
        values <= (np.inf if high is None else high)
    )
    return inside


def confusion_counts(given: ArrayLike, predicted: ArrayLike, classes: int) -> NDArray[np.int64]:
    """Return how many rows of each class are predicted as each, (m, m): given classes down, predicted across.

    Examples
    --------
    >>> confusion_counts([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1, 1], [0, 1]]
    """
    codes = np.asarray(given, dtype=np.int64) * classes + np.asarray(predicted, dtype=np.int64)
    counts: NDArray[np.int64] = np.bincount(codes, minlength=classes * classes).reshape(classes, classes)
    return counts


def in_cell(given: ArrayLike, predicted: ArrayLike, cell: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which rows (k,) are of one class and predicted as another."""
    inside: NDArray[np.bool_] = (np.asarray(given) == cell[0]) & (np.asarray(predicted) == cell[1])
    return inside


def range_counts(weights: ArrayLike, keep: ArrayLike, bins: int) -> dict[str, Any]:
    """Return the histogram of the weights, of all rows and of those that are kept, as values of JSON.

    Parameters
    ----------
    weights : (k,) array
        Weights of all rows.
    keep : (k,) bool array
        Which rows pass the filters.
    bins : int
        The number of bins, equally wide in log where every weight is positive.

    Returns
    -------
    dict
        ``low`` and ``high``, the ends; ``log``, whether the axis is logarithmic; ``all`` and ``kept``, counts per bin;
        ``tall``, bar heights in 0 .. 1 for both; ``steep``, whether these are logarithmic. One bin where all weights
        are equal, none where there are no weights.

    Examples
    --------
    >>> found = range_counts([1.0, 2.0, 4.0], [True, False, True], 2)
    >>> found["all"], found["kept"], found["log"]
    ([1, 2], [1, 1], True)
    """
    values = np.asarray(weights, dtype=np.float64)
    edges, counts = weight_bins(values, bins)
    some = values[np.asarray(keep, dtype=bool) & np.isfinite(values)]
    return counts_told(edges, counts, np.histogram(some, edges)[0] if len(counts) else counts)


def counts_told(edges: NDArray[np.float64], counts: NDArray[np.int64], kept: NDArray[np.int64]) -> dict[str, Any]:
    """Return a histogram (b,) between edges (b + 1,), of all rows and of those that are kept, as `range_counts`."""
    if not len(counts):
        return {"low": 0.0, "high": 0.0, "log": False, "all": [], "kept": [], "tall": [[], []], "steep": False}
    low, high = float(edges[0]), float(edges[-1])
    steep = bool(counts.max() > _STEEP * counts[counts > 0].min())
    heights = [np.log1p(part) if steep else part for part in (counts, kept)]
    tall = [np.round(part / heights[0].max(), 3).tolist() for part in heights]
    return {
        "low": low,
        "high": high,
        "log": len(counts) > 1 and low > 0,
        "all": counts.tolist(),
        "kept": kept.tolist(),
        "tall": tall,
        "steep": steep,
    }
