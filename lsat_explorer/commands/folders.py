"""The folder that a command writes, which it does not leave behind empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lsat_explorer.commands.errors import user_input


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the work inside; when that fails, remove of what was made all that is still empty.

    Parameters
    ----------
    folder : Path
        A folder that may be there already, and is then kept.

    Raises
    ------
    CommandError
        When the folder cannot be made.
    """
    with user_input():
        made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with user_input():
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in made:
            # It holds something, or was never made.
            with suppress(OSError):
                path.rmdir()
        raise
