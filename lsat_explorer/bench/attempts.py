"""What a method does on a problem: every value of F in the order of evaluation, and how many it needs to a target."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lsat_explorer.model.choices import Method
from lsat_explorer.model.piece import Omega
from lsat_explorer.tune import Evaluation, Problem

__all__ = ["Attempt", "Counted", "attempt", "first_within"]


def first_within(values: Sequence[float], target: float) -> int | None:
    """Return how many values it takes to one that is at most ``target``, None where none is.

    Examples
    --------
    >>> first_within([3.0, 5.0, 2.0, 2.5, 1.0], 2.0)
    3
    """
    return next((count for count, value in enumerate(values, 1) if value <= target), None)


@dataclass(frozen=True)
class Attempt:
    """One run of a method.

    Attributes
    ----------
    values : tuple of float
        F of each evaluation: the start first, rejected and failed (+∞) ones included, and those in float64 that
        follow where float32 tells no points apart any more.
    times : tuple of float
        Wall seconds from the start of the run to the end of each evaluation.
    gradients : int
        How many gradients were taken.
    objective : float
        F where the run ended.
    status : str
        How it ended.
    seconds, cpu : float
        Wall time and this process's processor time of the whole run.
    """

    values: tuple[float, ...]
    times: tuple[float, ...]
    gradients: int
    objective: float
    status: str
    seconds: float
    cpu: float

    def evaluations_to(self, target: float) -> int | None:
        """Return the number of evaluations to one with F ≤ ``target``, None where there is none."""
        return first_within(self.values, target)

    def seconds_to(self, target: float) -> float:
        """Return the seconds to an evaluation with F ≤ ``target``, NaN where there is none."""
        count = first_within(self.values, target)
        return math.nan if count is None else self.times[count - 1]


class Counted:
    """A problem that notes each value of F and each gradient; all else is the problem's own.

    Parameters
    ----------
    problem : Problem
        Or what stands for one, such as `StackedPath`.
    """

    # It runs on this object, so that the evaluations inside it are noted too.
    start: Callable[..., Evaluation] = Problem.start

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.values: list[float] = []
        self.times: list[float] = []
        self.gradient_times: list[float] = []
        self.began = time.perf_counter()

    @property
    def gradients(self) -> int:
        """How many gradients were taken."""
        return len(self.gradient_times)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def evaluate(self, omega: Omega) -> Any:
        """Evaluate F and note its value."""
        point = self.problem.evaluate(omega)
        self.values.append(point.objective)
        self.times.append(time.perf_counter() - self.began)
        return point

    def gradient(self, at: Any, *, beside: bool = False) -> Omega:
        """Take a gradient and note when."""
        slopes = self.problem.gradient(at, beside=beside)
        self.gradient_times.append(time.perf_counter() - self.began)
        return slopes

    def precisely(self) -> Counted:
        """Return the same with products in float64, which a method goes on with; its values are noted here too."""
        other = Counted(self.problem.precisely())
        other.values, other.times, other.gradient_times = self.values, self.times, self.gradient_times
        other.began = self.began
        return other


def attempt(method: Method, problem: Any, *, target: float = -math.inf) -> Attempt:
    """Run a method from the problem's start to its end, or until F is at most ``target``.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> problem = lsat.Problem(lsat.Recipe(), lsat.datasets.digits())
    >>> attempt(lsat.LBFGS(), problem).status
    'converged'
    """
    counted, cpu = Counted(problem), time.process_time()
    for last in method.iterates(counted):
        if last.objective <= target:
            break
    seconds, cpu = time.perf_counter() - counted.began, time.process_time() - cpu
    values, times = tuple(counted.values), tuple(counted.times)
    return Attempt(values, times, counted.gradients, last.objective, last.status.value, seconds, cpu)
