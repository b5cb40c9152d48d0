"""Tables of OpenML, fetched once by scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from http.client import HTTPException
from typing import Any, Unpack
from urllib.error import URLError

from lsat_explorer.data.arriving import arriving
from lsat_explorer.data.cache import cache_folder
from lsat_explorer.data.calls import call_of
from lsat_explorer.data.data import Data
from lsat_explorer.data.division import Division
from lsat_explorer.data.frames import plain_names, rows_of_frame

__all__ = ["from_openml"]


def from_openml(
    dataset: str | int,
    *,
    version: int | str = "active",
    target: str | Sequence[str] | None = None,
    index: str | None = None,
    drop: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    progress: bool = True,
    **division: Unpack[Division],
) -> Data:
    """Fetch a table from openml.org, and divide its rows.

    What was fetched stays in the user's cache folder, or in that of the environment variable ``LSAT_CACHE``: the next
    call needs no network. Text and categories become columns as in `lsat_explorer.data.datasets.from_csv`.

    Parameters
    ----------
    dataset
        Name of the data set, or its number.
    version
        Version of that name; ``"active"`` for the oldest that is active.
    target
        Column of the labels or numbers to predict, or several columns of numbers; that of the data set where None.
    index, drop, categories
        Column that names the rows, column to leave out, or several, and column of categories, or several.
    progress
        Whether to show a progress bar.
    **division
        ``validation``, ``test``, ``final``, ``seed``, ``task``, ``missing`` and ``name``, as in `Data.from_arrays`.

    Returns
    -------
    Data

    Raises
    ------
    ConnectionError
        When OpenML does not answer, and the data set was not fetched before.
    ValueError
        When there is no such data set, it names no target, and as in `lsat_explorer.data.datasets.from_csv`.
    """
    from sklearn.datasets import fetch_openml

    target = None if target is None else plain_names(target, "target")
    how: dict[str, Any] = {"index": index}
    how |= {"drop": plain_names(drop, "drop"), "categories": plain_names(categories, "categories")}
    folder = cache_folder() / "openml"
    where: dict[str, Any] = {"data_id": dataset}
    if not isinstance(dataset, int):
        where = {"name": dataset, "version": version}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with arriving(folder, f"fetching {dataset}", progress=progress):
            bunch = fetch_openml(**where, as_frame=True, data_home=str(folder))
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        reason = str(getattr(error, "reason", None) or error).rstrip(".")
        raise ConnectionError(
            f"{dataset} could not be fetched, for OpenML does not answer ({reason}); try again where there is a "
            f"network, or read a file of it by from_csv or from_parquet"
        ) from error
    wanted = target if target is not None else list(bunch.target_names or ())
    if not wanted:
        raise ValueError(f"{dataset} of OpenML names no target; give the name of its column: target=")
    table = rows_of_frame(bunch.frame, str(dataset), target=wanted, **how)
    source = call_of(from_openml, dataset=dataset, version=version, target=target, **how, **division)
    named: Any = {"name": str(dataset), **division}
    y = table.outcome(wanted)
    return replace(Data.from_arrays(table.X, y, feature_names=table.names, rows=table.rows, **named), source=source)
