"""What the fit says of each training row: whether its label is doubtful, and whether its weight helps validation.

Neither is an error or a quality of the row: a doubtful label may be right, and a helpful row mislabelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.data import Data
from ..solve.weighted import weight_gradient
from ..tune.fitted import FittedModel
from .influence import contributions, table
from .training_fit import MOVES_NOT, TrainingFit, judged_fit, times, training_fit

if TYPE_CHECKING:
    import pandas

__all__ = ["effect_on_validation", "label_doubt"]

_SAMPLE = 1_000  # validation rows that tell the standard error


def label_doubt(model: FittedModel, *, data: Data | None = None) -> pandas.DataFrame:
    """Say how doubtful the label of each training row is to the fit without that row, in closed form.

        ŷ_{−i} = y_i − (y_i − ŷ_i) / (1 − h_i),   h_i = e^{2ω_i} x_iᵀG⁻¹x_i,   from one factor of G

    With classes, doubt_i = max_{c ≠ c_i} ŷ_{−i,c} − ŷ_{−i,c_i}, the leave-one-out margin with its sign turned: above 0
    another class, ``suggested``, fits better than the one given. ``confidence`` is the probability of the suggested
    class, softmax(β ŷ_{−i}) with the β that makes the labels of the validation rows likeliest; where there are none,
    those of the training rows that weigh anything, each by its ŷ_{−i}.

    In regression ``suggested`` is ŷ_{−i} and doubt the studentised leave-one-out residual ∣t_i∣, in outputs j its root
    mean square, with what a row of weight one would vary by:

        t_ij = (y_ij − ŷ_{−i,j}) / (s_ij √(1 + x_iᵀG_{−i}⁻¹x_i)),   s_ij² = (Q_j − e^{2ω_i} E_ij² / (1 − h_i)) / (ν − 1)

    Q_j is the minimum of the least squares objective of output j and ν = k − Σ h_i, k the rows that weigh anything; in
    ordinary least squares t is the externally studentised residual of the textbooks. ``confidence`` is the probability
    that a residual of normal noise is smaller: F(m, ν − 1) at doubt². Of a row that weighs nothing ν − 1 is ν.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded. The features are held as it has them.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a training row, in their order, indexed by their names: ``given`` and ``suggested``, labels or numbers
        (tuples of numbers for several outputs), ``confidence`` in 0 .. 1, and ``doubt``, larger where more doubtful.
        Doubt and confidence are NaN for a row that determines its own fit (h_i = 1 to rounding).

    Raises
    ------
    ValueError
        When the model was not fitted to the data, or in regression the fit has as many parameters as rows (ν ≤ 1).

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> table = lsat.explain.label_doubt(run.model)
    >>> list(table.columns), int((table.doubt > 0).sum()) < len(table) // 10
    (['given', 'suggested', 'confidence', 'doubt'], True)
    """
    fit = training_fit(model, data)
    with torch.no_grad():
        columns = _of_classes(fit) if fit.data.task == "classification" else _of_numbers(fit)
    return table(fit, {"given": _given(fit), **columns})


def _given(fit: TrainingFit) -> Any:
    labels = fit.data.train.labels
    return labels if labels.ndim == 1 else _tuples(labels)


def _tuples(rows: np.ndarray) -> Any:
    """Return rows (k, m) as one column: numbers, or tuples where m > 1."""
    return rows[:, 0] if rows.shape[1] == 1 else [tuple(row) for row in rows.tolist()]


def _of_classes(fit: TrainingFit) -> dict[str, Any]:
    scores = fit.left_out
    doubt, suggested = margins(scores, fit.train.targets)
    shares = torch.softmax(_sharpness(fit) * scores, 1).gather(1, suggested[:, None])[:, 0]
    labels = np.empty(len(fit.data.classes or ()), dtype=fit.data.train.labels.dtype)
    labels[:] = fit.data.classes
    return {"suggested": labels[suggested.cpu().numpy()], "confidence": shares, "doubt": doubt}


def margins(scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return by how much the best other class exceeds the one given (k,), and which it is, from scores (k, m)."""
    given = targets.argmax(1, keepdim=True)
    others, suggested = scores.scatter(1, given, -torch.inf).max(1)
    return others - scores.gather(1, given)[:, 0], suggested


def _sharpness(fit: TrainingFit) -> float:
    """Return β ≥ 0 that minimizes the mean cross-entropy of softmax(β ŷ) on the rows that judge.

    These are the validation rows, or where there are none the training rows, each as the fit without it has it.

    Its derivative Σ_v E_{softmax}[ŷ_v] − ŷ_{v,c_v} rises with β: the sign is searched over 60 octaves about the scale
    of the scores.
    """
    if len(fit.validation):
        scores, chosen = fit.judged, fit.validation.targets.argmax(1, keepdim=True)
    else:
        known = fit.left_out.isfinite().all(1) & (fit.squared_weights > 0)
        scores, chosen = fit.left_out[known], fit.train.targets[known].argmax(1, keepdim=True)
    spread = float((scores.amax(1) - scores.amin(1)).mean())
    if not spread > 0:
        return 0.0
    aim = scores.gather(1, chosen).mean()
    low, high = -30.0, 30.0
    for _ in range(24):
        middle = (low + high) / 2
        expected = (torch.softmax(2.0**middle / spread * scores, 1) * scores).sum(1).mean()
        low, high = (middle, high) if expected < aim else (low, middle)
    return float(2.0 ** ((low + high) / 2) / spread)


