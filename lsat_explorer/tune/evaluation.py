"""One evaluation of F(ω), and the gradient of ψ at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..engines.leverage import kernel_diagonal, quadratic
from ..engines.moving import Factors, Moving
from ..engines.row_sums import RowSums
from ..engines.sparse import refuse_all
from ..model.choices import Fit
from ..model.piece import Omega, prefixed, within
from ..solve.outcome import Outcome, Reason
from ..solve.weighted import Moments, Solution, feature_factors, solve_normal, weight_gradient
from .criteria import GCV
from .score import Score, error_of, together
from .through_weights import through_weights

if TYPE_CHECKING:
    from .problem import Problem

__all__ = ["Evaluation", "Part", "added", "blamed", "evaluate", "gradient", "own_fit", "saturated", "without_gradient"]


@dataclass(frozen=True)
class Part:
    """Some rows: their features, and their positions among the training rows, None for validation rows."""

    rows: RowSums
    index: Tensor | slice | None

    def of(self, values: Tensor | None) -> Tensor | None:
        """Return the entries of ``values`` (k, …) over all training rows that are this part's."""
        return None if values is None or self.index is None else values[self.index]


@dataclass(frozen=True)
class Evaluation:
    """F at one ω, with what its gradient needs; ``objective`` is +∞ when a solve failed and ``outcome`` says why.

    ``there`` is ω where the rows are; of it and of what was found there, one read brings F and the outcome to the host.
    ``solutions`` holds θ (n, m) and the factor of each fit, ``predictions`` (N, m) those of scored rows, in float64.
    """

    omega: Omega
    there: Omega
    objective: float
    loss: float
    penalty: float
    error: float
    outcome: Outcome
    solutions: tuple[Solution, ...]
    moving: tuple[Moving, ...]
    predictions: Tensor
    score: Score | None
    """None where a solve failed."""
    fitted: dict[int, Tensor] = field(default_factory=dict)
    """Predictions of a trained part's rows, where the gradient of the one fit has formed them."""
    beside: dict[str, float] = field(default_factory=dict)
    """Losses on other rows, which came to the host with the gradient."""
    precise: bool = False
    """Whether its products were taken in float64 since those in float32 left no solution."""

    @property
    def solution(self) -> Solution:
        """The solution of the first fit, the only one but for k-fold."""
        return self.solutions[0]

    def settled(self) -> Evaluation:
        """Return F at ω alone, for where the gradient is known: what it needs takes as much memory as many rows."""
        return replace(self, solutions=(), moving=(), predictions=self.predictions[:0], score=None, fitted={})


def evaluate(problem: Problem, omega: Omega) -> Evaluation:
    """Solve the fits at ``omega`` and score them."""
    with torch.no_grad():
        penalty = float(sum(problem.hyper_penalties[name].value(value) for name, value in omega.items()))
        there = problem.there(omega)
        featurizer, log_weights = within("featurizer", there), problem.log_weights(there)
        moving = tuple(part.rows.moving(featurizer) for part in problem.parts)
        solutions = solve_fits(problem, there, problem.fits, moving)
        predictions = together(
            [
                problem.parts[p].rows.predict(moving[p], solution.theta)
                for fit, solution in zip(problem.fits, solutions, strict=True)
                for p in fit.scored
            ]
        )
        outcome, leverage = Outcome(), None
        if problem.criterion.leverage:
            outcome = solutions[0].outcome
            if outcome.ok:
                leverage = kernel_diagonal(problem.parts[0].rows, moving[0], solutions[0].factor)
                leverage = leverage if log_weights is None else leverage * (2 * log_weights).exp()
                outcome = (
                    saturated(leverage.mean()) if isinstance(problem.criterion, GCV) else own_fit(*leverage.max(0))
                )
        score, loss, error = None, math.inf, math.nan
        if outcome.ok:
            score = Score.of(problem, predictions, leverage, within("loss", there))
            judged = problem.criterion.predictions(score.predictions.detach(), problem.targets, leverage)
            wrong = error_of(judged, problem.targets, problem.data.task, problem.criterion.mean)
            found = torch.stack([score.value.detach().double(), wrong])
            # One wait for the device brings F and what became of each fit.
            loss, error, *read = torch.cat([found, *(solution.factor.verdict for solution in solutions)]).tolist()
            outcomes = [s.judged(read[2 * fit : 2 * fit + 2]) for fit, s in enumerate(solutions)]
            outcome = next((o for o in outcomes if not o.ok), outcomes[0])
    outcome = blamed(outcome, omega)
    if not outcome.ok:
        score, loss = None, math.inf
    if not loss < math.inf:
        loss, error = math.inf, math.nan
    judgement = (loss + penalty, loss, penalty, error, outcome)
    return Evaluation(omega, there, *judgement, solutions, moving, predictions, score)


