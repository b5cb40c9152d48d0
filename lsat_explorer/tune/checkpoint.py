"""When a run is kept on disk while it goes on: every so many accepted iterates, or seconds."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from ..data.safe_file import refuse_path
from ..model.piece import flag, number, whole
from .checkpoint_file import NAME, read_head, write_state
from .fingerprint import fingerprint
from .iterate import Iterate, Status
from .run_folder import refuse_foreign

if TYPE_CHECKING:
    from .stepping import Stepping

__all__ = ["Checkpoint", "Keeper", "Mark"]

Mark = tuple[int, int, int]
"""The inode, the time in ns and the bytes of a file."""


@dataclass(frozen=True)
class Checkpoint:
    """A run keeps itself in ``folder`` as it goes on, and `lsat_explorer.Run.resume` goes on from there.

    The file, ``checkpoint.safetensors``, is written after the first iterate, after every so many accepted iterates or
    so many seconds, whichever comes first, and at the end. It takes the place of the one before whole, or not at all.
    It holds the recipe, every number of every iterate, the tensors of ω that `Run.iterates` keeps, and what the method
    needs; no rows. For `LBFGS` that is a gradient for each evaluation.

    Parameters
    ----------
    folder : str or path
        Made where it is not there yet.
    iterations : int
        Most accepted iterates between two files.
    seconds : float
        Most seconds between two files, as far as an iteration does not take longer.
    replace : bool
        Whether the file of another run may be replaced; refused otherwise, as what is no file of a run always is. A run
        that has ended by itself is no other where the same recipe on the same data leads to it again.

    Examples
    --------
    >>> Checkpoint("runs/a", seconds=5.0)
    Checkpoint(folder='runs/a', iterations=100, seconds=5.0, replace=False)
    """

    folder: str
    iterations: int = 100
    seconds: float = 30.0
    replace: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | os.PathLike):
            raise ValueError(f"Checkpoint: folder is {self.folder!r}, expected the name of a folder.")
        object.__setattr__(self, "folder", os.fspath(self.folder))
        refuse_path(Path(self.folder))
        whole(self.iterations, "Checkpoint: iterations", high=10**9)
        number(self.seconds, "Checkpoint: seconds", low=0.0)
        flag(self.replace, "Checkpoint: replace")

    @classmethod
    def of(cls, given: Checkpoint | str | os.PathLike[str] | None) -> Checkpoint | None:
        """Return a description from what a user gives: one of it, a folder, or None.

        Raises
        ------
        ValueError
            For anything else.
        """
        if given is None or isinstance(given, Checkpoint):
            return given
        if not isinstance(given, str | os.PathLike):
            raise ValueError(f"checkpoint is {given!r}, expected a folder or lsat.Checkpoint(folder).")
        return cls(os.fspath(given))


def _mark(path: Path) -> Mark | None:
    """Return what tells the file that is there from one that takes its place; None where there is none to be seen."""
    with suppress(OSError):
        there = path.stat()
        return there.st_ino, there.st_mtime_ns, there.st_size
    return None


class Keeper:
    """Writes the checkpoints of one run.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where and when. A relative folder is taken from the working folder of now.

    Attributes
    ----------
    problem : str
        Why the last file could not be written; empty where it was.

    Raises
    ------
    ValueError
        When the folder is a file.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.problem = checkpoint, ""
        self.path = Path(checkpoint.folder).expanduser().absolute() / NAME
        if self.path.parent.exists() and not self.path.parent.is_dir():
            raise ValueError(f"{checkpoint.folder} is a file: give the name of a folder for the checkpoint.")
        self._seen = _mark(self.path)
        self._accepted, self._due = 0, 0.0
        self._rows: dict[str, str] | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint | None, run: Stepping) -> Keeper | None:
        """Return what keeps a run where ``checkpoint`` says, None where it says nothing.

        Raises
        ------
        ValueError
            When the folder is a file, or holds another run that would be lost.
        """
        if checkpoint is None:
            return None
        keeper = cls(checkpoint)
        keeper._refuse_loss(run)
        return keeper

    def look(self, run: Stepping) -> None:
        """Look again where another file has come since this run last looked or wrote: two may have begun in one folder.

        Raises
        ------
        ValueError
            When it holds another run that would be lost.
        """
        there = _mark(self.path)
        if there not in (None, self._seen, run.kept_as.get(self.path.resolve())):
            self._refuse_loss(run)
            self._seen = there

    def _refuse_loss(self, run: Stepping) -> None:
        refuse_foreign(self.path.parent, [NAME])
        there = None if self.checkpoint.replace else read_head(self.path)
        if there is None:
            return
        folder = self.checkpoint.folder
        otherwise = "give another folder, or Checkpoint(…, replace=True)."
        if there.status in (Status.RUNNING, Status.STOPPED_BY_USER):
            goes_on = f"lsat.Run.resume({folder!r}, data) goes on with it"
            raise ValueError(f"{folder} holds a run that has not ended: {goes_on}. Or {otherwise}")
        same = there.plain and run.start is None and there.recipe == run.recipe
        if not (same and there.rows == fingerprint(run.data, run.recipe)):
            raise ValueError(f"{folder} holds another run ({there.status.value}), which would be lost: {otherwise}")

    def after(self, run: Stepping, iterate: Iterate) -> None:
        """Write a file if one is due after an iterate."""
        self._accepted += iterate.accepted
        due = self._accepted >= self.checkpoint.iterations or time.monotonic() >= self._due
        if due or iterate.status.final:
            self.write(run)

    def write(self, run: Stepping) -> None:
        """Write a file; where that fails ``problem`` says why, and the old one stays."""
        try:
            self._rows = self._rows or fingerprint(run.data, run.recipe)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.look(run)
            write_state(run, self.path, self._rows, self.checkpoint)
            self._seen = run.kept_as[self.path.resolve()] = _mark(self.path)
            self.problem = ""
        except (OSError, SafetensorError, ValueError) as error:
            # An error of safetensors' own does not say which file.
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
            self.problem = (
                f"The checkpoint could not be written to {self.path.parent}: {why}. The run goes on in memory, and the "
                "next one is tried when it is due."
            )
        self._accepted, self._due = 0, time.monotonic() + self.checkpoint.seconds
