"""The kinds of choices that a recipe holds and the tuner acts on: criteria and methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from .piece import REGISTRY, Omega, Piece

__all__ = ["Criterion", "Method", "registered"]


class Criterion(Piece, ABC):
    """Description of what "validation loss" is: on which rows, of which fits."""


class Method(Piece, ABC):
    """Description of how F(ω) is descended."""

    @abstractmethod
    def iterates(self, problem: Any, omega: Omega | None = None) -> Iterator[Any]:
        """Yield Iterates from ``omega`` on, the first the solved starting point; the last has a final status."""


def registered(name: str) -> Callable[[], Any]:
    """Return a factory of the piece registered as ``name``, for defaults that live further up."""
    return lambda: REGISTRY[name]()
