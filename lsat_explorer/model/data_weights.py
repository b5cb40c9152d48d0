"""A weight for each training row: tuned one by one, tuned by groups, fixed, or tuned and multiplied."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .piece import Omega, Piece, number, register

__all__ = ["DataWeights", "FixedWeights", "GroupWeights", "LogWeights", "Times", "positive"]


class DataWeights(Piece, ABC):
    """Description of how training rows are weighted; row i counts e^{2ω_i} times."""

    by_row = False
    """Whether each row has an entry of its own in ω, which its ω_i is but for a constant."""

    @property
    def entries(self) -> int | None:
        """How many training rows it has an entry for, None where it takes any."""
        return None

    @abstractmethod
    def init(self, targets: Tensor) -> Omega:
        """Return the starting values for training rows with ``targets`` (k, m)."""

    @abstractmethod
    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ω_i (k,), one a training row, differentiable in ``omega``; −∞ leaves a row out."""


@register
@dataclass(frozen=True, repr=False)
class LogWeights(DataWeights):
    """One log weight ω_i for each training row, which then counts e^{2ω_i} times; starts at 0.

    Pair it with `SumSquares` and `ZeroSum` as hyper-penalties: there are as many weights as rows, and they fit the
    validation rows.

    Examples
    --------
    >>> LogWeights()
    LogWeights()
    """

    by_row = True

    def init(self, targets: Tensor) -> Omega:
        """Return ``log_weight`` (k,), zeros."""
        return {"log_weight": torch.zeros(len(targets), dtype=torch.float64, device="cpu")}

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ``log_weight`` itself."""
        return omega["log_weight"]


def _plain(values: Any, name: str) -> tuple[Any, ...]:
    """Return the entries of any sequence as Python numbers and strings."""
    items = values.tolist() if isinstance(values, np.ndarray | Tensor) else values
    if isinstance(items, str | Set | Mapping) or not isinstance(items, Iterable):
        raise ValueError(f"{name} is {values!r}: expected one entry for each training row, in their order.")
    plain = tuple(item.item() if isinstance(item, np.generic) else item for item in items)
    if not plain:
        raise ValueError(f"{name} is empty: expected one entry for each training row.")
    return plain


def positive(values: Any, name: str) -> tuple[float, ...]:
    """Check a positive number for each row, for a piece's ``__post_init__``."""
    checked = tuple(number(value, f"{name}[{i}]", low=0.0) for i, value in enumerate(_plain(values, name)))
    if 0.0 in checked:
        raise ValueError(f"{name}[{checked.index(0.0)}] is 0: expected a positive number, for a row that counts.")
    return checked


def _check_length(found: int, targets: Tensor, name: str) -> None:
    if found != len(targets):
        raise ValueError(f"{name} has {found:,} entries, but there are {len(targets):,} training rows: give one a row.")