def own_fit(largest: Tensor, worst: Tensor) -> Outcome:
    """Say when a row determines its own fit: 1 − h is then rounding, and so is what the row would be without itself.

    ``worst`` is the number of the row with the largest leverage.
    """
    left, row = torch.stack([1 - largest, worst.double()]).tolist()
    if left > math.sqrt(torch.finfo(torch.float64).eps):
        return Outcome()
    sentence = (
        f"Training row {row:.0f} determines its own fit (leverage 1 to rounding), so leaving it out says nothing: "
        "raise a regularizer."
    )
    return Outcome(Reason.RANK_DEFICIENT, sentence)


def saturated(mean: Tensor) -> Outcome:
    """Say when the ``mean`` leverage is one to rounding: GCV then divides nothing by nothing."""
    if float(1 - mean) > math.sqrt(torch.finfo(torch.float64).eps):
        return Outcome()
    sentence = (
        "The fit passes through all training rows (mean leverage 1 to rounding), so GCV says nothing: raise a "
        "regularizer."
    )
    return Outcome(Reason.RANK_DEFICIENT, sentence)


def solve_fits(problem: Problem, omega: Omega, fits: Sequence[Fit], moving: Sequence[Moving]) -> tuple[Solution, ...]:
    """Return the solution of each fit at an ``omega`` that is where the rows are, each part's sums formed once."""
    # Weights that are not tuned are part of what the rows keep.
    log_weights = problem.log_weights(omega) if problem.tuned_below("data_weights") else None
    trained = sorted({p for fit in fits for p in fit.trained})
    sums = {p: problem.parts[p].rows.moments(moving[p], problem.parts[p].of(log_weights)) for p in trained}
    weights = [omega[matrix.name] for matrix in problem.penalty_matrices]
    moments = (added([sums[p] for p in fit.trained]) for fit in fits)
    # Sums of what moved are nobody else's; those that stand still are kept by the rows.
    fresh = log_weights is not None or any(problem.parts[p].rows.moves for p in trained)
    own = len(fits) == 1 and fresh
    return tuple(solve_normal(sum_, problem.penalty_matrices, weights, overwrite=own) for sum_ in moments)


def added(terms: Sequence[Moments]) -> Moments:
    """Add the sums of a fit's parts. Subtracting a fold from the whole would cancel where it dominates."""
    if len(terms) == 1:
        return terms[0]
    gram, cross = terms[0].gram.clone(), terms[0].cross.clone()
    for term in terms[1:]:
        gram += term.gram
        cross += term.cross
    return Moments(gram, cross)


def gradient(problem: Problem, at: Evaluation) -> Omega:
    """Return ∇ψ by name for the tuned entries of ω.

    Each fit has C = G⁻¹ Xᵀ_scored ∂ψ/∂ŷ. Where ψ depends on leverages, with s = ∂ψ/∂h and N = G⁻¹ XᵀSW²X G⁻¹,

        ∂ψ/∂ω_j^reg gains −2 e^{2ω_j} tr(R_j N R_jᵀ),  ∂ψ/∂ω_i^data gains 2 w_i² (s_i x_iᵀG⁻¹x_i − x_iᵀ N x_i),
        ∂ψ/∂x_i gains 2 w_i² (s_i G⁻¹ − N) x_i.
    """
    names = problem.tuned_below("loss")
    if at.score is None:
        raise without_gradient(at)
    slopes, through_leverage, own = at.score.slopes([name.removeprefix("loss.") for name in names])
    result = prefixed("loss", own)
    backward = _Backward(problem, at)
    with torch.no_grad():
        start = 0
        for fit, solution in zip(problem.fits, at.solutions, strict=True):
            scored = []
            for p in fit.scored:
                scored.append(slopes[start : start + len(problem.parts[p].rows)])
                start += len(scored[-1])
            backward.add_fit(fit, solution, scored)
        if through_leverage is not None:
            backward.add_leverage(at.solutions[0], through_leverage)
        result |= backward.result()
    return {name: result[name] for name in problem.tuned}


def without_gradient(at: Evaluation) -> ValueError:
    """Return the error of who asks for a gradient where F is +∞, or where what it needs was given up."""
    if math.isfinite(at.loss):
        return ValueError("This point was settled(), and kept F alone: evaluate it again for its gradient.")
    return ValueError(f"F is +∞ at this point and has no gradient there: {at.outcome.sentence}")


