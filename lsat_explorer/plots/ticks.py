"""Round positions on an axis and their texts, the same for every figure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.curves import number_text, value_text

__all__ = ["integer_ticks", "linear_ticks", "log_ticks"]

Floats = NDArray[np.float64]

_FACTORS = ((1, 0), (2, 0), (2.5, 1), (5, 0), (10, -1))  # of a power of ten, and decimals beyond the power's own


def log_ticks(values: ArrayLike, most: int = 4) -> tuple[Floats, list[str]]:
    """Return tick positions and texts for a logarithmic axis over positive values.

    Parameters
    ----------
    values : array of positive numbers
        What the axis shows.
    most : int
        The largest number of ticks.

    Returns
    -------
    positions : (t,) float64
        Powers of ten where the values span two of them or more, otherwise 1, 2 and 5 times a power, otherwise the ends.
    texts : list of str
        Such as ``"1e-4"``.

    Examples
    --------
    >>> log_ticks([0.02, 0.5, 30.0])[1]
    ['1e-1', '1e0', '1e1']
    >>> log_ticks([1.0, 1.5, 6.0])[1]
    ['1', '2', '5']
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0:
        return np.empty(0), []
    low, high = np.log10(values.min()), np.log10(values.max())
    decades = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    if len(decades) >= 2:
        decades = decades[:: int(np.ceil(len(decades) / most))]
        return 10.0**decades, [f"1e{int(power)}" for power in decades]
    ends = np.unique(values[[values.argmin(), values.argmax()]])
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    steps = np.array([float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)])
    inside = steps[(steps >= ends[0] * (1 - 1e-9)) & (steps <= ends[-1] * (1 + 1e-9))]
    if len(inside) >= 2:
        ends = inside[:: int(np.ceil(len(inside) / most))]
    texts = [
        number_text(value, ".3g") if 1e-3 <= value < 1e5 else number_text(value, ".1e").replace(".0e", "e")
        for value in ends
    ]
    return (ends, texts) if len(set(texts)) == len(texts) else (ends[:1], texts[:1])


def linear_ticks(values: ArrayLike, most: int = 5) -> tuple[Floats, list[str]]:
    """Return round tick positions inside the span of some values, with texts of equally many decimals.

    Parameters
    ----------
    values : array of numbers
        What the axis shows.
    most : int
        The largest number of steps between ticks.

    Returns
    -------
    positions : (t,) float64
    texts : list of str

    Examples
    --------
    >>> linear_ticks([1.53, 1.62])[1]
    ['1.54', '1.56', '1.58', '1.60', '1.62']
    >>> linear_ticks([2.0, 2.0])[1]
    ['2.0000']
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0:
        return np.empty(0), []
    low, high = float(values.min()), float(values.max())
    if not high - low > 1e-6 * max(abs(low), abs(high)):
        return np.array([high]), [value_text(high)]
    power = int(np.floor(np.log10((high - low) / most)))
    sizes = [
        (10.0**power * factor, max(0, more - power)) for factor, more in ((1, 0), (2, 0), (2.5, 1), (5, 0), (10, -1))
    ]
    step, places = next((size, places) for size, places in sizes if (high - low) / size <= most)
    whole = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) + 0.0  # no minus zero
    texts = [f"{number * step:.{places}f}" for number in whole]
    if max(abs(low), abs(high)) >= 1e5 or places > 6:
        shorter = [number_text(number * step) for number in whole]
        texts = shorter if len(set(shorter)) == len(texts) else texts
    return whole * step, texts


def integer_ticks(last: int, most: int = 7) -> NDArray[np.int64]:
    """Return round whole numbers from 0 to `last`, at most `most` of them.

    Examples
    --------
    >>> integer_ticks(86).tolist()
    [0, 20, 40, 60, 80]
    """
    if last < 0:
        return np.empty(0, dtype=np.int64)
    step = next(f * 10**e for e in range(19) for f in (1, 2, 5) if last / (f * 10**e) <= most - 1)
    return np.arange(0, last + 1, step)
