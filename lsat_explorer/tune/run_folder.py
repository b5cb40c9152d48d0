"""The files of a run's folder by their names, and which of those that are there are no file of a run.

Their names are common ones. A file of another program under one of them is told by what is in it, and never replaced.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..data.safe_file import check_tensors, json_in, read_tensors, text_in
from ..model.piece import nearest
from ..model.recipe import Recipe
from . import checkpoint_file, model_file
from .iterate import SCALARS, Status

__all__ = ["DAMAGE", "FILES", "START", "read_about", "refuse_foreign"]

START = "start.safetensors"
FILES = ("recipe.json", "iterates.csv", "model.safetensors", START, "run.json")
"""What `Run.save` writes; the file of a branch's start only for a branch."""

DAMAGE = (ValueError, KeyError, TypeError, OverflowError)
"""What a reader raises for a file that is none of its kind."""

_SAID = ("status", "looks", "since", "data", "message", "notes", "versions")
_MOST_HEAD = 2**20
_PARTS = tuple(field.name for field in fields(Recipe))


def read_about(path: Path) -> dict[str, Any]:
    """Return what run.json says.

    Raises
    ------
    ValueError, KeyError, TypeError, OverflowError
        When it is damaged, or is none of a run.
    """
    said = json_in(text_in(path), path.name)
    for key in said:
        if key not in _SAID:
            raise ValueError(f"it has no {key[:60]!r}{nearest(key[:60], _SAID)}")
    Status(said["status"]), int(said["looks"]), str(said["message"])
    return said


def _read_keys(path: Path) -> None:
    # Not the pieces: those of the user's own may be unknown to this process, and the recipe is one all the same.
    said = json_in(text_in(path), path.name)
    if type(said["format"]) is not int:
        raise ValueError(f"its format is {said['format']!r}, expected a number")
    for key in said:
        if key not in ("format", *_PARTS):
            raise ValueError(f"it has no {key[:60]!r}{nearest(key[:60], _PARTS)}")


def _read_columns(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        columns = next(csv.reader([file.readline(_MOST_HEAD)]), [])
    lacking = [name for name in SCALARS if name not in columns]
    if lacking:
        raise ValueError(f"it has no column {lacking[0]!r}")


def _read_format(wanted: str) -> Callable[[Path], None]:
    """Return what reads the header of a file of tensors, and refuses one of no version of a format."""

    def read(path: Path) -> None:
        given = check_tensors(path).get("format")
        kind, slash, _ = wanted.rpartition("/")
        if given is None or not given.startswith(kind + slash):
            raise ValueError(f"its format is {given!r}, expected {wanted!r}")

    return read


def _read_start(path: Path) -> None:
    for name in read_tensors(path)[1]:
        if name.partition(".")[0] not in _PARTS:
            raise ValueError(f"its tensor {name[:60]!r} is none of a recipe")


_READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "recipe.json": ("recipe", _read_keys),
    "iterates.csv": ("iterates of a run", _read_columns),
    "model.safetensors": ("model", _read_format(model_file.FORMAT)),
    START: ("start of a run", _read_start),
    "run.json": ("account of a run", read_about),
    checkpoint_file.NAME: ("checkpoint", _read_format(checkpoint_file.FORMAT)),
}


def refuse_foreign(folder: Path, names: Iterable[str] = tuple(_READERS)) -> None:
    """Refuse a folder in which a file has one of the ``names`` of those of a run, and is none.

    Raises
    ------
    ValueError
        When there is one, as a user may have made or another program; or one that is damaged.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> refuse_foreign(folder)
    >>> _ = (folder / "iterates.csv").write_text("day,price")
    >>> refuse_foreign(folder)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...iterates.csv holds no iterates of a run of lsat_explorer, or a damaged one ...
    """
    for name in names:
        path, (kind, reader) = folder / name, _READERS[name]
        if not path.is_file():
            continue
        try:
            reader(path)
        except DAMAGE as error:
            why = f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise ValueError(
                f"{path} holds no {kind} of lsat_explorer, or a damaged one ({why}), and would be lost: give another "
                "folder, or move that file away first."
            ) from error
