"""The proximal gradient method of least squares auto-tuning."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..model.choices import Method
from ..model.piece import Omega, number, register
from .iterate import Iterate, Status

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .problem import Problem

__all__ = ["ProximalGradient"]


@register
@dataclass(frozen=True, repr=False)
class ProximalGradient(Method):
    """Algorithm 3.1: ω⁺ = prox_{t r}(ω − t ∇ψ(ω)), accepted when F(ω⁺) ≤ F(ω), F = ψ + r.

    An accepted step multiplies t by ``grow``, a rejected one by ``shrink``. A failed or non-finite solve is F = +∞.

    Parameters
    ----------
    step : float
        First step size t¹, in units of ω² per unit of loss.
    tolerance : float
        Ends the run, CONVERGED, when the stopping residual ‖(ω^k − ω^{k+1})/t^k + g^{k+1} − g^k‖₂ of an accepted step
        is at most this.
    max_iterations : int
        Most evaluations after the starting point; 0 gives the fit at the start.
    grow, shrink : float
        Factors of the step size after an accepted and a rejected step.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 3. The accept test is on F and each prox is used once
    a step. A step too small to move ω is STALLED, not CONVERGED.

    Examples
    --------
    >>> ProximalGradient(max_iterations=50)
    ProximalGradient(max_iterations=50)
    """

    step: float = 1.0
    tolerance: float = 1e-4
    max_iterations: int = 250
    grow: float = 1.2
    shrink: float = 0.5

    def __post_init__(self) -> None:
        number(self.step, "ProximalGradient: step", low=1e-300)
        number(self.tolerance, "ProximalGradient: tolerance", low=0.0)
        number(self.grow, "ProximalGradient: grow", low=1.0)
        number(self.shrink, "ProximalGradient: shrink", low=1e-6, high=1 - 1e-6)
        count = self.max_iterations
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"ProximalGradient: max_iterations is {count!r}, expected a whole number of at least 0.")

    def iterates(self, problem: Problem, omega: Omega | None = None) -> Iterator[Iterate]:
        """Yield the solved starting point, then one iterate a step; the last has a final status."""
        start = time.perf_counter()
        point = problem.evaluate(problem.init() if omega is None else omega)
        last, gradient = _first(problem, point, self)
        yield replace(last, seconds=time.perf_counter() - start)
        t = self.step
        while not last.status.final:
            tentative = _step(problem, point, gradient, t)
            step, t = t, t * self.shrink
            if not _moved(tentative, point.omega):
                status = self._unmoved(problem, point, gradient, last)
                last = replace(last, step=step, status=status, accepted=False, number=last.number + 1)
            else:
                trial = problem.evaluate(tentative)
                after = problem.gradient(trial) if trial.objective <= point.objective else {}
                if after and math.isfinite(_norm(list(after.values()))):
                    last = _accept(problem, point, trial, gradient, after, step, last.number + 1)
                    point, gradient, t = trial, after, step * self.grow
                else:
                    # A gradient that is not finite leaves nowhere to go from its point.
                    last = _reject(last, step, math.inf if after else trial.objective)
                last = replace(last, status=self._status(last))
            last = replace(last, seconds=time.perf_counter() - start)
            yield last

    def resumed(self, last: Iterate) -> ProximalGradient:
        """Return the method that goes on after ``last`` with the step size it left."""
        return replace(self, step=last.step * (self.grow if last.accepted else self.shrink)) if last.number else self

    def _status(self, last: Iterate) -> Status:
        if last.accepted and last.residual <= self.tolerance:
            return Status.CONVERGED
        return Status.MAX_ITERATIONS if last.number >= self.max_iterations else Status.RUNNING

    def _unmoved(self, problem: Problem, point: Evaluation, gradient: Omega, last: Iterate) -> Status:
        """Say why a step left ω where it was: optimality, values that were never finite, or rounding."""
        after = _step(problem, point, gradient, 1.0)
        if _norm([after[name] - point.omega[name] for name in problem.tuned]) <= self.tolerance:
            return Status.CONVERGED
        return Status.STALLED if last.accepted or math.isfinite(last.tried) else Status.NOT_FINITE


def _step(problem: Problem, point: Evaluation, gradient: Omega, t: float) -> Omega:
    """Return prox_{t r}(ω − t ∇ψ)."""
    return problem.prox({k: v - t * gradient[k] if k in gradient else v for k, v in point.omega.items()}, t)


def _first(problem: Problem, point: Evaluation, method: ProximalGradient) -> tuple[Iterate, Omega]:
    """Return the starting point as an iterate, with its gradient."""
    gradient: Omega = {}
    if not math.isfinite(point.objective):
        status = Status.NOT_FINITE
    elif not problem.tuned:
        status = Status.CONVERGED
    elif method.max_iterations == 0:
        status = Status.MAX_ITERATIONS
    else:
        status = Status.RUNNING
    if math.isfinite(point.objective):
        gradient = problem.gradient(point)
    iterate = _describe(problem, point, gradient, 0, method.step)
    return replace(iterate, status=status, tried=point.objective), gradient


def _describe(problem: Problem, point: Evaluation, gradient: Omega, count: int, step: float) -> Iterate:
    return Iterate(
        number=count,
        objective=point.objective,
        loss=point.loss,
        penalty=point.penalty,
        training_loss=problem.training_loss(point),
        error=point.error,
        step=step,
        gradient_norm=_norm(list(gradient.values())),
        omega=point.omega,
        tried=point.objective,
    )


def _accept(
    problem: Problem, old: Evaluation, new: Evaluation, before: Omega, after: Omega, step: float, count: int
) -> Iterate:
    parts = [(old.omega[k] - new.omega[k]) / step + after[k] - before[k] for k in problem.tuned]
    return replace(_describe(problem, new, after, count, step), residual=_norm(parts))


def _reject(last: Iterate, step: float, tried: float) -> Iterate:
    return replace(last, number=last.number + 1, step=step, tried=tried, accepted=False, residual=math.nan)


def _moved(tentative: Omega, omega: Omega) -> bool:
    """Tell whether a step is more than rounding, 2⁻⁵² (1 + |ω|), in any entry."""
    rounding = torch.finfo(torch.float64).eps
    return any(bool(((new - omega[k]).abs() > rounding * (1 + omega[k].abs())).any()) for k, new in tentative.items())


def _norm(parts: list[Tensor]) -> float:
    return math.sqrt(sum(float(part.square().sum()) for part in parts))