def blamed(outcome: Outcome, omega: Omega) -> Outcome:
    """Return the outcome of a solve, one that failed for a NaN of ``omega`` with its name."""
    for name, value in omega.items() if not outcome.ok else ():
        if bool(value.isnan().any()):
            return Outcome(Reason.NOT_FINITE, f"omega[{name!r}] holds a NaN: give it a number.")
    return outcome


class _Backward:
    """Gathers the gradient over fits: regularizers at once, weights and features by part, pulled back at the end."""

    def __init__(self, problem: Problem, at: Evaluation) -> None:
        self.problem, self.at = problem, at
        self.log_weights = problem.log_weights(at.there)
        self.regularizers = {
            p.name: torch.zeros_like(at.there[p.name]) for p in problem.penalty_matrices if p.name in problem.tuned
        }
        self.weighs = bool(problem.tuned_below("data_weights")) and self.log_weights is not None
        self.weights = None if self.log_weights is None else torch.zeros_like(self.log_weights.detach())
        self.features: list[dict[str, list[Factors]]] = [{} for _ in problem.parts]

    def add_fit(self, fit: Fit, solution: Solution, slopes: Sequence[Tensor]) -> None:
        """Add what flows through one fit from the slopes of its scored parts."""
        parts, moving, theta = self.problem.parts, self.at.moving, solution.theta
        right = torch.zeros_like(theta)
        for p, slope in zip(fit.scored, slopes, strict=True):
            right += parts[p].rows.transposed(moving[p], slope)
        C = solution.solve(right)
        for matrix in self.problem.penalty_matrices:
            if matrix.name in self.regularizers:
                self.regularizers[matrix.name] += matrix.gradient(theta, C, self.at.there[matrix.name])
        for p, slope in zip(fit.scored, slopes, strict=True):
            dtype = parts[p].rows.dtype
            for name in parts[p].rows.moves:
                self._add(p, name, (slope.to(dtype), theta[self.problem.columns[name]].to(dtype)))
        if self.weighs or any(parts[p].rows.moves for p in fit.trained):
            for p in fit.trained:
                self._add_trained(p, theta, C)

    def _add_trained(self, p: int, theta: Tensor, C: Tensor) -> None:
        part, moving = self.problem.parts[p], self.at.moving[p]
        fitted, image = part.rows.fitted(moving, torch.cat([theta, C], 1), self.weighs).chunk(2, 1)  # one pass
        if len(self.problem.fits) == 1:
            self.at.fitted[p] = fitted
        residual = part.rows.targets - fitted
        log_weight = part.of(self.log_weights)
        if self.weighs and self.weights is not None and log_weight is not None:
            self.weights[part.index] += weight_gradient(residual, image, log_weight)
        scale = None if log_weight is None else log_weight.exp().to(residual.dtype)
        for name in part.rows.moves:
            columns = self.problem.columns[name]
            self._add(p, name, feature_factors(residual, image, theta[columns], C[columns], scale))

    def add_leverage(self, solution: Solution, s: Tensor) -> None:
        """Add what flows through the leverages of the one part."""
        part, moving = self.problem.parts[0], self.at.moving[0]
        w2 = torch.ones_like(s) if self.log_weights is None else (2 * self.log_weights).exp()
        middle = part.rows.gram(moving, s * w2)
        N = solution.solve(solution.solve(middle).mT)
        for matrix in self.problem.penalty_matrices:
            if matrix.name in self.regularizers:
                self.regularizers[matrix.name] += matrix.trace_gradient(N, self.at.there[matrix.name])
        if self.weighs and self.weights is not None:
            diagonal = kernel_diagonal(part.rows, moving, solution.factor)
            self.weights += 2 * w2 * (s * diagonal - quadratic(part.rows, moving, N))
        if part.rows.moves:
            if part.rows.sparse:
                moved = len(part.rows.place(part.rows.moves))
                refuse_all(len(part.rows), moved, "the gradient of leverages by features that are tuned")
            factor = solution.factor.lower, solution.factor.scale
            for name, mine in part.rows.leverage_factors(moving, factor, N, s, w2).items():
                self._add(0, name, mine)

    def _add(self, p: int, name: str, gradient: Factors) -> None:
        self.features[p].setdefault(name, []).append(gradient)

    def result(self) -> Omega:
        """Return the gradient by name."""
        gradient: Omega = dict(self.regularizers)
        if self.weighs and self.weights is not None:
            gradient |= through_weights(self.problem, self.at.there, self.weights)
        for part, moving, features in zip(self.problem.parts, self.at.moving, self.features, strict=True):
            if features:
                for name, value in prefixed("featurizer", part.rows.pull_back(moving, features)).items():
                    gradient[name] = gradient[name] + value if name in gradient else value
        return gradient
