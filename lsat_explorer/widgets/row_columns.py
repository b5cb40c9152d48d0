"""What a fit says of each training row, as columns and as words: doubt of its label, effect of its weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lsat_explorer.explain import label_doubt
from lsat_explorer.explain.training_fit import judged_fit
from lsat_explorer.explain.weights import effects, standard_errors
from lsat_explorer.plots.words import signed
from lsat_explorer.tune.fitted import FittedModel
from lsat_explorer.widgets.row_predictions import Predictions
from lsat_explorer.widgets.rows import name_of

__all__ = ["Doubts", "Effects", "Told", "doubts_of", "effect_text", "effects_of", "noise_text", "percent"]

_MANY = 1_000
"""Validation rows from which on the noise of an effect is not spoken of."""

_SURE = 0.95  # of a residual in regression, before another number is called a suggestion


@dataclass(frozen=True, eq=False)
class Doubts:
    """Which label the fit without a row suggests for it, of the k training rows.

    Parameters
    ----------
    doubt : (k,) array
        Larger where the given label is more doubtful, as `lsat_explorer.explain.label_doubt` has it.
    suggested : list of k labels
        The class that fits best of those not given; in regression what the fit without the row predicts.
    confidence : (k,) array
        The probability of that class; in regression, that noise is smaller than the residual.
    doubtful : (k,) bool array
        Whether the suggestion fits better than what is given.
    """

    doubt: NDArray[np.float64]
    suggested: list[Any]
    confidence: NDArray[np.float64]
    doubtful: NDArray[np.bool_]

    def words(self, position: int) -> str:
        """Return the suggestion for one row."""
        return name_of(self.suggested[position], 40)


@dataclass(frozen=True, eq=False)
class Effects:
    """What more weight on each of the k training rows does to the validation loss, over ``count`` validation rows."""

    effect: NDArray[np.float64]
    error: NDArray[np.float64]
    count: int

    def words(self, position: int) -> str:
        """Return the effect of one row with its standard error."""
        return effect_text(self.effect[position], self.error[position])


@dataclass(frozen=True, eq=False)
class Told:
    """What is known of the rows that are shown; None for what was not asked for, or is not known yet."""

    predictions: Predictions | None = None
    doubts: Doubts | None = None
    effects: Effects | None = None


def doubts_of(model: FittedModel) -> Doubts:
    """Return `label_doubt` of a run's model as columns."""
    table = label_doubt(model)
    doubt, confidence = (table[name].to_numpy(dtype=np.float64) for name in ("doubt", "confidence"))
    doubtful = doubt > 0 if model.classes is not None else confidence >= _SURE
    return Doubts(doubt, table["suggested"].tolist(), confidence, doubtful)


def effects_of(model: FittedModel) -> Effects:
    """Return what `effect_on_validation` says of a run's model at its own ω; that at ω = 0 would take another fit."""
    fit = judged_fit(model)
    effect, error = (values.cpu().numpy() for values in (effects(fit), standard_errors(fit)))
    return Effects(effect, error, len(fit.validation))


def effect_text(effect: float, error: float) -> str:
    r"""Return an effect with its standard error in words, with minus signs at which no line is broken.

    Examples
    --------
    >>> effect_text(1.234e-5, 3.21e-6), effect_text(0.02, float("nan")), effect_text(0.0, 0.0)
    ('+1.2e−5 ±\xa03e−6', '+2.0e−2', '0')
    """
    if not effect:
        return "0"
    return signed(effect, "+.1e") + (f" ±\N{NO-BREAK SPACE}{signed(error, '.0e')}" if np.isfinite(error) else "")


def noise_text(effects: Effects) -> str:
    """Return how noisy the effects are, where fewer than 1,000 validation rows tell them; else nothing.

    Examples
    --------
    >>> noise_text(Effects(np.array([3e-5, 1e-6, -4e-6]), np.full(3, 1e-5), 200)).split(": ")[1]
    'its standard error is 1e−5 for the middle row, and 1 of 3 rows has an effect of two standard errors or more.'
    """
    if effects.count >= _MANY:
        return ""
    known = np.isfinite(effects.error)
    if not known.any():
        return "With a single validation row nothing tells how noisy an effect is."
    clear = int((np.abs(effects.effect[known]) >= 2 * effects.error[known]).sum())
    middle = signed(np.median(effects.error[known]), ".0e")
    return (
        f"With {effects.count:,} validation rows an effect is noisy: its standard error is "
        f"{middle} for the middle row, and {clear:,} of {len(effects.effect):,} rows "
        f"{'has' if clear == 1 else 'have'} an effect of two standard errors or more."
    )


def percent(share: float) -> str:
    """Return a probability as a short text.

    Examples
    --------
    >>> percent(0.583), percent(0.0004), percent(1.0), percent(float("nan"))
    ('58 %', '< 1 %', '> 99 %', '–')
    """
    if not np.isfinite(share):
        return "–"
    if share < 0.01:
        return "< 1 %"
    return "> 99 %" if share > 0.99 else f"{100 * share:.0f} %"
