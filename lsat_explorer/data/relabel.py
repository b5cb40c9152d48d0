"""The target that another label of a row stands for, or a sentence that says why it stands for none."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lsat_explorer.data.data import Data
from lsat_explorer.data.tables import shown

__all__ = ["target_of"]


def target_of(data: Data, row: Any, label: Any) -> Tensor:
    """Return the target (m,) float64 of a class of the data, or in regression of a number or m of them.

    Parameters
    ----------
    data : Data
        Whose classes count.
    row : row name
        Which row gets the label, for the sentence.
    label
        The label.

    Raises
    ------
    ValueError
        When the class is unknown, or the numbers are not m finite ones; True is not taken for the class 1.
    """
    return _number(data, row, label) if data.classes is None else _one_hot(data.classes, row, label)


def _one_hot(classes: tuple[Any, ...], row: Any, label: Any) -> Tensor:
    if isinstance(label, bool) != isinstance(classes[0], bool | np.bool_) or label not in list(classes):
        known = ", ".join(shown(each) for each in classes[:10]) + (", …" if len(classes) > 10 else "")
        raise ValueError(
            f"relabel gives row {shown(row)} the class {shown(label)}, which is unknown: give one of {known}."
        )
    return torch.nn.functional.one_hot(torch.tensor(classes.index(label), device="cpu"), len(classes)).double()


def _number(data: Data, row: Any, label: Any) -> Tensor:
    m = data.train.targets.shape[1]
    try:
        values = np.asarray(label, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        values = np.full(m, np.nan)
    if values.shape != (m,) or not np.isfinite(values).all():
        wanted = "a finite number" if m == 1 else f"{m} finite numbers"
        if m > 1 and data.target_names:
            wanted += f" for {shown(list(data.target_names))}"
        raise ValueError(f"relabel gives row {shown(row)} the target {shown(label)}: expected {wanted}.")
    return torch.from_numpy(values.copy())
