"""Entries that are missing: refused, or filled with what the training rows have in that column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from lsat_explorer.data.tables import Table, shown

__all__ = ["Missing", "fill_missing"]

Missing = Literal["refuse", "mean", "median"]


def fill_missing(tables: Mapping[str, Table], missing: Missing) -> tuple[dict[str, Table], tuple[float, ...] | None]:
    """Fill NaN in the inputs (N, d) of every split with the mean or median of the column over the training rows.

    Parameters
    ----------
    tables
        The splits; their inputs stay as they are.
    missing
        ``"refuse"`` changes nothing.

    Returns
    -------
    tuple
        The splits, and what stands for a missing entry of each column (d,); None where entries are refused.

    Raises
    ------
    ValueError
        For another word, for sparse inputs, and for a column of which no training row has a number.
    """
    if missing not in get_args(Missing):
        raise ValueError(
            f"missing is {missing!r}, expected one of {', '.join(map(repr, get_args(Missing)))}; pass one of these"
        )
    if missing == "refuse":
        return dict(tables), None
    train = tables["train"]
    if sparse.issparse(train.inputs):
        raise ValueError(
            f"missing is {missing!r} and X is sparse, whose entries are numbers or zero; fill them before, as "
            "SimpleImputer of scikit-learn does, and leave missing out"
        )
    absent = np.flatnonzero(np.isnan(train.inputs).all(0))
    if len(absent):
        name = f" ({shown(train.names[absent[0]])})" if train.names else ""
        raise ValueError(
            f"training X has no number in column {absent[0]}{name}, so there is no {missing} to fill it with; drop "
            f"that column"
        )
    inputs = train.inputs.astype(np.float64)
    values = np.nanmean(inputs, 0) if missing == "mean" else np.nanmedian(inputs, 0)
    values = values.astype(train.inputs.dtype)  # in which training rows hold them, so that other rows have the same
    filled = {split: replace(table, inputs=_filled(table.inputs, values)) for split, table in tables.items()}
    return filled, tuple(values.tolist())


def _filled(inputs: np.ndarray, values: np.ndarray) -> np.ndarray:
    if inputs.shape[1] != len(values):
        return inputs  # refused where the splits are joined
    return np.where(np.isnan(inputs), values, inputs)
