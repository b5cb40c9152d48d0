"""Numbers as the rows show them: with one minus sign, those of one column of a table in one form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lsat_explorer.plots.words import signed

__all__ = ["number_texts"]


def number_texts(values: ArrayLike, reach: float | None = None) -> list[str]:
    """Return numbers of one column in one form, four digits for the largest: with decimals, or with powers of ten.

    Whole numbers have no decimals.

    Parameters
    ----------
    values : (N,) array
        The numbers; a dash stands for one that is not finite.
    reach : float, optional
        The largest size in the column, where the numbers are some of it.

    Examples
    --------
    >>> number_texts([1652.3, -609.25, 7.0]), number_texts([0.5, 0.0, np.nan])
    (['1652', '−609', '7'], ['0.5000', '0.0000', '–'])
    >>> number_texts([3.0], reach=2e9)
    ['3.000e0']
    """
    numbers = np.asarray(values, dtype=np.float64)
    sizes = np.abs(numbers[np.isfinite(numbers)])
    most = float(sizes.max(initial=0.0)) if reach is None else reach
    digits = math.floor(math.log10(most)) if 0 < most < math.inf else 0
    places = 0 if (sizes == np.rint(sizes)).all() else max(0, 3 - digits)
    form = f".{places}f" if -4 < digits < 7 else ".3e"
    return [signed(number + 0.0, "z" + form) if np.isfinite(number) else "–" for number in numbers]
