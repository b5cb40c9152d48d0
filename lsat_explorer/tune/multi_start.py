"""Methods that try several places: many starts of a local method, and a grid for one number."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..model.choices import Method
from ..model.piece import Omega, number, prefixed, register, tensor, whole, within
from .descent import start_iterate
from .given import started
from .iterate import Iterate, Memory, Status, packed, recalling, unpacked
from .iterates import less
from .quasi_newton import LBFGS

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Grid", "MultiStart"]

_NO_STEP = 2.0**-60
"""Length of a proximal step that is as good as none: no penalty weighs anything in it, and domains are what is left."""


class _Search:
    """What a search has found: how many iterates, the best of them, and how each start has ended."""

    def __init__(self, origin: Omega) -> None:
        self.origin = origin
        self.began = time.perf_counter()
        self.count, self.start = 0, 0
        self.best: Iterate | None = None
        self.ends: dict[int, Status] = {}

    def take(self, iterate: Iterate, start: int = 0) -> Iterate:
        """Return an iterate with the search's own number, start and time, once it is counted."""
        mine = replace(iterate, number=self.count, start=start, seconds=time.perf_counter() - self.began, memory=None)
        self.count, self.start = self.count + 1, start
        if self.best is None or (mine.accepted and less(mine.objective, self.best.objective)):
            self.best = mine
        if mine.status.final:
            self.ends[start] = mine.status
        return mine

    def end(self) -> Iterate:
        """Return the iterate that ends a search: the best point, with the status of its own end."""
        assert self.best is not None
        status = self.ends.get(self.best.start, Status.CONVERGED)
        if not math.isfinite(self.best.objective):
            status = Status.NOT_FINITE
        return replace(self.best, number=self.count, status=status, seconds=time.perf_counter() - self.began)

    def memory(self, inner: Callable[[], Memory] | None = None) -> Callable[[], Memory]:
        """Return what goes on from here; ``inner`` is that of the local method, None where it has ended."""
        best, seconds = self.best, time.perf_counter() - self.began
        assert best is not None
        ends = [(start, _STATUSES.index(status)) for start, status in self.ends.items()]
        numbers = [self.count, self.start, *(number for pair in ends for number in pair)]
        return lambda: {
            **prefixed("origin", self.origin),
            **prefixed("best", packed(best)),
            **(prefixed("method", inner()) if inner is not None else {}),
            "numbers": torch.tensor(numbers, device="cpu"),
            "seconds": tensor(seconds),
        }

    @classmethod
    def of(cls, memory: Memory) -> _Search:
        """Return the search that a memory holds."""
        search = cls(within("origin", memory))
        with recalling():
            search.began -= float(memory["seconds"])
            search.count, search.start, *ends = memory["numbers"].tolist()
            search.best = unpacked(within("best", memory))
            search.ends = {start: _STATUSES[code] for start, code in zip(ends[::2], ends[1::2], strict=True)}
        return search


_STATUSES = list(Status)


@register
@dataclass(frozen=True, repr=False)
class MultiStart(Method):
    """A local method from several starting points; the best end is refined and kept.

    On a plateau a local method ends where the slope is below its tolerance: the best end is taken up once more with a
    hundredth of it.

    The first start is the recipe's own. The others move every tuned number (not the entries of tensors, such as row
    weights) within ± ``spread`` of it, by scipy's scrambled Sobol sequence with the recipe's seed. Other ``starts``,
    another ``spread`` and other numbers of the local method act on a run that goes on: what was found stays.

    Parameters
    ----------
    method : Method
        The local method.
    starts : int
        Number of starting points, the recipe's own among them.
    spread : float
        Half the width of the box of starts, in the units of ω.

    Examples
    --------
    >>> MultiStart(starts=4)
    MultiStart(starts=4)
    """

    local = False

    method: Method = field(default_factory=LBFGS)
    starts: int = 8
    spread: float = 4.0

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method) or not self.method.local:
            raise ValueError(f"MultiStart: method is {self.method!r}, expected a local method such as LBFGS().")
        whole(self.starts, "MultiStart: starts")
        number(self.spread, "MultiStart: spread", low=0.0)

    @property
    def tolerance(self) -> float | None:
        """The local method's tolerance."""
        return self.method.tolerance

    @property
    def max_iterations(self) -> int | None:
        """Most iterations of all starts and the refinement together."""
        limit = self.method.max_iterations
        return None if limit is None else (self.starts + 1) * (limit + 1)

    def iterates(self, problem: Problem, omega: Omega | None = None, memory: Memory | None = None) -> Iterator[Iterate]:
        """Yield the iterates of each start, numbered through, then the best point as the last."""
        search = _Search(started(omega or {}, problem.init())) if memory is None else _Search.of(memory)
        inner = within("method", memory or {}) or None
        points = self._starts(problem, search.origin)
        first = 0 if memory is None else search.start + (inner is None)  # the next, where nothing of the last is left
        for start in range(first, self.starts + 1):
            if start == self.starts and not (search.best is not None and math.isfinite(search.best.objective)):
                break
            method: Any = self._finer() if start == self.starts else self.method
            point = points[start] if start < len(points) else None
            if start == self.starts:
                point = search.end().omega
            elif point is None:
                continue
            told, inner = {} if inner is None else {"memory": inner}, None
            for iterate in method.iterates(problem, point, **told):
                mine = search.take(iterate, start)
                memory_of = search.memory(None if iterate.status.final else iterate.memory)
                yield replace(mine, status=Status.RUNNING, memory=memory_of)
        yield search.end()

    def takes_up(self, other: Method, memory: Memory) -> Memory:
        """Return the memory with which the starts to come follow those that are done, {} for another local method.

        The start that is running goes on too, but where its method would have gone elsewhere: it then begins again.
        """
        if not isinstance(other, MultiStart) or type(self.method) is not type(other.method):
            return {}
        with recalling():
            numbers, inner = memory["numbers"].clone(), within("method", memory)
            running, least = int(numbers[1]), min(self.starts, other.starts)
        if self.starts != other.starts and running >= least:
            next_one = least  # the refinement was running, or a start that is no longer wanted
        elif inner and _but_for_its_end(self.method) != _but_for_its_end(other.method):
            next_one = running
        else:
            return memory
        numbers[1] = next_one - 1
        return {name: value for name, value in memory.items() if name not in prefixed("method", inner)} | {
            "numbers": numbers
        }

    def _finer(self) -> Method:
        """Return the local method with a hundredth of its tolerance, where it has one."""
        method: Any = self.method
        return method if method.tolerance is None else replace(method, tolerance=method.tolerance / 100)

    def _starts(self, problem: Problem, omega: Omega) -> list[Omega]:
        from scipy.stats import qmc

        names = [name for name in problem.tuned if omega[name].ndim == 0]
        points = [omega]
        if self.starts > 1 and names:
            sampler = qmc.Sobol(len(names), rng=np.random.default_rng(problem.recipe.seed))
            for row in sampler.random(1 << (self.starts - 1).bit_length())[: self.starts - 1]:
                moved = {name: omega[name] + self.spread * (2 * u - 1) for name, u in zip(names, row, strict=True)}
                points.append({**omega, **{name: _allowed(problem, name, value) for name, value in moved.items()}})
        return points


