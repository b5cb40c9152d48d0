"""Times taken in turns, so that a machine that slows down does so for everything that is compared."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

__all__ = ["Times", "positive", "take_turns", "timed"]

T = TypeVar("T")


@dataclass(frozen=True)
class Times:
    """Seconds that the repetitions of one piece of work took, ``wall`` and of this process's processors, ``cpu``.

    Examples
    --------
    >>> times = Times((3.0, 1.0, 2.0), (1.0, 1.0, 1.0))
    >>> times.best, times.median
    (1.0, 2.0)
    """

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def best(self) -> float:
        """Least wall time."""
        return min(self.wall)

    @property
    def median(self) -> float:
        """Median wall time."""
        return median(self.wall)

    @property
    def cpu_median(self) -> float:
        """Median processor time, which other work on the machine moves less."""
        return median(self.cpu)


def positive(text: str) -> int:
    """Read a whole number of at least 1, for argparse.

    Examples
    --------
    >>> positive("7")
    7
    """
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is too few; at least 1 is expected")
    return count


def timed(work: Callable[[], T]) -> tuple[float, float, T]:
    """Return wall seconds, processor seconds and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def take_turns(
    works: Mapping[str, Callable[[], object]],
    repeat: int,
    *,
    again: bool = False,
    before: Callable[[], object] = lambda: None,
) -> dict[str, Times]:
    """Run every piece of work once, untimed, then all of them ``repeat`` times in turns.

    With ``again`` each turn does its work twice and times the second: as in a run, what it works on is then in the
    processor's cache as far as it fits. What is done ``before`` each turn is not timed.

    Examples
    --------
    >>> done = []
    >>> times = take_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, 2)
    >>> "".join(done), len(times["a"].wall)
    ('ababab', 2)
    """
    for work in works.values():
        work()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(repeat):
        for name, work in works.items():
            before()
            if again:
                work()
            taken[name].append(timed(work)[:2])
    return {name: Times(*zip(*pairs, strict=True)) for name, pairs in taken.items()}
