"""What a command prints: on standard output, which may be closed, full, or a pipe whose reader has gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lsat_explorer.commands.errors import FAILURE, CommandError

__all__ = ["say", "shows_progress", "to_output"]


def say(text: str, kept: str = "") -> None:
    """Print a text; a letter that the output's encoding lacks is escaped.

    Parameters
    ----------
    text : str
        Lines.
    kept : str
        As for `to_output`.

    Raises
    ------
    CommandError
        As `to_output` does.

    Examples
    --------
    >>> say("status  Converged.")
    status  Converged.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with to_output(kept):
        print(text.encode(encoding, "backslashreplace").decode(encoding))


@contextmanager
def to_output(kept: str = "") -> Iterator[None]:
    """Write to standard output inside, and have it all arrive; where its reader has gone, end quietly.

    Parameters
    ----------
    kept : str
        A sentence on what is safe when it does not arrive, such as where the run is.

    Raises
    ------
    CommandError
        When it cannot be written, as on a full disk.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # as `head` leaves it: it has all that it wanted
        _write_no_more()
    except OSError as error:
        _write_no_more()
        sentence = f"Standard output cannot be written ({error.strerror}): send it elsewhere, or make room there."
        raise CommandError(f"{sentence} {kept}".rstrip(), FAILURE) from error


def shows_progress() -> bool:
    """Whether there is a standard error to show a progress bar on; a process may be started without one."""
    return sys.stderr is not None


def _write_no_more() -> None:
    """Lead standard output nowhere, for what is left in its buffer would be tried again when Python ends."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):  # not every stand-in for it has a number
            os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
