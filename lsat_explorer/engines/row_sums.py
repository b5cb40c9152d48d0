"""What an iteration needs from the rows, whoever sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple, Self

import torch
from torch import Tensor

from ..model.piece import Omega
from ..solve.precision import Precision
from ..solve.weighted import Moments
from .moving import Factors, Moving

__all__ = ["Interrupted", "RowSums", "Sums"]


class Interrupted(Exception):
    """Raised between row chunks when the run was asked to stop."""


class Sums(NamedTuple):
    """What an evaluation adds up over the rows; None where nothing of the kind changes with ω.

    ``still`` is [X_s, Y]ᵀ diag(w − c) [X_s, Y] of the still blocks, ``moved`` X_bᵀ diag(w) [X, Y] (n_b, n + m) of the
    blocks that moved.
    """

    still: Tensor | None
    moved: Tensor | None


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
    check : callable
        Called between chunks of rows; raises `Interrupted` to end the work.
    """

    def __init__(
        self,
        columns: dict[str, slice],
        moves: set[str],
        targets: Tensor,
        *,
        precision: Precision,
        device: torch.device,
        check: Callable[[], None],
    ) -> None:
        self.columns = columns
        self.moves = tuple(name for name in columns if name in moves)
        self.still = tuple(name for name in columns if name not in moves)
        self.dtype = precision.rows
        self.targets = targets.to(device=device, dtype=self.dtype)
        self._precise = precision.products is torch.float64
        self._check = check
        self._known: Moments | None = None

    def __len__(self) -> int:
        return len(self.targets)

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
        """Return X θ (N, m) in the rows' dtype."""

    @abstractmethod
    def transposed(self, moving: Moving, rows: Tensor) -> Tensor:
        """Return Xᵀ ``rows`` (n, m) in float64 from (N, m) rows."""

    @abstractmethod
    def chunks(self, moving: Moving) -> Iterator[tuple[slice, Tensor]]:
        """Yield rows and their features (chunk, n) in float64, a chunk at a time."""

    @abstractmethod
    def gram(self, moving: Moving, weight: Tensor) -> Tensor:
        """Return Xᵀ diag(``weight``) X (n, n), every product in float64; weights (N,) may have any sign."""

    @abstractmethod
    def still_sum(self) -> Tensor:
        """Return [X_s, Y]ᵀ W² [X_s, Y] of the still blocks, in float64, weights as they are where they are held."""

    @abstractmethod
    def sums(self, moving: Moving, weight: Tensor | None, least: Tensor | None) -> Sums:
        """Return all that an evaluation needs of the rows, in one pass over them.

        ``weight`` w (N,) and the number c = ``least`` are given where weights are tuned; where they are held, both are
        None, and only blocks that moved have something to say.
        """

    @abstractmethod
    def pull_back(self, moving: Moving, gradients: Mapping[str, list[Factors]]) -> Omega:
        """Return Σ_b ⟨∂ψ/∂X_b, ∂X_b/∂ω⟩ by entry of ω, local names, with ∂ψ/∂X_b = Σ L Rᵀ of ``gradients[b]``."""

    def over(self, moving: Moving, work: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``work`` (r, …) of chunks (r, n) of the features in float64, of all rows, where the features are."""
        return torch.cat([work(features) for _, features in self.chunks(moving)])

    def normal_residual(self, moving: Moving, theta: Tensor, log_weight: Tensor | None) -> Tensor:
        """Return XᵀW²(Y − Xθ) (n, m), every product in float64."""
        total = torch.zeros_like(theta)
        for rows, features in self.chunks(moving):
            residual = self.targets[rows].double() - features @ theta
            if log_weight is not None:
                residual *= (2 * log_weight[rows].double()).exp()[:, None]
            total += features.mT @ residual
        return total

    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y with W = e^{``log_weight``} where the weights are tuned, else as they stand still."""
        if self._known is None:
            self._known = self._zeros()
            if self.still:
                self._spread(self.still_sum(), self._known)
        if log_weight is None and not self.moves:
            return self._known
        weight = None if log_weight is None else (2 * log_weight).exp()
        least = None if weight is None else weight.min()
        found = self.sums(moving, weight, least)
        # XᵀW²X = c XᵀX + Xᵀ(W² − c)X: with the least weight as c both terms are positive semidefinite, so that nothing
        # cancels, and only the second holds the rounding of the products.
        scale = 1 if least is None else least
        moments = Moments(self._known.gram * scale, self._known.cross * scale)
        if found.still is not None:
            self._spread(found.still, moments)
        if found.moved is not None:
            self._put(found.moved, moments)
        return moments

    def _zeros(self) -> Moments:
        shape = self.shape
        return Moments(*(torch.zeros(shape[0], w, dtype=torch.float64, device=self.targets.device) for w in shape))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of features n and of outputs m."""
        return max(columns.stop for columns in self.columns.values()), self.targets.shape[1]

    def place(self, names: Iterable[str], *, targets: bool = False) -> Tensor:
        """Return the columns of [X, Y] that the blocks, and the targets, take, in the order of ``names``."""
        n, m = self.shape
        slices = [self.columns[name] for name in names] + [slice(n, n + m if targets else n)]
        return torch.cat([torch.arange(c.start, c.stop) for c in slices]).to(self.targets.device)

    def _spread(self, total: Tensor, moments: Moments) -> None:
        """Add a total [X_s, Y]ᵀD[X_s, Y] of the still blocks and the targets to ``moments`` of all columns."""
        columns, m = [self.columns[name] for name in self.still], self.targets.shape[1]
        widths = [place.stop - place.start for place in columns]
        for place, row in zip(columns, total.split([*widths, m]), strict=False):
            *parts, cross = row.split([*widths, m], 1)
            for other, part in zip(columns, parts, strict=True):
                moments.gram[place, other] += part
            moments.cross[place] += cross

    def _put(self, row: Tensor, moments: Moments) -> None:
        """Put the rows and columns of the blocks that moved in their places in ``moments``."""
        mine, n = self.place(self.moves), len(moments.gram)
        square = row[:, mine]
        row[:, mine] = (square + square.mT) / 2
        moments.gram[mine], moments.gram[:, mine] = row[:, :n], row[:, :n].mT
        moments.cross[mine] = row[:, n:]
