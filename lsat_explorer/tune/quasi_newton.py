"""L-BFGS-B from scipy, turned inside out: a generator of iterates instead of a function that calls back."""

from __future__ import annotations

import math
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

from ..engines.blas import held_blas, may_hold_briefly
from ..model.choices import Method
from ..model.piece import Omega, number, prefixed, register, whole, within
from ..solve.precision import MIXED, SINGLE
from .coordinates import Coordinates
from .descent import Point, describe, norm, restated, sharpened, start_iterate
from .iterate import Iterate, Memory, Status, packed, recalling, unpacked
from .score import unit_of

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .problem import Problem

__all__ = ["LBFGS"]

_MOST_POWERS = 500
"""Of two, by which F is multiplied or divided at most."""
_LEAST_RISE = 1e-8
"""Of F, where it is not finite: less would be told as no rise at all."""


@register
@dataclass(frozen=True, repr=False)
class LBFGS(Method):
    """The quasi-Newton method L-BFGS-B of scipy on F = ψ + r, for hyper-penalties that are smooth, bounds or zero sums.

    Parameters
    ----------
    tolerance : float
        Ends the run, CONVERGED, when ‖ω − Π(ω − ∇F(ω))‖₂ is at most this, Π the projection onto the bounds.
    max_iterations : int
        Most evaluations after the starting point.
    memory : int
        Number of past steps that shape the next one.

    Raises
    ------
    ValueError
        For a hyper-penalty that is neither smooth nor a bound nor a zero sum: choose `LineSearch`.

    Notes
    -----
    Byrd, Lu, Nocedal and Zhu (1995). An evaluation that the method's own line search does not keep shows as a rejected
    iterate. The ``step`` shown is ‖ω⁺ − ω‖ / ‖∇F(ω)‖, and the ``residual`` the projected gradient. The first step moves
    the entry of largest slope by about one. Where F is not finite a point counts as one that F has risen to.

    Examples
    --------
    >>> LBFGS(max_iterations=40)
    LBFGS(max_iterations=40)
    """

    tolerance: float = 1e-5
    max_iterations: int = 100
    memory: int = 10

    def __post_init__(self) -> None:
        number(self.tolerance, "LBFGS: tolerance", low=0.0)
        whole(self.max_iterations, "LBFGS: max_iterations", low=0, high=10**9)
        whole(self.memory, "LBFGS: memory", high=1000)  # scipy takes room for its square

    def iterates(self, problem: Problem, omega: Omega | None = None, memory: Memory | None = None) -> Iterator[Iterate]:
        """Yield the solved starting point, then one iterate an evaluation; the last has a final status."""
        began = time.perf_counter()
        if memory is None:
            point: Point
            point, last, gradient = start_iterate(problem, problem.start(omega), self.max_iterations)
            if not problem.tuned:
                yield replace(last, seconds=time.perf_counter() - began)
                return
            space = Coordinates(problem, "LBFGS")
            residual = space.residual(point.omega, gradient) if gradient else math.nan
            if last.status is Status.RUNNING and residual <= self.tolerance:
                last = replace(last, status=Status.CONVERGED)
            last = replace(last, seconds=time.perf_counter() - began)
            said = _Said(point.omega)
            if gradient:
                said.begin(space, point.objective, space.slope(point.omega, gradient))
            yield replace(last, memory=said.memory(last, False))
        else:
            with recalling():
                point, said, precise = unpacked(within("last", memory)), _Said.of(memory), bool(memory["precise"])
            last = point
            began -= last.seconds
            problem = problem.precisely() if precise else problem
        while not last.status.final:
            point, last = yield from self._minimize(problem, point, said, last, began)
            if not last.status.final:  # rounding decided
                problem, point, gradient = sharpened(problem, point)
                last = restated(last, point)
                space, said = Coordinates(problem, "LBFGS"), _Said(point.omega)
                said.begin(space, point.objective, space.slope(point.omega, gradient))

    def _minimize(
        self, problem: Problem, best: Point, said: _Said, last: Iterate, began: float
    ) -> Generator[Iterate, None, tuple[Point, Iterate]]:
        """Yield an iterate an evaluation, and return where the minimizer ended.

        The last status is not final where it ended at the rounding of SINGLE.
        """
        space = Coordinates(problem, "LBFGS")
        single, unit = problem.precision is SINGLE, unit_of(problem)
        with _Conversation(space, said, self.memory) as ask:
            for answer in said.answers[:-1]:  # what the minimizer was told before the run was broken off
                ask(answer)
            while not last.status.final:
                if single and not last.accepted:
                    rise = last.tried - best.objective
                    if problem.precision.hides(rise, best.objective, unit):
                        break
                x = ask(said.answers[-1])
                if x is None:
                    if single and math.isfinite(last.tried):
                        return best, last
                    status = Status.STALLED if last.accepted or math.isfinite(last.tried) else Status.NOT_FINITE
                    last = replace(last, number=last.number + 1, status=status, accepted=False)
                else:
                    trial = problem.evaluate(space.omega(x, best.omega))
                    finite = math.isfinite(trial.objective)
                    gradient = problem.gradient(trial, beside=True) if finite else {}
                    finite = finite and math.isfinite(norm(list(gradient.values())))
                    if finite:
                        said.answers.append((trial.objective, space.slope(trial.omega, gradient)))
                    else:  # a gradient that is not finite leaves nowhere to go from its point
                        trial = replace(trial, objective=math.inf)
                        said.answers.append(said.risen(x - space.vector(best.omega)))
                    last = self._next(problem, space, best, trial, gradient, last)
                    best = trial.settled() if last.accepted else best
                    del trial  # the next one takes its memory
                last = replace(last, seconds=time.perf_counter() - began)
                yield replace(last, memory=said.memory(last, problem.precision is MIXED))
        return best, last

    def _next(
        self,
        problem: Problem,
        space: Coordinates,
        best: Point,
        trial: Evaluation,
        gradient: Omega,
        last: Iterate,
    ) -> Iterate:
        count = last.number + 1
        moved = float(np.linalg.norm(space.vector(trial.omega) - space.vector(best.omega)))
        step = moved / last.gradient_norm if last.gradient_norm > 0 else math.nan
        if not trial.objective <= best.objective:
            following = replace(last, number=count, step=step, tried=trial.objective, accepted=False, residual=math.nan)
        else:
            residual = space.residual(trial.omega, gradient)
            following = replace(describe(problem, trial, gradient, count, step), residual=residual)
            if residual <= self.tolerance:
                return replace(following, status=Status.CONVERGED)
        return replace(following, status=Status.MAX_ITERATIONS) if count >= self.max_iterations else following


