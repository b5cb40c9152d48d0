"""Methods that try several places: many starts of a local method, and a grid for one number."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..model.choices import Method
from ..model.piece import Omega, number, register
from .descent import start_iterate
from .iterate import Iterate, Status
from .iterates import Iterates
from .quasi_newton import LBFGS

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Grid", "MultiStart"]


def _best(iterates: Iterates, began: float) -> Iterate:
    """Return the iterate that ends a search: the best point, with the status of its own end."""
    best = iterates.best
    status = next((i.status for i in reversed(iterates) if i.start == best.start and i.status.final), Status.CONVERGED)
    if not math.isfinite(best.objective):
        status = Status.NOT_FINITE
    return replace(best, number=iterates[-1].number + 1, status=status, seconds=time.perf_counter() - began)


@register
@dataclass(frozen=True, repr=False)
class MultiStart(Method):
    """A local method from several starting points; the best end is refined and kept.

    On a plateau a local method ends where the slope is below its tolerance: the best end is taken up once more with a
    hundredth of it.

    The first start is the recipe's own. The others move every tuned number (not the entries of tensors, such as row
    weights) within ± ``spread`` of it, by scipy's scrambled Sobol sequence with the recipe's seed.

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

    method: Method = field(default_factory=LBFGS)
    starts: int = 8
    spread: float = 4.0

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method) or isinstance(self.method, MultiStart | Grid):
            raise ValueError(f"MultiStart: method is {self.method!r}, expected a local method such as LBFGS().")
        if isinstance(self.starts, bool) or not isinstance(self.starts, int) or self.starts < 1:
            raise ValueError(f"MultiStart: starts is {self.starts!r}, expected a whole number of at least 1.")
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

    def iterates(self, problem: Problem, omega: Omega | None = None) -> Iterator[Iterate]:
        """Yield the iterates of each start, numbered through, then the best point as the last."""
        began = time.perf_counter()
        every = Iterates()
        places = list(enumerate(self._starts(problem, problem.init() if omega is None else omega)))
        while places:
            start, point = places.pop(0)
            refines = start == self.starts
            method = self._finer() if refines else self.method
            for iterate in method.iterates(problem, point):
                mine = replace(iterate, number=len(every), start=start, seconds=time.perf_counter() - began)
                every.append(mine)
                yield replace(mine, status=Status.RUNNING)
            if not places and not refines and math.isfinite(every.best.objective):
                places.append((self.starts, _best(every, began).omega))
        yield _best(every, began)

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
                points.append(problem.prox({**omega, **moved}, 1.0))
        return points


@register
@dataclass(frozen=True, repr=False)
class Grid(Method):
    """F at evenly spaced values of the one tuned number; the best is kept.

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

    tolerance = None

    def __post_init__(self) -> None:
        number(self.low, "Grid: low")
        number(self.high, "Grid: high")
        if not self.low < self.high:
            raise ValueError(f"Grid from {self.low!r} to {self.high!r}: expected low < high.")
        if isinstance(self.points, bool) or not isinstance(self.points, int) or self.points < 2:
            raise ValueError(f"Grid: points is {self.points!r}, expected a whole number of at least 2.")

    @property
    def max_iterations(self) -> int:
        """The number of points."""
        return self.points

    def iterates(self, problem: Problem, omega: Omega | None = None) -> Iterator[Iterate]:
        """Yield the starting point, each value of the grid, accepted where it is the best so far, then the best."""
        began = time.perf_counter()
        omega = problem.init() if omega is None else omega
        if len(problem.tuned) != 1 or omega[problem.tuned[0]].numel() != 1:
            names = ", ".join(problem.tuned) or "nothing"
            raise ValueError(f"Grid tunes one number, but {names} is tuned: hold the others with Frozen().")
        name = problem.tuned[0]
        last, _ = start_iterate(problem, problem.evaluate(omega), self.points)
        every = Iterates([replace(last, seconds=time.perf_counter() - began, status=Status.RUNNING)])
        yield every[0]
        for value in np.linspace(self.low, self.high, self.points):
            point = problem.evaluate({**omega, name: omega[name] + torch.as_tensor(value)})
            iterate, _ = start_iterate(problem, point, self.points)
            best = every.best
            better = point.objective < best.objective
            iterate = iterate if better else replace(best, accepted=False, tried=point.objective)
            every.append(
                replace(iterate, number=len(every), status=Status.RUNNING, seconds=time.perf_counter() - began)
            )
            yield every[-1]
        yield _best(every, began)
