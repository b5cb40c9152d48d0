"""All that is known of each training row in one table, and a rank that puts the likely wrong labels first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..data.data import Data
from ..engines.leverage import kernel_diagonal
from ..model.piece import whole
from ..solve.weighted import Moments, solve_normal
from ..tune.fitted import FittedModel
from .influence import table
from .shapley import knn_shapley
from .training_fit import MOVES_NOT, TrainingFit, judged_fit, left_out, times
from .weights import effect_on_validation, label_doubt, margins

if TYPE_CHECKING:
    import pandas

__all__ = ["overview"]


def overview(model: FittedModel, *, neighbours: int = 10, data: Data | None = None) -> pandas.DataFrame:
    """Return one table with all that is known of each training row, and with classes one rank of it.

    The rank ``combined`` says which labels are likeliest wrong, given validation rows whose labels are right. Two
    looks that err differently make it: how near rows vote (`knn_shapley`), and a **second look** of the fit,

        θ₂ = argmin_θ Σ_{i trusted} e^{2ω_i} ‖x_iᵀθ − y_i‖² + Σ_v ‖x_vᵀθ − y_v‖² + Σ_j e^{2ω_j} ‖R_jθ‖²,

    to the validation rows v and the training rows that the first look trusts: those of doubt below 0 and Shapley value
    above 0. ``second_doubt`` is then the doubt of `label_doubt` in θ₂ without the row, and combined the mean of the two
    shares of rows that are less suspect, by second_doubt and by −shapley: 1 for the most suspect row of both. Nothing
    in it is chosen by the share of wrong labels. On MNIST with half of the labels drawn at random, and with a fifth, it
    found more of them than either part, of which the second look comes near (``lsat-explorer bench noise``).

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded.
    neighbours : int
        K of `knn_shapley`; regression has no use for it.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a training row, in their order, indexed by their names: the columns of `label_doubt` and of
        `effect_on_validation`, ``weight`` e^{2ω_i}, ``leverage`` h_i = e^{2ω_i} x_iᵀG⁻¹x_i, and with classes
        ``shapley``, ``second_doubt`` and ``combined``; the last three are not defined in regression.

    Raises
    ------
    ValueError
        As `label_doubt`, `effect_on_validation` and `knn_shapley` do.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> table = lsat.explain.overview(run.model)
    >>> suspects = table.sort_values("combined", ascending=False).head(20)
    >>> list(suspects.columns[-3:])
    ['shapley', 'second_doubt', 'combined']
    """
    import pandas

    fit = judged_fit(model, data)
    neighbours = whole(neighbours, "neighbours")  # in regression, too, where nothing else would look at it
    parts = [
        label_doubt(model, data=data),
        effect_on_validation(model, data=data),
        table(fit, {"weight": fit.squared_weights, "leverage": fit.leverages}),
    ]
    if fit.data.task == "classification":
        values = knn_shapley(model, neighbours=neighbours, data=data)
        trusted = (parts[0]["doubt"] < 0) & (values["shapley"] > 0)
        second = table(fit, {"second_doubt": second_doubt(fit, torch.from_numpy(trusted.to_numpy(copy=True)))})
        combined = (_share(second["second_doubt"]) + _share(-values["shapley"])) / 2
        parts += [values, second, combined.to_frame("combined")]
    return pandas.concat(parts, axis=1)


def _share(suspicion: pandas.Series) -> pandas.Series:
    """Return the share of rows that are at most as suspect; one half where nothing is known."""
    return suspicion.rank(pct=True).fillna(0.5)


def second_doubt(fit: TrainingFit, trusted: Tensor) -> Tensor:
    """Return the leave-one-out margin (k,), its sign turned, in the fit to the validation and the ``trusted`` rows."""
    with torch.no_grad():
        trusted = trusted.to(fit.squared_weights.device)
        weights = torch.where(trusted, fit.squared_weights, 0.0)
        ours, judged = fit.train.moments(MOVES_NOT, 0.5 * weights.log()), fit.validation.moments(MOVES_NOT)
        both = Moments(ours.gram + judged.gram, ours.cross + judged.cross)
        solution = solve_normal(both, fit.penalties, [fit.omega[matrix.name] for matrix in fit.penalties])
        if not solution.outcome.ok:
            raise ValueError(f"There is no fit to the rows that are trusted: {solution.outcome.sentence}")
        targets = fit.train.targets.double()
        leverages = weights * kernel_diagonal(fit.train, MOVES_NOT, solution.factor)
        doubt, _ = margins(left_out(targets, targets - times(fit.train, solution.theta), leverages), targets)
    return doubt
