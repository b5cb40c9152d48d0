"""Time to within a target of F: one of our methods, and the paper's rule on the stacked operation of its appendix."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from lsat_explorer.bench.attempts import Attempt, attempt
from lsat_explorer.bench.stacked import StackedProblem
from lsat_explorer.bench.timing import take_turns
from lsat_explorer.model.choices import Method
from lsat_explorer.model.piece import Omega
from lsat_explorer.tune import Problem, ProximalGradient

__all__ = ["GOALS", "HEADER", "Race", "StackedPath", "race"]

GOALS = {"feat": 15.0, "weighting": 7.0}
"""Ratios to reach on the full set."""

LONGEST = 600.0
"""Seconds beyond which the stacked run is computed and not run."""

_LINE = "{:<11} {:<15} {:>8} {:>10} {:>6} {:>10} {:>5}  {}"
HEADER = _LINE.format("problem", "ours by", "ours s", "stacked s", "ratio", "CPU ratio", "goal", "stacked").rstrip()


@dataclass(frozen=True, eq=False)
class StackedPoint:
    """F at one ω by the stacked operation, with the graph of ψ."""

    omega: Omega
    objective: float
    loss: float
    penalty: float
    graph: tuple[Tensor, Omega] | None
    error: float = math.nan

    def settled(self) -> StackedPoint:
        """Return F at ω alone."""
        return replace(self, graph=None)


class StackedPath:
    """F = ψ + r with ψ and its gradient by `StackedProblem`, in place of a `Problem` for the proximal gradient methods.

    A rejected point costs no gradient here either. Losses on other rows are NaN: only F is wanted.

    Parameters
    ----------
    problem : Problem
        Gives features, regularizers, loss, start and hyper-penalties.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.stacked = problem, StackedProblem(problem)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def evaluate(self, omega: Omega) -> StackedPoint:
        """Return F; +∞ where AᵀA has no factor."""
        penalty = float(sum(self.problem.hyper_penalties[name].value(value) for name, value in omega.items()))
        try:
            loss, leaves = self.stacked.forward(omega)
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            return StackedPoint(omega, math.inf, math.inf, penalty, None)
        return StackedPoint(omega, loss.item() + penalty, loss.item(), penalty, (loss, leaves))

    def gradient(self, at: StackedPoint, *, beside: bool = False) -> Omega:
        """Return ∇ψ, once for each point."""
        if at.graph is None:
            raise ValueError("The stacked operation failed at this point: it has no gradient.")
        return self.stacked.backward(*at.graph)

    def training_loss(self, at: StackedPoint) -> float:
        """Return NaN."""
        return math.nan

    stopping_loss = training_loss


@dataclass(frozen=True)
class Race:
    """Wall and processor seconds to F ≤ ``target``.

    ``evaluations`` are those of the stacked run. Where it is ``computed``, its times are evaluations, as the same rule
    needs them on our problem, times the median time of one evaluation and gradient.
    """

    problem: str
    method: str
    target: float
    ours: float
    ours_cpu: float
    stacked: float
    stacked_cpu: float
    evaluations: int
    computed: bool

    @property
    def ratio(self) -> float:
        """How many times sooner ours is there, in wall time."""
        return self.stacked / self.ours

    def line(self, full: bool) -> str:
        """Return a row of text under `HEADER`; the goal is one of the full set."""
        each = f"{self.evaluations} evaluations"
        how = f"computed: {each} of {self.stacked / self.evaluations:.2f} s" if self.computed else f"run: {each}"
        goal = f"{GOALS[self.problem]:g}" if full and self.problem in GOALS else "–"
        cpu = f"{self.stacked_cpu / self.ours_cpu:.1f}"
        numbers = (f"{self.ours:.2f}", f"{self.stacked:.2f}", f"{self.ratio:.1f}", cpu, goal)
        return _LINE.format(self.problem, self.method, *numbers, how)

    def record(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {**asdict(self), "ratio": self.ratio, "cpu_ratio": self.stacked_cpu / self.ours_cpu}


def race(name: str, problem: Problem, method: tuple[str, Method], target: float, paper: Attempt) -> Race | None:
    """Run one of our methods, then the paper's rule on the stacked operation, from the same start to F ≤ ``target``.

    Parameters
    ----------
    name : str
        Of the problem.
    problem : Problem
        A new one: what our first evaluation forms and keeps counts as time of ours.
    method : (str, Method)
        Ours, with its name in the table.
    target : float
        F to reach.
    paper : Attempt
        The paper's rule on our problem, which says how many evaluations the stacked run will need.

    Returns
    -------
    Race or None
        None where one of the runs never comes to the target.
    """
    label, rule = method
    ours = attempt(rule, problem, target=target)
    path = StackedPath(problem)
    start = path.init()
    step = take_turns({"step": lambda: path.gradient(path.evaluate(start))}, 3)["step"]
    needed = paper.evaluations_to(target)
    if needed is None or ours.objective > target:
        return None
    if computed := needed * step.median > LONGEST:
        wall, cpu, count = needed * step.median, needed * step.cpu_median, needed
    else:
        theirs = attempt(ProximalGradient(tolerance=0.0, max_iterations=10 * needed), path, target=target)
        if theirs.objective > target:
            return None
        wall, cpu, count = theirs.seconds, theirs.cpu, len(theirs.values)
    return Race(name, label, target, ours.seconds, ours.cpu, wall, cpu, count, computed)
