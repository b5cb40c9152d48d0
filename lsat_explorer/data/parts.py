"""The splits of one data set: reading one, whether all fit each other, and which rows of one are meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.images import check_image_shape
from lsat_explorer.data.labels import Task
from lsat_explorer.data.missing import Missing, fill_missing
from lsat_explorer.data.output_names import check_output_names, output_names_in
from lsat_explorer.data.sparse_rows import table_of
from lsat_explorer.data.split import SPLITS, Split, make_splits, positions
from lsat_explorer.data.tables import Table, default_names, shown

__all__ = ["check_parts", "chosen_inputs", "given_splits", "joined", "read_split"]


def given_splits(train: Any, validation: Any, test: Any, final: Any) -> dict[str, Any]:
    """Return what was given for each split, without the test and final ones that were not."""
    given = dict(zip(SPLITS, (train, validation, test, final), strict=True))
    return {split: rows for split, rows in given.items() if rows is not None or split in ("train", "validation")}


def read_split(split: str, pair: Any, image_shape: Sequence[int] | None) -> Table:
    """Return a table of its own of a split that is given as a pair (X, y).

    Raises
    ------
    ValueError
        When it is no pair, or its parts do not fit.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{split} is a {type(pair).__name__}, expected a pair (X, y); pass {split}=(X, y)")
    table = table_of(*pair, image_shape=image_shape, split=SPLITS[split])
    return table.take(np.arange(len(table)))


def joined(
    tables: Mapping[str, Table],
    task: Task,
    image_shape: Sequence[int] | None,
    feature_names: Sequence[Any] | None,
    target_names: Sequence[Any] | None,
    *,
    files: Mapping[str, Tensor] | None = None,
    missing: Missing = "refuse",
) -> dict[str, Any]:
    """Check what concerns all splits at once, and encode them alike; return the fields of the `Data` that they make.

    ``files`` are inputs on disk, which are checked already.
    """
    features = tables["train"].inputs.shape[1]
    shape = None if image_shape is None else check_image_shape(image_shape, features)
    if feature_names is not None and not isinstance(feature_names, Iterable):
        raise ValueError(f"feature_names is {shown(feature_names)}, expected one name per column; give a list of them")
    feature_names = None if feature_names is None else _each_once([str(name) for name in feature_names])
    names = feature_names if feature_names is not None else tables["train"].names or default_names(features, shape)
    if feature_names is not None and tables["train"].names is None and len(names) == features:
        # errors then name a column as the user does
        tables = {split: replace(table, names=tuple(names)) for split, table in tables.items()}
    outputs = output_names_in({split: table.outcome for split, table in tables.items()}, task, target_names)
    tables = {s: replace(table, outcome=replace(table.outcome, names=outputs)) for s, table in tables.items()}
    filled, fill = fill_missing(tables, missing)
    made, classes = make_splits(filled, task, finite=bool(files))
    return {
        **made,
        **{split: replace(made[split], inputs=rows) for split, rows in (files or {}).items()},
        "task": task,
        "classes": classes,
        "feature_names": tuple(str(name) for name in names),
        "target_names": outputs,
        "image_shape": shape,
        "fill": fill,
    }


def _each_once(names: list[str]) -> list[str]:
    """Refuse names that are given for columns where one stands twice; those of a table are as they are."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"feature_names has {shown(twice)} twice, expected a name of its own for each column; make it so"
        )
    return names


def check_parts(
    splits: Mapping[str, Split],
    task: str,
    classes: tuple[Any, ...] | None,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    image_shape: Sequence[int] | None,
) -> None:
    """Refuse splits of different columns, and a task, classes, names or a shape of images that do not fit them.

    Raises
    ------
    ValueError
        In one sentence with what was expected.
    """
    train = splits["train"]
    features, outputs = train.inputs.shape[1], train.targets.shape[1]
    for name, split in splits.items():
        shape = (split.inputs.shape[1], split.targets.shape[1])
        if shape != (features, outputs):
            raise ValueError(
                f"the {name} split has {shape[0]} features and {shape[1]} outputs, the train split {features} and "
                f"{outputs}; give every split the same columns"
            )
    if task not in ("classification", "regression"):
        raise ValueError(f"task is {task!r}, expected 'classification' or 'regression'; pass one of these")
    if (task == "classification") != (classes is not None) or len(classes or ()) not in (0, outputs):
        raise ValueError(
            f"classes are {shown(classes)} for {task} with {outputs} target columns, expected one class per column in "
            f"classification and None in regression; Data.from_splits sets them"
        )
    if len(feature_names) != features:
        raise ValueError(
            f"feature_names has {len(feature_names)} names for {features} features; give one per column of X"
        )
    check_output_names(target_names, task, outputs)
    if image_shape is not None:
        check_image_shape(image_shape, features)


def chosen_inputs(splits: Mapping[str, Split], split: str, indices: Any, name: str) -> Tensor:
    """Return the inputs at these positions (N,) within a split of the data called ``name``, all where None.

    Raises
    ------
    ValueError
        When there is no such split, or a position is outside it.
    """
    if split not in splits:
        raise ValueError(f"{name} has no split {split!r}, expected one of {', '.join(splits)}; pass one of these")
    inputs = splits[split].inputs
    return inputs[torch.from_numpy(positions(indices, len(inputs), split))]
