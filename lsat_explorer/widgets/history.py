"""The columns of a run's history that figures need."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from lsat_explorer.model.piece import Omega
from lsat_explorer.tune.entry_names import EntryNames
from lsat_explorer.tune.iterate import SCALARS
from lsat_explorer.tune.iterates import Iterates
from lsat_explorer.widgets.knobs import everyday

__all__ = ["OmegaColumns", "history"]

_NAMES = ("number", "loss", "training_loss", "stopping_loss", "step", "residual", "accepted", "seconds")
_MOST_NAMED = 8  # as many as `plots.omega` draws


def history(iterates: Iterates) -> dict[str, NDArray[np.float64]]:
    """Return what the curves of a run are drawn from, by the names of `Iterate`; nothing before the first iterate.

    Examples
    --------
    >>> history(Iterates())
    {}
    """
    return iterates.columns(*_NAMES) if iterates else {}


class OmegaColumns:
    """The hyper-parameters of a run in everyday words: numbers as they are, vectors by three of their entries.

    Examples
    --------
    >>> sorted(OmegaColumns().of(Iterates()))
    ['gradient_norm', 'number']
    """

    def __init__(self, names: EntryNames | None = None) -> None:
        self._names = names
        self._told: dict[str, tuple[str, ...]] = {}
        self._entries: dict[str, NDArray[np.float64]] = {}
        self._count = 0
        self._last: tuple[int, Omega] = 0, {}

    def of(self, iterates: Iterates) -> dict[str, NDArray[np.float64]]:
        """Return the columns of ``iterates``, a list that only ever grows.

        Parameters
        ----------
        iterates : Iterates
            ``run.iterates``, as long as before or longer.

        Returns
        -------
        dict of str to (N,) or (N, 3) float64
            ``"number"``, ``"gradient_norm"``, and each name of ω: the values of a number, each entry of a vector of
            at most eight by its name, where they have names, or the least, median and greatest entry of a vector. NaN
            stands for an iterate whose vectors were let go before this was asked.
        """
        columns = iterates.columns()
        numbers = {name: column for name, column in columns.items() if name not in SCALARS}
        self._read(iterates, len(columns["number"]))
        named = _worded(numbers | {n: _narrow(values) for n, values in self._entries.items() if n not in self._told})
        own = _worded({name: self._entries[name] for name in self._told})
        for told, (word, values) in zip(self._told.values(), own.items(), strict=True):
            named |= {f"{word}: {each}": column for each, column in zip(told, values.T, strict=True)}
        return {name: columns[name] for name in ("number", "gradient_norm")} | named

    def _read(self, iterates: Iterates, count: int) -> None:
        """Take up the vectors of what has come."""
        for name, entries in self._entries.items():
            self._entries[name] = np.pad(entries, ((0, count - len(entries)), (0, 0)), constant_values=math.nan)
        for iterate in iterates.kept_whole(self._count):
            if iterate.number >= count:  # of a run that goes on meanwhile
                break
            place, before = self._last
            for name, value in iterate.omega.items():
                if value.ndim and value.numel():
                    if name not in self._entries:
                        self._entries[name] = np.full((count, self._width(name, value)), math.nan)
                    rows = self._entries[name]
                    kept = value is before.get(name)  # a rejected step keeps the very tensors
                    if kept:
                        rows[iterate.number] = rows[place]
                    else:
                        rows[iterate.number] = value.detach().cpu() if name in self._told else _ends(value)
            self._last = iterate.number, iterate.omega
        self._count = count

    def _width(self, name: str, value: Tensor) -> int:
        """Return how many columns a vector takes: one for each name where it has few, three otherwise."""
        told = None if self._names is None or value.ndim > 1 else self._names.of(name, value)
        if told is None or len(told) > _MOST_NAMED:
            return 3
        self._told[name] = told
        return len(told)


def _ends(value: Tensor) -> tuple[float, float, float]:
    """Return the least, median and greatest entry."""
    entries = value.detach().cpu().double().numpy()
    return float(entries.min()), float(np.median(entries)), float(entries.max())


def _narrow(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one column where a vector has one entry."""
    return values[:, 0] if np.array_equal(values[:, 0], values[:, 2], equal_nan=True) else values


def _worded(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Return columns by their names in everyday words, where these tell them apart."""
    words = [everyday(name) for name in columns]
    shown = [word if words.count(word) == 1 else name for name, word in zip(columns, words, strict=True)]
    return dict(zip(shown, columns.values(), strict=True))
