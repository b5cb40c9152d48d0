"""The kinds of choices that a recipe holds and the tuner acts on: criteria and methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from .losses import Loss
from .piece import REGISTRY, Omega, Piece, register, whole

__all__ = ["Criterion", "EarlyStopping", "Fit", "Method", "registered"]


@register
@dataclass(frozen=True, repr=False)
class EarlyStopping(Piece):
    """End a run when the loss on the *test* rows has not fallen for ``patience`` accepted iterates.

    The iterate that did best on them is kept. They have then been used, so the data's ``final`` split, looked at once,
    takes over the role of the test split. Beside a method that searches several places, `MultiStart` or `Grid`, a
    recipe refuses it: from one place to the next that loss rises for no reason of its own.

    Examples
    --------
    >>> EarlyStopping(patience=5)
    EarlyStopping(patience=5)
    """

    patience: int = 20

    def __post_init__(self) -> None:
        whole(self.patience, "EarlyStopping: patience", high=10**9)


@dataclass(frozen=True)
class Fit:
    """One fit of a criterion: ``trained`` on some parts of the rows, ``scored`` on others, by part number."""

    trained: tuple[int, ...]
    scored: tuple[int, ...]


class Criterion(Piece, ABC):
    """Description of what "validation loss" is: on which rows, of which fits.

    The training rows are divided into parts; where `held_out` is True the validation rows are one more, the last.
    """

    held_out = False
    leverage = False
    """Whether `value` needs leverages h_i = w_i² x_iᵀ G⁻¹ x_i; the scored rows are then the trained ones."""
    error_rows = "validation"
    """Whose error stands beside ψ: that of rows that are not fitted where they are predicted, or of "training" rows."""
    apart = ""
    """How training rows that judge are predicted by fits that leave them out; empty where no such rows judge."""
    by_row = False
    """Whether ψ is the loss's own value for the predictions of all scored rows."""

    @property
    def judging(self) -> str:
        """What to call the rows that judge, after "the"; where their name has a comma it ends in one."""
        return f"training rows, {self.apart}," if self.apart else f"{self.error_rows} rows"

    @abstractmethod
    def parts(self, targets: Tensor, classifies: bool, seed: int) -> list[np.ndarray]:
        """Return the positions of the training rows of each part, from their ``targets`` (k, m)."""

    @abstractmethod
    def fits(self, parts: int) -> list[Fit]:
        """Return the fits for so many parts, the validation rows not counted."""

    def check(self, loss: Loss, weighted: bool) -> None:
        """Refuse a loss, or row weights, for which the criterion is not defined."""

    def value(self, loss: Loss, predictions: Tensor, targets: Tensor, leverage: Tensor | None, omega: Omega) -> Tensor:
        """Return ψ from predictions (N, m) of the scored rows, differentiable in them and in ``leverage`` (N,)."""
        return loss.value(self.predictions(predictions, targets, leverage), targets, omega)

    def predictions(self, predictions: Tensor, targets: Tensor, leverage: Tensor | None) -> Tensor:
        """Return what each row's prediction would be without the row, where the criterion leaves it out."""
        return predictions

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of a number (N,) of each scored row, as the error beside ψ is one."""
        return values.mean()


class Method(Piece, ABC):
    """Description of how F(ω) is descended.

    ``tolerance`` is that of the stopping residual and ``max_iterations`` the most evaluations, None where a method has
    none.
    """

    local = True
    """Whether each accepted iterate follows from the one before, in one descent."""

    tolerance: Any
    max_iterations: Any

    def resumed(self, last: Any) -> Method:
        """Return the method that sets out anew from the iterate ``last``, at which a run had ended."""
        return self

    def takes_up(self, other: Method, memory: Any) -> Any:
        """Return the memory with which this method goes on in place of ``other``, whose it was; {} to set out anew."""
        return memory if self == other else {}

    @abstractmethod
    def iterates(self, problem: Any, omega: Omega | None = None, memory: Any = None) -> Iterator[Any]:
        """Yield Iterates from ``omega`` on, the first the solved starting point; the last has a final status.

        With the memory of an iterate those that would have come after it, to the last bit.
        """


def registered(name: str) -> Callable[[], Any]:
    """Return a factory of the piece registered as ``name``, for defaults that live further up."""
    return lambda: REGISTRY[name]()
