"""Where verdicts are: in memory with what can be taken back, in a file that others may change, told to observers."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from .file import Known, alone, read, stamp, write
from .names import Row
from .verdict import Verdict, same

__all__ = ["Store"]

_Rows = dict[Row, Verdict | None]
_MOST = 1_000  # steps kept to take back


@dataclass(frozen=True)
class _Step:
    """What a change did to its rows; None is no verdict."""

    before: _Rows
    after: _Rows


class Store:
    """Verdicts by row, and the changes that made them so.

    Parameters
    ----------
    path : Path or None
        The file; None keeps them in memory.

    Attributes
    ----------
    known : dict of row name to Verdict
        The present state, never changed in place: who reads it needs no lock.
    problem : str
        Why the last change could not be saved.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.problem = path, ""
        self._lock = threading.RLock()
        self._observers: tuple[Callable[[], object], ...] = ()
        self._steps: list[_Step] = []
        self._at = 0  # steps before it are done, the others taken back
        # What the file held when it was last read or written.
        self._saved, self._stamp = ({}, None) if path is None else read(path)
        self.known: Known = self._saved

    @property
    def undoes(self) -> bool:
        """Whether there is a change to take back."""
        return self._at > 0

    @property
    def redoes(self) -> bool:
        """Whether there is a change to make again."""
        return self._at < len(self._steps)

    def decide(self, verdicts: _Rows) -> None:
        """Put a verdict, or none, on each of some rows, as one change."""

        def act() -> None:
            before = {row: self.known.get(row) for row, new in verdicts.items() if not same(self.known.get(row), new)}
            if before:
                step = _Step(before, {row: verdicts[row] for row in before})
                self._steps = [*self._steps[: self._at], step][-_MOST:]
                self._at = len(self._steps)
                self._become(step.before, step.after)

        self._change(act)

    def undo(self) -> None:
        """Go back by a change, if there is one."""

        def act() -> None:
            if self.undoes:
                self._at -= 1
                step = self._steps[self._at]
                self._become(step.after, step.before)

        self._change(act)

    def redo(self) -> None:
        """Go forward by a change, if there is one."""

        def act() -> None:
            if self.redoes:
                step = self._steps[self._at]
                self._at += 1
                self._become(step.before, step.after)

        self._change(act)

    def observe(self, callback: Callable[[], object]) -> None:
        """Have a callback called after each change."""
        with self._lock:
            if callback not in self._observers:
                self._observers = (*self._observers, callback)

    def unobserve(self, callback: Callable[[], object]) -> None:
        """Call it no more."""
        with self._lock:
            self._observers = tuple(each for each in self._observers if each != callback)

    def _become(self, before: _Rows, after: _Rows) -> None:
        """Change the rows that are as they were ``before``."""
        known = dict(self.known)
        for row, verdict in after.items():
            if same(known.get(row), before[row]):
                _put(known, row, verdict)
        self.known = known

    def _change(self, act: Callable[[], None]) -> None:
        """Take in what others have changed, act, save, and tell the observers, where anything is changed by it."""
        with self._lock, nullcontext() if self.path is None else alone(self.path.parent):
            was, at, steps = self.known, self._at, self._steps
            problem = self._attempt(self._take_in)
            act()
            if self.known is was and self._at == at and self._steps is steps:
                return
            self.problem = problem or self._attempt(self._write)
        self._announce()

    def _attempt(self, job: Callable[[Path], None]) -> str:
        """Do something with the file, if there is one, and return why that failed."""
        if self.path is not None:
            try:
                job(self.path)
            except (OSError, ValueError) as error:
                return f"The verdicts could not be saved to {self.path}: {str(error).rstrip('.')}."
        return ""

    def _take_in(self, path: Path) -> None:
        """Take in what another process has changed in the file since it was last read or written, row by row."""
        now = stamp(path)
        if now is None or now == self._stamp:
            return  # a file that was taken away does not say that its verdicts are void: it is written again
        theirs, now = read(path)
        known = dict(theirs)
        for row in {**self._saved, **self.known}:
            was, mine = self._saved.get(row), self.known.get(row)
            if not same(mine, was):  # decided here, and not saved yet
                _put(known, row, mine)
        self.known, self._saved, self._stamp = known, theirs, now

    def _write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stamp, self._saved = write(path, self.known), self.known

    def _announce(self) -> None:
        """Call the observers, each of them, outside the lock; then say what could not be saved."""
        problem, errors = self.problem, []
        for callback in self._observers:
            try:
                callback()
            except Exception as error:  # the others are still to be told
                errors.append(error)
        if problem:
            # The caller of the method of Verdicts that changed something.
            warnings.warn(f"{problem} They are kept in memory; the next change tries again.", stacklevel=5)
        if errors:
            raise errors[0]


def _put(known: Known, row: Row, verdict: Verdict | None) -> None:
    if verdict is None:
        known.pop(row, None)
    else:
        known[row] = verdict
