"""A recipe with data: the objective F(ω) = ψ(θ(ω)) + r(ω), its gradient and its prox."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace

import torch
from torch import Tensor

from ..data.data import Data
from ..engines.devices import moved, resolve_device
from ..engines.loaded import chosen_rows, load_rows, rows_to_prepare
from ..engines.room import room
from ..engines.row_sums import RowSums
from ..model.choices import Fit
from ..model.hyper_penalties import Frozen, HyperPenalty
from ..model.losses import usual_loss
from ..model.piece import Omega, prefixed, within
from ..model.prepared import Prepared
from ..model.recipe import Recipe
from ..solve.outcome import Outcome
from ..solve.precision import DOUBLE, MIXED, SINGLE, Precision
from . import apart
from .beside import loss_beside, losses_beside
from .branch import takes_up
from .column_names import refuse_misplaced_nodes, refuse_unknown_blocks
from .evaluation import Evaluation, Part, evaluate, gradient
from .given import as_held, complete, held_at, other_than, started
from .reach import completed
from .refined import refined

__all__ = ["Problem"]


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
    held : Omega or None
        Values of entries that are not tuned, where they differ from the start.

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

    def __init__(
        self, recipe: Recipe, data: Data, check: Callable[[], None] = lambda: None, held: Omega | None = None
    ) -> None:
        self.recipe, self.data, self._check, self._precise = recipe, data, check, False
        self.device = resolve_device(recipe.device)
        self.loss = recipe.loss or usual_loss(data.task)
        if self.loss.classifies and data.task != "classification":
            raise ValueError(f'{self.loss!r} needs classes: task="classification", not {data.task}; or SquaredError().')
        self.criterion = recipe.criterion
        self.criterion.check(self.loss, recipe.data_weights is not None)
        apart.check(self)
        refuse_unknown_blocks(recipe)  # before features are prepared, which may take long
        self._training_targets = data.train.targets.to(self.device)
        generator = torch.Generator().manual_seed(recipe.seed)
        inputs, targets = rows_to_prepare(recipe.engine, data.train, recipe.seed, recipe.featurizer)
        self.prepared: Prepared = recipe.featurizer.prepare(inputs.to(self.device), targets, generator)
        self.columns = self.prepared.columns()
        self.penalty_matrices = recipe.regularizer.penalties(self.columns, self.device, "regularizer")
        refuse_misplaced_nodes(recipe, data.feature_names, self.columns)
        self._start = self._starting_values()
        self._held = held_at(self._start, held)
        self.hyper_penalties = self._complete(recipe)
        self.tuned = tuple(n for n in self._start if not isinstance(self.hyper_penalties[n], Frozen))
        with self._room():
            self._load_rows()

    def _room(self) -> AbstractContextManager[None]:
        return room(self.device, self.recipe.engine, len(self.data.train), max(c.stop for c in self.columns.values()))

    def _starting_values(self) -> Omega:
        parts = {
            "featurizer": self.prepared.init(),
            "regularizer": self.recipe.regularizer.init(self.columns),
            "data_weights": self.recipe.data_weights.init(self.data.train.targets) if self.recipe.data_weights else {},
            "loss": self.loss.init(),
        }
        omega = {k: v for prefix, part in parts.items() for k, v in prefixed(prefix, part).items()}
        return {name: value.to(device="cpu", dtype=torch.float64) for name, value in omega.items()}

    def _complete(self, recipe: Recipe) -> dict[str, HyperPenalty]:
        own = {f"featurizer.{name}": penalty for name, penalty in self.prepared.hyper_penalties().items()}
        return completed(recipe.hyper_penalties, own, self._start)

    def _load_rows(self) -> None:
        """Divide the rows into the criterion's parts, and move them to the device."""
        train, validation = self.data.train, self.data.validation
        positions = self.criterion.parts(train.targets, self.data.task == "classification", self.recipe.seed)
        self.fits = tuple(self.criterion.fits(len(positions)))
        scored = {p for fit in self.fits for p in fit.scored}
        tuned = [name.removeprefix("featurizer.") for name in self.tuned_below("featurizer")]
        self._moves = self.prepared.moving(tuned)
        held = {name: value for name, value in self._held.items() if name not in self.tuned}
        self._in_rows = {n: v for n, v in held.items() if n.startswith(("featurizer.", "data_weights."))}
        whole = len(positions) == 1
        self._held_there = moved(self._held, self.device)
        weights = None if self.tuned_below("data_weights") else self.log_weights(self._held_there)
        self.parts: list[Part] = []
        for p, index in enumerate(positions):
            where = torch.as_tensor(index, device=self.device)
            inputs = train.inputs if whole else chosen_rows(self.recipe.engine, train.inputs, where.cpu())
            targets = train.targets if whole else train.targets[index]
            rows = self._rows(inputs, targets, p in scored, None if weights is None else weights[where])
            self.parts.append(Part(rows, slice(None) if whole else where))
        if self.criterion.held_out:
            p = len(self.parts)
            self.parts.append(Part(self._rows(validation.inputs, validation.targets, p in scored), None))
        self.stopping: RowSums | None = None
        if self.recipe.early_stopping is not None:
            if self.data.test is None:
                raise ValueError("Early stopping needs a test split: make one with Data.from_arrays(…, test=0.2).")
            self.stopping = self._rows(self.data.test.inputs, self.data.test.targets, True)
        order = [p for fit in self.fits for p in fit.scored]
        judged = [train.targets[positions[p]] if p < len(positions) else validation.targets for p in order]
        self.targets = torch.cat(judged).to(self.device)

    def _rows(self, inputs: Tensor, targets: Tensor, scored: bool, log_weight: Tensor | None = None) -> RowSums:
        # What is formed once can afford float64; only what every evaluation repeats takes the recipe's dtype.
        stored = SINGLE if self.recipe.dtype == "float32" else DOUBLE
        precision = self.precision if scored else stored
        seldom = not scored and not self.tuned_below("data_weights")
        how = {"precision": precision, "device": self.device, "log_weight": log_weight, "check": self._check}
        rows = (self.prepared, inputs, targets, within("featurizer", self._held_there), self._moves)
        return load_rows(self.recipe.engine, *rows, seldom, **how)

    @property
    def precision(self) -> Precision:
        """What each evaluation's sums are formed in, which tells how far F is known."""
        repeats = bool(self._moves) or bool(self.tuned_below("data_weights"))
        if not repeats or self.recipe.dtype != "float32":
            return DOUBLE
        return MIXED if self._precise else SINGLE

    def precisely(self) -> Problem:
        """Return the problem with every product in float64: where the steps of a run drown in rounding."""
        other = copy(self)
        other._precise = True
        other.parts = [replace(part, rows=part.rows.precisely()) for part in self.parts]
        return other

    def tuned_below(self, prefix: str) -> list[str]:
        """Return the tuned entries of ω whose names start with ``prefix.``."""
        return [name for name in self.tuned if name.startswith(prefix + ".")]

    def with_recipe(self, recipe: Recipe, held: Omega | None = None) -> Problem:
        """Return the problem of a recipe, sharing rows where it can; what is no longer tuned stays as in ``held``."""
        return self.sharing(recipe) or Problem(recipe, self.data, self._check, held)

    def branched(self, recipe: Recipe, omega: Omega, check: Callable[[], None]) -> Problem | None:
        """Return the problem of another run, begun at ``omega``, on the same rows; None where they would differ."""
        other = self.sharing(recipe)
        if other is None or other_than(omega, other._in_rows):
            return None
        other._check = check
        other.parts = [replace(part, rows=part.rows.watched(check)) for part in self.parts]
        other.stopping = None if self.stopping is None else self.stopping.watched(check)
        return other

    def holding(self, omega: Omega) -> Problem:
        """Return the problem whose rows are formed with what ``omega`` says of entries that are not tuned."""
        if not other_than(omega, self._in_rows):
            return self
        other = copy(self)
        other._held, other._precise = held_at(self._held, omega), False
        with other._room():
            other._load_rows()
        return other

    def sharing(self, recipe: Recipe) -> Problem | None:
        """Return the problem of a recipe on the same rows, None where it needs others; refuse names that ω lacks."""
        if not takes_up(self.recipe, recipe, self.data.task):
            return None
        other = copy(self)
        other.recipe, other.loss = recipe, recipe.loss or usual_loss(self.data.task)
        other.criterion.check(other.loss, recipe.data_weights is not None)
        other._start = other._starting_values()
        other.hyper_penalties = other._complete(recipe)
        other.tuned = tuple(n for n in other._start if not isinstance(other.hyper_penalties[n], Frozen))
        rows = ([name for name in one.tuned if not name.startswith("loss.")] for one in (self, other))
        return other if next(rows) == next(rows) else None

    def init(self) -> Omega:
        """Return the starting values of every hyper-parameter, tuned or held."""
        return {name: value.clone() for name, value in self._start.items()}

    def adapted(self, omega: Omega) -> Omega:
        """Return ``omega`` with the names of this problem: with the start of what it lacks, without what is gone."""
        return {name: omega.get(name, value) for name, value in self.init().items()}

    def there(self, omega: Omega) -> Omega:
        """Return ω, which lives on the host, where the rows are."""
        return moved(omega, self.device)

    def evaluate(self, omega: Omega) -> Evaluation:
        """Solve at ``omega`` and return F with its parts; a failed solve gives F = +∞ and its outcome.

        Where float32 products leave no solution, sums of float64 ones decide: rounding can make XᵀW²X indefinite whose
        directions are held by small penalties alone. Features and row weights that are not tuned are refused elsewhere
        than they are held.
        """
        omega = as_held(complete(omega, self._start), self._in_rows)
        with self._room():
            at = apart.evaluate(self, omega) if apart.is_apart(self) else evaluate(self, omega)
        if at.outcome.ok or self.precision is not SINGLE:
            return at
        return replace(self.precisely().evaluate(omega), precise=True)

    def start(self, omega: Omega | None) -> Evaluation:
        """Evaluate a starting point, ``init()`` for None.

        Entries outside the domain of their hyper-penalty (a mask of ones) are brought there by one proximal step first.
        """
        at = self.evaluate(self.init() if omega is None else started(omega, self._start))
        if math.isfinite(at.penalty) or not math.isfinite(at.loss):
            return at
        gradient, outside = self.gradient(at), {}
        for name in self.tuned:
            if not math.isfinite(float(self.hyper_penalties[name].value(at.omega[name]))):
                outside[name] = self.hyper_penalties[name].prox(at.omega[name] - gradient[name], 1.0)
        return self.evaluate({**at.omega, **outside})

    def gradient(self, at: Evaluation, *, beside: bool = False) -> Omega:
        """Return ∇ψ at an evaluated point, by name, for the tuned entries of ω, and in the same read the losses beside.

        Where ``beside``, `training_loss` and `stopping_loss` at this point need not wait for the device any more.
        """
        if at.precise and self.precision is SINGLE:
            return self.precisely().gradient(at, beside=beside)
        with self._room():
            found = apart.gradient(self, at) if isinstance(at, apart.Apart) else gradient(self, at)
            others = losses_beside(self, at) if beside and not isinstance(at, apart.Apart) else {}
            here = moved({**found, **others}, torch.device("cpu"))
            at.beside.update({name: float(here[name]) for name in others})
            return {name: here[name] for name in found}

    def score(self, predictions: Tensor, leverage: Tensor | None, loss_omega: Omega) -> Tensor:
        """Return ψ from the float64 predictions (N, m) of the scored rows, differentiable."""
        return self.criterion.value(self.loss, predictions, self.targets, leverage, loss_omega)

    def log_weights(self, omega: Omega) -> Tensor | None:
        """Return ω_i (k,) of the training rows, None where all weigh one, from an ω that is where they are."""
        weights = self.recipe.data_weights
        return None if weights is None else weights.log_weights(within("data_weights", omega), self._training_targets)

    def coefficients(self, omega: Omega, *, validation: bool = False) -> tuple[Tensor, Outcome]:
        """Return θ (n, m) of the fit to all training rows, what a fitted model reports, and the solve's outcome.

        With ``validation`` the fit is to the validation rows too, each of weight one; a criterion that holds out has
        them. One refinement in float64 undoes the rounding of float32 sums. Features and row weights that are not tuned
        count as they are in ``omega``: where the rows were formed with others, they are formed again.
        """
        problem = self.holding(complete(omega, self._start))
        problem = problem.precisely() if problem.precision is SINGLE else problem
        fit = Fit(tuple(range(len(problem.parts))), ()) if validation else problem.whole
        return refined(problem, omega, fit)

    @property
    def whole(self) -> Fit:
        """The fit to all training rows."""
        return Fit(tuple(p for p, part in enumerate(self.parts) if part.index is not None), ())

    def training_loss(self, at: Evaluation) -> float:
        """Return the same loss on the training rows, unweighted, each by the first fit that was trained on it."""
        return loss_beside(self, at, "training")

    def stopping_loss(self, at: Evaluation) -> float:
        """Return the same loss on the rows of early stopping, NaN where there are none."""
        return loss_beside(self, at, "stopping")

    def prox(self, omega: Omega, step: float) -> Omega:
        """Return prox_{step r}(ω), each hyper-penalty's prox used once."""
        return {name: self.hyper_penalties[name].prox(value, step) for name, value in omega.items()}
