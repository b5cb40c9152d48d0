"""Weights of rows in words, numbers with a minus sign, and whose a loss is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lsat_explorer.plots.curves import number_text

__all__ = ["VALIDATION", "loss_words", "signed", "span_text", "weight_places", "weight_text"]

VALIDATION = "validation rows"
"""What most criteria call the rows that judge."""


def loss_words(judging: str) -> tuple[str, list[str]]:
    """Return the title of the panel of the loss, and what stands behind it, by the rows that judge.

    Examples
    --------
    >>> loss_words("validation rows"), loss_words("training rows, each predicted without itself,")
    (('Validation loss', []), ('Loss', ['training rows, each predicted without itself']))
    """
    return ("Validation loss", []) if judging == VALIDATION else ("Loss", [judging.rstrip(",")])


def signed(value: Any, form: str = ".4g") -> str:
    """Return a number as `number_text` does, with a minus sign where ``format`` puts a hyphen.

    Examples
    --------
    >>> signed(-0.26, ".2f")
    '−0.26'
    """
    return number_text(value, form).replace("-", "\N{MINUS SIGN}")


def weight_places(weights: ArrayLike) -> int:
    """Return how many decimals tell these weights apart: 2 for a wide range, up to 5 for a narrow one.

    Examples
    --------
    >>> weight_places([0.29, 4.13]), weight_places([0.98, 1.03])
    (2, 3)
    """
    values = np.asarray(weights, dtype=np.float64)
    values = values[np.isfinite(values)]
    span = float(np.ptp(values)) if values.size else 0.0
    return 2 if span == 0 or span >= 0.2 else int(min(5, 2 + np.ceil(np.log10(0.2 / span))))


def weight_text(weight: float, places: int = 2) -> str:
    """Return a weight in words of at most seven characters or so.

    Examples
    --------
    >>> weight_text(0.294), weight_text(1.0312, 3), weight_text(0.00021), weight_text(41234.0)
    ('0.29', '1.031', '2.1e−4', '4.1e4')
    """
    if not np.isfinite(weight):
        return "–"
    if weight != 0 and (abs(weight) < 10.0**-places or abs(weight) >= 1e4):
        return signed(weight, ".1e")
    return f"{weight:.{places}f}"


def span_text(weights: ArrayLike) -> str:
    """Return the range of weights in words.

    Examples
    --------
    >>> span_text([0.29, 1.0, 4.13]), span_text([1.0, 1.0])
    ('weights 0.29 to 4.13', 'all weights are 1.00')
    """
    values = np.asarray(weights, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return "no weights"
    places = weight_places(values)
    low, high = weight_text(values.min(), places), weight_text(values.max(), places)
    return f"all weights are {low}" if low == high else f"weights {low} to {high}"