@register
@dataclass(frozen=True, repr=False)
class FixedWeights(DataWeights):
    """Training row i counts ``values[i]`` times, e^{2ω_i} with ω_i = ½ log(values[i]); nothing is in ω.

    A weight of 0 leaves the row out of the fit. Featurizers are still prepared on all training rows.

    Parameters
    ----------
    values : sequence of float
        A finite weight ≥ 0 for each training row, in their order, not all 0.

    Raises
    ------
    ValueError
        For a weight that is negative, not finite, or below 2.2e-308 but not 0; for no positive weight; and, with the
        data, when there are not as many weights as training rows.

    Examples
    --------
    >>> FixedWeights([1, 0, 2.5])
    FixedWeights(values=(1.0, 0.0, 2.5))
    """

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        plain = _plain(self.values, "FixedWeights: values")
        checked = tuple(number(v, f"FixedWeights: values[{i}]", low=0.0) for i, v in enumerate(plain))
        for i, weight in enumerate(checked):
            if 0.0 < weight < sys.float_info.min:
                raise ValueError(
                    f"FixedWeights: values[{i}] is {weight!r}, too small for floats to keep its digits: expected 0 or "
                    f"at least {sys.float_info.min:.3g}; give 0, or larger weights, such as all divided by the largest."
                )
        if not any(checked):
            raise ValueError("FixedWeights: every weight is 0, which leaves no rows: give some row a positive weight.")
        object.__setattr__(self, "values", checked)

    @property
    def entries(self) -> int:
        """The number of weights."""
        return len(self.values)

    def init(self, targets: Tensor) -> Omega:
        """Return nothing, after a check of the length."""
        _check_length(len(self.values), targets, "FixedWeights: values")
        return {}

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ½ log of the weights, −∞ for 0."""
        _check_length(len(self.values), targets, "FixedWeights: values")
        return 0.5 * torch.tensor(self.values, dtype=torch.float64, device=targets.device).log()


@register
@dataclass(frozen=True, repr=False)
class GroupWeights(DataWeights):
    """One log weight ω_g for each group of training rows: every row of group g counts e^{2ω_g} times; starts at 0.

    Parameters
    ----------
    groups : "class" or sequence of int or str
        The group of each training row, in their order, such as the source it was measured by; ``"class"`` makes a group
        of each class. ``log_weight`` in ω holds the groups in sorted order, or that of the classes.

    Raises
    ------
    ValueError
        With the data, when there are not as many entries as training rows, or no classes.

    Examples
    --------
    >>> GroupWeights()
    GroupWeights()
    >>> GroupWeights(["north", "south", "north"]).names
    ('north', 'south')
    """

    groups: tuple[int | str, ...] | str = "class"

    def __post_init__(self) -> None:
        if isinstance(self.groups, str) and self.groups == "class":
            return
        plain = _plain(self.groups, "GroupWeights: groups")
        for kind in (int, str):
            if all(isinstance(group, kind) and not isinstance(group, bool) for group in plain):
                object.__setattr__(self, "groups", plain)
                return
        strange = next((g for g in plain if isinstance(g, bool) or not isinstance(g, int | str)), plain)
        raise ValueError(f"GroupWeights: groups holds {strange!r}: expected whole numbers, or strings, for all rows.")

    @property
    def entries(self) -> int | None:
        """The number of rows whose group is named, None for classes."""
        return None if isinstance(self.groups, str) else len(self.groups)

    @property
    def names(self) -> tuple[int | str, ...]:
        """The groups in the order of ω, none for classes."""
        return () if isinstance(self.groups, str) else tuple(sorted(set(self.groups)))

    def init(self, targets: Tensor) -> Omega:
        """Return ``log_weight``, a zero for each group."""
        self._numbers(targets)
        count = targets.shape[1] if isinstance(self.groups, str) else len(self.names)
        return {"log_weight": torch.zeros(count, dtype=torch.float64, device="cpu")}

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return the log weight of each row's group."""
        return omega["log_weight"][self._numbers(targets)]

    def _numbers(self, targets: Tensor) -> Tensor:
        """Return the number of the group of each row (k,)."""
        if isinstance(self.groups, str):
            one_hot = bool(((targets == 0) | (targets == 1)).all()) and bool((targets.sum(1) == 1).all())
            if targets.shape[1] < 2 or not one_hot:
                raise ValueError('GroupWeights: groups is "class", but the targets are no classes: name a group a row.')
            return targets.argmax(1)
        _check_length(len(self.groups), targets, "GroupWeights: groups")
        place = {name: index for index, name in enumerate(self.names)}
        return torch.tensor([place[group] for group in self.groups], device=targets.device)


@register
@dataclass(frozen=True, repr=False)
class Times(DataWeights):
    """Training row i counts ``counts[i]`` times what ``weights`` gives it.

    Parameters
    ----------
    weights : DataWeights
        The weights without the counts.
    counts : tuple of float
        c_i > 0 of each training row, in their order.

    Raises
    ------
    ValueError
        For a count that is not finite and positive, and, with the data, when there are not as many as training rows.

    Examples
    --------
    >>> Times(LogWeights(), (1.0, 2.0, 0.5))
    Times(weights=LogWeights(), counts=(1.0, 2.0, 0.5))
    """

    weights: DataWeights
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.weights, DataWeights):
            raise ValueError(f"Times: weights is {self.weights!r}, expected data weights such as LogWeights().")
        object.__setattr__(self, "counts", positive(self.counts, "Times: counts"))
        object.__setattr__(self, "by_row", self.weights.by_row)

    @property
    def entries(self) -> int:
        """The number of counts."""
        return len(self.counts)

    def init(self, targets: Tensor) -> Omega:
        """Return what ``weights`` tunes, after a check of the length."""
        _check_length(len(self.counts), targets, "Times: counts")
        return self.weights.init(targets)

    def log_weights(self, omega: Omega, targets: Tensor) -> Tensor:
        """Return ω_i + ½ log(counts[i])."""
        counts = torch.tensor(self.counts, dtype=torch.float64, device=targets.device)
        return self.weights.log_weights(omega, targets) + 0.5 * counts.log()
