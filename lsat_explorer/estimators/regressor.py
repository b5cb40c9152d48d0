"""The regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ..data.foreign import output_names
from ..data.row_names import row_names
from .base import TunedLeastSquares, read_weights
from .reading import readable

__all__ = ["TunedLeastSquaresRegressor"]


class TunedLeastSquaresRegressor(RegressorMixin, TunedLeastSquares):
    """Least squares regression whose hyper-parameters ω are tuned while it fits.

        θ(ω) = argmin_θ Σ_i s_i ‖φ(x_i; ω)ᵀθ − y_i‖² + Σ_j e^{2ω_j} ‖R_j θ‖²_F,   ω = argmin ψ(θ(ω)) + r(ω)

    ψ is the loss on rows not fitted, r the hyper-penalties, s_i the sample weights.

    Parameters
    ----------
    recipe : Recipe or None
        Features φ, penalties R_j, loss ψ, hyper-penalties r, criterion and method. None: standardised columns and a
        constant, a ridge on the columns (λ = e^{2ω} from 3·10⁻⁴ up), the squared error, `LineSearch`, and by the
        number of rows `LeaveOneOut` in closed form up to 10,000, `HeldOut` beyond.
    validation : float, int or None
        Share or number of the rows that are held out for ψ. None: none where the recipe's criterion, or without a
        recipe the rule above, holds none out, else a quarter. Without sample weights they join the last fit, at the ω
        found.
    random_state : int, RandomState instance or None
        Seeds the division and every random choice of the recipe; None keeps the recipe's seed.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (m, d)
        Coefficients of the columns of X, where the features are linear in them; else there is no such attribute.
    intercept_ : float or ndarray of shape (m,)
        The constant that belongs to them.
    recipe_ : Recipe
        The recipe in use, before sample weights.
    run_ : Run
        Every iterate: ``run_.history()`` is a table. A copy or a pickle does not carry it.
    model_ : FittedModel
        The fit, with ``theta``, ``omega`` and ``save``.
    n_iter_ : int
        Evaluations after the start.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Raises
    ------
    ValueError
        In ``fit``: for a column of categories, to be encoded before, for a recipe that does not fit the data, naming
        the piece, and for a sparse X of so many columns that the normal equations, which are dense, have no room.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        When the run ended before ψ was flat, or converged to a tolerance that is coarse for the size of ψ.

    Notes
    -----
    A sample weight counts the row so many times, in the fit, in ψ and without a recipe in the scales of the columns:
    a weight of 2 is the row twice, of which leave-one-out leaves out one copy, and 0 is no row. Divide weights that
    tell how exact a row is by their mean. The features of a recipe of your own are prepared on rows counted once.

    A sparse X stays so where the features shift and scale its columns, as those of no recipe do, and `Identity`,
    `Scale`, `SelectFeatures` and `Constant`: all is formed from XᵀW²X. Other features are formed some rows at a time.

    The tolerance of `LineSearch` and `ProximalGradient` is taken in units of the variance of y, so that those that y is
    measured in do not matter.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import lsat_explorer as lsat
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = lsat.TunedLeastSquaresRegressor().fit(X, y)
    >>> model.coef_.shape, round(model.score(X, y), 2)
    ((10,), 0.52)
    >>> diagonal = lsat.Recipe(regularizer=lsat.Diagonal(block="features"), criterion=lsat.LeaveOneOut())
    >>> lsat.TunedLeastSquaresRegressor(diagonal).fit(X, y).run_.omega["regularizer.log_weight"].shape
    torch.Size([10])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedLeastSquaresRegressor:
        """Tune and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (N, d)
            The index of a frame, where it names each row once, calls the rows in what is explained of the run; without
            one they are called by their positions.
        y : array-like of shape (N,) or (N, m)
            The names of a frame's columns, or a series', are kept in ``model_.target_names``.
        sample_weight : array-like of shape (N,), optional
            How often each row counts.
        """
        with self._whole():
            inputs, outcome = self._read_both(X, y, multi_output=True, y_numeric=True)
            weights, rows = read_weights(sample_weight, inputs)
            names = row_names(X, inputs.shape[0])[rows]
            inputs, outcome = inputs[rows], outcome[rows]
            self._one_output = outcome.ndim == 1
            self._fit(names, outcome, inputs, outcome.reshape(len(outcome), -1), weights, None, output_names(y))
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of `predict` for rows (N, d) and targets y, (N,) or (N, m), in the weights given.

        Raises
        ------
        ValueError
            As in ``fit``; also where y is a masked array that hides an entry.
        """
        return float(super().score(X, readable(y, "y"), sample_weight))

    def predict(self, X: Any) -> np.ndarray:
        """Return φ(x)ᵀθ, of shape (N,) or (N, m), as y had."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._one_output else outputs

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the columns of X."""
        slopes, _ = self._linear()
        return slopes[0] if self._one_output else slopes

    @property
    def intercept_(self) -> Any:
        """The constant."""
        _, constant = self._linear()
        return float(constant[0]) if self._one_output else constant

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
