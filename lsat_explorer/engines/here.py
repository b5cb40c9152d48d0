"""The normal equations of rows that this process reads: what stands still is summed once, what moves each time."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from ..solve.weighted import Moments
from .moving import Moving
from .row_sums import RowSums

__all__ = ["RowsHere", "Sums"]


class Sums(NamedTuple):
    """What an evaluation adds up over the rows; None where nothing of the kind changes with ω.

    ``still`` is [X_s, Y]ᵀ diag(w − c) [X_s, Y] of the still blocks, ``moved`` X_bᵀ diag(w) [X, Y] (n_b, n + m) of the
    blocks that moved.
    """

    still: Tensor | None
    moved: Tensor | None


class RowsHere(RowSums):
    """Rows that this process reads, from its memory or a file; the arguments are those of `RowSums`."""

    @abstractmethod
    def still_sum(self, weighed: bool) -> Tensor:
        """Return [X_s, Y]ᵀ W² [X_s, Y] of the still blocks, in float64, weights as they are where they are held.

        ``weighed`` tells that they are tuned.
        """

    @abstractmethod
    def sums(self, moving: Moving, weight: Tensor | None, least: Tensor | None) -> Sums:
        """Return all that an evaluation needs of the rows, in one pass over them.

        ``weight`` w (N,) and the number c = ``least`` are given where weights are tuned; where they are held, both are
        None, and only blocks that moved have something to say.
        """

    def moments(self, moving: Moving, log_weight: Tensor | None = None) -> Moments:
        """Return XᵀW²X and XᵀW²Y with W = e^{``log_weight``} where the weights are tuned, else as they stand still."""
        if self._known is None:
            known = self._zeros()
            if self.still:
                self._spread(self.still_sum(log_weight is not None), known)
            self._known = known  # whole: the sum may be broken off, and another thread may look
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
