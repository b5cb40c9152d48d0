"""The classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data.row_names import row_names
from ..data.tables import shown
from ..model.losses import CrossEntropy
from ..model.recipe import Recipe
from .base import TunedLeastSquares, read_weights
from .reading import explained, readable

__all__ = ["TunedLeastSquaresClassifier"]


def _has_log_odds(estimator: Any) -> bool:
    """Whether the outputs are log odds: where the loss is the cross-entropy, as it is where none is named."""
    loss = None if not isinstance(estimator.recipe, Recipe) else estimator.recipe.loss
    if loss is None or isinstance(loss, CrossEntropy):
        return True
    raise AttributeError(f"predict_proba needs outputs tuned as log odds; the loss is {loss!r}: use CrossEntropy().")


def _plain(labels: np.ndarray) -> np.ndarray:
    """Return labels (N,) of whole numbers or booleans as such where they came as objects."""
    if labels.dtype != object:
        return labels
    plain = np.asarray(labels.tolist())
    return plain if plain.dtype.kind in "biu" and plain.shape == labels.shape else labels


class TunedLeastSquaresClassifier(ClassifierMixin, TunedLeastSquares):
    """Least squares classification whose hyper-parameters ω are tuned while it fits.

        θ(ω) = argmin_θ Σ_i s_i ‖φ(x_i; ω)ᵀθ − y_i‖² + Σ_j e^{2ω_j} ‖R_j θ‖²_F,   ω = argmin ψ(θ(ω)) + r(ω)

    y_i is one-hot, s_i are the sample weights, ψ is the loss on rows not fitted, by default the cross-entropy of
    softmax(e^τ φ(x)ᵀθ), and r the hyper-penalties. The class of the largest output is predicted.

    Parameters
    ----------
    recipe : Recipe or None
        Features φ, penalties R_j, loss ψ, hyper-penalties r, criterion and method. None: standardised columns and a
        constant, a ridge on the columns (λ = e^{2ω} from 3·10⁻⁴ up), ``CrossEntropy(temperature=True)``, `LBFGS`, and
        by the number of rows `LeaveOneOut` in closed form up to 10,000, `HeldOut` beyond.
    validation : float, int or None
        Share or number of the rows that are held out for ψ, drawn by class. None: none where the recipe's criterion, or
        without a recipe the rule above, holds none out, else a quarter. Without sample weights they join the last fit,
        at the ω found.
    random_state : int, RandomState instance or None
        Seeds the division and every random choice of the recipe; None keeps the recipe's seed.

    Attributes
    ----------
    classes_ : ndarray of shape (m,)
        The labels, sorted.
    coef_ : ndarray of shape (m, d), (1, d) for two classes
        Coefficients of ``decision_function`` in the columns of X, where the features are linear in them; else there is
        no such attribute.
    intercept_ : ndarray of shape (m,), (1,) for two classes
        The constants that belong to them.
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
        In ``fit``: for a single class, for a column of categories, to be encoded before, for a recipe that does not fit
        the data, naming the piece, and for a sparse X of so many columns that the normal equations, which are dense,
        have no room.

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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import lsat_explorer as lsat
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = lsat.TunedLeastSquaresClassifier().fit(X, y)
    >>> round(model.score(X, y), 2), model.predict_proba(X[:2]).round(2).tolist()
    (0.97, [[1.0, 0.0], [0.99, 0.01]])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedLeastSquaresClassifier:
        """Tune and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (N, d)
            The index of a frame, where it names each row once, calls the rows in what is explained of the run; without
            one they are called by their positions.
        y : array-like of shape (N,)
            Labels of any type.
        sample_weight : array-like of shape (N,), optional
            How often each row counts.
        """
        with self._whole():
            inputs, labels = self._read_both(X, y)
            labels = _plain(column_or_1d(labels, warn=True))
            with explained(X, y, labels=True):
                check_classification_targets(labels)
            weights, rows = read_weights(sample_weight, inputs)
            names = row_names(X, inputs.shape[0])[rows]
            self.classes_, codes = np.unique(labels[rows], return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"y has the one class {shown(self.classes_[0])}, expected at least two classes to tell apart."
                )
            targets = np.eye(len(self.classes_))[codes]
            self._fit(names, labels[rows], inputs[rows], targets, weights, tuple(self.classes_.tolist()))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return log odds: e^τ φ(x)ᵀθ (N, m), for two classes those of the second (N,).

        Without a tuned temperature, τ = 0.
        """
        outputs = self._outputs(X) * self._sharpness()
        return outputs[:, 1] - outputs[:, 0] if outputs.shape[1] == 2 else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows (N, d) that `predict` gives their label in y (N,), in the weights given.

        Raises
        ------
        ValueError
            As in ``fit``; also where y is a masked array that hides an entry.
        """
        return float(super().score(X, readable(y, "y"), sample_weight))

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest output (N,)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
        return self.classes_[codes]

    @available_if(_has_log_odds)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class (N, m), softmax(e^τ φ(x)ᵀθ)."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], 1)
        return softmax(scores, 1)

    @available_if(_has_log_odds)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of ``predict_proba`` (N, m), finite where that is 0 to rounding."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0, np.stack([scores, -scores], 1))
        return log_softmax(scores, 1)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of ``decision_function`` in the columns of X."""
        slopes, _ = self._linear()
        return self._odds(slopes)

    @property
    def intercept_(self) -> np.ndarray:
        """The constants of ``decision_function``."""
        _, constants = self._linear()
        return self._odds(constants)

    def _odds(self, values: np.ndarray) -> np.ndarray:
        values = values * self._sharpness()
        return values[1:] - values[:1] if len(values) == 2 else values

    def _sharpness(self) -> float:
        """Return e^τ."""
        temperature = self.model_.omega.get("loss.log_temperature")
        return 1.0 if temperature is None else float(temperature.exp())
