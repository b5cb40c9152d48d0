"""Memory that the C library keeps after the tensors in it were freed."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from functools import cache

__all__ = ["Heap"]


class Heap:
    """The free store of this process, given back to the system now and then.

    glibc takes blocks of up to 32 MB from its heap, where small ones that live on keep what is freed between them from
    being given back. Over hundreds of iterations the heap grows to several times what is in use; elsewhere than with
    glibc nothing is done.

    Parameters
    ----------
    period : float
        Least number of seconds between two times: giving back takes milliseconds, and so does taking again.
    """

    def __init__(self, period: float = 1.0) -> None:
        self._period = period
        self._due = time.monotonic() + period
        self._used = False

    def tidy(self, *, ended: bool = False) -> bool:
        """Give back whole free pages if it is time, or work that took longer has ``ended``; return whether it was."""
        if time.monotonic() < self._due and not (ended and self._used):
            return False
        trim = _trim()
        if trim is not None:
            trim(0)
        self._due, self._used = time.monotonic() + self._period, True
        return True


@cache
def _trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
