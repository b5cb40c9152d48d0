"""Outcomes: labels or numbers? And one encoder for the labels of all splits."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from lsat_explorer.data.tables import Column, shown

__all__ = ["Encoder", "Task", "infer_task", "strata"]

Task = Literal["classification", "regression"]

FEW = 20
"""Integers with more distinct values than this are taken for numbers, not labels."""


def infer_task(outcome: Column, task: str | None = None) -> Task:
    """Whether outcomes are labels (classification) or numbers (regression).

    Strings, categoricals and booleans are labels. Integers are labels when they have at most 20 distinct values, each
    on average in two rows or more (two values always are). Other integers, floats, and several columns are numbers.

    Parameters
    ----------
    outcome
        Outcomes of the training rows.
    task
        The user's word, which goes before the rule.

    Raises
    ------
    ValueError
        When `task` is unknown, or is impossible for these outcomes.
    """
    values = outcome.values
    if task not in (None, "classification", "regression"):
        raise ValueError(
            f"task is {task!r}, expected 'classification' or 'regression', or None to infer it; pass one of these"
        )
    if values.ndim == 2:
        if task == "classification":
            raise ValueError(
                f"y has shape {values.shape}, expected one label per row (N,) for classification; pass one column, "
                f"or task='regression'"
            )
        return "regression"
    kind = _kind(outcome)
    if task == "regression":
        if kind == "label":
            example = next(iter(values[~_missing(values)]), None)
            raise ValueError(
                f"y holds labels such as {shown(example)}, expected numbers for task='regression'; pass "
                f"task='classification'"
            )
        return "regression"
    if task == "classification" or kind == "label":
        return "classification"
    if kind == "float":
        return "regression"
    distinct = len(set(values.tolist()))
    return "classification" if distinct <= min(FEW, max(2, len(values) // 2)) else "regression"


def _kind(outcome: Column) -> Literal["label", "integer", "float"]:
    values = outcome.values
    if outcome.categories is not None or values.dtype.kind in "bUS":
        return "label"
    if values.dtype.kind in "iu":
        return "integer"
    if values.dtype.kind == "f":
        return "float"
    present: list[Any] = values[~_missing(values)].tolist()
    # Python counts True among the integers
    if any(isinstance(value, bool) or not isinstance(value, Real | Decimal) for value in present):
        return "label"
    return "integer" if present and all(isinstance(value, Integral) for value in present) else "float"


def _missing(values: np.ndarray) -> np.ndarray:
    """Which outcomes (N,) cannot be labels: NaN and infinities, None, the missing value of pandas."""
    if values.dtype.kind == "f":
        return np.asarray(~np.isfinite(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=bool)


@dataclass(frozen=True, eq=False)
class Encoder:
    """The classes, in order, and the place of each: fitted on training labels, used for every split.

    Equal labels count as one whatever their type: 3, 3.0 and ``np.int8(3)``.

    Parameters
    ----------
    classes
        Labels in order: sorted, or in the order of a pandas categorical.
    dtype
        Type of the array of training labels, which :meth:`labels` gives back.
    """

    classes: tuple[Any, ...]
    dtype: np.dtype

    @classmethod
    def fit(cls, outcome: Column, rows: np.ndarray, what: str) -> Encoder:
        """Classes of these outcomes (N,), called `what` in messages.

        Raises
        ------
        ValueError
            When a label is missing, labels have types without a common order, or there is one class only.
        """
        distinct = set(_listed(outcome.values, rows, what))
        if outcome.categories is not None:
            classes = [label for label in outcome.categories if label in distinct]
        else:
            try:
                classes = sorted(distinct)
            except TypeError:
                kinds = " and ".join(sorted({type(label).__name__ for label in distinct}))
                raise ValueError(
                    f"{what} mixes labels of type {kinds}, expected one type; convert them first, for instance with "
                    f"y.astype(str)"
                ) from None
        if not classes:
            raise ValueError(f"{what} has no rows, expected labels of at least two classes; give some")
        if len(classes) < 2:
            raise ValueError(
                f"{what} has the single class {shown(classes[0])}, expected at least two; give rows of another class"
            )
        return cls(tuple(classes), outcome.values.dtype)

    def encode(self, outcome: Column, rows: np.ndarray, what: str) -> np.ndarray:
        """Place (N,) of each label among the classes.

        Raises
        ------
        ValueError
            When a label is missing or unknown; the sentence names it, its split and its row.
        """
        places = {label: place for place, label in enumerate(self.classes)}
        labels = _listed(outcome.values, rows, what)
        codes = np.fromiter((places.get(label, -1) for label in labels), dtype=np.int64, count=len(labels))
        if (codes < 0).any():
            first = int(np.argmax(codes < 0))
            known = ", ".join(shown(label) for label in self.classes[:10])
            raise ValueError(
                f"{what} has the label {shown(labels[first])} at row {shown(rows[first])}, which no training row has "
                f"(training has {known}{', ...' if len(self.classes) > 10 else ''}); add training rows of it or drop it"
            )
        return codes

    def labels(self, codes: np.ndarray) -> np.ndarray:
        """Labels (N,) at these places, of the type of the training labels."""
        table = np.empty(len(self.classes), dtype=self.dtype)
        for place, label in enumerate(self.classes):
            table[place] = label
        return np.asarray(table[codes])


def _listed(values: np.ndarray, rows: np.ndarray, what: str) -> list[Any]:
    """Labels as a list of Python objects, none of them missing, all of them usable as keys."""
    absent = _missing(values)
    if absent.any():
        first = int(np.argmax(absent))
        raise ValueError(
            f"{what} has {shown(values[first])} at row {shown(rows[first])}, expected a label; drop such rows first"
        )
    labels: list[Any] = values.tolist()
    try:
        set(labels)
    except TypeError:
        first = next(label for label in labels if type(label).__hash__ is None)
        raise ValueError(
            f"{what} holds {shown(first)}, expected one plain label per row; pass strings or numbers"
        ) from None
    return labels


def strata(outcome: Column) -> np.ndarray | None:
    """Class of each row (N,) to divide by; None where a label is missing, which is reported once its split is known.

    Raises
    ------
    ValueError
        When there is one class only, or a class of a single row, which cannot be both in training and in validation.
    """
    if _missing(outcome.values).any():
        return None
    rows = np.arange(len(outcome.values))
    encoder = Encoder.fit(outcome, rows, "y")
    codes = encoder.encode(outcome, rows, "y")
    counts = np.bincount(codes)
    if counts.min() < 2:
        lonely = encoder.classes[int(counts.argmin())]
        raise ValueError(
            f"class {shown(lonely)} has a single row, expected one for training and one for validation at least; add "
            f"rows of it, drop it, or pass task='regression' if y holds numbers"
        )
    return codes