def _of_numbers(fit: TrainingFit) -> dict[str, Any]:
    from scipy import stats

    suggested, residuals, weights = fit.left_out, fit.residuals, fit.squared_weights[:, None]
    rest = 1 - fit.leverages[:, None]
    weighed = weights > 0  # no other row costs a degree of freedom when it is left out
    freedom = float(weighed.sum() - fit.leverages.sum()) - weighed.double()
    if freedom.min() <= 0:
        raise ValueError(
            f"The fit has as many parameters as its {len(residuals):,} rows determine, so nothing is left to tell the "
            "noise by: raise a regularizer."
        )
    objective = (weights * residuals.square()).sum(0) + _penalties(fit)
    variance = (objective - weights * residuals.square() / rest) / freedom
    spread = variance * (1 + fit.kernels[:, None] / rest)
    doubt = ((fit.train.targets.double() - suggested).square() / spread).mean(1).sqrt()
    confidence = stats.f.cdf(doubt.square().cpu().numpy(), residuals.shape[1], freedom[:, 0].cpu().numpy())
    return {"suggested": _tuples(suggested.cpu().numpy()), "confidence": confidence, "doubt": doubt}


def _penalties(fit: TrainingFit) -> Tensor:
    """Return Σ_j e^{2ω_j} ‖R_jθ‖² of each output (m,)."""
    theta = fit.solution.theta
    values = [
        sum((matrix.value(column[:, None], fit.omega[matrix.name]) for matrix in fit.penalties), theta.new_zeros(()))
        for column in theta.mT
    ]
    return torch.stack(values)


def effect_on_validation(model: FittedModel, *, data: Data | None = None) -> pandas.DataFrame:
    """Say whether more weight on a training row would lower the validation loss: −∂ψ/∂ω_i, and how noisy that is.

        effect_i = −∂ψ/∂ω_i = −2 e^{2ω_i} E_i · (XC)_i,   C = G⁻¹ ∇_θψ,   E = Y − Xθ

    ψ is the loss of the model on the validation rows, each counted as often as the criterion says, whose rows may be
    others: with `KFold`, `LeaveOneOut` and `GCV` the validation rows decided nothing. ω_i is the log weight of training
    row i, so that a positive effect says that more weight lowers ψ. The effect of a row that is left out (weight 0) is
    0; at ω = 0, where every row weighs one and all else is as it is, it has one too.

    An effect is a mean over the N validation rows; its standard error is the deviation of the shares of single rows
    over √N, found from at most 1,000 of them, evenly spaced. An effect of less than two standard errors says little.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded. The features are held as it has them.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a training row, in their order, indexed by their names: ``effect`` at the present ω and its standard
        error ``effect_error``, ``effect_at_zero`` and ``effect_at_zero_error``, those at ω = 0.

    Raises
    ------
    ValueError
        When the model was not fitted to the data, these have no validation rows, or there is no fit at ω = 0.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> table = lsat.explain.effect_on_validation(run.model)
    >>> list(table.columns)
    ['effect', 'effect_error', 'effect_at_zero', 'effect_at_zero_error']
    >>> bool((table.effect == table.effect_at_zero).all())  # the recipe weighs no rows
    True
    """
    fit = judged_fit(model, data)
    now = effects(fit), standard_errors(fit)
    zero = now if fit.at_zero is fit else (effects(fit.at_zero), standard_errors(fit.at_zero))
    names = ("effect", "effect_error", "effect_at_zero", "effect_at_zero_error")
    return table(fit, dict(zip(names, (*now, *zero), strict=True)))


def effects(fit: TrainingFit) -> Tensor:
    """Return −∂ψ/∂ω_i (k,): k n m work."""
    total = fit.validation.back(MOVES_NOT, fit.slopes / len(fit.validation))
    images = times(fit.train, fit.solution.solve(total))
    return -weight_gradient(fit.residuals, images, 0.5 * fit.squared_weights.log())


def standard_errors(fit: TrainingFit) -> Tensor:
    """Return the standard error (k,) of `effects` over validation rows, NaN for a single one.

    Products are float32: the third digit of a standard error says nothing.
    """
    count = len(fit.validation)
    spaced = np.linspace(0, count - 1, min(count, _SAMPLE)).round().astype(np.int64)
    chosen = torch.as_tensor(spaced, device=fit.train.targets.device)
    with torch.no_grad():
        return contributions(fit, chosen, torch.float32, _deviation) / count**0.5


def _deviation(effects: Tensor) -> Tensor:
    return effects.double().std(1)
