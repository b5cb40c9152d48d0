"""A file that is written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["file_to_write", "settle", "temporary_beside", "tidy_up", "whole_file"]

_OTHERS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
"""What is there and no file, so that a file in its place would take it from others."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty file to write, which takes the place of ``path`` at the end; an old file stays until then.

    It reaches the disk before it takes that place, and its name after: a process that is killed, or a machine that
    loses its power, leaves the old file or the new one. It has the rights that any new file would have, and the suffix
    of ``path``. Where that is a link, it stays, and what it leads to is written. When writing fails, the new file is
    removed; one that a killed process has left is removed the next time.

    Parameters
    ----------
    path : path
        The file to write, whose folder is there.

    Raises
    ------
    ValueError
        When something is there that is no file.
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
    target = file_to_write(path)
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


def file_to_write(path: str | os.PathLike[str]) -> Path:
    """Return where `whole_file` puts a file: the path itself, or at the end of the links that it is.

    Raises
    ------
    ValueError
        When something is there that is no file: a folder, a pipe, a device, a socket, links in a circle.
    FileNotFoundError
        When there is no folder to put it in.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()).resolve()
    >>> (folder / "latest.txt").symlink_to("a.txt")
    >>> file_to_write(folder / "latest.txt").name
    'a.txt'
    """
    given = Path(path)
    try:
        kind = stat.S_IFMT(given.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        kind = stat.S_IFREG  # to be made
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{given} is a link that leads to itself, expected a file to write; remove it") from error
    if kind == stat.S_IFDIR:
        raise ValueError(f"{given} is a folder, expected a file to write; give the name of a file in it")
    if kind != stat.S_IFREG:
        what = _OTHERS.get(kind, "no file")
        raise ValueError(f"{given} is {what}, expected a regular file to write; give another name, or a new one")
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        folder = given.parent if target.name == given.name else target.parent
        raise FileNotFoundError(f"there is no folder {folder} to write {target.name} in; make it first")
    return target


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
