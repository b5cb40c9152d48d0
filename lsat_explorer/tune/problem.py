"""A recipe with data: the objective F(ω) = ψ(θ(ω)) + r(ω), its gradient and its prox."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.data import Data
from ..engines.devices import resolve_device
from ..engines.memory import MemoryRows, Moving
from ..model.hyper_penalties import Frozen, HyperPenalty
from ..model.losses import CrossEntropy, SquaredError
from ..model.piece import Omega, nearest, prefixed, within
from ..model.prepared import Prepared
from ..model.recipe import Recipe
from ..solve.outcome import Outcome
from ..solve.weighted import PenaltyMatrix, Solution, solve_normal, weight_gradient

__all__ = ["Evaluation", "Problem", "error_of"]

_REACH = 8.0


@dataclass(frozen=True)
class Evaluation:
    """F at one ω, with what its gradient needs: ``solution`` holds θ (n, m) float64 and the factor.

    ``objective`` is +∞ when the solve failed; ``outcome`` says why.
    """

    omega: Omega
    objective: float
    loss: float
    penalty: float
    error: float
    outcome: Outcome
    solution: Solution
    training: Moving
    validation: Moving
    predictions: Tensor


class Problem:
    """F(ω) of a recipe on data, its gradient and its prox.

    θ(ω) = argmin_θ Σ_i e^{2ω_i} ‖φ(u_i)ᵀθ − y_i‖² + Σ_j e^{2ω_j} ‖R_j θ‖²_F on the training rows; ψ is the mean loss of
    θ(ω) on the validation rows; r is the sum of the hyper-penalties.

    Parameters
    ----------
    recipe : Recipe
        The choices.
    data : Data
        The rows; needs a validation split.
    check : callable
        Called between chunks of rows; may raise `lsat_explorer.engines.Interrupted`.

    Raises
    ------
    ValueError
        Where recipe and data do not fit, naming the piece.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> problem = Problem(lsat.Recipe(), lsat.datasets.digits())
    >>> at = problem.evaluate(problem.init())
    >>> sorted(problem.gradient(at))
    ['regularizer.log_weight']
    """

    def __init__(self, recipe: Recipe, data: Data, check: Callable[[], None] = lambda: None) -> None:
        self.recipe, self.data, self._check = recipe, data, check
        self.device = resolve_device(recipe.device)
        self.loss = recipe.loss or (CrossEntropy() if data.task == "classification" else SquaredError())
        if self.loss.classifies and data.task != "classification":
            raise ValueError(f"{self.loss!r} needs classes and the data are a {data.task}: use SquaredError().")
        generator = torch.Generator().manual_seed(recipe.seed)
        inputs = data.train.inputs.to(self.device)
        self.prepared: Prepared = recipe.featurizer.prepare(inputs, data.train.targets, generator)
        self.columns = self.prepared.columns()
        self.penalty_matrices: list[PenaltyMatrix] = recipe.regularizer.penalties(
            self.columns, self.device, "regularizer"
        )
        self._start = self._starting_values()
        self.hyper_penalties = self._complete(recipe)
        self.tuned = tuple(n for n in self._start if not isinstance(self.hyper_penalties[n], Frozen))
        self._load_rows()

    def _starting_values(self) -> Omega:
        parts = {
            "featurizer": self.prepared.init(),
            "regularizer": self.recipe.regularizer.init(self.columns),
            "data_weights": self.recipe.data_weights.init(self.data.train.targets) if self.recipe.data_weights else {},
            "loss": self.loss.init(),
        }
        omega = {k: v for prefix, part in parts.items() for k, v in prefixed(prefix, part).items()}
        return {name: value.to(device=self.device, dtype=torch.float64) for name, value in omega.items()}

    def _complete(self, recipe: Recipe) -> dict[str, HyperPenalty]:
        """Return a hyper-penalty for each entry of ω: the recipe's, the featurizer's own, or a reach in log units."""
        for name in recipe.hyper_penalties:
            if name not in self._start:
                raise ValueError(f"hyper_penalties: ω has no entry {name!r}{nearest(name, self._start)}")
        own = {f"featurizer.{name}": penalty for name, penalty in self.prepared.hyper_penalties().items()}
        given = {**own, **recipe.hyper_penalties}
        return {name: given[name] if name in given else _Reach(name, value) for name, value in self._start.items()}

    def _load_rows(self) -> None:
        tuned = [name.removeprefix("featurizer.") for name in self.tuned if name.startswith("featurizer.")]
        moving = {b for b in self.columns if any(n.rpartition(".")[0] == b for n in tuned)}
        # What is formed once can afford float64; only sums that every evaluation repeats take the recipe's dtype.
        repeats = bool(moving) or any(name.startswith("data_weights.") for name in self.tuned)
        dtype = getattr(torch, self.recipe.dtype) if repeats else torch.float64
        omega = within("featurizer", self._start)
        self.training, self.validation = (
            MemoryRows(
                self.prepared,
                split.inputs,
                split.targets,
                omega,
                moving,
                dtype=kind,
                device=self.device,
                check=self._check,
            )
            for split, kind in (
                (self.data.train, getattr(torch, self.recipe.dtype)),
                (self.data.validation, dtype),
            )
        )
        self._validation_targets = self.data.validation.targets.to(self.device)

    def with_recipe(self, recipe: Recipe) -> Problem:
        """Return the problem with other hyper-penalties and method, sharing rows; anything else is prepared anew."""
        same = recipe.replace(hyper_penalties=self.recipe.hyper_penalties, method=self.recipe.method) == self.recipe
        other = object.__new__(Problem)
        other.__dict__.update(self.__dict__)
        other.recipe = recipe
        other.hyper_penalties = self._complete(recipe)
        other.tuned = tuple(n for n in self._start if not isinstance(other.hyper_penalties[n], Frozen))
        return other if same and other.tuned == self.tuned else Problem(recipe, self.data, self._check)

    def init(self) -> Omega:
        """Return the starting values of every hyper-parameter, tuned or held."""
        return {name: value.clone() for name, value in self._start.items()}

    def evaluate(self, omega: Omega) -> Evaluation:
        """Solve at ``omega`` and return F with its parts; a failed solve gives F = +∞ and its outcome."""
        with torch.no_grad():
            penalty = float(sum(self.hyper_penalties[name].value(value) for name, value in omega.items()))
            featurizer = within("featurizer", omega)
            training, validation = self.training.moving(featurizer), self.validation.moving(featurizer)
            solution = self.solve(omega, training)
            predictions = self.validation.predict(validation, solution.theta)
            loss = float(self.loss.value(predictions.double(), self._validation_targets, within("loss", omega)))
        bad = not solution.outcome.ok or math.isnan(loss)
        loss = math.inf if bad else loss
        error = math.nan if bad else self._error(predictions)
        return Evaluation(
            omega, loss + penalty, loss, penalty, error, solution.outcome, solution, training, validation, predictions
        )

    def solve(self, omega: Omega, training: Moving | None = None) -> Solution:
        """Return θ(ω) with its factor."""
        training = self.training.moving(within("featurizer", omega)) if training is None else training
        moments = self.training.moments(training, self.log_weights(omega))
        return solve_normal(moments, self.penalty_matrices, [omega[p.name] for p in self.penalty_matrices])

    def log_weights(self, omega: Omega) -> Tensor | None:
        """Return ω_i (k,) of the training rows, None where all weigh one."""
        weights = self.recipe.data_weights
        return None if weights is None else weights.log_weights(within("data_weights", omega), self.training.targets)

    def refined(self, at: Evaluation) -> Tensor:
        """Return θ after one refinement with residuals of the rows in float64: what a fitted model reports.

        r = XᵀW²(Y − Xθ) − Σ e^{2ω_j} R_jᵀR_j θ is zero at the solution; θ + G⁻¹ r undoes the rounding of float32 sums.
        """
        theta = at.solution.theta
        penalty = torch.zeros_like(at.solution.gram)
        for matrix in self.penalty_matrices:
            matrix.add_to(penalty, at.omega[matrix.name])
        residual = self.training.normal_residual(at.training, theta, self.log_weights(at.omega)) - penalty @ theta
        return theta + at.solution.solve(residual)

    def _error(self, predictions: Tensor) -> float:
        return error_of(predictions, self._validation_targets, self.data.task)

    def training_loss(self, at: Evaluation) -> float:
        """Return the same loss on the training rows, unweighted."""
        if not at.outcome.ok:
            return math.nan
        with torch.no_grad():
            predictions = self.training.predict(at.training, at.solution.theta)
            targets = self.training.targets.double()
            return float(self.loss.value(predictions.double(), targets, within("loss", at.omega)))

    def gradient(self, at: Evaluation) -> Omega:
        """Return ∇ψ at an evaluated point, by name, for the tuned entries of ω."""
        slope, gradient = self._through_loss(at)
        theta = at.solution.theta
        with torch.no_grad():
            C = at.solution.solve(self.validation.transposed(at.validation, slope))
            for matrix in self.penalty_matrices:
                if matrix.name in self.tuned:
                    gradient[matrix.name] = matrix.gradient(theta, C, at.omega[matrix.name])
            if at.training.blocks or self._tuned_below("data_weights"):
                gradient |= self._through_rows(at, slope, C)
        return {name: gradient[name] for name in self.tuned}

    def _tuned_below(self, prefix: str) -> list[str]:
        return [name for name in self.tuned if name.startswith(prefix + ".")]

    def _through_loss(self, at: Evaluation) -> tuple[Tensor, Omega]:
        """Return ∂ψ/∂(predictions) (N, m) and the gradient of the loss's own parameters."""
        names = self._tuned_below("loss")
        with torch.enable_grad():
            predictions = at.predictions.detach().double().requires_grad_()
            local = {n: v.detach().clone().requires_grad_() for n, v in within("loss", at.omega).items()}
            value = self.loss.value(predictions, self._validation_targets, local)
            leaves = [local[name.removeprefix("loss.")] for name in names]
            slope, *rest = torch.autograd.grad(value, [predictions, *leaves])
        return slope, dict(zip(names, rest, strict=True))

    def _through_rows(self, at: Evaluation, slope: Tensor, C: Tensor) -> Omega:
        """Return the gradient of row weights and featurizer parameters, through training and validation features."""
        theta = at.solution.theta
        with torch.enable_grad():
            leaves = {name: at.omega[name].detach().requires_grad_() for name in self._tuned_below("data_weights")}
            log_weight = self.log_weights({**at.omega, **leaves})
        residual = self.training.targets - self.training.predict(at.training, theta)
        image = self.training.predict(at.training, C)
        gradient: Omega = {}
        if log_weight is not None and leaves:
            rows = weight_gradient(residual, image, log_weight.detach())
            gradient |= dict(zip(leaves, torch.autograd.grad(log_weight, list(leaves.values()), rows), strict=True))
        if at.training.blocks:
            scale = None if log_weight is None else log_weight.detach().exp().to(residual.dtype)
            slopes = self.training.feature_gradients(at.training, residual, image, theta, C, scale)
            gradient |= prefixed("featurizer", self.training.pull_back(at.training, slopes))
            direct = {
                n: slope.to(residual.dtype) @ theta[self.columns[n]].to(residual.dtype).mT for n in at.validation.blocks
            }
            for name, value in prefixed("featurizer", self.validation.pull_back(at.validation, direct)).items():
                gradient[name] = gradient[name] + value
        return gradient

    def prox(self, omega: Omega, step: float) -> Omega:
        """Return prox_{step r}(ω), each hyper-penalty's prox used once."""
        return {name: self.hyper_penalties[name].prox(value, step) for name, value in omega.items()}


def error_of(predictions: Tensor, targets: Tensor, task: str) -> float:
    """Return the share of rows misclassified, or the root mean squared error."""
    if task == "classification":
        return float((predictions.argmax(1) != targets.argmax(1)).double().mean())
    return float((predictions - targets).square().sum(1).mean().sqrt())


class _Reach(HyperPenalty):
    """Keep log units within ±8 of their start, entry by entry, and other units free: one step cannot run away."""

    def __init__(self, name: str, start: Tensor) -> None:
        reach = _REACH if name.rpartition(".")[2].startswith("log_") else math.inf
        self.low, self.high = start - reach, start + reach

    def value(self, omega: Tensor) -> Tensor:
        return torch.where(((omega >= self.low) & (omega <= self.high)).all(), 0.0, math.inf)

    def prox(self, omega: Tensor, step: float) -> Tensor:
        return omega.clamp(self.low, self.high)
