"""Proximal gradient methods: Algorithm 3.1 of the paper, and a line search from Barzilai and Borwein's step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..model.choices import Method
from ..model.piece import Omega, number, register, whole
from .descent import Change, descend
from .iterate import Iterate, Memory

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["LineSearch", "ProximalGradient"]

ACCEPT = ("decrease", "armijo", "goldstein")


@dataclass(frozen=True, repr=False)
class _Descent(Method):
    """What both methods share: when they end."""

    step: float | None = None
    tolerance: float = 1e-4
    max_iterations: int = 250

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.step is not None:
            number(self.step, f"{name}: step", low=1e-300)
        number(self.tolerance, f"{name}: tolerance", low=0.0)
        whole(self.max_iterations, f"{name}: max_iterations", low=0, high=10**9)

    def iterates(self, problem: Problem, omega: Omega | None = None, memory: Memory | None = None) -> Iterator[Iterate]:
        """Yield the solved starting point, then one iterate a step; the last has a final status."""
        return descend(problem, omega, self, memory)

    def first_step(self, gradient_size: float) -> float:
        """Return t¹: ``step``, or where it is None the step that moves the entry of largest gradient by one."""
        if self.step is not None:
            return self.step
        return 1.0 / gradient_size if gradient_size > 0 else 1.0

    @abstractmethod
    def accepts(self, change: Change) -> bool:
        """Whether the tentative point is taken."""

    @abstractmethod
    def after(self, change: Change, accepted: bool) -> float:
        """Return the next step size."""


@register
@dataclass(frozen=True, repr=False)
class ProximalGradient(_Descent):
    """Algorithm 3.1: ω⁺ = prox_{t r}(ω − t ∇ψ(ω)), accepted when F(ω⁺) ≤ F(ω), F = ψ + r.

    An accepted step multiplies t by ``grow``, a rejected one by ``shrink``. A failed or non-finite solve is F = +∞.

    Parameters
    ----------
    step : float or None
        First step size t¹, in units of ω² per unit of loss. None estimates it: the entry of largest gradient moves by
        one.
    tolerance : float
        Ends the run, CONVERGED, when the stopping residual ‖(ω^k − ω^{k+1})/t^k + g^{k+1} − g^k‖₂ of an accepted step
        is at most this.
    max_iterations : int
        Most evaluations after the starting point; 0 gives the fit at the start.
    grow, shrink : float
        Factors of the step size after an accepted and a rejected step.
    accept : {"decrease", "armijo", "goldstein"}
        What accepts a step, with the decrease that a line would predict, D = ⟨∇ψ, ω − ω⁺⟩ + r(ω) − r(ω⁺):
        ``"decrease"`` is the paper's F(ω⁺) ≤ F(ω); ``"armijo"`` asks for F(ω) − F(ω⁺) ≥ 10⁻⁴ D; ``"goldstein"`` asks
        for F(ω) − F(ω⁺) ≥ D/4, and takes a decrease of more than 3D/4 as a step that was too short: it is accepted,
        and the next one is 1/``shrink`` times as long.

    Notes
    -----
    Barratt and Boyd, "Least squares auto-tuning" (2019), section 3. The accept test is on F and each prox is used once
    a step. A step too small to move ω is STALLED, not CONVERGED.

    Examples
    --------
    >>> ProximalGradient(max_iterations=50)
    ProximalGradient(max_iterations=50)
    """

    step: float | None = 1.0
    grow: float = 1.2
    shrink: float = 0.5
    accept: str = "decrease"

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.grow, "ProximalGradient: grow", low=1.0)
        number(self.shrink, "ProximalGradient: shrink", low=1e-6, high=1 - 1e-6)
        if self.accept not in ACCEPT:
            raise ValueError(f"ProximalGradient: accept is {self.accept!r}, expected one of {', '.join(ACCEPT)}.")

    def accepts(self, change: Change) -> bool:
        """Whether F has fallen enough."""
        share = {"decrease": 0.0, "armijo": 1e-4, "goldstein": 0.25}[self.accept]
        return change.decrease >= share * change.predicted

    def after(self, change: Change, accepted: bool) -> float:
        """Return the grown or the shrunk step."""
        if not accepted:
            return change.step * self.shrink
        if self.accept == "goldstein" and change.decrease > 0.75 * change.predicted:
            return change.step / self.shrink
        return change.step * self.grow

    def resumed(self, last: Iterate) -> ProximalGradient:
        """Return the method that goes on after ``last`` with the step size it left."""
        return replace(self, step=last.step * (self.grow if last.accepted else self.shrink)) if last.number else self


@register
@dataclass(frozen=True, repr=False)
class LineSearch(_Descent):
    """Proximal gradient with Barzilai and Borwein's step and Armijo's rule.

    After an accepted step with s = ω⁺ − ω and y = ∇ψ(ω⁺) − ∇ψ(ω), the next step is t = ⟨s, s⟩ / ⟨s, y⟩, or 4 t where
    the curvature ⟨s, y⟩ is not positive. A step is accepted when F(ω) − F(ω⁺) ≥ 10⁻⁴ D, with the decrease that a line
    would predict, D = ⟨∇ψ, ω − ω⁺⟩ + r(ω) − r(ω⁺). After a rejected one t shrinks to the minimum of the parabola
    through both values and the slope, between a tenth and half.

    Parameters
    ----------
    step, tolerance, max_iterations
        As in `ProximalGradient`; the first step is estimated by default.

    Notes
    -----
    Barzilai and Borwein (1988); Beck and Teboulle (2009).

    Examples
    --------
    >>> LineSearch(tolerance=1e-5)
    LineSearch(tolerance=1e-05)
    """

    def accepts(self, change: Change) -> bool:
        """Whether F has fallen by a share of the predicted decrease."""
        return change.decrease >= 1e-4 * change.predicted

    def after(self, change: Change, accepted: bool) -> float:
        """Return Barzilai and Borwein's step, or one shortened by interpolation."""
        t = change.step
        if accepted:
            longest = 1e3 * t
            if change.curvature <= 0:
                return 4 * t
            return min(max(change.moved_squared / change.curvature, 1e-3 * t), longest)
        rise = change.predicted - change.decrease
        best = change.predicted / (2 * rise) if 0 < rise < float("inf") else 0.1
        return t * min(max(best, 0.1), 0.5)

    def resumed(self, last: Iterate) -> LineSearch:
        """Return the method that goes on after ``last`` from its step size."""
        return replace(self, step=last.step) if last.number else self
