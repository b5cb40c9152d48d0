"""The folder that a command writes, which it does not leave behind empty."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lsat_explorer.commands.errors import user_input


def path_of(text: str) -> Path:
    """Return the path of an argument, ``~`` as the home, which a shell leaves as it is in ``--out=~/runs``.

    Raises
    ------
    ArgumentTypeError
        When it begins with the home of somebody who is not known.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        told = f"it is {text!r}, expected a path, and there is no such home; write ./{text} for what is called so"
        raise argparse.ArgumentTypeError(told) from None


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
