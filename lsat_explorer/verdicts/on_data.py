"""Verdicts put to use on the training rows of some data: as a table, as weights, as labels, as other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..data.data import Data
from ..data.on_disk import RowsApart
from ..data.relabel import target_of
from ..data.sparse_rows import RowsSparse, some_of
from ..data.split import Split
from ..model.piece import number
from .names import Row, in_order
from .verdict import Verdict

if TYPE_CHECKING:
    import pandas

__all__ = ["applied", "missing", "refuse_no_data", "refuse_unknown", "relabelled", "table", "weights"]

Given = Mapping[Row, Verdict]


def refuse_no_data(data: Any) -> None:
    """Refuse what is no Data."""
    if not isinstance(data, Data):
        raise ValueError(f"data is a {type(data).__name__}, expected Data: use lsat.Data.from_arrays(X, y).")


def refuse_unknown(given: Mapping[Row, Verdict | None], known: Sequence[Data]) -> None:
    """Refuse the first new label that none of some data has; where there are no data, any is taken."""
    labels: dict[str, tuple[Row, Any]] = {}
    for row, verdict in given.items():
        if verdict is not None and verdict.kind == "relabel":
            labels.setdefault(repr(verdict.to), (row, verdict.to))  # of which True and 1 are two
    for row, label in labels.values():
        problems = [problem for data in known if (problem := _problem(data, row, label)) is not None]
        if problems and len(problems) == len(known):
            raise problems[-1]


def _problem(data: Data, row: Row, label: Any) -> ValueError | None:
    try:
        target_of(data, row, label)
    except ValueError as error:
        return error
    return None


def _places(data: Data) -> dict[Any, int]:
    refuse_no_data(data)
    return {name: place for place, name in enumerate(data.train.rows.tolist())}


def _placed(verdicts: Given, data: Data, kind: str) -> dict[int, Row]:
    """Return the rows of one kind that the training rows have, by their places, in order."""
    places = _places(data)
    found = {places[row]: row for row, verdict in verdicts.items() if verdict.kind == kind and row in places}
    return {place: found[place] for place in sorted(found)}


def missing(verdicts: Given, data: Data) -> list[Row]:
    """Return the rows that the training rows do not have."""
    places = _places(data)
    return in_order(row for row in verdicts if row not in places)


def table(verdicts: Given, data: Data | None) -> pandas.DataFrame:
    """Return kind and label by row; with data also the label that the row was given, None where they lack the row."""
    import pandas

    rows = in_order(verdicts)
    columns: dict[str, list[Any]] = {
        "kind": [verdicts[row].kind for row in rows],
        "to": [verdicts[row].to for row in rows],
    }
    if data is not None:
        places, labels = _places(data), data.train.labels.tolist()
        given = [labels[places[row]] if row in places else None for row in rows]
        columns = {"given": [tuple(label) if isinstance(label, list) else label for label in given], **columns}
    index = pandas.Index(rows, name="row") if rows else pandas.Index([], name="row", dtype=object)
    return pandas.DataFrame({name: pandas.Series(c, index, dtype=object) for name, c in columns.items()}, index)


def weights(verdicts: Given, data: Data, ambiguous: float) -> np.ndarray:
    """Return a weight for each training row (k,)."""
    unclear, dropped = (list(_placed(verdicts, data, kind)) for kind in ("ambiguous", "drop"))
    found = np.ones(len(data.train))
    found[unclear] = number(ambiguous, "ambiguous", low=0.0)
    found[dropped] = 0.0
    return found


def relabelled(verdicts: Given, data: Data) -> np.ndarray:
    """Return the labels of the training rows, those of the verdicts where they give others."""
    return _relabelled(verdicts, data).labels


def _relabelled(verdicts: Given, data: Data) -> Split:
    places = _placed(verdicts, data, "relabel")
    labels, targets = data.train.labels.copy(), data.train.targets.clone()
    for place, row in places.items():
        target = target_of(data, row, verdicts[row].to)
        targets[place] = target
        if data.classes is None:
            labels[place] = target.numpy().reshape(labels.shape[1:])
        else:
            labels[place] = data.classes[int(target.argmax())]
    return replace(data.train, labels=labels, targets=targets) if places else data.train


def applied(verdicts: Given, data: Data) -> Data:
    """Return data without the dropped rows and with the new labels; itself where that changes nothing."""
    train, dropped = _relabelled(verdicts, data), list(_placed(verdicts, data, "drop"))
    if dropped:
        if isinstance(train.inputs, RowsApart) and not isinstance(train.inputs, RowsSparse):
            raise ValueError(
                "The training rows stay on disk, where none can be dropped: give the recipe "
                "data_weights=lsat.FixedWeights(verdicts.weights(data))."
            )
        kept = np.delete(np.arange(len(train)), dropped)
        if len(kept) < 2:
            raise ValueError(f"The verdicts drop all but {len(kept)} of {len(train):,} training rows: keep two.")
        chosen = torch.from_numpy(kept)
        train = Split(some_of(train.inputs, chosen), train.targets[chosen], train.labels[kept], train.rows[kept])
    return data if train is data.train else replace(data, train=train, source="")
