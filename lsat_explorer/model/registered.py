"""What a program makes known by name, so that recipes can hold the name and a file never brings code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .piece import nearest

__all__ = ["Registered"]

_Made = TypeVar("_Made", bound=Callable[..., Any])


class Registered(Generic[_Made]):
    """Functions by name. ``kind`` and ``register`` are the words of its errors."""

    def __init__(self, kind: str, register: str) -> None:
        self._kind, self._register = kind, register
        self._known: dict[str, _Made] = {}

    def add(self, name: str, made: _Made) -> None:
        """Make ``made`` known as ``name``; a name given again is replaced, so that a notebook cell can be run again."""
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ValueError(f"{self._register}: {name!r} cannot name a {self._kind}: expected printable text.")
        if not callable(made):
            raise ValueError(f"{self._register}: {name!r} is {made!r}, expected a function.")
        self._known[name] = made

    def get(self, name: Any) -> _Made:
        """Return what ``name`` stands for."""
        if not isinstance(name, str):
            raise ValueError(
                f"A {type(name).__name__} is no name of a {self._kind}: give the name of {self._register}(name, …)."
            )
        if name not in self._known:
            known = nearest(name, self._known) if self._known else "."
            raise ValueError(f"No {self._kind} is registered as {name!r}{known} {self._register}(name, …) adds it.")
        return self._known[name]
