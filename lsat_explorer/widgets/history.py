"""The columns of a run's history that figures need, grown with the run instead of built anew at every report."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lsat_explorer.tune.iterate import Iterate

__all__ = ["Columns"]

_NAMES = ("number", "loss", "training_loss", "step", "residual", "accepted", "seconds")


class Columns:
    """History of a run as float64 columns.

    Examples
    --------
    >>> Columns().of([])["loss"].shape
    (0,)
    """

    def __init__(self) -> None:
        self._columns = {name: array("d") for name in _NAMES}

    def of(self, iterates: Sequence[Iterate]) -> dict[str, NDArray[np.float64]]:
        """Return the columns of ``iterates``, a list that only ever grows.

        Parameters
        ----------
        iterates : sequence of Iterate
            ``run.iterates``, as long as before or longer.

        Returns
        -------
        dict of str to (N,) float64
            By the names of `Iterate`; copies, so that growing on does not move them.
        """
        for iterate in iterates[len(self) :]:
            for name, column in self._columns.items():
                column.append(float(getattr(iterate, name)))
        return {name: np.array(column, dtype=np.float64) for name, column in self._columns.items()}

    def __len__(self) -> int:
        return len(self._columns["number"])

    @property
    def accepted(self) -> int:
        """Number of accepted steps; the starting point is none."""
        return max(int(sum(self._columns["accepted"])) - 1, 0)

    @property
    def rejected(self) -> int:
        """Number of rejected steps."""
        return len(self) - int(sum(self._columns["accepted"]))
