"""A fit of the inputs as they are, for a first look at what a penalty does, before there is a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..data.data import Data
from ..engines.memory import MemoryRows
from ..engines.moving import Moving
from ..model.featurizers import Concat, Constant, Identity
from ..model.prepared import Prepared
from ..model.regularizers import Ridge, Smooth
from ..solve.outcome import Outcome
from ..solve.precision import DOUBLE
from ..solve.weighted import Moments, solve_normal
from .score import error_of

__all__ = ["QuickFit", "QuickResult"]

_MOST_ROWS = 4_000
_MOST_FEATURES = 2_500  # beyond, a solve takes seconds
_SHARE = 1e-3  # of the mean squared length of a column, where no ridge is given


@dataclass(frozen=True)
class QuickResult:
    """θ (n, m) of the inputs without the constant, the error on the validation rows, and how the solve went."""

    theta: Tensor
    error: float
    outcome: Outcome


class QuickFit:
    """θ = argmin ‖X θ + 1 cᵀ − Y‖² + e^{2ρ} ‖θ‖² + Σ_j e^{2ω_j} ‖D_j θ‖² on some training rows, c free.

    The normal equations of the rows are formed at the first fit and kept.

    Parameters
    ----------
    data : Data
        The rows; at most 4,000 training rows, evenly spaced, are fitted.

    Raises
    ------
    ValueError
        For more than 2,500 features.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> quick = QuickFit(lsat.datasets.digits())
    >>> tuple(quick.fit(quick.ridge, Smooth(lsat.graphs.grid(8, 8))).theta.shape)
    (64, 10)
    """

    def __init__(self, data: Data) -> None:
        n = data.train.inputs.shape[1]
        if n > _MOST_FEATURES:
            raise ValueError(f"The data have {n:,} features: a quick fit takes at most {_MOST_FEATURES:,}.")
        self.data = data

    @cached_property
    def ridge(self) -> Ridge:
        """A light ridge for these inputs: e^{2ρ} is a thousandth of the mean squared length of a column."""
        size = float(self._moments.gram.diagonal()[:-1].mean())
        return Ridge(log_weight=0.5 * float(np.log(_SHARE * size)) if size > 0 else 0.0)

    def fit(self, *penalties: Ridge | Smooth) -> QuickResult:
        """Solve with the sum of some penalties on θ; what block they name is of no account.

        Raises
        ------
        ValueError
            Where a graph has not one node for each feature.
        """
        placed = [replace(penalty, block="inputs") for penalty in penalties]
        matrices = [matrix for penalty in placed for matrix in penalty.penalties(self._prepared.columns())]
        log_weights = [value for penalty in placed for value in penalty.init(self._prepared.columns()).values()]
        with torch.no_grad():
            solution = solve_normal(self._moments, matrices, log_weights)
            if not solution.outcome.ok:
                return QuickResult(solution.theta[:-1], float("nan"), solution.outcome)
            rows = self._judged
            error = float(error_of(rows.predict(Moving(), solution.theta), rows.targets, self.data.task))
        return QuickResult(solution.theta[:-1], error, solution.outcome)

    @cached_property
    def _prepared(self) -> Prepared:
        train = self.data.train
        both = Concat(inputs=Identity(), one=Constant())
        return both.prepare(train.inputs, train.targets, torch.Generator())

    @cached_property
    def _moments(self) -> Moments:
        train = self.data.train
        chosen = slice(None, None, -(-len(train) // _MOST_ROWS))
        return self._rows(train.inputs[chosen], train.targets[chosen]).moments(Moving(), None)

    @cached_property
    def _judged(self) -> MemoryRows:
        return self._rows(self.data.validation.inputs, self.data.validation.targets)

    def _rows(self, inputs: Tensor, targets: Tensor) -> MemoryRows:
        cpu = torch.device("cpu")
        return MemoryRows(self._prepared, inputs.cpu(), targets.cpu(), {}, set(), precision=DOUBLE, device=cpu)
