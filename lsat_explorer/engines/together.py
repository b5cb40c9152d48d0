"""Fits that a worker solves between the sums and the judges of their rows, so that F takes one trip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..solve.factor import Factor
from ..solve.weighted import Moments, Solution
from .dask import DaskRows
from .moving import Moving
from .passes import Judge, Judged
from .share import packed, unpacked

__all__ = ["OneFit", "Solve", "solved_and_judged"]

Solve = Callable[[list[Moments]], Solution]
"""Returns the solution of a fit from the sums of its parts; it travels to a worker."""


class OneFit(NamedTuple):
    """The rows that a fit is ``trained`` on, with their log weights where these are tuned, and that it is judged on."""

    trained: Sequence[tuple[DaskRows, Moving, Tensor | None]]
    scored: Sequence[tuple[DaskRows, Moving]]


def solved_and_judged(fits: Sequence[OneFit], solve: Solve, judge: Judge) -> tuple[list[Solution], list[list[Judged]]]:
    """Return the solution of each fit, and what each of its scored parts says of it.

    What crosses the network beside θ are the sums, and of each fit its factor, n × n twice.
    """
    rows = fits[0].trained[0][0]

    def ask() -> list[Any]:
        sums: dict[int, Any] = {}
        solved: list[Any] = []
        judged: list[Any] = []
        for trained, scored in fits:
            for part, moving, log_weight in trained:
                if id(part) not in sums:
                    (sums[id(part)],) = part._tree(part._asked("moments", moving, lambda cut: (), log_weight))
            terms = [sums[id(part)] for part, *_ in trained]
            found = rows._client.submit(_solved, solve, *terms, pure=False)
            theta = rows._client.submit(_theta, found, pure=False)
            solved.append(found)
            for part, moving in scored:
                judged += part._tree(part._asked("judged", moving, lambda cut: (judge,), theta=theta))
        return [*solved, *judged]

    found = [rows._here(answer) for answer in rows._tried(lambda: rows._gathered(ask()))]
    solutions = [Solution(theta, Factor(*factor), ()) for theta, *factor in found[: len(fits)]]
    answers = iter(found[len(fits) :])
    return solutions, [[next(answers) for _ in fit.scored] for fit in fits]


def _solved(solve: Solve, *terms: tuple[np.ndarray, np.ndarray]) -> Any:
    """Return θ and the factor of a fit, on the worker that solves it."""
    with torch.no_grad():
        found = solve([unpacked(term) for term in terms])
    factor = found.factor
    return packed((found.theta, factor.scaled, factor.lower, factor.scale, factor.verdict))


def _theta(found: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return θ alone, for the factor is not to travel to every part."""
    return found[0]