class _Said:
    """What the minimizer was told: where it began, and F with its slope there and at each point that it asked for.

    Its state cannot be kept: told the same again it asks the same, and is where it was. F is told it in units of its
    own, times ``scale``, a power of two: its first step within bounds is −∇F itself, whatever the size of that.
    """

    def __init__(self, start: Omega, scale: float = 1.0) -> None:
        self.start, self.scale = start, scale
        self.answers: list[tuple[float, np.ndarray]] = []

    def begin(self, space: Coordinates, value: float, slope: np.ndarray) -> None:
        """Tell F and its slope at the start, in units in which the first step moves one entry by about one."""
        x, low, high = space.vector(self.start), space.bounds.lb, space.bounds.ub
        free = np.where(slope > 0, x > low, x < high)  # it can go where it would fall
        largest = float(np.abs(slope[free]).max(initial=0.0))
        if largest > 0:
            self.scale = 2.0 ** -min(max(round(math.log2(largest)), -_MOST_POWERS), _MOST_POWERS)
        self.answers.append((value, slope))

    def risen(self, moved: np.ndarray) -> tuple[float, np.ndarray]:
        """Return what to tell of a point without a finite F: it has risen by half the fall of the way, as steeply.

        The line search, which interpolates, then tries a point at about a quarter of the way. A slope of zero would
        tell it that it has come to an end.
        """
        least, slope = min(self.answers, key=lambda answer: answer[0])
        rise = max(abs(float(slope @ moved)) / 2, _LEAST_RISE * abs(least), sys.float_info.min)
        return least + rise, -slope

    @classmethod
    def of(cls, memory: Memory) -> _Said:
        """Return what a memory holds."""
        said = cls(within("start", memory), float(memory.get("scale", 1.0)))  # earlier versions had no scale
        said.answers = list(zip(memory["values"].tolist(), memory["slopes"].numpy(), strict=True))
        return said

    def memory(self, last: Iterate, precise: bool) -> Callable[[], Memory]:
        """Return what goes on after ``last``."""
        count = len(self.answers)
        return lambda: {
            **prefixed("last", packed(last)),
            **prefixed("start", self.start),
            "scale": torch.tensor(self.scale, dtype=torch.float64, device="cpu"),
            "values": torch.tensor([value for value, _ in self.answers[:count]], dtype=torch.float64, device="cpu"),
            "slopes": torch.from_numpy(np.stack([slope for _, slope in self.answers[:count]])),
            "precise": torch.tensor(precise, device="cpu"),
        }


class _Conversation:
    """Runs scipy's minimizer in a thread of its own, which asks for values and waits for each answer."""

    def __init__(self, space: Coordinates, said: _Said, memory: int) -> None:
        self._space, self._start, self._scale, self._memory = space, space.vector(said.start), said.scale, memory
        self._asked: queue.Queue[np.ndarray | BaseException | None] = queue.Queue()
        self._answers: queue.Queue[tuple[float, np.ndarray] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._minimize, daemon=True)

    def __enter__(self) -> _Conversation:
        from scipy import optimize

        self._minimizer: Any = optimize.minimize
        self._pools = ThreadpoolController()  # with the BLAS that it has brought
        self._thread.start()
        asked = self._asked.get()  # the starting point, whose value is known
        if isinstance(asked, BaseException):
            raise asked
        return self

    def __exit__(self, *_: Any) -> None:
        self._answers.put(None)
        self._thread.join()

    def __call__(self, answer: tuple[float, np.ndarray] | None) -> np.ndarray | None:
        """Answer the last question and return the next point, None when the minimizer has ended."""
        with held_blas(1, self._pools) if may_hold_briefly() else nullcontext():
            self._answers.put(answer)
            asked = self._asked.get()
        if isinstance(asked, BaseException):
            raise asked
        return asked

    def _value(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self._asked.put(x.copy())
        answer = self._answers.get()
        if answer is None:
            raise _Over
        return answer[0] * self._scale, answer[1] * self._scale

    def _minimize(self) -> None:
        options: dict[str, Any] = {"maxcor": self._memory, "maxiter": 10**9, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0}
        try:
            bounds = self._space.bounds
            self._minimizer(self._value, self._start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            self._asked.put(None)
        except _Over:
            pass
        except BaseException as error:
            self._asked.put(error)


class _Over(Exception):
    """The generator wants no more points."""