def _allowed(problem: Problem, name: str, value: Tensor) -> Tensor:
    """Return an entry of ω, or what is nearest to it in the domain of its hyper-penalty."""
    penalty = problem.hyper_penalties[name]
    return value if math.isfinite(float(penalty.value(value))) else penalty.prox(value, _NO_STEP)


def _but_for_its_end(method: Any) -> Method:
    """Return a local method with the usual numbers of when it ends, which change no step."""
    ends = {f.name: f.default for f in fields(method) if f.name in ("tolerance", "max_iterations")}
    return replace(method, **ends)


@register
@dataclass(frozen=True, repr=False)
class Grid(Method):
    """F at evenly spaced values of the one tuned number; the best is kept.

    Other ends or another number of values begin the grid of a run that goes on again, around the best value so far.

    Parameters
    ----------
    low, high : float
        Ends of the grid, relative to the recipe's start, in the units of ω.
    points : int
        Number of values.

    Raises
    ------
    ValueError
        When other than one number is tuned.

    Examples
    --------
    >>> Grid(-2.0, 2.0, points=9)
    Grid(low=-2.0, high=2.0, points=9)
    """

    low: float = -4.0
    high: float = 4.0
    points: int = 21

    local = False
    tolerance = None

    def __post_init__(self) -> None:
        number(self.low, "Grid: low")
        number(self.high, "Grid: high")
        if not self.low < self.high:
            raise ValueError(f"Grid from {self.low!r} to {self.high!r}: expected low < high.")
        whole(self.points, "Grid: points", low=2)

    @property
    def max_iterations(self) -> int:
        """One iteration for each point, and the one that ends the search."""
        return self.points + 1

    def iterates(self, problem: Problem, omega: Omega | None = None, memory: Memory | None = None) -> Iterator[Iterate]:
        """Yield the starting point, each value of the grid, accepted where it is the best so far, then the best."""
        name = _one_number(problem)
        if memory is None:
            point = problem.start(omega)
            search = _Search(point.omega)
            _, first, _ = start_iterate(problem, point, self.points)
            yield self._running(search, first)
        else:
            search = _Search.of(memory)
        omega = search.origin
        for value in np.linspace(self.low, self.high, self.points)[search.count - 1 :]:
            point = problem.evaluate({**omega, name: omega[name] + tensor(value)})
            _, iterate, _ = start_iterate(problem, point, self.points)
            best = search.best
            assert best is not None
            better = point.objective < best.objective
            yield self._running(search, iterate if better else replace(best, accepted=False, tried=point.objective))
        yield search.end()

    def _running(self, search: _Search, iterate: Iterate) -> Iterate:
        mine = search.take(replace(iterate, status=Status.RUNNING))
        return replace(mine, memory=search.memory())


def _one_number(problem: Problem) -> str:
    """Return the name of the one number that is tuned."""
    if len(problem.tuned) != 1:
        names = " and ".join(problem.tuned)
        advice = f"{names} are tuned: hold the others with Frozen()" if names else "nothing is tuned: leave one free"
        raise ValueError(f"Grid tunes one number, but {advice}, or choose LineSearch().")
    (name,) = problem.tuned
    count = problem.init()[name].numel()
    if count != 1:
        raise ValueError(f"Grid tunes one number, but {name} holds {count:,}: choose LineSearch() or LBFGS().")
    return name
