"""F(ω) and its gradient where rows come in parts: ψ and its slopes are formed with the rows, and come back as sums.

F needs the sums of each fit's rows, and then ψ with ∇_θψ of θ, in one pass over the scored rows; workers are asked
for both at once, and one of them solves the fit between. The gradient needs
what flows back through trained rows, and through scored ones where features move: asked for together, in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..engines.dask import DaskRows
from ..engines.moving import Moving
from ..engines.passes import Flow, Flowed, Judge, Judged, Left, plus
from ..engines.together import OneFit, solved_and_judged
from ..model.engines import Chunks, Dask
from ..model.piece import Omega, prefixed, tensor, within
from ..solve.weighted import Moments, PenaltyMatrix, Solution, solve_normal
from .criteria import GCV, LeaveOneOut
from .evaluation import Evaluation, added, blamed, without_gradient
from .left_out import without
from .through_weights import through_weights

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Apart", "check", "evaluate", "gradient", "is_apart", "losses_beside"]


@dataclass(frozen=True)
class Apart(Evaluation):
    """F at one ω with what came back of the rows: ∇_θψ of each fit, and the slopes of the loss's own parameters.

    ``log_weights`` are those of each part as they were sent, None where they are not tuned. ``predictions`` stay with
    the rows.
    """

    rights: tuple[Tensor, ...] = ()
    middle: Tensor | None = None
    """Xᵀ diag(w² ∂ψ/∂h) X (n, n), where ψ depends on leverages."""
    same: tuple[float, float] | None = None
    """∂ψ/∂h, where it is the same for every row, and ∂ψ/∂(mean loss)."""
    own: Omega = field(default_factory=dict)
    log_weights: tuple[Tensor | None, ...] = ()


def is_apart(problem: Problem) -> bool:
    """Whether the rows come in parts, and ψ is made of sums over rows."""
    if not isinstance(problem.recipe.engine, Chunks | Dask) or not problem.loss.by_row:
        return False
    return problem.criterion.by_row or isinstance(problem.criterion, LeaveOneOut | GCV)


def check(problem: Problem) -> None:
    """Refuse predictions that would travel where nothing of the size of the rows is to.

    Raises
    ------
    ValueError
        When row weights are to lie with workers, and ψ is no mean over rows.
    """
    engine = problem.recipe.engine
    if isinstance(engine, Dask) and engine.weights == "workers" and not is_apart(problem):
        by = type(problem.criterion if problem.loss.by_row else problem.loss).__name__
        raise ValueError(
            f"{by} needs the predictions of all scored rows in one place, and {engine!r} leaves all that is by row "
            f"with the workers: set Dask(…, weights='here'), with which they come here, or choose another."
        )


def evaluate(problem: Problem, omega: Omega) -> Apart:
    """Solve the fits at ``omega`` and have them judged where the rows are."""
    with torch.no_grad():
        omega = spread(problem, omega)
        penalty = float(sum(problem.hyper_penalties[name].value(value) for name, value in omega.items()))
        there = problem.there(omega)
        moving = tuple(part.rows.moving(within("featurizer", there)) for part in problem.parts)
        log_weights = problem.log_weights(there) if problem.tuned_below("data_weights") else None
        by_part = tuple(part.of(log_weights) for part in problem.parts)
        together = None if problem.criterion.leverage else _together(problem, there, moving, by_part)
        solutions, gram = _solve(problem, there, moving, by_part) if together is None else (together[0], None)
        outcome = next((s.outcome for s in solutions if not s.outcome.ok), solutions[0].outcome)
        found: list[Any] = []
        middle = same = None
        if outcome.ok and gram is not None and problem.criterion.leverage:
            judge = _judge_of(problem, there)
            found, middle, same, outcome = without(problem, moving[0], solutions[0], by_part[0], judge, gram)
        elif outcome.ok:
            found = _judge_fits(problem, there, moving, solutions) if together is None else together[1]
        loss, error = math.inf, math.nan
        if found:
            loss, error = (sum(map(float, both)) for both in zip(*(one[:2] for one in found), strict=True))
            error = error if problem.data.task == "classification" else math.sqrt(error)
    if not loss < math.inf:
        loss, error, outcome = math.inf, math.nan, blamed(outcome, omega)
    judgement = (loss + penalty, loss, penalty, error, outcome)
    nowhere = torch.empty(0, problem.targets.shape[1], dtype=torch.float64, device="cpu")
    rights, own = tuple(one.right for one in found if one.right is not None), _sum(one.own for one in found)
    more: dict[str, Any] = {"rights": rights, "own": own or {}, "log_weights": by_part, "middle": middle, "same": same}
    return Apart(omega, there, *judgement, solutions, moving, nowhere, None, **more)


def spread(problem: Problem, omega: Omega) -> Omega:
    """Return ω with an entry for each training row where the rows are, if it is to lie there."""
    names, rows = problem.tuned_below("data_weights"), problem.parts[0].rows
    weights = problem.recipe.data_weights
    if weights is None or not weights.by_row or not names or not isinstance(rows, DaskRows) or not rows.spreads:
        return omega
    if len(rows) < len(problem.data.train):
        return omega  # folds of rows that were brought here
    return {name: rows.spread(value) if name in names else value for name, value in omega.items()}


def _solve(
    problem: Problem, there: Omega, moving: Sequence[Moving], log_weights: Sequence[Tensor | None]
) -> tuple[tuple[Solution, ...], Tensor]:
    """Return the fits, and XᵀW²X of the first."""
    parts, penalties = problem.parts, problem.penalty_matrices
    trained = sorted({p for fit in problem.fits for p in fit.trained})
    sums = _answers({p: parts[p].rows.later("moments", moving[p], log_weights[p]) for p in trained})
    weights = [there[matrix.name] for matrix in penalties]
    moments = [added([sums[p] for p in fit.trained]) for fit in problem.fits]
    return tuple(solve_normal(one, penalties, weights) for one in moments), moments[0].gram


def _together(
    problem: Problem, there: Omega, moving: Sequence[Moving], log_weights: Sequence[Tensor | None]
) -> tuple[tuple[Solution, ...], list[Judged]] | None:
    """Return the fits and what is said of them, in one trip; None where the sums are here, or no worker has rows."""
    penalties = problem.penalty_matrices
    if not any(part.rows.moves for part in problem.parts) and all(one is None for one in log_weights):
        return None
    rows = [part.rows for part in problem.parts if isinstance(part.rows, DaskRows)]
    if len(rows) < len(problem.parts):
        return None
    fits = [
        OneFit([(rows[p], moving[p], log_weights[p]) for p in fit.trained], [(rows[p], moving[p]) for p in fit.scored])
        for fit in problem.fits
    ]
    solve = partial(_fit_of, penalties, [there[matrix.name] for matrix in penalties])
    solutions, found = solved_and_judged(fits, solve, _judge(problem, there, len(problem.targets)))
    return tuple(replace(one, penalties=penalties) for one in solutions), [_sum(one) for one in found]


def _fit_of(penalties: Sequence[PenaltyMatrix], weights: Sequence[Tensor], terms: list[Moments]) -> Solution:
    return solve_normal(added(terms), penalties, weights)


def _judge_fits(
    problem: Problem, there: Omega, moving: Sequence[Moving], solutions: Sequence[Solution]
) -> list[Judged]:
    """Return what the scored parts of each fit say, all asked at once."""
    judge = _judge(problem, there, len(problem.targets))
    asked = {
        (number, p): problem.parts[p].rows.later("judged", moving[p], solution.theta, judge)
        for number, (fit, solution) in enumerate(zip(problem.fits, solutions, strict=True))
        for p in fit.scored
    }
    found = _answers(asked)
    return [_sum(found[number, p] for p in fit.scored) for number, fit in enumerate(problem.fits)]


def _judge(problem: Problem, there: Omega, rows: int, *, sloping: bool = True) -> Judge:
    names = tuple(name.removeprefix("loss.") for name in problem.tuned_below("loss"))
    return Judge(problem.loss, problem.data.task == "classification", within("loss", there), 1 / rows, names, sloping)


def _judge_of(problem: Problem, there: Omega) -> Judge:
    """Return the judge of the scored rows."""
    left_out = problem.criterion.predictions if isinstance(problem.criterion, LeaveOneOut) else None
    return _judge(problem, there, len(problem.targets))._replace(left_out=left_out)


def gradient(problem: Problem, at: Apart) -> Omega:
    """Return ∇ψ by name for the tuned entries of ω; where training rows are read for it, with the losses beside."""
    if not at.loss < math.inf or not at.solutions:
        raise without_gradient(at)
    with torch.no_grad():
        images = [solution.solve(right) for solution, right in zip(at.solutions, at.rights, strict=True)]
        result, N = prefixed("loss", at.own), None
        if at.middle is not None:
            N = at.solution.solve(at.solution.solve(at.middle).mT)
        for matrix in problem.penalty_matrices:
            if matrix.name in problem.tuned:
                pairs = zip(at.solutions, images, strict=True)
                result[matrix.name] = _sum(matrix.gradient(s.theta, C, at.there[matrix.name]) for s, C in pairs)
                if N is not None:
                    result[matrix.name] += matrix.trace_gradient(N, at.there[matrix.name])
        weighed = bool(problem.tuned_below("data_weights"))
        if weighed or any(part.rows.moves for part in problem.parts):
            found = _flowed(problem, at, images, weighed, N)
            result |= prefixed("featurizer", _sum(one.features for one in found.values()))
            if weighed:
                result |= through_weights(problem, at.there, _in_order(problem, found))
    return {name: result[name] for name in problem.tuned}


def losses_beside(problem: Problem, at: Apart) -> dict[str, Tensor]:
    """Return the losses on training rows and on those of early stopping, in one pass that asks for nothing else."""
    with torch.no_grad():
        _flowed(problem, at, [None] * len(at.solutions), False)
    return {name: tensor(value) for name, value in at.beside.items()}


def _flowed(
    problem: Problem, at: Apart, images: Sequence[Tensor | None], weighed: bool, N: Tensor | None = None
) -> dict[int, Flowed]:
    """Return what flows back through parts where C is known of each fit, and note the losses beside."""
    left = None
    if N is not None:
        factor = at.solution.factor
        slope, share = at.same or (None, 1.0)
        judge = _judge_of(problem, at.there)
        left = Left(factor.lower, factor.scale, N, judge._replace(share=judge.share * share), slope)
    flows: dict[int, list[Flow]] = {}
    trained = {p for fit in problem.fits for p in fit.trained}
    training = _judge(problem, at.there, sum(len(problem.parts[p].rows) for p in trained), sloping=False)
    judge = _judge(problem, at.there, len(problem.targets))
    for fit, solution, C in zip(problem.fits, at.solutions, images, strict=True):
        for p in fit.trained:
            # Training rows are judged by the first fit to them.
            flows.setdefault(p, []).append(Flow(solution.theta, C, training if p in trained else None, left))
            trained.discard(p)
        for p in fit.scored if C is not None and left is None else ():
            if problem.parts[p].rows.moves:
                flows.setdefault(p, []).append(Flow(solution.theta, None, judge))
    asked = {}
    for p, some in flows.items():
        rows, weighs = problem.parts[p].rows, weighed and at.log_weights[p] is not None
        asked[p] = rows.later("flowed", at.moving[p], some, weighs, at.log_weights[p])
    stopping = _stopping(problem, at)
    found: dict[int, Flowed] = _answers(asked)
    at.beside["training"] = float(sum(one.loss for one in found.values() if one.loss is not None))
    if stopping is not None:
        at.beside["stopping"] = float(stopping().loss)
    return found


def _stopping(problem: Problem, at: Apart) -> Callable[[], Judged] | None:
    """Ask for the loss on the rows of early stopping."""
    rows = problem.stopping
    if rows is None:
        return None
    theta = at.solution.theta if len(problem.fits) == 1 else problem.coefficients(at.omega)[0]
    judge = _judge(problem, at.there, len(rows), sloping=False)
    return rows.later("judged", rows.moving(within("featurizer", at.there)), theta, judge)


def _in_order(problem: Problem, found: dict[int, Flowed]) -> Tensor:
    """Return ∂ψ/∂ω_i (k,) of all training rows from those of parts."""
    slopes = {p: one.weights for p, one in found.items() if one.weights is not None}
    if len(slopes) == 1:
        return next(iter(slopes.values()))
    result = torch.empty(len(problem.data.train), dtype=torch.float64, device=problem.device)
    for p, mine in slopes.items():
        index = problem.parts[p].index
        assert index is not None
        result[index] = mine
    return result


def _answers(asked: dict[Any, Callable[[], Any]]) -> dict[Any, Any]:
    """Wait for answers that were asked for together."""
    return {key: answer() for key, answer in asked.items()}


def _sum(terms: Iterable[Any]) -> Any:
    return reduce(plus, terms, None)
