"""The loop of the proximal gradient methods, which differ in what they accept and in the next step size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from ..model.piece import Omega, prefixed, tensor, within
from ..solve.precision import SINGLE
from .iterate import Iterate, Memory, Status, packed, recalling, unpacked
from .score import unit_of

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .problem import Problem

__all__ = ["Change", "descend", "describe", "norm", "restated", "sharpened", "start_iterate"]


@dataclass(frozen=True)
class Change:
    """What a tentative step of size ``step`` did.

    ``decrease`` is F(ω) − F(ω⁺); ``predicted`` is D = ⟨∇ψ, ω − ω⁺⟩ + r(ω) − r(ω⁺); ``moved_squared`` is ⟨s, s⟩ and
    ``curvature`` ⟨s, y⟩ with s = ω⁺ − ω and y the change of ∇ψ, NaN for a rejected step.
    """

    step: float
    decrease: float
    predicted: float
    moved_squared: float
    curvature: float = math.nan


class Point(Protocol):
    """F at one ω: an evaluation, or the iterate that was made of it."""

    @property
    def omega(self) -> Omega:
        """The hyper-parameters."""

    @property
    def objective(self) -> float:
        """F = ψ + r."""

    @property
    def loss(self) -> float:
        """The validation loss ψ."""

    @property
    def penalty(self) -> float:
        """The hyper-penalty r."""

    @property
    def error(self) -> float:
        """Of the scored rows."""


class Rule(Protocol):
    """What a method decides."""

    @property
    def tolerance(self) -> float:
        """Of the stopping residual."""

    @property
    def max_iterations(self) -> int:
        """Most evaluations after the first."""

    def first_step(self, gradient_size: float) -> float:
        """Return t¹ from the largest entry of the gradient."""

    def accepts(self, change: Change) -> bool:
        """Whether the tentative point is taken."""

    def after(self, change: Change, accepted: bool) -> float:
        """Return the next step size."""


def descend(problem: Problem, omega: Omega | None, rule: Rule, memory: Memory | None = None) -> Iterator[Iterate]:
    """Yield the solved starting point, then one iterate a step until one has a final status; with a memory go on."""
    began = time.perf_counter()
    point: Point
    precise = False
    if memory is None:
        point, last, gradient = start_iterate(problem, problem.start(omega), rule.max_iterations)
        t = rule.first_step(max((float(g.abs().max()) for g in gradient.values()), default=0.0))
        last = replace(last, step=t, seconds=time.perf_counter() - began)
        yield replace(last, memory=_memory(last, gradient, t, precise))
    else:
        # The numbers of the point are those of the last iterate: nothing is evaluated anew.
        with recalling():
            point = last = unpacked(within("last", memory))
            gradient, t, precise = within("gradient", memory), float(memory["step"]), bool(memory["precise"])
        began -= last.seconds
        problem = problem.precisely() if precise else problem
    unit = unit_of(problem)
    while not last.status.final:
        tentative = _step(problem, point, gradient, t)
        if not _moved(tentative, point.omega):
            last = _unmoved(problem, point, gradient, replace(last, step=t), rule.tolerance)
        else:
            trial = problem.evaluate(tentative)
            change = _change(problem, point, trial, gradient, t)
            floor = problem.precision.floor(point.objective, unit)
            after = _slope_if_taken(problem, point, trial, gradient, change, floor, rule)
            if after and math.isfinite(norm(list(after.values()))):
                change = replace(change, curvature=_inner(problem, trial, point, after, gradient))
                last = _accept(problem, point, trial, gradient, after, t, last.number + 1)
                point, gradient, t = trial.settled(), after, rule.after(change, True)
                del trial
            else:
                # A gradient that is not finite leaves nowhere to go from its point.
                last = _reject(last, t, math.inf if after else trial.objective)
                del trial  # what comes next takes its memory
                if problem.precision is SINGLE and abs(change.decrease) <= floor:
                    problem, point, gradient = sharpened(problem, point)
                    last, precise = restated(last, point), True
                else:
                    t = rule.after(change, False)
            last = replace(last, status=_status(last, rule))
        last = replace(last, seconds=time.perf_counter() - began)
        yield replace(last, memory=_memory(last, gradient, t, precise))


def _memory(last: Iterate, gradient: Omega, t: float, precise: bool) -> Callable[[], Memory]:
    """Return what goes on after ``last``: its numbers, its slope, the next step, and the precision of the sums."""
    return lambda: {
        **prefixed("last", packed(last)),
        **prefixed("gradient", gradient),
        "step": tensor(t),
        "precise": torch.tensor(precise, device="cpu"),
    }


def _slope_if_taken(
    problem: Problem, point: Point, trial: Evaluation, gradient: Omega, change: Change, floor: float, rule: Rule
) -> Omega:
    """Return the gradient at a tentative point that F allows to be taken, an empty one where it does not."""
    hidden = abs(change.decrease) <= floor and problem.precision is not SINGLE
    if not (math.isfinite(trial.objective) and (hidden or rule.accepts(change))):
        return {}
    after = problem.gradient(trial, beside=True)
    if hidden and not _distance(problem, trial, after) < _distance(problem, point, gradient):
        return {}  # F cannot tell the points apart: the gradient, which knows more digits, has decided
    return after


def start_iterate(problem: Problem, point: Evaluation, max_iterations: int) -> tuple[Evaluation, Iterate, Omega]:
    """Return the starting point, settled, then as an iterate, and its gradient."""
    finite = math.isfinite(point.objective)
    gradient = problem.gradient(point, beside=True) if finite else {}
    finite = finite and math.isfinite(norm(list(gradient.values())))
    status = Status.RUNNING
    if not finite:
        status = Status.NOT_FINITE
    elif not problem.tuned:
        status = Status.CONVERGED
    elif max_iterations == 0:
        status = Status.MAX_ITERATIONS
    return point.settled(), replace(describe(problem, point, gradient, 0, math.nan), status=status), gradient


def sharpened(problem: Problem, point: Point) -> tuple[Problem, Evaluation, Omega]:
    """Return the problem with every product in float64, and the point with its gradient by it."""
    problem = problem.precisely()
    again = problem.evaluate(point.omega)
    gradient = problem.gradient(again)
    return problem, again.settled(), gradient


def restated(last: Iterate, point: Point) -> Iterate:
    """Return a rejected iterate with the more precise values of the point that it kept."""
    return replace(last, objective=point.objective, loss=point.loss, penalty=point.penalty, error=point.error)


def describe(problem: Problem, point: Evaluation, gradient: Omega, count: int, step: float) -> Iterate:
    """Return an evaluated point as an accepted iterate."""
    return Iterate(
        number=count,
        objective=point.objective,
        loss=point.loss,
        penalty=point.penalty,
        training_loss=problem.training_loss(point),
        stopping_loss=problem.stopping_loss(point),
        error=point.error,
        step=step,
        gradient_norm=norm(list(gradient.values())),
        omega=point.omega,
        tried=point.objective,
    )


def norm(parts: list[Tensor]) -> float:
    """Return the Euclidean norm of all entries together."""
    return math.sqrt(sum(float(part.square().sum()) for part in parts))


def _step(problem: Problem, point: Point, gradient: Omega, t: float) -> Omega:
    """Return prox_{t r}(ω − t ∇ψ)."""
    return problem.prox({k: v - t * gradient[k] if k in gradient else v for k, v in point.omega.items()}, t)


def _moved(tentative: Omega, omega: Omega) -> bool:
    """Tell whether a step is more than rounding, 2⁻⁵² (1 + |ω|), in any entry."""
    rounding = torch.finfo(torch.float64).eps
    return any(bool(((new - omega[k]).abs() > rounding * (1 + omega[k].abs())).any()) for k, new in tentative.items())


def _unmoved(problem: Problem, point: Point, gradient: Omega, last: Iterate, tolerance: float) -> Iterate:
    """End a run whose step left ω where it was: at an optimum, at values that were never finite, or at rounding.

    The residual shown is that of the test for an optimum, ‖ω − prox_r(ω − ∇ψ)‖₂.
    """
    residual = _distance(problem, point, gradient)
    status = Status.STALLED if last.accepted or math.isfinite(last.tried) else Status.NOT_FINITE
    if residual <= tolerance:
        status = Status.CONVERGED
    return replace(last, status=status, accepted=False, number=last.number + 1, residual=residual)


def _distance(problem: Problem, point: Point, gradient: Omega) -> float:
    """Return ‖ω − prox_r(ω − ∇ψ)‖₂, which is zero at an optimum."""
    after = _step(problem, point, gradient, 1.0)
    return norm([after[name] - point.omega[name] for name in problem.tuned])


def _change(problem: Problem, old: Point, new: Evaluation, gradient: Omega, t: float) -> Change:
    moves = {name: new.omega[name] - old.omega[name] for name in problem.tuned}
    slope = sum(float((gradient[name] * move).sum()) for name, move in moves.items())
    squared = sum(float(move.square().sum()) for move in moves.values())
    return Change(t, old.objective - new.objective, old.penalty - new.penalty - slope, squared)


def _inner(problem: Problem, new: Point, old: Point, after: Omega, before: Omega) -> float:
    """Return ⟨s, y⟩."""
    return sum(float(((new.omega[k] - old.omega[k]) * (after[k] - before[k])).sum()) for k in problem.tuned)


def _accept(
    problem: Problem, old: Point, new: Evaluation, before: Omega, after: Omega, step: float, count: int
) -> Iterate:
    parts = [(old.omega[k] - new.omega[k]) / step + after[k] - before[k] for k in problem.tuned]
    return replace(describe(problem, new, after, count, step), residual=norm(parts))


def _reject(last: Iterate, step: float, tried: float) -> Iterate:
    return replace(last, number=last.number + 1, step=step, tried=tried, accepted=False, residual=math.nan)


def _status(last: Iterate, rule: Rule) -> Status:
    if last.accepted and last.residual <= rule.tolerance:
        return Status.CONVERGED
    return Status.MAX_ITERATIONS if last.number >= rule.max_iterations else Status.RUNNING
