"""The iterates of a run, in an amount of memory that hardly grows: every number, and tensors of ω within a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..model.piece import tensor
from .iterate import COLUMNS, SCALARS, Iterate, from_row, read_field, row_of

__all__ = ["Iterates", "Parts", "less", "read_since"]

_MOST = 1_000  # iterates that are kept as they came, if their tensors fit in the budget
_BUDGET = 16 * 2**20  # bytes of tensors in ω
_COMPARED = ("objective", "stopping_loss")


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
    since : mapping of str to int, optional
        From which iterate on the objective, and the early-stopping loss, are of one loss and its penalties, so that
        they can be compared; from the first by default.

    Examples
    --------
    >>> iterates = Iterates([Iterate(0, 2.0, 2.0, 0.0, 1.0, {}), Iterate(1, 1.0, 1.0, 0.0, 1.2, {})])
    >>> len(iterates), iterates[-1].loss, iterates.columns("step")["step"].tolist()
    (2, 1.0, [1.0, 1.2])
    """

    def __init__(self, iterates: Iterable[Iterate] = (), since: Mapping[str, int] | None = None) -> None:
        self._table: tuple[tuple[str, ...], NDArray[np.float64]] = COLUMNS, np.empty((64, len(COLUMNS)))
        self._count = 0
        self._whole: dict[int, Iterate] = {}
        self._stride = 1  # of the others that are kept whole
        self._bytes = 1  # of the tensors that an iterate has to itself
        self._tensors: frozenset[str] = frozenset()
        self._least = dict.fromkeys(_COMPARED, 0)  # where they were least
        self.since = {**self._least, **(since or {})}
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
            if iterate.accepted and self._falls(name, place, getattr(iterate, name), least):
                self._least[name] = place
        self._release(before)
        if place // self._stride >= max(1, min(_MOST, _BUDGET // self._bytes)):
            self._stride *= 2
            self._release(set(self._whole))

    def compare_anew(self, *names: str) -> None:
        """Compare the next iterates among themselves alone in these fields, which are of another loss from now on."""
        self.since |= dict.fromkeys(names, len(self))

    def _falls(self, name: str, place: int, value: float, least: int) -> bool:
        """Whether a value is below the least so far, or the first that counts."""
        return least < self.since[name] <= place or less(value, self._value(least, name))

    @property
    def best(self) -> Iterate:
        """The first iterate of the least F, as F is now."""
        return self[self._least["objective"]]

    @property
    def best_stopping(self) -> Iterate:
        """The first accepted iterate of the least loss on the rows of early stopping, as the loss is now."""
        return self[self._least["stopping_loss"]]

    def worse_for(self, iterate: Iterate) -> int:
        """Return for how many accepted iterates the early-stopping loss has not fallen, ``iterate`` being the next."""
        columns, since = self.columns("accepted", "stopping_loss"), self.since["stopping_loss"]
        accepted, losses = (column[since:] for column in columns.values())
        losses = np.append(losses[accepted == 1], iterate.stopping_loss)
        order = np.lexsort((losses, np.isnan(losses)))  # a number is less than none, as `less` has it
        return len(losses) - 1 - int(order[0])

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
        fields = {name: [read_field(name, value) for value in columns.pop(name)] for name in SCALARS}
        return {**fields, "status": [status.value for status in fields["status"]], **columns}

    def parts(self) -> Parts:
        """Return all that is kept; what is appended later does not change it."""
        names, table = self._table
        whole = {place: self._whole[place] for place in sorted(self._whole)}
        return Parts(names, table[: self._count].copy(), whole, self._stride, self._bytes, dict(self.since))

    @classmethod
    def of_parts(cls, parts: Parts) -> Iterates:
        """Return the iterates that `parts` was taken of."""
        iterates = cls(since=parts.since)
        iterates._count = len(parts.table)
        iterates._table = parts.names, np.full((max(64, 2 * iterates._count), len(parts.names)), math.nan)
        iterates._table[1][: iterates._count] = parts.table
        iterates._whole, iterates._stride, iterates._bytes = dict(parts.whole), parts.stride, parts.size
        tensors = (name for one in parts.whole.values() for name, value in one.omega.items() if value.ndim)
        iterates._tensors = frozenset(tensors)
        accepted = iterates.columns("accepted")["accepted"]
        for name in iterates._least:
            for place, value in enumerate(iterates.columns(name)[name].tolist()):
                if accepted[place] and iterates._falls(name, place, value, iterates._least[name]):
                    iterates._least[name] = place
        return iterates

    def _at(self, place: int) -> Iterate:
        iterate = self._whole.get(place)
        if iterate is not None:
            return iterate
        names, table = self._table
        row, ends = table[place].tolist(), len(COLUMNS)
        omega = {n: tensor(v) for n, v in zip(names[ends:], row[ends:], strict=True) if not math.isnan(v)}
        return from_row(row[:ends], omega)

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
        table[place] = [*row_of(iterate), *(numbers.get(name, math.nan) for name in names[len(COLUMNS) :])]
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


@dataclass(frozen=True)
class Parts:
    """What `Iterates` are made of: the ``table`` (count, names) of numbers, and the iterates that are kept whole.

    ``stride`` is the distance of those that are kept for nothing but their place, ``size`` the bytes of one's tensors,
    ``since`` as in `Iterates`.
    """

    names: tuple[str, ...]
    table: NDArray[np.float64]
    whole: dict[int, Iterate]
    stride: int
    size: int
    since: dict[str, int]


def less(value: float, least: float) -> bool:
    """Whether a value is below the least so far, which may be no number yet."""
    return value < least or (math.isnan(least) and not math.isnan(value))


def read_since(said: Mapping[str, Any], count: int) -> dict[str, int]:
    """Return ``since`` of so many iterates from what a file says of a run; empty where an older version wrote it.

    Raises
    ------
    ValueError
        For what is no number of an iterate, or of the next.
    """
    since = dict(said.get("since", {}))
    for name, number in since.items():
        if name not in _COMPARED or type(number) is not int or not 0 <= number <= count:
            raise ValueError(f"since says {name!r}: {number!r} of {count:,} iterates.")
    return since
