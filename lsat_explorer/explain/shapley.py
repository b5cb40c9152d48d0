r"""Exact Shapley values of training rows for a nearest-neighbour classifier.

Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms" (2019), theorem 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.data import Data
from ..engines.row_sums import RowSums
from ..model.piece import whole
from ..tune.fitted import FittedModel
from .influence import table
from .training_fit import MOVES_NOT, TrainingFit, judged_fit, training_fit

if TYPE_CHECKING:
    import pandas

__all__ = ["knn_shapley", "shapley_values"]

_CHUNK = 256  # validation rows whose distances to all training rows are held at a time


def knn_shapley(model: FittedModel, *, neighbours: int = 10, data: Data | None = None) -> pandas.DataFrame:
    """Value each training row by what it adds to a nearest-neighbour classifier of the validation rows, exactly.

    The worth of a set S of training rows for a validation row v is the share of agreeing labels among its K nearest in
    the features, v(S) = (1/K) Σ_{i among the min(K, ∣S∣) nearest of S} [c_i = c_v]; a row's Shapley value is the mean
    of what it adds over all orders of the rows. With the k rows by distance, the nearest first,

        s_k = [c_k = c_v] / max(k, K),   s_i = s_{i+1} + ([c_i = c_v] − [c_{i+1} = c_v]) / K · min(K, i) / i,

    and the mean over validation rows is the value. Values below 0 say that the row's label misleads. Distances are
    Euclidean in the features of the model, in float32; of equal ones the earlier row is nearer. Labels of the
    validation rows count as right; the weights of the training rows do not count.

    Parameters
    ----------
    model : FittedModel
        Of a run, ``run.model``, or loaded; one of classes.
    neighbours : int
        K.
    data : Data, optional
        The rows that the model was fitted to, where it was loaded from a file.

    Returns
    -------
    pandas.DataFrame
        One row a training row, in their order, indexed by their names: ``shapley``. The values add up to the share of
        agreeing labels among the K nearest of all training rows.

    Raises
    ------
    ValueError
        In regression, when the model was not fitted to the data, or these have no validation rows.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
    >>> values = lsat.explain.knn_shapley(run.model)
    >>> bool(0.9 < values.shapley.sum() < 1.0)
    True
    """
    fit = training_fit(model, data)
    if fit.data.task != "classification":
        raise ValueError("knn_shapley values rows by their classes, and the model is a regression: use label_doubt.")
    return table(fit, {"shapley": values_of(judged_fit(model, data), whole(neighbours, "neighbours"))})


def values_of(fit: TrainingFit, neighbours: int) -> NDArray[np.float64]:
    """Return the Shapley values (k,) of the training rows of a fit."""
    X, V = _about_mean(fit)
    codes, judged = (rows.targets.argmax(1).cpu().numpy() for rows in (fit.train, fit.validation))
    return shapley_values(X, codes, V, judged, neighbours)


def _about_mean(fit: TrainingFit) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return training and validation features about the mean of the former, where distances cancel least."""

    def read(rows: RowSums) -> torch.Tensor:
        return torch.cat([features.cpu().float() for _, features in rows.chunks(MOVES_NOT)])

    with torch.no_grad():
        X, V = read(fit.train), read(fit.validation)
    mean = X.mean(0)
    return X.sub_(mean).numpy(), V.sub_(mean).numpy()


def shapley_values(
    X: NDArray[np.float32],
    codes: NDArray[np.integer],
    V: NDArray[np.float32],
    judged: NDArray[np.integer],
    neighbours: int,
) -> NDArray[np.float64]:
    """Return the Shapley values (k,) of rows X (k, n) of classes ``codes`` for rows V (N, n) of classes ``judged``.

    Summed from the far end, the recursion is s_i = b_i c_i − Σ_{j > i} b_j (c_{j−1} − c_j), b_i = [c_i = c_v],
    c_i = min(K, i) / (i K), and for fewer than K rows the same.

    Examples
    --------
    >>> X, V = np.array([[0.0], [1.0]], np.float32), np.array([[0.0]], np.float32)
    >>> shapley_values(X, np.array([1, 0]), V, np.array([1]), 1).tolist()
    [1.0, 0.0]
    """
    k, total = len(X), np.zeros(len(X))
    places = np.arange(1, k + 1)
    shares = np.minimum(neighbours, places) / (places * float(neighbours))
    steps = shares[:-1] - shares[1:]
    squares = np.square(X).sum(1)
    for start in range(0, len(V), _CHUNK):
        chunk = V[start : start + _CHUNK]
        order = _nearest_first(squares - 2 * (chunk @ X.T) + np.square(chunk).sum(1, keepdims=True))
        agree = (codes[order] == judged[start : start + _CHUNK, None]).astype(np.float64)
        values = agree * shares
        values[:, :-1] -= np.cumsum((agree[:, 1:] * steps)[:, ::-1], axis=1)[:, ::-1]
        total += np.bincount(order.ravel(), values.ravel(), minlength=k)
    return total / len(V)


def _nearest_first(squares: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the columns of squared distances (N, k) from the least on, the earlier of equals first.

    The bits of floats that are not negative rise with them: one sort of whole numbers that hold distance and column
    takes a seventh of a stable argsort.
    """
    bits = (np.maximum(squares, 0.0) + np.float32(0.0)).view(np.uint32)  # −0 + 0 is 0
    keys = (bits.astype(np.uint64) << np.uint64(32)) | np.arange(squares.shape[1], dtype=np.uint64)
    keys.sort(axis=1)
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
