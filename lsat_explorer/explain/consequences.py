r"""Which validation rows one training row moves: `attribution` from the other side.

With E = Y − Xθ, g_v = ∂ℓ_v/∂ŷ_v and the kernel κ_iv = x_iᵀG⁻¹x_v, a log weight moves the loss ℓ_v of a row by

    ∂ℓ_v/∂ω_i = 2 e^{2ω_i} κ_iv (E_i · g_v).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..data.data import Data
from ..tune.fitted import FittedModel
from .rows import position_of
from .training_fit import judged_fit, times

if TYPE_CHECKING:
    import pandas

__all__ = ["consequences"]


def consequences(model: FittedModel, training_row: Any, *, data: Data | None = None) -> pandas.DataFrame:
    """Say which validation rows one training row helps and which it hurts: −∂ℓ_v/∂ω_i, exact and signed.

        effect_v = −2 e^{2ω_i} κ_iv (E_i · g_v),   κ_iv = x_iᵀG⁻¹x_v,   E = Y − Xθ,   g_v = ∂ℓ_v/∂ŷ_v

    A positive effect says that more weight on the training row lowers the loss ℓ_v of the validation row. The mean over
    the validation rows is the row's effect in `effect_on_validation`; where the criterion counts validation rows, ℓ_v
    is the loss of the row times N c_v / Σc. One solve with the factor at hand, so O(n²)
    beside the products with the N validation rows.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded.
    training_row
        The user's own name of the row, as in ``data.train.rows``.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a validation row, in their order, indexed by their names: ``kernel`` κ_iv, ``effect``.

    Raises
    ------
    ValueError
        When there is no such training row, the data have no validation rows, or the model was not fitted to them.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> data = lsat.datasets.digits()
    >>> run = lsat.tune(lsat.Recipe(), data, progress=False)
    >>> table = lsat.explain.consequences(run.model, data.train.rows[0])
    >>> effect = lsat.explain.effect_on_validation(run.model).effect.iloc[0]
    >>> len(table), bool(abs(table.effect.mean() - effect) < 1e-12)
    (449, True)
    """
    import pandas

    fit = judged_fit(model, data)
    place = position_of(training_row, fit.data.train, "train", "training_row")
    with torch.no_grad():
        chosen = torch.tensor([place], device=fit.train.targets.device)
        image = fit.solution.solve(fit.features(fit.data.train, chosen).mT)
        kernel = times(fit.validation, image)[:, 0]
        effect = -2 * fit.squared_weights[place] * kernel * (fit.slopes @ fit.residuals[place])
    index = pandas.Index(fit.data.validation.rows, name="row")
    return pandas.DataFrame({"kernel": kernel.cpu().numpy(), "effect": effect.cpu().numpy()}, index=index)
