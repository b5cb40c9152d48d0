"""A folder or file that one object has to itself, also among those of other processes."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

__all__ = ["Held", "can_lock", "locked"]


class Held:
    """A lock on a folder or file, which ends with the object, or the process; ``let_go`` ends it."""

    def __init__(self, handle: int) -> None:
        self.let_go = weakref.finalize(self, os.close, handle)


def locked(place: Path) -> Held | None:
    """Keep others from a folder or file; None where another has it or the system cannot."""
    if not can_lock():
        return None
    import fcntl

    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return Held(handle)


def can_lock() -> bool:
    """Whether the system has such locks."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True
