"""What tells the rows of one data set from others, and the versions that numbers were made with."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from torch import Tensor

from ..data.data import Data, Split
from ..data.on_disk import RowsApart
from ..model.recipe import Recipe

__all__ = ["fingerprint", "is_of", "other_data", "versions"]

_PACKAGES = ("lsat_explorer", "torch", "numpy", "scipy", "scikit-learn")


def fingerprint(data: Data, recipe: Recipe | None = None) -> dict[str, str]:
    """Return what tells these rows from others: their name, and a hash of the training and validation rows.

    Of a ``recipe`` with early stopping, which test rows decide on, also one of these.
    """
    found = {"name": repr(data), "sha256": _hash(data.train, data.validation)}
    if recipe is not None and recipe.early_stopping is not None and data.test is not None:
        found["test_sha256"] = _hash(data.test)
    return found


def is_of(was: Mapping[str, str], data: Data, recipe: Recipe) -> bool:
    """Whether a run that kept this `fingerprint` of its rows was on these; what was not kept is not compared."""
    now = fingerprint(data, recipe if "test_sha256" in was else None)
    return all(was.get(name) == value for name, value in now.items() if name != "name")


def _hash(*splits: Split) -> str:
    digest = hashlib.sha256()
    for split in splits:
        for values in (split.inputs, split.targets):
            for rows in _in_order(values):
                digest.update(rows.numpy().data)
    return digest.hexdigest()


def other_data(was: Any, data: Data) -> str:
    """Return the end of a sentence on a run that was on other data: on which, how they differ, and what to do.

    Parameters
    ----------
    was : mapping
        The `fingerprint` that was kept of the run's data.
    data : Data
        What was given in their place.
    """
    name = dict(was or {}).get("name", "other rows")
    alike = "; they look alike, but the rows differ, in values, order or the seed that divided them"
    return (
        f"other data ({name}), not on {data!r}{alike if name == repr(data) else ''}: give the data that it was run on."
    )


def _in_order(values: Tensor) -> Iterator[Tensor]:
    """Yield all rows, some at a time where they are in a file."""
    if isinstance(values, RowsApart):
        yield from (rows for _, rows in values.passes())
    else:
        yield values.contiguous()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the numbers come from."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder, never installed
            found[name] = "not installed"
    return found
