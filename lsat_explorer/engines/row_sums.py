"""What an iteration needs from the rows, whoever sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

from ..model.piece import Omega
from ..solve.leverages import forms, kernels, slopes
from ..solve.precision import Precision
from ..solve.weighted import Moments, feature_factors, weight_gradient
from .moving import Factors, Moving
from .passes import Fitted, Flow, Flowed, Judge, Judged, Largest, LeftOut

__all__ = ["Interrupted", "RowSums"]


class Interrupted(Exception):
    """Raised between row chunks when the run was asked to stop."""


class RowSums(ABC):
    """Rows of one split, their features X (N, n) and targets Y (N, m), by sums over them.

    Every sum over rows is one over parts of the rows: an engine says how it forms a sum, and here is what becomes of
    it. ``columns`` tells the columns of X that each block takes; blocks in ``moves`` depend on a tuned parameter.

    Parameters
    ----------
    columns : dict of str to slice
        By block.
    moves : set of str
        Names of the blocks that depend on a tuned parameter.
    targets : Tensor (N, m)
        Moved once to ``device``.
    precision : Precision
        Of the rows and of the products that each evaluation repeats.
    device : torch.device
        Where products are taken.
    log_weight : Tensor (N,), optional
        Log weights that are not tuned.
    check : callable
        Called between chunks of rows; raises `Interrupted` to end the work.
    """

    sparse = False
    """Whether the inputs are sparse, so that all features at once may take far more."""

    def __init__(
        self,
        columns: dict[str, slice],
        moves: set[str],
        targets: Tensor,
        *,
        precision: Precision,
        device: torch.device,
        log_weight: Tensor | None = None,
        check: Callable[[], None],
    ) -> None:
        self.columns = columns
        self.moves = tuple(name for name in columns if name in moves)
        self.still = tuple(name for name in columns if name not in moves)
        self.dtype = precision.rows
        # Column by column, as predictions are: what pairs them then runs along memory.
        self.targets = targets.to(device=device, dtype=self.dtype).mT.contiguous().mT
        self._precise = precision.products is torch.float64
        self._check, self._log_weight = check, log_weight
        self._known: Moments | None = None

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def products(self) -> torch.dtype:
        """In which products are taken."""
        return torch.float64 if self._precise else self.dtype

    def precisely(self) -> Self:
        """Return the same rows, every product of which is taken in float64."""
        other = copy(self)
        other._precise = True
        return other

    def watched(self, check: Callable[[], None]) -> Self:
        """Return the same rows, whose work another ``check`` may end."""
        other = copy(self)
        other._check = check
        return other

    @abstractmethod
    def moving(self, omega: Omega) -> Moving:
        """Return the blocks that depend on ω at ``omega``, local names."""

    @abstractmethod
    def predict(self, moving: Moving, theta: Tensor) -> Tensor:
        """Return X θ (N, m) in the dtype of products."""

    def fitted(self, moving: Moving, theta: Tensor, weighed: bool) -> Tensor:
        """Return X θ (N, m) of rows whose normal equations are formed anew at each ω; ``weighed``: of tuned weights."""
        return self.predict(moving, theta)

    @abstractmethod
    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""

    @abstractmethod
    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and, until the next, their features (chunk, n) in float64."""

    @abstractmethod
    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""

    @abstractmethod
    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y with W = e^{``log_weight``} where the weights are tuned, else as they stand still."""

    @abstractmethod
    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""

    def over(self, moving: Moving, work: Callable[..., Tensor], *by_row: Tensor) -> Tensor:
        """Return ``work`` (r, …) of chunks (r, n) of the features in float64, of all rows, where the features are.

        Its other arguments are the rows of ``by_row`` (N, …).
        """
        return torch.cat([work(features, *(one[rows] for one in by_row)) for rows, features in self.chunks(moving)])

    def back(self, moving: Moving, values: Tensor) -> Tensor:
        """Return Xᵀ ``values`` (n, q) from float64 (N, q), every product in float64."""
        total = values.new_zeros(self.shape[0], values.shape[1])
        for rows, features in self.chunks(moving):
            total += features.mT @ values[rows]
        return total

    def later(self, name: str, *arguments: Any) -> Callable[[], Any]:
        """Return a function that gives what the method ``name`` returns.

        Rows on other machines are asked at once: answers that are asked for together come in one trip.
        """
        return partial(getattr(self, name), *arguments)

    def judged(self, moving: Moving, theta: Tensor, judge: Judge) -> Judged:
        """Return ψ and ∇_θψ, in one pass over the rows."""
        found = judge.of(self.predict(moving, theta), self.targets)
        right = None if found.slopes is None else self.transposed(moving, found.slopes)
        return Judged(found.loss, found.error, right, found.own)

    def left_out(self, moving: Moving, fit: Fitted, start: int = 0, log_weight: Tensor | None = None) -> LeftOut:
        """Return ψ of rows that are each left out of ``fit``, with its slopes.

        ``start`` is the number of the first row among all; None as ``log_weight`` are those that are not tuned.
        """
        kernel, weight = self._kernel(moving, fit.lower, fit.scale), self._squared(log_weight)
        leverage = kernel if weight is None else kernel * weight
        found = fit.judge.of(self.predict(moving, fit.theta), self.targets, leverage)
        assert found.slopes is not None
        middle = None
        if found.through is not None:
            middle = self.gram(moving, found.through if weight is None else found.through * weight)
        worst = Largest(float(leverage.max()), start + int(leverage.argmax()))
        right = self.transposed(moving, found.slopes)
        return LeftOut(found.loss, found.error, right, found.own, middle, leverage.sum(), worst)

    def _kernel(self, moving: Moving, lower: Tensor, scale: Tensor) -> Tensor:
        return self.over(moving, partial(kernels, lower, scale))

    def _squared(self, log_weight: Tensor | None) -> Tensor | None:
        log_weight = self._log_weight if log_weight is None else log_weight
        return None if log_weight is None else (2 * log_weight).exp()

    def flowed(self, moving: Moving, flows: Sequence[Flow], weighed: bool, log_weight: Tensor | None = None) -> Flowed:
        """Return what flows back through fits with rows of these log weights (N,), in one pass over them.

        The gradient of the log weights is given where rows are ``weighed``; None as ``log_weight`` are those that are
        not tuned. The loss is that of judges that are not sloping.
        """
        log_weight = self._log_weight if log_weight is None else log_weight
        weights = torch.zeros(len(self), dtype=torch.float64, device=self.targets.device) if weighed else None
        factors: dict[str, list[Factors]] = {name: [] for name in self.moves}
        losses = []
        for flow in flows:
            if flow.C is None:
                fitted = self.predict(moving, flow.theta)
            else:
                fitted, image = self.fitted(moving, torch.cat([flow.theta, flow.C], 1), weighed).chunk(2, 1)
                self._through_fit(flow, self.targets - fitted, image, log_weight, weights, factors)
                if flow.left is not None and (weights is not None or self.moves):
                    self._through_leverage(moving, flow, fitted, log_weight, weights, factors)
            if flow.judge is not None:
                found = flow.judge.of(fitted, self.targets)
                if found.slopes is None:
                    losses.append(found.loss)
                    continue
                for name in self.moves:
                    theta = flow.theta[self.columns[name]]
                    factors[name].append((found.slopes.to(self.dtype), theta.to(self.dtype)))
        features = self.pull_back(moving, factors) if any(factors.values()) else {}
        return Flowed(weights, features, torch.stack(losses).sum() if losses else None)

    def _through_fit(
        self,
        flow: Flow,
        residual: Tensor,
        image: Tensor,
        log_weight: Tensor | None,
        weights: Tensor | None,
        factors: dict[str, list[Factors]],
    ) -> None:
        """Add to ``weights`` and ``factors`` what flows through a fit to these rows, with E (N, m) and XC (N, m)."""
        assert flow.C is not None
        if weights is not None and log_weight is not None:
            weights += weight_gradient(residual, image, log_weight)
        scale = None if log_weight is None else log_weight.exp().to(residual.dtype)
        for name in self.moves:
            columns = self.columns[name]
            factors[name].append(feature_factors(residual, image, flow.theta[columns], flow.C[columns], scale))

    def _through_leverage(
        self,
        moving: Moving,
        flow: Flow,
        fitted: Tensor,
        log_weight: Tensor | None,
        weights: Tensor | None,
        factors: dict[str, list[Factors]],
    ) -> None:
        """Add to ``weights`` and ``factors`` what flows through rows that are each left out, beside the fit."""
        left = flow.left
        assert left is not None
        kernel, weight = self._kernel(moving, left.lower, left.scale), self._squared(log_weight)
        weight = torch.ones_like(kernel) if weight is None else weight
        found = left.judge.of(fitted, self.targets, kernel * weight)
        s = found.through if left.slope is None else torch.full_like(kernel, left.slope)
        assert s is not None
        assert found.slopes is not None
        if weights is not None:
            weights += 2 * weight * (s * kernel - self.over(moving, partial(forms, left.N)))
        if self.moves:
            for name, mine in self.leverage_factors(moving, (left.lower, left.scale), left.N, s, weight).items():
                theta = flow.theta[self.columns[name]].to(self.dtype)
                factors[name] += [mine, (found.slopes.to(self.dtype), theta)]

    def leverage_factors(
        self, moving: Moving, factor: tuple[Tensor, Tensor], N: Tensor, s: Tensor, weight: Tensor
    ) -> dict[str, Factors]:
        """Return ∂ψ/∂x_i = 2 w_i² (s_i G⁻¹ − N) x_i through leverages, by block that moves.

        ``factor`` is L and D of D G D = L Lᵀ, ``s`` ∂ψ/∂h (N,) and ``weight`` w² (N,).
        """
        work = partial(slopes, *factor, N, self.place(self.moves))
        through = (2 * weight[:, None] * self.over(moving, work, s)).to(self.dtype)
        widths = [self.columns[name].stop - self.columns[name].start for name in self.moves]
        parts = zip(self.moves, through.split(widths, 1), strict=True)
        return {n: (mine, torch.eye(mine.shape[1], dtype=mine.dtype, device=mine.device)) for n, mine in parts}

    def normal_residual(self, moving: Moving, theta: Tensor, log_weight: Tensor | None = None) -> Tensor:
        """Return XᵀW²(Y − Xθ) (n, m), every product in float64."""
        total = torch.zeros_like(theta)
        for rows, features in self.chunks(moving):
            residual = self.targets[rows].double() - features @ theta
            if log_weight is not None:
                residual *= (2 * log_weight[rows].double()).exp()[:, None]
            total += features.mT @ residual
        return total

    @property
    def shape(self) -> tuple[int, int]:
        """Number of features n and of outputs m."""
        return max(columns.stop for columns in self.columns.values()), self.targets.shape[1]

    def place(self, names: Iterable[str], *, targets: bool = False) -> Tensor:
        """Return the columns of [X, Y] that the blocks, and the targets, take, in the order of ``names``."""
        n, m = self.shape
        slices = [self.columns[name] for name in names] + [slice(n, n + m if targets else n)]
        return torch.cat([torch.arange(c.start, c.stop, device=self.targets.device) for c in slices])
