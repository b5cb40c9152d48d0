r"""The fit that is explained: a model's own, to all training rows, with its factor and its residuals kept.

G θ = XᵀW²Y,   G = XᵀW²X + Σ_j e^{2ω_j} R_jᵀR_j,   E = Y − Xθ,   h_i = w_i² x_iᵀG⁻¹x_i,   w_i = e^{ω_i}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ..data.data import Data
from ..data.split import Split
from ..engines.by_row import ByRow
from ..engines.leverage import kernel_diagonal
from ..engines.loaded import load_rows
from ..engines.memory import never
from ..engines.moving import Moving
from ..engines.row_sums import RowSums
from ..model.choices import Criterion
from ..model.losses import Loss
from ..model.piece import Omega, within
from ..model.prepared import Prepared
from ..solve.precision import DOUBLE, MIXED
from ..solve.weighted import PenaltyMatrix, Solution, solve_normal
from ..tune.criteria import HeldOut
from ..tune.fitted import FittedModel
from ..tune.run import Run
from ..tune.score import error_of

__all__ = ["MOVES_NOT", "TrainingFit", "judged_fit", "left_out", "times", "training_fit"]

MOVES_NOT = Moving()
"""The features are those of the model's ω: no block of them moves."""

_AGREES = 1e-3  # of the largest prediction: the rounding of a float32 run of an ill-conditioned fit stays below

_KNOWN: WeakKeyDictionary[FittedModel, TrainingFit] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class TrainingFit:
    """A fit to all training rows at one ω, and what follows from it, found when it is first asked for.

    Parameters
    ----------
    data : Data
        The rows.
    train, validation : RowSums
        Their features φ(u; ω), held as the recipe's engine says.
    prepared : Prepared
        The featurizer, as prepared for the model.
    loss : Loss
        The loss ℓ of a row.
    criterion : Criterion
        ψ of validation rows from their losses: the recipe's, where it is of these rows, or `HeldOut`.
    omega : dict of str to Tensor
        The hyper-parameters.
    penalties : list of PenaltyMatrix
        The R_j.
    log_weights : Tensor (k,) or None
        The ω_i of the training rows; None where all weigh one.
    """

    data: Data
    train: RowSums
    validation: RowSums
    prepared: Prepared
    loss: Loss
    criterion: Criterion
    omega: Omega
    penalties: list[PenaltyMatrix]
    log_weights: Tensor | None

    @classmethod
    def of(cls, model: FittedModel, data: Data) -> TrainingFit:
        """Fit again what a model was fitted to."""
        recipe, device = model.recipe, model.theta.device
        weights, targets = recipe.data_weights, data.train.targets.to(device)
        # Rows are stored as the run stored them: the fit is then the model's. Every product is float64.
        precision = MIXED if recipe.dtype == "float32" else DOUBLE
        local = within("featurizer", model.omega)

        def rows(split: Split) -> RowSums:
            given: Any = (model.prepared, split.inputs, split.targets, local, set(), False)
            return load_rows(recipe.engine, *given, precision=precision, device=device, check=never)

        with torch.no_grad():
            log_weights = None
            if weights is not None:
                log_weights = weights.log_weights(within("data_weights", model.omega), targets)
                log_weights = log_weights.here() if isinstance(log_weights, ByRow) else log_weights
            return cls(
                data=data,
                train=rows(data.train),
                validation=rows(data.validation),
                prepared=model.prepared,
                loss=model.loss,
                criterion=recipe.criterion if recipe.criterion.held_out else HeldOut(),
                omega=model.omega,
                penalties=recipe.regularizer.penalties(model.blocks, device, "regularizer"),
                log_weights=log_weights,
            )

    @cached_property
    def at_zero(self) -> TrainingFit:
        """The fit where every training row weighs one: itself, where they do."""
        equal = self.log_weights is None or not bool(self.log_weights.any())
        return self if equal else replace(self, log_weights=None)

    @cached_property
    def solution(self) -> Solution:
        """θ (n, m) with the factor of G.

        Raises
        ------
        ValueError
            Where the normal equations have no solution.
        """
        with torch.no_grad():
            moments = self.train.moments(MOVES_NOT, self.log_weights)
            solution = solve_normal(moments, self.penalties, [self.omega[matrix.name] for matrix in self.penalties])
        if not solution.outcome.ok:
            raise ValueError(f"There is no fit at these hyper-parameters: {solution.outcome.sentence}")
        return solution

    @cached_property
    def squared_weights(self) -> Tensor:
        """e^{2ω_i} (k,)."""
        if self.log_weights is None:
            return torch.ones(len(self.train), dtype=torch.float64, device=self.train.targets.device)
        return (2 * self.log_weights).exp()

    @cached_property
    def residuals(self) -> Tensor:
        """E = Y − Xθ (k, m)."""
        return self.train.targets.double() - times(self.train, self.solution.theta)

    @cached_property
    def kernels(self) -> Tensor:
        """x_iᵀG⁻¹x_i (k,) of the training rows."""
        with torch.no_grad():
            return kernel_diagonal(self.train, MOVES_NOT, self.solution.factor)

    @cached_property
    def leverages(self) -> Tensor:
        """h_i = w_i² x_iᵀG⁻¹x_i (k,)."""
        return self.squared_weights * self.kernels

    @cached_property
    def left_out(self) -> Tensor:
        """Predictions (k, m) of each training row by the fit without it, NaN where it determines its own fit."""
        return left_out(self.train.targets.double(), self.residuals, self.leverages)

    @cached_property
    def judged(self) -> Tensor:
        """Predictions X_val θ (N, m) of the validation rows."""
        return times(self.validation, self.solution.theta)

    @cached_property
    def slopes(self) -> Tensor:
        """N ∂ψ/∂ŷ_v (N, m): where ψ is a plain mean over validation rows, the gradient of each row's own loss."""
        with torch.enable_grad():
            predictions = self.judged.detach().clone().requires_grad_()
            (slopes,) = torch.autograd.grad(self.loss_of(predictions), predictions)
        return len(predictions) * slopes

    def features(self, split: Split, chosen: Tensor) -> Tensor:
        """Return the features (S, n) of some rows of a split, as they were stored for the fit, in float64."""
        inputs = split.inputs[chosen.to(split.inputs.device)].to(self.train.targets.device)
        with torch.no_grad():
            blocks = self.prepared.blocks(within("featurizer", self.omega), inputs.double())
        return torch.cat(list(blocks.values()), 1).to(self.train.dtype).double()

    def loss_of(self, predictions: Tensor) -> Tensor:
        """Return ψ of predictions (N, m) of the validation rows."""
        omega = {name: value.detach() for name, value in within("loss", self.omega).items()}
        return self.criterion.value(self.loss, predictions, self.validation.targets.double(), None, omega)

    def error_of(self, predictions: Tensor) -> float:
        """Return the share of validation rows misclassified, or the root mean square of the errors."""
        return float(error_of(predictions, self.validation.targets.double(), self.data.task, self.criterion.mean))


