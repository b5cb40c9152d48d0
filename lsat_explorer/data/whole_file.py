"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["settle", "temporary_beside", "tidy_up", "whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty file to write, which takes the place of ``path`` at the end; an old file stays until then.

    It reaches the disk before it takes that place, and its name after: a process that is killed, or a machine that
    loses its power, leaves the old file or the new one. It has the rights that any new file would have, and the suffix
    of ``path``. When writing fails, it is removed; one that a killed process has left is removed the next time.

    Parameters
    ----------
    path : path
        The file to write, whose folder is there.

    Raises
    ------
    ValueError
        When the path is a folder.
    FileNotFoundError
        When there is no folder to put it in.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with whole_file(path) as file:
    ...     _ = file.write_text("1 2 3")
    >>> path.read_text(), [file.name for file in path.parent.iterdir()]
    ('1 2 3', ['numbers.txt'])
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder, expected a file to write; give the name of a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} in; make it first")
    tidy_up(target)
    temporary = temporary_beside(target)
    try:
        temporary.open("xb").close()
        rights = stat.S_IMODE(temporary.stat().st_mode)
        yield temporary
        temporary.chmod(rights)  # safetensors puts a private file in its place
        settle(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # not every system can do so with a folder
        settle(target.parent)


def temporary_beside(target: Path) -> Path:
    """Return a new name beside ``target``, for a file is renamed within one disk alone.

    Not by tempfile, whose files are private. It tells the process, so that others know when it is stale.
    """
    return target.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.{target.name}")


def tidy_up(target: Path) -> None:
    """Remove what processes that are gone have left of ``target`` under a name of `temporary_beside`."""
    name = re.compile(rf"\.(\d+)-[0-9a-f]{{8}}\.{re.escape(target.name)}")
    with suppress(OSError):
        for path in list(target.parent.iterdir()):
            match = name.fullmatch(path.name)
            if match is not None and not _alive(int(match.group(1))):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def settle(path: Path) -> None:
    """Have what was written to a file, or the names in a folder, reach the disk.

    Raises
    ------
    OSError
        When they cannot.
    """
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _alive(process: int) -> bool:
    """Whether there is such a process; where the system cannot say without harm, there is."""
    if os.name != "posix" or process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
