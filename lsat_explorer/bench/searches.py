"""How other programs look for two log weights, on our loss or with their own fits: Optuna, scikit-learn, himalaya."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from lsat_explorer.bench.paper import paper_shape
from lsat_explorer.model import graphs
from lsat_explorer.tune import Problem

__all__ = [
    "SPAN",
    "PenalisedFit",
    "Rows",
    "cross_entropy",
    "himalaya",
    "over_grid",
    "scikit_grid",
    "scikit_loss",
    "tpe",
]

SPAN = (-4.0, 4.0)
"""Where both log weights are looked for."""

Loss = Callable[[float, float], float]
"""The loss at the log weights of ridge and graph."""


def tpe(loss: Loss, trials: int, seed: int) -> None:
    """Evaluate ``loss`` at as many places as Optuna's tree-structured Parzen estimator chooses."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(lambda trial: loss(*(trial.suggest_float(name, *SPAN) for name in ("ridge", "smooth"))), trials)


def over_grid(loss: Loss, points: int) -> None:
    """Evaluate ``loss`` on ``points`` × ``points`` places."""
    for ridge in np.linspace(*SPAN, points):
        for smooth in np.linspace(*SPAN, points):
            loss(float(ridge), float(smooth))


@dataclass(frozen=True)
class Rows:
    """What other programs are handed: inputs X (N, n), one-hot targets Y (N, m), the validation rows last, and DᵀD.

    Parameters
    ----------
    X, Y : ndarray
        float64.
    train : int
        How many rows, the first, are fitted.
    laplacian : ndarray (n, n)
        DᵀD of the graph.
    """

    X: np.ndarray
    Y: np.ndarray
    train: int
    laplacian: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Rows:
        """Return the rows of a problem such as `two_ridges`: images as they are, a ridge and their grid."""
        parts = (problem.data.train, problem.data.validation)
        X, Y = (np.concatenate([getattr(p, name).double().numpy() for p in parts]) for name in ("inputs", "targets"))
        incidence = graphs.grid(*paper_shape(problem.data)).incidence()
        return cls(X, Y, len(parts[0]), (incidence.T @ incidence).toarray())

    @property
    def split(self) -> PredefinedSplit:
        """The one division into rows to fit and rows to judge, in scikit-learn's form."""
        return PredefinedSplit(np.where(np.arange(len(self.X)) < self.train, -1, 0))


def cross_entropy(predictions: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return −(1/N) Σ_i y_iᵀ log softmax(ŷ_i), of predictions (…, N, m) as many as the leading axes hold.

    Examples
    --------
    >>> cross_entropy(np.zeros((3, 5, 2)), np.eye(2)[[0, 1, 1, 0, 0]]) / np.log(2)
    array([1., 1., 1.])
    """
    return -(Y * log_softmax(predictions, axis=-1)).sum(-1).mean(-1)


class PenalisedFit(BaseEstimator):
    """θ = argmin ‖Y − Xθ‖² + e^{2a} ‖θ‖² + e^{2b} θᵀLθ as one writes it for scikit-learn: each fit forms all of it.

    Parameters
    ----------
    laplacian : ndarray (n, n)
        L.
    ridge, smooth : float
        The log weights a and b.
    """

    def __init__(self, laplacian: np.ndarray, ridge: float = 0.0, smooth: float = 0.0) -> None:
        self.laplacian, self.ridge, self.smooth = laplacian, ridge, smooth

    def fit(self, X: np.ndarray, y: np.ndarray) -> PenalisedFit:
        """Solve for ``coef_`` (n, m)."""
        gram = X.T @ X + np.exp(2 * self.smooth) * self.laplacian
        gram.flat[:: len(gram) + 1] += np.exp(2 * self.ridge)
        self.coef_ = linalg.solve(gram, X.T @ y, assume_a="pos")
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return minus the cross-entropy."""
        return -float(cross_entropy(X @ self.coef_, y))


def scikit_grid(rows: Rows, points: int) -> list[float]:
    """Return the losses that scikit-learn's `GridSearchCV` finds on ``points`` × ``points`` places."""
    places = np.linspace(*SPAN, points)
    search = GridSearchCV(
        PenalisedFit(rows.laplacian),
        {"ridge": places, "smooth": places},
        cv=rows.split,
        refit=False,
        error_score="raise",
    )
    return [-score for score in search.fit(rows.X, rows.Y).cv_results_["mean_test_score"]]


def scikit_loss(rows: Rows) -> Loss:
    """Return the loss at two log weights by one fit of `PenalisedFit`."""
    k = rows.train

    def loss(ridge: float, smooth: float) -> float:
        fit = PenalisedFit(rows.laplacian, ridge, smooth).fit(rows.X[:k], rows.Y[:k])
        return -fit.score(rows.X[k:], rows.Y[k:])

    return loss


def himalaya(rows: Rows, solver: Literal["random_search", "hyper_gradient"], iterations: int, seed: int) -> list[float]:
    """Return the losses of himalaya's own predictions at the kernel weights that it tries.

    Its multiple-kernel ridge has no two penalties on one θ. Nearest to them is a kernel for each, XXᵀ and
    X(L + ε)⁻¹Xᵀ, which makes θ the sum of one part for each penalty. The random search chooses by our loss, among
    ten ridge weights for each of ``iterations`` shares; the hyper-gradient descends its squared loss, for each output
    by itself, and our loss is taken on the way.
    """
    from himalaya import kernel_ridge

    Ks = np.stack([kernel / kernel.diagonal().mean() for kernel in _kernels(rows)]).astype(np.float32)
    losses: list[float] = []

    def score(Y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        found = np.atleast_1d(cross_entropy(predictions, Y))
        losses.extend(np.where(np.isnan(found), np.inf, found).tolist())  # weights too small for a factor
        whole = np.broadcast_to(-found[:, None], (len(found), Y.shape[1]))
        return whole if predictions.ndim == 3 else whole[0]

    shared: dict[str, Any] = {"score_func": score, "cv": rows.split, "random_state": seed, "progress_bar": False}
    # At its first step it divides 0 by 0 and takes no harm.
    with np.errstate(divide="ignore", invalid="ignore"):
        if solver == "random_search":
            alphas = np.logspace(-5, 4, 10, dtype=np.float32)
            kernel_ridge.solve_multiple_kernel_ridge_random_search(
                Ks, rows.Y, n_iter=iterations, alphas=alphas, local_alpha=False, **shared
            )
        else:
            kernel_ridge.solve_multiple_kernel_ridge_hyper_gradient(Ks, rows.Y, max_iter=iterations, tol=1e-3, **shared)
    return losses


def _kernels(rows: Rows, epsilon: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Return XXᵀ and X(L + εI)⁻¹Xᵀ; L is singular, for it knows nothing of the mean."""
    smooth = linalg.cho_solve(linalg.cho_factor(rows.laplacian + epsilon * np.eye(len(rows.laplacian))), rows.X.T)
    return rows.X @ rows.X.T, rows.X @ smooth
