"""The iterates of a run, in an amount of memory that hardly grows: every number, and tensors of ω within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray

from .iterate import SCALARS, Iterate, Status

__all__ = ["Iterates"]

_MOST = 1_000  # iterates that are kept as they came, if their tensors fit in the budget
_BUDGET = 16 * 2**20  # bytes of tensors in ω

_NAMES = (*(name for name in SCALARS if name != "status"), "status")
_FIELDS = attrgetter(*_NAMES[:-1])
_STATUSES = list(Status)
_READ: dict[str, Callable[[float], Any]] = {
    "number": int,
    "start": int,
    "accepted": bool,
    "status": lambda code: _STATUSES[int(code)],
}


class Iterates(Sequence[Iterate]):
    """The iterates of a run by their numbers: a list that grows at its end.

    All numbers of all iterates are kept, a row of a table each: its fields, and the entries of ω that are numbers.
    Tensors in ω, such as a weight per training row, are kept whole for the first iterate, the last, the best, that of
    the least early-stopping loss, and for an evenly spaced set of the others: at most 1,000, and 16 MB. Any other
    iterate holds the numbers of its ω alone.

    One thread may append while others read.

    Parameters
    ----------
    iterates : iterable of Iterate
        Numbered from 0, as those that are appended.

    Examples
    --------
    >>> iterates = Iterates([Iterate(0, 2.0, 2.0, 0.0, 1.0, {}), Iterate(1, 1.0, 1.0, 0.0, 1.2, {})])
    >>> len(iterates), iterates[-1].loss, iterates.columns("step")["step"].tolist()
    (2, 1.0, [1.0, 1.2])
    """

    def __init__(self, iterates: Iterable[Iterate] = ()) -> None:
        self._table: tuple[tuple[str, ...], NDArray[np.float64]] = _NAMES, np.empty((64, len(_NAMES)))
        self._count = 0
        self._whole: dict[int, Iterate] = {}
        self._stride = 1  # of the others that are kept whole
        self._bytes = 1  # of the tensors that an iterate has to itself
        self._tensors: frozenset[str] = frozenset()
        self._least = {"objective": 0, "stopping_loss": 0}  # where they were least
        for iterate in iterates:
            self.append(iterate)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Iterate: ...

    @overload
    def __getitem__(self, index: slice) -> list[Iterate]: ...

    def __getitem__(self, index: int | slice) -> Iterate | list[Iterate]:
        places = range(self._count)[index]
        if isinstance(places, range):
            return [self._at(place) for place in places]
        return self._at(places)

    def __setitem__(self, index: int, iterate: Iterate) -> None:
        """Put the same iterate with another status, time or ω in its place."""
        self._write(range(self._count)[index], iterate)

    def append(self, iterate: Iterate) -> None:
        """Add the next iterate, and let go of what is no longer to be kept whole."""
        place, before = self._count, {self._count - 1, *self._least.values()}
        self._write(place, iterate)
        self._count = place + 1
        for name, least in self._least.items():
            if iterate.accepted and _less(getattr(iterate, name), self._value(least, name)):
                self._least[name] = place
        self._release(before)
        if place // self._stride >= max(1, min(_MOST, _BUDGET // self._bytes)):
            self._stride *= 2
            self._release(set(self._whole))

    @property
    def best(self) -> Iterate:
        """The first iterate of the least F."""
        return self[self._least["objective"]]

    @property
    def best_stopping(self) -> Iterate:
        """The first accepted iterate of the least loss on the rows of early stopping."""
        return self[self._least["stopping_loss"]]

    def worse_for(self, iterate: Iterate) -> int:
        """Return for how many accepted iterates the early-stopping loss has not fallen, ``iterate`` being the next."""
        before = self.columns("accepted", "stopping_loss")
        losses = [*before["stopping_loss"][before["accepted"] == 1], iterate.stopping_loss]
        return len(losses) - 1 - int(np.argmin(losses))

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of accepted and of rejected steps; the starting point is neither."""
        accepted = int(self.columns("accepted")["accepted"].sum())
        return max(accepted - 1, 0), len(self) - accepted

    def whole(self, number: int) -> Iterate:
        """Return the iterate nearest to a number that holds every entry of ω; the one of this number if it does."""
        found = self[number]
        if self._tensors <= found.omega.keys():
            return found
        return min(self.kept_whole(), key=lambda iterate: abs(iterate.number - number), default=found)

    def kept_whole(self, start: int = 0) -> list[Iterate]:
        """Return the iterates from a number on that are kept with every entry of ω."""
        there = [i for i in list(self._whole.values()) if i.number >= start and self._tensors <= i.omega.keys()]
        return sorted(there, key=lambda iterate: iterate.number)

    def columns(self, *names: str) -> dict[str, NDArray[np.float64]]:
        """Return fields of every iterate, as float64 columns of one length; the status by its place among all.

        Parameters
        ----------
        *names : str
            Fields of `Iterate`, or entries of ω that are numbers: NaN where an iterate has no such entry. All of them
            when left out.
        """
        count = self._count
        known, table = self._table
        return {name: table[:count, known.index(name)].copy() for name in names or known}

    def table(self) -> dict[str, list[Any]]:
        """Return every field as it is in `Iterate`, the status as its word, and the entries of ω that are numbers."""
        columns = {name: column.tolist() for name, column in self.columns().items()}
        fields = {name: [_READ.get(name, float)(value) for value in columns.pop(name)] for name in SCALARS}
        return {**fields, "status": [status.value for status in fields["status"]], **columns}

    def _at(self, place: int) -> Iterate:
        iterate = self._whole.get(place)
        if iterate is not None:
            return iterate
        names, table = self._table
        row = dict(zip(names, table[place].tolist(), strict=True))
        fields = {name: _READ.get(name, float)(row.pop(name)) for name in SCALARS}
        return Iterate(**fields, omega={name: _number(value) for name, value in row.items() if not math.isnan(value)})

    def _value(self, place: int, name: str) -> float:
        names, table = self._table
        return float(table[place, names.index(name)])

    def _write(self, place: int, iterate: Iterate) -> None:
        omega = iterate.omega
        tensors = [name for name, value in omega.items() if value.ndim]
        numbers = {name: value.item() for name, value in omega.items() if name not in tensors}
        names, table = self._table
        if numbers.keys() - set(names) or place == len(table):
            names, table = self._table = self._grown(place, numbers)
        status = _STATUSES.index(iterate.status)
        table[place] = [*_FIELDS(iterate), status, *(numbers.get(name, math.nan) for name in names[len(_NAMES) :])]
        self._whole[place] = iterate
        if tensors:
            start = self._whole[0].omega
            own = sum(omega[n].numel() * omega[n].element_size() for n in tensors if omega[n] is not start.get(n))
            self._bytes = max(self._bytes, own)
            self._tensors |= set(tensors)

    def _grown(self, place: int, numbers: Iterable[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return a new table, so that whoever reads the old one goes on with it."""
        names, table = self._table
        names = (*names, *(name for name in numbers if name not in names))
        grown = np.full((max(len(table), 2 * place), len(names)), math.nan)
        grown[: len(table), : table.shape[1]] = table
        return names, grown

    def _release(self, places: set[int]) -> None:
        """Let go of the tensors of some iterates, but of those that are to be kept."""
        for place in places - {self._count - 1, *self._least.values()}:
            if place % self._stride:
                self._whole.pop(place, None)


def _less(value: float, least: float) -> bool:
    return value < least or (math.isnan(least) and not math.isnan(value))


def _number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)
