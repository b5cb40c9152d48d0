"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty file to write, which takes the place of ``path`` at the end; an old file stays until then.

    It has the rights that any new file would have, and the suffix of ``path``. When writing fails, it is removed.

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
    # beside the target, for a file is renamed within one disk alone; not by tempfile, whose files are private
    temporary = target.with_name(f".{secrets.token_hex(8)}.{target.name}")
    try:
        temporary.open("xb").close()
        rights = stat.S_IMODE(temporary.stat().st_mode)
        yield temporary
        temporary.chmod(rights)  # safetensors puts a private file in its place
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
