"""Training rows in an order: which of them a page shows, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.data import Data
from lsat_explorer.plots.curves import short
from lsat_explorer.plots.words import signed
from lsat_explorer.widgets.row_numbers import number_texts

__all__ = [
    "EXPLAINED",
    "FEATURE",
    "ORDERS",
    "PREDICTED",
    "Browsable",
    "Order",
    "Page",
    "RowValues",
    "name_of",
    "order_of",
    "order_text",
    "page_of",
]

Positions = NDArray[np.intp]

_MOST_POINTS = 48  # of a row's small graph


@dataclass(frozen=True)
class Order:
    """A column to sort rows by, from its least value or, ``falling``, from its largest."""

    column: str
    falling: bool = False


_COLUMNS = ("doubt", "effect", "row", "label", "predicted", "loss")
ORDERS = {"lightest": Order("weight"), "heaviest": Order("weight", True)} | {
    sign + name: Order(name, sign == "-") for name in _COLUMNS for sign in ("", "-")
}
"""Orders by name: the weight's two, and each other column's, with a minus before its name where it falls."""

PREDICTED = ("predicted", "loss")
"""The columns that a fitted model tells."""

EXPLAINED = ("doubt", "effect")
"""The columns that tell what a fit says of the rows that it was fitted to."""

FEATURE = "feature "
"""What stands before the name of a feature in the name of its order."""


def order_of(name: str, features: Sequence[str]) -> Order:
    """Return the order of a name.

    Parameters
    ----------
    name : str
        One of `ORDERS`, or ``"feature x"`` and ``"-feature x"`` for a feature x.
    features : sequence of str
        The features there are.

    Raises
    ------
    ValueError
        If there is no such order.

    Examples
    --------
    >>> order_of("-loss", []), order_of("feature age", ["age"])
    (Order(column='loss', falling=True), Order(column='feature age', falling=False))
    """
    if name in ORDERS:
        return ORDERS[name]
    column = name.removeprefix("-")
    if column.startswith(FEATURE) and column.removeprefix(FEATURE) in features:
        return Order(column, name.startswith("-"))
    known = ", ".join(map(repr, ORDERS))
    more = f", or 'feature {features[0]}' and the like" if features else ""
    raise ValueError(f"order is {name!r}, expected one of {known}{more}; pass one")


@runtime_checkable
class Browsable(Protocol):
    """What can be browsed: a run, with its data and the present weights (k,) of the training rows."""

    @property
    def data(self) -> Data:
        """The data."""

    def weights(self) -> np.ndarray:
        """Weights e^{2 ω_i} in the order of the training rows."""


@dataclass(frozen=True, eq=False)
class Page:
    """One page of rows.

    Parameters
    ----------
    positions : (N,) integers
        Positions in the training split, in the order shown.
    number, pages : int
        This page, from 1, and how many there are, at least 1.
    total : int
        Rows on all pages.
    """

    positions: Positions
    number: int
    pages: int
    total: int


def order_text(order: Order, given: str = "label", of: str = "") -> str:
    """Return an order as the heading of its rows; ``given`` is what the data say of a row, ``of`` which rows they are.

    Examples
    --------
    >>> order_text(ORDERS["heaviest"]), order_text(ORDERS["-loss"])
    ('Heaviest rows', 'Rows by loss, largest first')
    >>> order_text(ORDERS["-loss"], of=" of class 8")
    'Rows of class 8 by loss, largest first'
    """
    if order.column == "weight":
        return ("Heaviest rows" if order.falling else "Lightest rows") + of
    name = {"label": given, "predicted": f"predicted {given}"}.get(order.column, order.column.removeprefix(FEATURE))
    sizes = dict.fromkeys(("loss", *EXPLAINED), ("smallest first", "largest first"))
    ends = sizes | {"row": ("first to last", "last to first")}
    return f"Rows{of} by {short(name, 40)}, {ends.get(order.column, ('rising', 'falling'))[order.falling]}"


def page_of(keys: ArrayLike, number: int, size: int, *, falling: bool = False, keep: ArrayLike | None = None) -> Page:
    """Return one page of rows in the order of their keys.

    Rows of the same key stay in the order of the data. A key that is NaN comes last in both directions.

    Parameters
    ----------
    keys : (k,) array
        A number per row, such as its weight.
    number : int
        The page from 1; one that does not exist is replaced by the nearest that does.
    size : int
        Rows on a page, at least 1.
    falling : bool
        Whether the largest key comes first.
    keep : (k,) bool array, optional
        Which rows to show; all of them when left out.

    Raises
    ------
    ValueError
        If `size` is below 1.

    Examples
    --------
    >>> page_of([1.0, 0.2, 3.0], 1, 2).positions.tolist()
    [1, 0]
    """
    if size < 1:
        raise ValueError(f"a page of {size} rows cannot be shown; give at least 1")
    values = np.asarray(keys, dtype=np.float64)
    candidates = np.arange(len(values)) if keep is None else np.flatnonzero(np.asarray(keep, dtype=bool))
    sorted_rows = candidates[np.argsort((-values if falling else values)[candidates], kind="stable")]
    pages = max(1, -(-len(sorted_rows) // size))
    number = min(max(number, 1), pages)
    return Page(sorted_rows[(number - 1) * size : number * size], number, pages, len(sorted_rows))


def name_of(value: Any, most: int = 120) -> str:
    """Return a label, or several targets, or the name of a row, as one line of text.

    Examples
    --------
    >>> name_of(np.int64(3)), name_of(np.array([0.5, -2.0]))
    ('3', '0.5, −2')
    """
    if isinstance(value, np.ndarray | tuple | list):
        parts = value.ravel() if isinstance(value, np.ndarray) else value
        return short(", ".join(name_of(part) for part in parts), most)
    if isinstance(value, float | np.floating):
        return signed(float(value))
    return short(value, most)


class RowValues:
    """Rows that are no images, as small graphs: each feature relative to the training rows.

    Parameters
    ----------
    inputs : (N, d) array or tensor
        The rows, of which those that are shown are read.
    names : sequence of d names
        The features.
    train : (k, d) array, optional
        The training rows, or some of them, where the rows are others.
    """

    def __init__(self, inputs: Any, names: Sequence[str], train: ArrayLike | None = None) -> None:
        self._inputs = inputs
        self._names = [short(name, 60) for name in names]
        known = np.asarray(inputs if train is None else train)
        self._mean = known.mean(axis=0, dtype=np.float64)
        deviation = known.std(axis=0, dtype=np.float64)
        self._deviation = np.where(deviation > 0, deviation, np.inf)  # a constant column is never unusual

    def graphs(self, positions: Positions) -> list[list[float]]:
        """Return for each row at most 48 numbers in -3 .. 3: deviations from the mean, neighbours averaged if many."""
        scores = np.clip(self._scores(positions), -3, 3)
        pieces = np.array_split(np.arange(scores.shape[1]), min(_MOST_POINTS, scores.shape[1]))
        means = np.stack([scores[:, piece].mean(axis=1) for piece in pieces], axis=1)
        graphs: list[list[float]] = np.round(means, 2).tolist()
        return graphs

    def column(self, place: int) -> NDArray[np.float64]:
        """Return one feature of every row (k,)."""
        return np.asarray(self._inputs[:, place]).astype(np.float64)

    def texts(self, values: ArrayLike, place: int) -> list[str]:
        """Return values of one feature as texts, in one form for all rows."""
        spread = self._deviation[place]
        return number_texts(values, abs(self._mean[place]) + (3 * spread if np.isfinite(spread) else 0.0))

    def unusual(self, positions: Positions, most: int = 6) -> list[list[tuple[str, str]]]:
        """Return for each row the features that lie farthest from the mean, each with its value as text."""
        rows = self._rows(positions)
        order = np.argsort(-np.abs((rows - self._mean) / self._deviation), axis=1, kind="stable")[:, :most]
        return [
            [(self._names[column], signed(row[column])) for column in columns]
            for row, columns in zip(rows, order, strict=True)
        ]

    def _rows(self, positions: Positions) -> NDArray[Any]:
        return np.asarray(self._inputs[np.asarray(positions)])

    def _scores(self, positions: Positions) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (self._rows(positions) - self._mean) / self._deviation
        return scores
