r"""Which training rows move which validation rows.

With E = Y − Xθ, g_v = ∂ℓ_v/∂ŷ_v and the kernel κ_iv = x_iᵀG⁻¹x_v, a log weight moves the loss ℓ_v of a row by

    ∂ℓ_v/∂ω_i = 2 e^{2ω_i} κ_iv (E_i · g_v),     whose mean over validation rows is ∂ψ/∂ω_i.

Where the criterion counts a validation row c_v times, ℓ_v is its loss times N c_v / Σc.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.data import Data
from ..solve.factor import solve_factored
from ..tune.fitted import FittedModel
from .rows import position_of
from .training_fit import MOVES_NOT, TrainingFit, judged_fit, times

if TYPE_CHECKING:
    import pandas

__all__ = ["attribution", "contributions", "table"]


def attribution(model: FittedModel, validation_row: Any, *, data: Data | None = None) -> pandas.DataFrame:
    """Say which training rows help and which hurt one validation row: −∂ℓ_v/∂ω_i, exact and signed.

        effect_i = −2 e^{2ω_i} κ_iv (E_i · g_v),   κ_iv = x_iᵀG⁻¹x_v,   E = Y − Xθ,   g_v = ∂ℓ_v/∂ŷ_v

    ω_i is the log weight of training row i, 0 where the recipe weighs none. A positive effect says that more weight on
    the row lowers the loss ℓ_v of the validation row; a negative one that the row pushes it the wrong way. The mean
    over all validation rows is the effect of `effect_on_validation`, so the shares of one row add up with those of the
    others, in any order; where the criterion counts validation rows, ℓ_v is the loss of the row times N c_v / Σc.
    Rows with a positive kernel are similar in the metric of the fit: show those first.

    The fit is the model's own, to all training rows with its features held, whatever the recipe's criterion is.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded.
    validation_row
        The user's own name of the row, as in ``data.validation.rows``.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a training row, in their order, indexed by their names: ``kernel`` κ_iv, ``effect``.

    Raises
    ------
    ValueError
        When there is no such validation row, the data have no validation rows, or the model was not fitted to them.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> data = lsat.datasets.digits()
    >>> run = lsat.tune(lsat.Recipe(), data, progress=False)
    >>> table = lsat.explain.attribution(run.model, data.validation.rows[0])
    >>> similar = table[table.kernel > 0].sort_values("effect")  # first those that push it the wrong way
    >>> len(table), list(similar.columns)
    (898, ['kernel', 'effect'])
    """
    fit = judged_fit(model, data)
    place = position_of(validation_row, fit.data.validation, "validation", "validation_row")
    with torch.no_grad():
        chosen = torch.tensor([place], device=fit.train.targets.device)
        # Features may be on other machines, where the product is then taken.
        kernels = times(fit.train, fit.solution.solve(fit.features(fit.data.validation, chosen).mT))[:, 0]
        slopes = -2 * fit.squared_weights * (fit.residuals @ fit.slopes[chosen[0]])
    return table(fit, {"kernel": kernels, "effect": kernels * slopes})


def contributions(
    fit: TrainingFit,
    chosen: Tensor,
    dtype: torch.dtype = torch.float64,
    work: Callable[[Tensor], Tensor] = torch.clone,
) -> Tensor:
    """Return ``work`` (r, …) of −∂ℓ_v/∂ω_i (r, S) of chunks of training rows, for some validation rows.

    Parameters
    ----------
    fit : TrainingFit
        The fit.
    chosen : Tensor (S,) int64
        Positions of the validation rows.
    dtype : torch.dtype
        Of the products with the training rows.
    work : callable
        A function of a module, for it may have to travel to where the features are.
    """
    right, exact = fit.features(fit.data.validation, chosen).mT, dtype is torch.float64
    images = solve_factored(fit.solution.factor, right, refine=exact).to(dtype)
    slopes = fit.slopes[chosen].to(dtype)
    factors = (-2 * fit.squared_weights[:, None] * fit.residuals).to(dtype)
    return fit.train.over(MOVES_NOT, partial(_contributed, images, slopes, work), factors)


def _contributed(
    images: Tensor, slopes: Tensor, work: Callable[[Tensor], Tensor], features: Tensor, factors: Tensor
) -> Tensor:
    return work((features.to(images.dtype) @ images) * (factors @ slopes.mT))


def table(fit: TrainingFit, columns: dict[str, Any]) -> pandas.DataFrame:
    """Return columns (k,) as a table indexed by the user's names of the training rows."""
    import pandas

    index = pandas.Index(fit.data.train.rows, name="row")
    plain = {name: c.cpu().numpy() if isinstance(c, Tensor) else c for name, c in columns.items()}
    return pandas.DataFrame(plain, index=index)
