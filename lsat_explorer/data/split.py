"""Split: rows with their outcomes; and how tables become splits with one encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.labels import Encoder, Task
from lsat_explorer.data.sparse_rows import as_rows, check_entries
from lsat_explorer.data.tables import Column, Table, check_finite, numbers, shown

__all__ = ["SPLITS", "Split", "counted", "make_splits", "positions"]

SPLITS = {"train": "training", "validation": "validation", "test": "test", "final": "final"}
"""The splits by the name of the attribute, and how sentences call them."""
_FILL = ", or have them filled: missing='mean' or missing='median'"


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Rows with their outcomes.

    Parameters
    ----------
    inputs
        Inputs (N, d), float32 or float64.
    targets
        Targets (N, m), float64: one-hot in classification, the numbers themselves in regression.
    labels
        The user's own labels (N,); in regression the user's numbers, (N,) or (N, m).
    rows
        The user's own name of each row (N,): index of the data frame, or position.

    Raises
    ------
    ValueError
        When the parts have different numbers of rows, or other ranks or types.

    Examples
    --------
    >>> import numpy as np, torch
    >>> Split(torch.zeros(3, 2), torch.zeros(3, 1, dtype=torch.float64), np.zeros(3), np.arange(3))
    Split(3 rows, 2 features, 1 output)
    """

    inputs: Tensor
    targets: Tensor
    labels: np.ndarray
    rows: np.ndarray

    def __post_init__(self) -> None:
        if self.inputs.ndim != 2 or self.targets.ndim != 2 or self.targets.dtype != torch.float64:
            raise ValueError(
                f"a Split got inputs of shape {tuple(self.inputs.shape)} and {self.targets.dtype} targets of shape "
                f"{tuple(self.targets.shape)}, expected (N, d) and float64 (N, m); Data.from_splits makes them"
            )
        lengths = {name: len(getattr(self, name)) for name in ("inputs", "targets", "labels", "rows")}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
            raise ValueError(f"a Split got {found}, expected as many of each; give one of each for every row")

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        counts = [(len(self), "row"), (self.inputs.shape[1], "feature"), (self.targets.shape[1], "output")]
        return f"Split({', '.join(counted(*pair) for pair in counts)})"


def counted(count: int, noun: str) -> str:
    """Count and noun, in the plural where it must be: ``"1,797 rows"``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def positions(indices: Any, count: int, split: str) -> np.ndarray:
    """Positions (N,) int64 within a split of `count` rows; all of them where `indices` is None.

    Raises
    ------
    ValueError
        When they are not whole numbers (N,), or one is outside 0 .. count - 1; the sentence names the split.
    """
    chosen = np.arange(count) if indices is None else np.asarray(indices)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64).reshape(0)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(
            f"indices have shape {chosen.shape} and type {chosen.dtype}, expected positions (N,) as integers; pass "
            f"for instance [0, 1, 2]"
        )
    outside = (chosen < 0) | (chosen >= count)
    if outside.any():
        raise ValueError(
            f"position {chosen[outside][0]} is outside the {split} split, which has {count:,} rows; pass positions "
            f"within the split, not the names in Split.rows"
        )
    return chosen.astype(np.int64)


def make_splits(
    tables: dict[str, Table], task: Task, *, finite: bool = False
) -> tuple[dict[str, Split], tuple[Any, ...] | None]:
    """Make splits with targets encoded by the training labels; also the classes (None in regression).

    ``finite`` tells that every input is known to be finite.

    Raises
    ------
    ValueError
        When an entry is not finite, columns differ between splits, a class is unknown or absent, or there are too
        few rows; the sentence names the split.
    """
    train = tables["train"]
    if len(train) < 2:
        raise ValueError("training X has 1 row, expected at least 2; give more rows or a larger training share")
    for split, table in tables.items():
        word = SPLITS[split]
        _check_columns(train, table, word)
        if not finite:
            check_entries(table.inputs, f"{word} X", table.rows, table.names, fill=_FILL)
    if len({table.inputs.dtype for table in tables.values()}) > 1:
        tables = {split: replace(table, inputs=table.inputs.astype(np.float64)) for split, table in tables.items()}
    if task == "regression":
        return {split: _regression(table, SPLITS[split], train.outcome) for split, table in tables.items()}, None
    encoder = Encoder.fit(train.outcome, train.rows, "training y")
    splits = {split: _classification(table, SPLITS[split], encoder) for split, table in tables.items()}
    _check_covered(splits["validation"], encoder)
    return splits, encoder.classes


def _check_columns(train: Table, table: Table, word: str) -> None:
    if table.inputs.shape[1] != train.inputs.shape[1]:
        raise ValueError(
            f"{word} X has {table.inputs.shape[1]:,} columns and training X has {train.inputs.shape[1]:,}; give every "
            f"split the same columns"
        )
    if train.names and table.names and table.names != train.names:
        position = next(i for i, pair in enumerate(zip(train.names, table.names, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"column {position} of {word} X is {shown(table.names[position])} and that of training X is "
            f"{shown(train.names[position])}; put the columns in one order, for instance by X[train.columns]"
        )


def _regression(table: Table, word: str, train: Column) -> Split:
    values = table.outcome.values
    if values.ndim != train.values.ndim or values.shape[1:] != train.values.shape[1:]:
        raise ValueError(
            f"{word} y has shape {values.shape} and training y has shape {train.values.shape}; give every split the "
            f"same target columns"
        )
    if values.dtype.kind not in "biuf":
        values = numbers(values.reshape(len(values), -1), f"{word} y").reshape(values.shape)
    values = values.astype(np.float64)
    check_finite(values, f"{word} y", table.rows, table.outcome.names)
    targets = torch.from_numpy(values.reshape(len(values), -1).copy())
    return Split(as_rows(table.inputs), targets, values, table.rows)


def _classification(table: Table, word: str, encoder: Encoder) -> Split:
    if table.outcome.values.ndim != 1:
        raise ValueError(
            f"{word} y has shape {table.outcome.values.shape}, expected one label per row (N,); pass a single column"
        )
    codes = encoder.encode(table.outcome, table.rows, f"{word} y")
    targets = torch.zeros(len(codes), len(encoder.classes), dtype=torch.float64, device="cpu")
    targets[torch.arange(len(codes), device="cpu"), torch.from_numpy(codes)] = 1.0
    return Split(as_rows(table.inputs), targets, encoder.labels(codes), table.rows)


def _check_covered(validation: Split, encoder: Encoder) -> None:
    """Refuse a validation split without rows of some class: its loss would say nothing of that class."""
    absent = np.flatnonzero(validation.targets.sum(0).numpy() == 0)
    if len(absent):
        raise ValueError(
            f"validation y has no row of class {shown(encoder.classes[absent[0]])}, which training has; move rows of "
            f"it to the validation split, or drop that class"
        )
