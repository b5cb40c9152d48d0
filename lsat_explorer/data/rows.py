"""Splits whose inputs stay where they are: checked in one pass, and copied to disk in it where they cannot stay."""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from lsat_explorer.data.locks import Held, locked
from lsat_explorer.data.on_disk import RowsApart, RowsOnDisk
from lsat_explorer.data.on_workers import Partitions
from lsat_explorer.data.output_names import agreed_names
from lsat_explorer.data.sources import Source, as_source
from lsat_explorer.data.split import SPLITS
from lsat_explorer.data.tables import Column, Table, check_finite, read_column, read_table

__all__ = ["NotEnoughDisk", "read_rows"]

_NEW = 60.0  # seconds in which who made a copy comes to hold it


class NotEnoughDisk(OSError):
    """The disk has no room for a copy of rows; the sentence says where, and how much was written."""


def read_rows(
    given: dict[str, Any],
    *,
    target: str | Sequence[str] | None,
    image_shape: Sequence[int] | None,
    folder: str | Path | None,
) -> tuple[dict[str, Table], dict[str, RowsApart]]:
    """Return the rows of each split as a table, every entry of which was looked at, and its inputs, which stay apart.

    Raises
    ------
    ValueError
        When an entry is not finite, or shapes or types do not fit; the sentence names the split.
    NotEnoughDisk
        When a copy has no room.
    """
    # All are opened before the first is read: a wrong name is then known at once.
    sources = {split: as_source(rows, target, SPLITS[split]) for split, rows in given.items()}
    read = {split: _Pass(SPLITS[split], image_shape) for split in sources}
    files = {split: read[split].over(source, folder) for split, source in sources.items()}
    for split, rows in files.items():
        if rows.dtype != files["train"].dtype:
            raise ValueError(
                f"{SPLITS[split]} X is {_kind(rows)} and training X is {_kind(files['train'])}; give every split the "
                f"same type"
            )
    tables = {
        s: Table(_stand_in(rows), read[s].outcome(), np.arange(len(rows)), read[s].names) for s, rows in files.items()
    }
    return tables, files


def _stand_in(rows: RowsApart) -> np.ndarray:
    """Return an array of the shape and type of rows that were looked at, which takes no memory."""
    one = torch.zeros(1, dtype=rows.dtype, device="cpu").numpy()
    return np.lib.stride_tricks.as_strided(one, tuple(rows.shape), (0, 0))


def _kind(rows: RowsApart) -> str:
    return str(rows.dtype).removeprefix("torch.")


class _Pass:
    """The one pass over a split's rows, in which they are checked."""

    def __init__(self, word: str, image_shape: Sequence[int] | None) -> None:
        self.word, self.image_shape = word, image_shape
        self.names: tuple[str, ...] | None = None
        self._outcomes: list[Column] = []

    def over(self, source: Source | Partitions, folder: str | Path | None) -> RowsApart:
        """Return the rows where they are, or copied to a file that goes when they go."""
        if isinstance(source, Partitions):
            there, self._outcomes, self.names = source.looked_at(self.word, self.image_shape)
            return there
        if source.file is None:
            return self._copied(source, folder)
        for start, rows in source.file.passes():
            self._check(rows.numpy(), start)
        self._outcomes = [read_column(source.outcome, f"{self.word} y")]
        return source.file

    def outcome(self) -> Column:
        """Return y of all rows."""
        values = [column.values for column in self._outcomes]
        categories = {column.categories for column in self._outcomes}
        names = agreed_names((f"part {number} of {self.word} y", part) for number, part in enumerate(self._outcomes))
        return Column(np.concatenate(values), categories.pop() if len(categories) == 1 else None, names)

    def _check(self, inputs: np.ndarray, start: int) -> None:
        check_finite(inputs, f"{self.word} X", np.arange(start, start + len(inputs)), self.names)

    def _copied(self, source: Source, folder: str | Path | None) -> RowsOnDisk:
        with _new_file(folder) as (path, file, held):
            if source.promised > (free := shutil.disk_usage(path.parent).free):
                raise _full(
                    path, self.word, f"they take {source.promised / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free"
                )
            count, width, dtype = 0, 0, source.dtype
            for number, (X, y) in enumerate(source.chunks()):
                if not len(y):
                    continue
                table = read_table(X, y, image_shape=self.image_shape, split=self.word)
                inputs, dtype = table.inputs, dtype or table.inputs.dtype
                if not count:
                    self.names, width = table.names, inputs.shape[1]
                if inputs.shape[1] != width or not np.can_cast(inputs.dtype, dtype):
                    raise ValueError(
                        f"chunk {number} of {self.word} X has {inputs.shape[1]:,} columns of {inputs.dtype}, the first "
                        f"has {width:,} of {dtype}; give every chunk the same columns, of one type"
                    )
                self._check(inputs, count)
                with _room(path, self.word, count * width * dtype.itemsize):
                    np.ascontiguousarray(inputs, dtype).tofile(file)
                self._outcomes.append(table.outcome)
                count += len(inputs)
            if dtype is None or not count:
                raise ValueError(f"{self.word} X has no rows; give at least two")
            with _room(path, self.word, count * width * dtype.itemsize):
                file.close()  # what is still to be written may find no room
            rows = RowsOnDisk(path, (count, width), dtype)
        weakref.finalize(rows, _taken_away, path, held)
        return rows


@contextmanager
def _new_file(folder: str | Path | None) -> Iterator[tuple[Path, BinaryIO, Held | None]]:
    """Make a file to write to, held until it is taken away, which happens here where that fails."""
    try:
        handle, name = tempfile.mkstemp(".rows", "lsat-", None if folder is None else Path(folder).expanduser())
    except OSError as error:
        raise ValueError(f"folder {folder} takes no file ({error.strerror}); give a folder to write to") from None
    path = Path(name)
    held = locked(path)
    try:
        _take_away_forsaken(path.parent)
        with open(handle, "wb") as file:
            yield path, file, held
    except BaseException:
        _taken_away(path, held)
        raise


def _taken_away(path: Path, held: Held | None) -> None:
    if held is not None:
        held.let_go()
    path.unlink(missing_ok=True)


def _take_away_forsaken(folder: Path) -> None:
    """Take away the copies of processes that were killed: nobody holds them, and they are no longer new."""
    for path in folder.glob("lsat-*.rows"):
        with suppress(OSError):  # it is another user's, or has gone meanwhile
            old = time.time() - path.stat().st_mtime > _NEW
            held = locked(path) if old else None
            if held is not None:
                _taken_away(path, held)


@contextmanager
def _room(path: Path, word: str, written: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # numpy says that it wrote less than it should, and not why.
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, None):
            raise
        raise _full(path, word, f"{written / 1e6:,.0f} MB of them were written") from error


def _full(path: Path, word: str, found: str) -> NotEnoughDisk:
    return NotEnoughDisk(
        f"{path.parent} has no room for the {word} rows: {found}; give Data.from_rows(folder=…) a folder on a disk "
        f"with more room."
    )
