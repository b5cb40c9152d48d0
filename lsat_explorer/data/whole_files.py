"""Several files of a folder that change together or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .whole_file import file_to_write, settle, temporary_beside, tidy_up

__all__ = ["in_force", "put_in_place", "whole_files"]

_PENDING = ".pending"
"""The folder, within that of the files, of new ones that count already and are not all in their places yet."""

_LIST = "names.json"


@contextmanager
def whole_files(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Give an empty folder for new files, which take the places of those of the same names in ``folder`` together.

    They do so in one step, when the work inside has ended well: who reads them through `in_force` finds the old ones or
    the new ones, also after a process was killed. Other files in the folder stay.

    Parameters
    ----------
    folder : Path
        Where they are; made where it is not there.
    names : sequence of str
        Those that belong together. One that is not written is taken away.

    Raises
    ------
    ValueError
        When something is there under one of the names that is no file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_files(folder, ["a.txt", "b.txt"]) as new:
    ...     _ = (new / "a.txt").write_text("1")
    >>> sorted(path.name for path in folder.iterdir())
    ['a.txt']
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file_to_write(folder / name)  # now, for new ones that count already could not be moved
    tidy_up(folder / _PENDING)
    put_in_place(folder, names)
    new = temporary_beside(folder / _PENDING)
    new.mkdir()
    try:
        yield new
        (new / _LIST).write_text(json.dumps([name for name in names if (new / name).exists()]))
        for path in (*new.iterdir(), new):
            settle(path)
        new.replace(folder / _PENDING)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    put_in_place(folder, names)


def in_force(folder: Path, name: str) -> Path:
    """Return where the file ``name`` of a folder is; there is none at that path where there is none."""
    pending = folder / _PENDING
    with suppress(OSError, ValueError):
        listed = json.loads((pending / _LIST).read_text())
        if (pending / name).is_file() or name not in listed:
            return pending / name
    return folder / name


def put_in_place(folder: Path, names: Sequence[str]) -> None:
    """Finish what a process that was killed has left: move files that count already to where they belong.

    Raises
    ------
    OSError
        When they cannot be moved; they count as before.
    """
    pending = folder / _PENDING
    if not (pending / _LIST).is_file():
        return
    listed = json.loads((pending / _LIST).read_text())
    for name in names:
        if name not in listed:
            (folder / name).unlink(missing_ok=True)
        elif (pending / name).is_file():
            (pending / name).replace(folder / name)
    settle(folder)
    shutil.rmtree(pending)
