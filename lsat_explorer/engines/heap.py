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

    def tidy(self) -> bool:
        """Give back whole free pages if it is time, and return whether it was."""
        now = time.monotonic()
        if now < self._due:
            return False
        trim = _trim()
        if trim is not None:
            trim(0)
        self._due = time.monotonic() + self._period
        return True


@cache
def _trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
