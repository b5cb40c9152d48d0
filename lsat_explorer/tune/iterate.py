"""One step of a run, and the statuses a run can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import Enum
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from ..model.piece import Omega, prefixed, within

__all__ = [
    "COLUMNS",
    "SCALARS",
    "Iterate",
    "Memory",
    "Status",
    "from_row",
    "packed",
    "read_field",
    "recalling",
    "row_of",
    "unpacked",
]

Memory = dict[str, Tensor]
"""What a method needs, besides the recipe, to go on as if it had never been broken off."""


class Status(Enum):
    """Where a run stands; ``sentence`` is what to show."""

    READY = "ready"
    RUNNING = "running"
    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    STALLED = "stalled"
    NOT_FINITE = "not_finite"
    STOPPED_EARLY = "stopped_early"
    STOPPED_BY_USER = "stopped_by_user"
    BROKEN_OFF = "broken_off"

    @property
    def sentence(self) -> str:
        """A sentence that says what the status means and what to do."""
        return _SENTENCES[self]

    @property
    def final(self) -> bool:
        """Whether a run with this status has ended."""
        return self not in (Status.READY, Status.RUNNING)


_SENTENCES = {
    Status.READY: "Not started.",
    Status.RUNNING: "Running.",
    Status.CONVERGED: "Converged: the stopping residual is below the tolerance.",
    Status.MAX_ITERATIONS: "Stopped at the maximum number of iterations.",
    Status.STALLED: "Stalled: the step no longer moves the hyper-parameters. The best values so far are kept.",
    Status.NOT_FINITE: "Not finite: no step leads to a finite loss. The best values so far are kept.",
    Status.STOPPED_EARLY: "Stopped early: the loss on the early-stopping rows has risen for too long.",
    Status.STOPPED_BY_USER: "Stopped by you. The last accepted values are kept.",
    Status.BROKEN_OFF: "Broken off: the process that computed it is gone. The run can go on from here.",
}


@dataclass(frozen=True)
class Iterate:
    """One iteration of a run. A rejected one keeps the values of the last accepted; number 0 is the solved start.

    Attributes
    ----------
    number : int
        Count of evaluations of F, from 0.
    objective, loss, penalty : float
        F = ψ + r, the validation loss ψ and the hyper-penalty r at ``omega``.
    training_loss : float
        The same loss on the training rows, unweighted.
    stopping_loss : float
        The same loss on the test rows, when the recipe has early stopping.
    error : float
        Share of validation rows misclassified, or in regression the root of the mean square of their errors, a mean
        over rows and, where there are several, outputs: in the units of the targets. With `KFold` and `LeaveOneOut`,
        of the training rows as they are predicted without themselves; with `GCV`, of the training rows as they are
        fitted.
    step : float
        The step size t that was tried.
    residual : float
        Stopping residual ‖(ω^k − ω^{k+1})/t + g^{k+1} − g^k‖₂ of an accepted step, NaN otherwise.
    gradient_norm : float
        ‖∇ψ‖₂ over the tuned entries of ω.
    accepted : bool
        Whether F(tentative) ≤ F(ω).
    tried : float
        F at the tentative point.
    seconds : float
        How long the run has computed since its features were prepared, without pauses between two pulls. Of a
        method that is pulled without a run: since its first pull.
    status : Status
        RUNNING, or why this iterate is the last.
    start : int
        Number of the starting point, for a method that has several.
    omega : dict of str to Tensor
        The hyper-parameters. Most iterates of a run that was loaded, or is long and has a weight per row, hold the
        entries that are numbers alone: see `Run.iterates`.
    memory : callable or None
        Returns the `Memory` with which the method goes on after this iterate; a run keeps that of its last one.
    """

    number: int
    objective: float
    loss: float
    penalty: float
    step: float
    omega: Omega
    training_loss: float = math.nan
    stopping_loss: float = math.nan
    error: float = math.nan
    residual: float = math.nan
    gradient_norm: float = math.nan
    accepted: bool = True
    tried: float = math.nan
    seconds: float = 0.0
    status: Status = Status.RUNNING
    start: int = 0
    memory: Callable[[], Memory] | None = field(default=None, repr=False, compare=False)

    def scalars(self) -> dict[str, float | int | bool | str]:
        """Return every field but ``omega``, the status as a word."""
        return {**{name: getattr(self, name) for name in SCALARS}, "status": self.status.value}


SCALARS = tuple(f.name for f in fields(Iterate) if f.name not in ("omega", "memory"))
"""The fields of an iterate that fit in a table."""

COLUMNS = (*(name for name in SCALARS if name != "status"), "status")
"""Them in the order of a row of float64, the status by its place among all."""

_FIELDS = attrgetter(*COLUMNS[:-1])
_STATUSES = list(Status)
_READ: dict[str, Callable[[float], Any]] = {
    "number": int,
    "start": int,
    "accepted": bool,
    "status": lambda code: _STATUSES[int(code)],
}


def row_of(iterate: Iterate) -> list[float]:
    """Return the fields of an iterate as numbers, in the order of `COLUMNS`."""
    return [*_FIELDS(iterate), _STATUSES.index(iterate.status)]


def read_field(name: str, value: float) -> Any:
    """Return a field as it is in `Iterate` from a number of its row."""
    return _READ.get(name, float)(value)


def from_row(row: list[float], omega: Omega) -> Iterate:
    """Return an iterate from what `row_of` gave."""
    return Iterate(**{name: read_field(name, value) for name, value in zip(COLUMNS, row, strict=True)}, omega=omega)


@contextmanager
def recalling() -> Iterator[None]:
    """Say in a sentence that a memory, which may come from a file, is not what its method keeps."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
        raise ValueError(
            f"What the method keeps to go on is damaged ({type(error).__name__} {error}): begin a new run, such as "
            "Run(run.recipe, run.data, run.omega)."
        ) from error


def packed(iterate: Iterate) -> Memory:
    """Return an iterate as tensors, without its memory."""
    return {"row": torch.tensor(row_of(iterate), dtype=torch.float64, device="cpu"), **prefixed("omega", iterate.omega)}


def unpacked(memory: Memory) -> Iterate:
    """Return the iterate that was packed, to the last bit."""
    return from_row(memory["row"].tolist(), within("omega", memory))
