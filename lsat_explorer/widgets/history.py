"""The columns of a run's history that figures need, grown with the run instead of built anew at every report."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lsat_explorer.model.piece import Omega
from lsat_explorer.tune.iterate import Iterate
from lsat_explorer.widgets.knobs import everyday

__all__ = ["Columns", "OmegaColumns"]

_NAMES = ("number", "loss", "training_loss", "stopping_loss", "step", "residual", "accepted", "seconds")


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
        self.read(iterates)
        return {name: np.array(column, dtype=np.float64) for name, column in self._columns.items()}

    def read(self, iterates: Sequence[Iterate]) -> None:
        """Take up what has come; `of` does so by itself."""
        for iterate in iterates[len(self) :]:
            for name, column in self._columns.items():
                column.append(float(getattr(iterate, name)))

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


class OmegaColumns:
    """The hyper-parameters of a run in everyday words: numbers as they are, vectors by three of their entries.

    Examples
    --------
    >>> sorted(OmegaColumns().of([]))
    ['gradient_norm', 'number']
    """

    def __init__(self) -> None:
        self._fixed = {"number": array("d"), "gradient_norm": array("d")}
        self._rows: dict[str, list[tuple[float, ...]]] = {}
        self._last: Omega = {}

    def of(self, iterates: Sequence[Iterate]) -> dict[str, NDArray[np.float64]]:
        """Return the columns of ``iterates``, a list that only ever grows.

        Parameters
        ----------
        iterates : sequence of Iterate
            ``run.iterates``, as long as before or longer.

        Returns
        -------
        dict of str to (N,) or (N, 3) float64
            ``"number"``, ``"gradient_norm"``, and each name of ω: the values of a number, or the least, median and
            greatest entry of a vector.
        """
        for iterate in iterates[len(self._fixed["number"]) :]:
            for name, column in self._fixed.items():
                column.append(float(getattr(iterate, name)))
            self._rows = self._rows or {name: [] for name in iterates[-1].omega}  # the first of a loaded run lack some
            for name, rows in self._rows.items():
                value = iterate.omega.get(name)
                kept = bool(rows) and value is self._last.get(name)  # a rejected step keeps the very tensors
                rows.append(rows[-1] if kept else _entries(value))
            self._last = iterate.omega
        words = [everyday(name) for name in self._rows]
        shown = [word if words.count(word) == 1 else name for name, word in zip(self._rows, words, strict=True)]
        columns = {word: _table(rows) for word, rows in zip(shown, self._rows.values(), strict=True)}
        return {name: np.array(column, dtype=np.float64) for name, column in self._fixed.items()} | columns


def _entries(value: Tensor | None) -> tuple[float, ...]:
    """Return a number, or the least, median and greatest entry of a vector."""
    if value is None or value.numel() == 0:
        return (math.nan,)
    if value.numel() == 1:
        return (float(value),)
    entries = value.detach().cpu().double().numpy()
    return float(entries.min()), float(np.median(entries)), float(entries.max())


def _table(rows: list[tuple[float, ...]]) -> NDArray[np.float64]:
    widest = max(len(row) for row in rows)
    values = np.array([row if len(row) == widest else row * widest for row in rows], dtype=np.float64)
    return values if widest > 1 else values[:, 0]
