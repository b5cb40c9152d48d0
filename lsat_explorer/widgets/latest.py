"""Work in the background on the newest wish: those in between are passed over, and whoever wishes never waits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lsat_explorer.widgets.threads import begun, closed_at_exit

__all__ = ["Latest"]

_MOST_SECONDS = 20.0  # of the work that is under way, at the end of the process

_Wish = TypeVar("_Wish")


class Latest(Generic[_Wish]):
    """One thread that calls ``work(wish, stale)`` for the newest wish, and ends when there is none.

    Parameters
    ----------
    work : callable
        Takes the wish and ``stale()``, which says whether a newer one waits: long work asks it between its parts and
        returns early.
    name : str
        Name of the thread.

    Examples
    --------
    >>> done = []
    >>> latest = Latest(lambda wish, stale: done.append(wish), "example")
    >>> latest.ask(3)
    >>> latest.wait(10)
    True
    >>> done
    [3]
    """

    def __init__(self, work: Callable[[_Wish, Callable[[], bool]], None], name: str = "lsat-latest") -> None:
        self._work, self._name = work, name
        self._changed = threading.Condition()
        self._waiting: list[_Wish] = []  # the newest wish, or nothing
        self._thread: threading.Thread | None = None
        self._closed = False
        self._end = _End(self)
        closed_at_exit(self._end)

    @property
    def busy(self) -> bool:
        """Whether a wish is being worked on, or waits."""
        return self._thread is not None

    @property
    def closed(self) -> bool:
        """Whether no more wishes are taken: nobody looks at what becomes of the one that is being worked on."""
        return self._closed

    def ask(self, wish: _Wish) -> None:
        """Wish for something, in place of what was wished for and not begun."""
        with self._changed:
            if self._closed:
                return
            self._waiting = [wish]
            if self._thread is None:
                self._start()

    def wait(self, timeout: float | None) -> bool:
        """Wait until nothing is left to do; return whether that came within ``timeout`` seconds, if any.

        Work that waits for itself does not: it returns at once.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        with self._changed:
            if threading.current_thread() is self._thread:
                return True
            while self._thread is not None:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
        return True

    def close(self) -> None:
        """Take no more wishes, and pass over the one that waits."""
        with self._changed:
            self._closed = True
            self._waiting = []

    def _stale(self) -> bool:
        return self._closed or bool(self._waiting)

    def _start(self) -> None:
        self._thread = begun(self._go_on, self._name)

    def _go_on(self) -> None:
        try:
            while True:
                with self._changed:
                    if not self._waiting:
                        return
                    wish = self._waiting.pop()
                self._work(wish, self._stale)
        finally:  # what somebody's observer raised must not keep the next wish from being heard
            with self._changed:
                self._thread = None
                if self._waiting:
                    self._start()
                self._changed.notify_all()


class _End:
    """What waits, as the interpreter goes, for the work that is under way: it may not be broken off."""

    def __init__(self, latest: Latest[Any]) -> None:
        self._latest = latest

    def close(self) -> None:
        self._latest.close()
        self._latest.wait(_MOST_SECONDS)