def times(rows: RowSums, theta: Tensor) -> Tensor:
    """Return X ``theta`` (N, m), every product in float64."""
    with torch.no_grad():
        if rows.dtype is torch.float64:
            return rows.predict(MOVES_NOT, theta)
        return rows.over(MOVES_NOT, partial(_product, theta))


def _product(theta: Tensor, features: Tensor) -> Tensor:
    return features @ theta


def left_out(targets: Tensor, residuals: Tensor, leverages: Tensor) -> Tensor:
    """Return ŷ_{−i} = y_i − E_i / (1 − h_i) (k, m), NaN where 1 − h_i is rounding."""
    rest = 1 - leverages
    alone = rest <= torch.finfo(torch.float64).eps ** 0.5
    return targets - residuals / torch.where(alone, torch.nan, rest)[:, None]


def training_fit(model: Any, data: Data | None = None) -> TrainingFit:
    """Return the fit of a model, kept as long as the model is.

    Parameters
    ----------
    model : FittedModel
        What is explained.
    data : Data, optional
        The rows that it was fitted to; a model of a run, ``run.model``, knows them.

    Raises
    ------
    ValueError
        When there are no rows, or others than those that the model was fitted to.
    """
    if not isinstance(model, FittedModel):
        raise ValueError(f"model is a {type(model).__name__}, expected a FittedModel: {_wanted(model)}.")
    if data is None:
        data = model.data
    if data is None:
        raise ValueError(
            "This model holds no rows, as one that was loaded: give data=, the Data that it was fitted to."
        )
    known = _KNOWN.get(model)
    if known is None or known.data is not data:
        _check_kind(model, data)
        known = TrainingFit.of(model, data)
        _check_same(model, known)
        _KNOWN[model] = known
    return known


def _wanted(given: Any) -> str:
    """Return in words what to give in place of what is no model."""
    if isinstance(given, Run):
        return "give run.model"
    if not (hasattr(given, "fit") and hasattr(given, "explore")):  # as an estimator of ours has, alone
        return "give the model of a run, run.model, or of a fitted estimator, estimator.model_"
    if not hasattr(given, "model_"):
        return "fit(X, y) first, then give estimator.model_"
    if hasattr(given, "run_") and given.run_.recipe.criterion.held_out:  # the last fit may have those rows, too
        return "give estimator.run_.model, the fit without the rows held out"
    return "give estimator.model_"


def judged_fit(model: Any, data: Data | None = None) -> TrainingFit:
    """Return the fit of a model as `training_fit` does, where there are validation rows to judge it by.

    Raises
    ------
    ValueError
        As `training_fit` does; when the data have no validation rows, as those of an estimator that leaves one out.
    """
    fit = training_fit(model, data)
    if not len(fit.validation):
        raise ValueError(
            "The data have no validation rows, by which this is judged: fit with validation=…, such as 0.3 for a share "
            "of the rows; label_doubt takes none."
        )
    return fit


def _check_kind(model: FittedModel, data: Any) -> None:
    if not isinstance(data, Data):
        raise ValueError(f"data is a {type(data).__name__}, expected Data: use lsat.Data.from_arrays(X, y).")
    for what in ("feature_names", "classes", "target_names"):
        ours, theirs = getattr(model, what), getattr(data, what)
        if ours != theirs and (what != "target_names" or (ours and theirs)):  # older files do not tell them
            raise ValueError(
                f"The model and data={data!r} have different {what.replace('_', ' ')}: give the data that the model "
                "was fitted to."
            )


def _check_same(model: FittedModel, fit: TrainingFit) -> None:
    """Refuse rows that the model was not fitted to: what is said of them would be of another fit."""
    difference = times(fit.train, model.theta - fit.solution.theta).abs().max()
    if difference <= _AGREES * times(fit.train, model.theta).abs().max():
        return
    if model.data is fit.data:
        raise ValueError(
            f"The model was not fitted to the training rows of {fit.data!r} alone, as lsat.refit fits one to the "
            "validation rows too, which then judge nothing: give estimator.run_.model, or that of a run, run.model."
        )
    raise ValueError(
        f"The model was not fitted to the training rows of {fit.data!r} as they are: give the data that it was fitted "
        "to, or in place of a model of what_if that of the run, run.model, or of a run on the changed rows, "
        "lsat.tune(recipe, verdicts.applied(data)).model."
    )
