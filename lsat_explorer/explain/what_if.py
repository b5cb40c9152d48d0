r"""What the fit would be without some training rows, or with other labels on some, by a low-rank update of its factor.

With the rows of U = (e^{ω_i} x_iᵀ)_{i dropped} (r, n) and H = U G⁻¹ Uᵀ, the fit without them is

    θ′ = θ − G⁻¹ Uᵀ (I − H)⁻¹ W E,     E = Y − Uθ of the dropped rows, weighted,

which is Woodbury's identity; labels that change move XᵀW²Y only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..data.data import Data
from ..data.relabel import target_of
from ..data.tables import shown
from ..solve.weighted import solve_normal
from ..tune.fitted import FittedModel
from .rows import positions_of
from .training_fit import MOVES_NOT, TrainingFit, judged_fit, times

__all__ = ["Judged", "WhatIf", "what_if"]

_MANY = 4
"""From n / 4 rows on the normal equations are summed again without them: it costs no more, and nothing cancels."""


@dataclass(frozen=True)
class Judged:
    """``loss`` ψ and ``error`` on the validation rows: the share misclassified, or the root mean square.

    Rows count as often as the criterion says.
    """

    loss: float
    error: float


@dataclass(frozen=True)
class WhatIf:
    """What a change of training rows does.

    Attributes
    ----------
    before, after : Judged
        The validation rows as the fit predicts them.
    model : FittedModel
        The changed fit, to predict with.
    """

    before: Judged
    after: Judged
    model: FittedModel


def what_if(
    model: FittedModel, drop: Any = (), relabel: Mapping[Any, Any] | None = None, *, data: Data | None = None
) -> WhatIf:
    """Return what the validation rows would say had some training rows been left out, or labelled otherwise.

        θ′ = argmin_θ Σ_{i not dropped} e^{2ω_i} ‖x_iᵀθ − y_i′‖² + Σ_j e^{2ω_j} ‖R_jθ‖²

    The hyper-parameters ω and the features, as prepared on all training rows, are held; the answer is that of a new
    solve (to 1e-6), for less: a rank-r update of the factor for r dropped rows.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded.
    drop : row name or iterable of row names
        Training rows to leave out, by the user's own names, as in ``data.train.rows``; for a mask of the training
        rows ``data.train.rows[mask]``.
    relabel : dict of row name to label, optional
        Training rows with another class, or in regression another number (a sequence of m for m outputs).
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    WhatIf
        ``before`` and ``after``, each with ``loss`` and ``error``, and the changed ``model``. Nothing is changed in
        place.

    Raises
    ------
    ValueError
        When a row is unknown, dropped twice, or dropped and relabelled; when drop is a mask; when a class is unknown or
        a number is none; when no fit is left; when the data have no validation rows.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> data = lsat.datasets.digits()
    >>> model = lsat.tune(lsat.Recipe(), data, progress=False).model
    >>> first, second, *_ = data.train.rows
    >>> answer = lsat.explain.what_if(model, drop=[first], relabel={second: 7})
    >>> abs(answer.after.loss - answer.before.loss) < 0.01
    True
    """
    fit = judged_fit(model, data)
    train = fit.data.train
    dropped = positions_of(drop, train, "train", "drop")
    labels = _labels(fit, relabel)
    both = set(dropped) & set(labels)
    if both:
        raise ValueError(
            f"Row {shown(train.rows[min(both)])} is both dropped and relabelled: name it in drop or in relabel."
        )
    with torch.no_grad():
        theta = _changed(fit, dropped, labels)
        before, after = _judge(fit, fit.judged), _judge(fit, times(fit.validation, theta))
    return WhatIf(before, after, replace(model, theta=theta.contiguous(), data=None))


def _judge(fit: TrainingFit, predictions: Tensor) -> Judged:
    return Judged(float(fit.loss_of(predictions)), fit.error_of(predictions))


def _labels(fit: TrainingFit, relabel: Mapping[Any, Any] | None) -> dict[int, Tensor]:
    """Return the targets (m,) of relabelled rows by position."""
    if relabel is None:
        return {}
    if not isinstance(relabel, Mapping):
        raise ValueError(f"relabel is a {type(relabel).__name__}, expected a dict such as {{row: label}}.")
    places = positions_of(relabel, fit.data.train, "train", "relabel")
    found = zip(places, relabel.items(), strict=True)
    return {place: target_of(fit.data, row, label).to(fit.train.targets.device) for place, (row, label) in found}


def _changed(fit: TrainingFit, dropped: list[int], labels: dict[int, Tensor]) -> Tensor:
    """Return θ′ (n, m)."""
    theta = fit.solution.theta
    if labels:
        theta = theta + fit.solution.solve(_moved(fit, labels))
    if not dropped:
        return theta
    if len(dropped) * _MANY >= len(theta):
        return _anew(fit, dropped, labels)
    chosen = torch.tensor(dropped, device=theta.device)
    scale = fit.squared_weights[chosen].sqrt()[:, None]
    U = scale * fit.features(fit.data.train, chosen)
    images = fit.solution.solve(U.mT)
    middle = torch.eye(len(dropped), dtype=U.dtype, device=U.device) - U @ images
    least = torch.linalg.eigvalsh((middle + middle.mT) / 2)[0]
    if least <= torch.finfo(torch.float64).eps ** 0.5:
        return _anew(fit, dropped, labels)  # which says why, if there is no fit
    residuals = scale * fit.train.targets[chosen].double() - U @ theta
    return theta - images @ torch.linalg.solve(middle, residuals)


def _moved(fit: TrainingFit, labels: dict[int, Tensor]) -> Tensor:
    """Return by how much XᵀW²Y moves (n, m)."""
    chosen = torch.tensor(list(labels), device=fit.solution.theta.device)
    change = torch.stack(list(labels.values())) - fit.train.targets[chosen].double()
    return fit.features(fit.data.train, chosen).mT @ (fit.squared_weights[chosen][:, None] * change)


def _anew(fit: TrainingFit, dropped: list[int], labels: dict[int, Tensor]) -> Tensor:
    """Return θ′ by a new solve."""
    log_weights = 0.5 * fit.squared_weights.log()
    log_weights[dropped] = -torch.inf
    if bool((log_weights == -torch.inf).all()):
        raise ValueError(f"drop leaves none of the {len(log_weights):,} training rows: keep some.")
    moments = fit.train.moments(MOVES_NOT, log_weights)
    if labels:
        moments = moments._replace(cross=moments.cross + _moved(fit, labels))
    solution = solve_normal(moments, fit.penalties, [fit.omega[matrix.name] for matrix in fit.penalties])
    if not solution.outcome.ok:
        raise ValueError(f"There is no fit without the dropped rows: {solution.outcome.sentence}")
    return solution.theta
