"""What is drawn, before anything draws it: the curves of a run, words for numbers, histogram bins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Curve",
    "Curves",
    "bin_edges",
    "count_text",
    "curves",
    "floats",
    "number_text",
    "short",
    "thin",
    "value_text",
    "weight_bins",
]

Floats = NDArray[np.float64]

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # control, and order
MOST_POINTS = 2_000  # per curve: more cost transfer time and no screen shows them


@dataclass(frozen=True)
class Curve:
    """One curve: positions and finite values, float64 arrays of the same length."""

    x: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.x)

    @property
    def last(self) -> float:
        """The newest value, NaN for an empty curve."""
        return float(self.y[-1]) if len(self.y) else float("nan")

    def end(self) -> Curve:
        """Return the newest point as a curve of at most one point."""
        return Curve(self.x[-1:], self.y[-1:])


@dataclass(frozen=True)
class Curves:
    """The curves of a run, as :func:`curves` returns them."""

    loss: Curve
    training: Curve
    step: Curve
    residual: Curve
    rejected: Floats
    last: int
    stopping: Curve = field(default_factory=lambda: Curve(np.empty(0), np.empty(0)))

    @property
    def empty(self) -> bool:
        """Whether there is no iterate yet."""
        return self.last < 0


def curves(history: Any) -> Curves:
    """Take the curves out of a run's history.

    Parameters
    ----------
    history : DataFrame or mapping of column name to values
        Columns ``number``, ``loss``, ``step``, ``residual``, ``accepted`` and, if there, ``training_loss`` and
        ``stopping_loss``, one row per iterate. Values that are not finite are left out, and so are values <= 0 where
        the axis is logarithmic.

    Returns
    -------
    Curves
        At most 2,000 points each; each piece of a longer curve keeps its least and largest value.

    Raises
    ------
    ValueError
        If it is no table, a column is missing or its length differs from the others.
    """
    if not hasattr(history, "keys"):
        raise ValueError(f"history is a {type(history).__name__}, expected a table: pass run.history().")
    columns = list(map(str, history.keys()))
    if not columns:
        nothing = Curve(np.empty(0), np.empty(0))
        return Curves(nothing, nothing, nothing, nothing, np.empty(0), -1)
    number = _column(history, columns, "number")

    def curve(name: str, *, positive: bool = False) -> Curve:
        values = _column(history, columns, name)
        if len(values) != len(number):
            raise ValueError(
                f"The history has {len(number)} rows and {len(values)} values of {name!r}: give one value a row."
            )
        keep = np.isfinite(values) & ((values > 0) | (not positive))
        return thin(number[keep], values[keep])

    nothing = Curve(np.empty(0), np.empty(0))
    refused = number[_column(history, columns, "accepted") == 0]
    return Curves(
        loss=curve("loss"),
        training=curve("training_loss") if "training_loss" in columns else nothing,
        step=curve("step", positive=True),
        residual=curve("residual", positive=True),
        rejected=refused[:: 1 + len(refused) // MOST_POINTS],
        last=int(number[-1]) if len(number) else -1,
        stopping=curve("stopping_loss") if "stopping_loss" in columns else nothing,
    )


def _column(history: Mapping[str, Any], columns: Sequence[str], name: str) -> Floats:
    if name not in columns:
        raise ValueError(f"The history has no column {name!r}: it has {', '.join(columns)}.")
    return np.asarray(history[name], dtype=np.float64)


def thin(x: Floats, y: Floats) -> Curve:
    """Return a curve of at most 2,000 points, each piece of a longer one by its least and its largest value."""
    if len(x) <= MOST_POINTS:
        return Curve(x, y)
    pieces = np.array_split(np.arange(1, len(x) - 1), MOST_POINTS // 2 - 1)
    extremes = [i for piece in pieces for i in (piece[np.argmin(y[piece])], piece[np.argmax(y[piece])])]
    keep = np.unique([0, *extremes, len(x) - 1])
    return Curve(x[keep], y[keep])


def number_text(value: float, form: str = ".4g") -> str:
    """Return a number as all figures and views write it: as ``format`` does, an exponent without zeros or plus sign.

    Examples
    --------
    >>> number_text(8.6e-05, ".1e"), number_text(41234.0, ".1e"), number_text(0.25)
    ('8.6e-5', '4.1e4', '0.25')
    """
    return re.sub(r"e(-?)\+?0*(\d)", r"e\1\2", format(value, form))


def value_text(value: float, kind: str = "loss") -> str:
    """Return a number as the panels show it, ``"–"`` for one that is not finite.

    Parameters
    ----------
    value : float
        The number.
    kind : {"loss", "step", "residual"}
        Four decimals, three figures, or two figures with an exponent.

    Examples
    --------
    >>> value_text(1.53324), value_text(61.29, "step"), value_text(9.8e-5, "residual")
    ('1.5332', '61.3', '9.8e-5')
    """
    if not np.isfinite(value):
        return "–"
    if kind == "residual":
        return number_text(value, ".1e")
    if kind == "step":
        return number_text(value, ".3g")
    return f"{value:.4f}" if 1e-2 <= abs(value) < 1e4 or value == 0 else number_text(value)


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun, such as ``"3,500 rows"`` or ``"1 row"``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short(text: object, most: int = 24) -> str:
    """Return text on one line of at most `most` characters, ``"(empty)"`` for none.

    Signs that draw nothing and turn the order of what follows them are spelt: they would turn the numbers and names
    beside the text too.

    Examples
    --------
    >>> short("a very long class name", 10)
    'a very lo…'
    """
    readable = str(text).encode("utf-8", "replace").decode()  # half of a pair of code units is no character
    line = _UNSEEN.sub(lambda sign: ascii(sign[0])[1:-1], " ".join(readable.split())) or "(empty)"
    return line if len(line) <= most else line[: most - 1] + "…"


def floats(values: ArrayLike, name: str, such_as: str) -> Floats:
    """Return an array of numbers in float64.

    Raises
    ------
    ValueError
        If they are none, or are not in this process's memory; the sentence says what to pass.

    Examples
    --------
    >>> floats("heavy", "weights", "run.weights()")
    Traceback (most recent call last):
    ValueError: weights is a str, expected an array of numbers: pass one, such as run.weights().
    """
    with suppress(TypeError, ValueError):
        if values is not None:  # numpy makes NaN of it
            return np.asarray(values, dtype=np.float64)
    got = f"{name} is a {type(values).__name__}"
    raise ValueError(f"{got}, expected an array of numbers: pass one, such as {such_as}.")


def weight_bins(weights: ArrayLike, bins: int = 40) -> tuple[Floats, NDArray[np.int64]]:
    """Count weights in bins, equal in log where every weight is positive.

    Parameters
    ----------
    weights : (k,) array
        Weights e^{2 ω_i}; values that are not finite are left out.
    bins : int
        The number of bins, at least 1.

    Returns
    -------
    edges : (b + 1,) float64
        Bin edges; b = 1 where all weights are equal, and none where there are no weights.
    counts : (b,) int64
        Rows per bin.

    Raises
    ------
    ValueError
        If `bins` is below 1, or the weights are no array of numbers.
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}: give at least 1.")
    values = floats(weights, "weights", "run.weights()").ravel()
    values = values[np.isfinite(values)]
    if values.size == 0:
        return np.empty(0), np.empty(0, dtype=np.int64)
    edges = bin_edges(float(values.min()), float(values.max()), bins)
    return edges, np.histogram(values, edges)[0]


def bin_edges(low: float, high: float, bins: int) -> Floats:
    """Return the edges of bins between two weights, as `weight_bins` has them.

    Examples
    --------
    >>> bin_edges(1.0, 4.0, 2).tolist(), bin_edges(1.0, 1.0, 2).tolist()
    ([1.0, 2.0, 4.0], [0.9, 1.1])
    """
    if high - low <= 1e-9 * max(abs(high), abs(low)):
        half = 0.1 * abs(low) or 0.1
        return np.array([low - half, low + half])
    edges = np.geomspace(low, high, bins + 1) if low > 0 else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high  # rounding must not drop the ends
    return edges
