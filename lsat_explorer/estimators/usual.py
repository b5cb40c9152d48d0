"""The recipe where the user gives none, and the rows that it trains on and is judged on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis
from torch import Tensor

from ..data.data import Data
from ..data.labels import Task
from ..data.partition import partition
from ..data.sparse_rows import RowsSparse, as_rows
from ..data.split import Split
from ..model.choices import Criterion, Method
from ..model.featurizers import Concat, Constant, Scale
from ..model.featurizers.scale import centre_and_spread
from ..model.hyper_penalties import Box, HyperPenalty, SumSquares
from ..model.losses import CrossEntropy
from ..model.recipe import Recipe
from ..model.regularizers import Matrix, Regularizer, Ridge
from ..tune.criteria import HeldOut, LeaveOneOut
from ..tune.multi_start import MultiStart
from ..tune.proximal_gradient import LineSearch, ProximalGradient
from ..tune.quasi_newton import LBFGS

__all__ = ["MOST_LEFT_OUT", "SHARE", "divided", "relative", "usual_recipe", "usual_regularizer", "variance"]

MOST_LEFT_OUT = 10_000
"""Up to so many rows each is left out in turn; of more, some are held out."""
SHARE = 0.25
"""The share of rows held out where the user names none."""


def usual_recipe(task: Task, rows: int, validation: Any, total: float) -> Recipe:
    """Return the recipe for any table: standardised columns and a constant, a ridge, leave-one-out or held-out rows.

    Parameters
    ----------
    task : {"classification", "regression"}
        Cross-entropy with a temperature for classes, squared error for numbers.
    rows : int
        Number of rows.
    validation : float, int or None
        Rows to hold out; where None the number of rows decides.
    total : float
        Sum of the sample weights, the number of rows without them.
    """
    leaves_out = validation is None and rows <= MOST_LEFT_OUT
    criterion: Criterion = LeaveOneOut() if leaves_out else HeldOut()
    classifies = task == "classification"
    # Where scores separate the classes ψ falls for ever with τ: a normal prior of deviation √5 ends that.
    ends: dict[str, HyperPenalty] = {"loss.log_temperature": SumSquares(0.1 / total)} if classifies else {}
    # A log weight below −4, λ < 3·10⁻⁴, no longer changes the fit of standardised columns, but its rounding.
    return Recipe(
        featurizer=Concat(features=Scale(tuned=False), one=Constant()),
        regularizer=Ridge(block="features"),
        loss=CrossEntropy(temperature=True) if classifies else None,
        hyper_penalties={"regularizer.log_weight": Box(-4.0, 8.0), **ends},
        criterion=criterion,
        method=LBFGS(tolerance=1e-6) if classifies else LineSearch(tolerance=1e-6),
    )


def relative(method: Method, size: float) -> Method:
    """Return the method with its tolerance in units of ``size``, so that those of the targets do not count.

    That of `LBFGS` stays: its residual is no longer than the way to the bounds, whatever the units.
    """
    if isinstance(method, MultiStart):
        return replace(method, method=relative(method.method, size))
    if isinstance(method, LineSearch | ProximalGradient):
        return replace(method, tolerance=method.tolerance * size)
    return method


def variance(targets: np.ndarray, counts: np.ndarray | None) -> float:
    """Return the variance of targets (N, …), summed over their columns, of rows counted so often, once for None."""
    share = None if counts is None else counts / counts.max()  # whose sum is in the range of floats
    mean = np.average(targets, 0, share)
    return float(np.average(np.square(targets - mean), 0, share).sum())


def usual_regularizer(inputs: Any, counts: np.ndarray) -> Regularizer:
    """Return the ridge on columns that are standardised by rows (N, d) counted so often.

    The featurizer scales by rows counted once: e^{2ω} Σ_j (s_j/u_j)² ‖θ_j‖² says the same, s_j and u_j the deviations
    of counted and of single rows.
    """
    share = torch.from_numpy(counts / counts.sum())
    if sparse.issparse(inputs):
        single, spread, largest = _spreads_of_sparse(inputs, share)
    else:
        rows = torch.from_numpy(inputs).double()
        _, single = centre_and_spread(rows)
        mean = (share[:, None] * rows).sum(0)
        spread = single * (share[:, None] * ((rows - mean) / single).square()).sum(0).sqrt()
        largest = rows.abs().amax(0)
    varies = spread > 1e-12 * largest
    ratio = torch.where(varies, spread / single, 1.0).tolist()
    entries = tuple((j, j, value) for j, value in enumerate(ratio))
    return Matrix({"shape": (len(ratio), len(ratio)), "entries": entries}, block="features")


def _spreads_of_sparse(matrix: Any, share: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the deviations u, s and the largest sizes (d,) of sparse rows that count in these shares (N,)."""
    _, single = centre_and_spread(RowsSparse(matrix).tensor())
    scaled: Any = sparse.csr_array(matrix, dtype=np.float64) @ sparse.diags_array(1 / single.numpy())
    _, variance = mean_variance_axis(scaled.tocsr(), 0, weights=share.numpy())
    largest = torch.from_numpy(abs(matrix).max(0).toarray().ravel().astype(np.float64))
    return single, single * torch.from_numpy(variance).sqrt(), largest


def divided(
    inputs: Any,
    targets: np.ndarray,
    labels: np.ndarray,
    names: np.ndarray,
    *,
    classes: tuple[Any, ...] | None,
    feature_names: tuple[str, ...],
    target_names: tuple[str, ...],
    share: float | int | None,
    seed: int,
) -> tuple[Data, np.ndarray, np.ndarray]:
    """Return the data with the positions of training and validation rows; all train where ``share`` is None.

    Parameters
    ----------
    inputs : array or sparse matrix by rows (N, d)
    targets : array (N, m)
        One-hot for classes.
    labels : array (N,) or (N, m)
        The user's own labels or numbers.
    names : array (N,)
        The user's own name of each row.
    """
    every = np.arange(len(targets))
    train, validation = every, every[:0]
    if share is not None:
        codes = None if classes is None else targets.argmax(1)
        parts = partition(len(targets), codes, validation=share, test=None, seed=seed)
        train, validation = parts["train"], parts["validation"]
    splits = [
        Split(as_rows(inputs[rows]), torch.from_numpy(targets[rows]), labels[rows], names[rows])
        for rows in (train, validation)
    ]
    task: Task = "regression" if classes is None else "classification"
    data = Data(*splits, task=task, classes=classes, feature_names=feature_names, target_names=target_names)
    return data, train, validation
