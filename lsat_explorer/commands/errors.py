"""How a command says in one sentence that it cannot go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lsat_explorer.engines.room import NotEnoughMemory

USAGE = 2
FAILURE = 1
INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot go on: one sentence for the user, and the exit code.

    Parameters
    ----------
    sentence : str
        What came, what was expected and what to do.
    code : int
        `USAGE` where the user's input is at fault, `FAILURE` where the world is (no network, no JupyterLab).

    Examples
    --------
    >>> CommandError("There is no run in runs/a.").code
    2
    """

    def __init__(self, sentence: str, code: int = USAGE) -> None:
        super().__init__(sentence)
        self.code = code


@contextmanager
def user_input() -> Iterator[None]:
    """Turn what a bad file, folder or recipe raises into a `CommandError`.

    Only the part of a command that reads the user's input stands inside: an error further on is a fault of the
    program, and keeps its traceback.

    Raises
    ------
    CommandError
        In place of ValueError and OSError, with the same sentence and exit code 2, and of NotEnoughMemory and of a
        package that is not installed, code 1.
    """
    try:
        yield
    except OSError as error:
        raise CommandError(_told(error)) from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    except (NotEnoughMemory, ModuleNotFoundError) as error:
        raise CommandError(str(error), FAILURE) from error


def _told(error: OSError) -> str:
    """Return what the system says, with the file that it is of where it names one."""
    if error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    if error.errno is not None and _is_lost():
        return (
            "The working folder is there no more, so that no file in it can be named: change to another, and try again."
        )
    return str(error)


def _is_lost() -> bool:
    """Whether the working folder has been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
