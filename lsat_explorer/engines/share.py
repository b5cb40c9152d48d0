"""The part of the rows that a worker of a cluster holds, the questions that it is asked, and how answers are added.

What travels holds arrays of numpy in place of tensors: those are sent without a copy, and a slice without the rest.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.chosen import RowsChosen
from ..data.on_disk import RowsOnDisk
from .moving import Moving
from .passes import Flowed
from .row_sums import RowSums

__all__ = [
    "Given",
    "Make",
    "Question",
    "Share",
    "Stretch",
    "answered",
    "answered_at",
    "by_row_of",
    "loaded",
    "packed",
    "second",
    "sums_of",
    "told",
    "unpacked",
]

Make = Callable[[Tensor, Tensor, Tensor | None], RowSums]
"""Returns the rows of a part from its inputs, targets and log weights."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of a file, to be read where they are needed; of them those with ``numbers`` (r,), if given."""

    path: Path
    shape: tuple[int, int]
    dtype: Any
    offset: int
    numbers: np.ndarray | None = None

    @classmethod
    def of(cls, rows: RowsOnDisk | RowsChosen, cut: slice) -> Stretch:
        """Describe the rows of ``cut``."""
        if isinstance(rows, RowsChosen):
            assert isinstance(rows.source, RowsOnDisk)
            numbers = rows.numbers[cut].numpy()
            first = int(numbers[0])
            return replace(cls.of(rows.source, slice(first, int(numbers[-1]) + 1)), numbers=numbers - first)
        width = rows.shape[1]
        offset = rows.offset + cut.start * width * rows.element_size()
        return cls(rows.path.absolute(), (cut.stop - cut.start, width), rows.numpy().dtype, offset)

    def rows(self) -> RowsOnDisk | RowsChosen:
        """Return the rows, in their file."""
        if not self.path.exists():
            raise ValueError(
                f"The worker on {socket.gethostname()} sees no file {self.path}, which holds rows: put them, or "
                f"Data.from_rows(folder=…), where every worker sees them under this path."
            )
        rows = RowsOnDisk(self.path, self.shape, self.dtype, self.offset)
        # Numbers that were received are read-only.
        return rows if self.numbers is None else RowsChosen(rows, torch.tensor(self.numbers, device="cpu"))


@dataclass(frozen=True)
class Given:
    """What a part is made of: inputs (r, d), or where they are; targets (r, m) and log weights (r,), or None.

    Without inputs, those of a partition of dask's come along.
    """

    inputs: np.ndarray | Stretch | None
    targets: np.ndarray
    log_weight: np.ndarray | None


@dataclass(frozen=True)
class Question:
    """The ``name`` of a method of `RowSums`, with its arguments; ``omega`` is None where it takes no `Moving`."""

    name: str
    precise: bool
    omega: dict[str, np.ndarray] | None
    arguments: tuple[Any, ...]


class Share:
    """The rows of one part, and the blocks that moved at the last ω that was asked for.

    Parameters
    ----------
    rows : RowSums
        The part.
    size : int
        Bytes of it, for which the cluster keeps its work where it is.
    """

    def __init__(self, rows: RowSums, size: int) -> None:
        self.rows, self._size = rows, size
        self._at: tuple[dict[str, np.ndarray], Moving] | None = None
        self._precise: RowSums | None = None

    def __sizeof__(self) -> int:
        return self._size

    def exactly(self, precise: bool) -> RowSums:
        """Return the rows, with every product in float64 where that is asked for; what they sum once they sum once."""
        if precise and self._precise is None:
            self._precise = self.rows.precisely()
        return self._precise if precise and self._precise is not None else self.rows

    def moving(self, omega: dict[str, np.ndarray]) -> Moving:
        """Return the blocks that moved, formed once an ω: F and its gradient ask for them several times."""
        at = self._at
        if at is None or at[0].keys() != omega.keys() or any(not np.array_equal(omega[n], at[0][n]) for n in omega):
            self._at = None  # two of them are not to be held at a time
            self._at = at = (omega, self.rows.moving(unpacked(omega, self.rows.targets.device)))
        return at[1]


def loaded(make: Make, given: Given, partition: np.ndarray | None = None) -> Share:
    """Return a part, on the worker that is to have it."""
    found = partition if given.inputs is None else given.inputs
    inputs = found.rows() if isinstance(found, Stretch) else unpacked(found)
    with torch.no_grad():
        rows = make(inputs, unpacked(given.targets), unpacked(given.log_weight))
    n, m = rows.shape
    return Share(rows, len(rows) * (n + m) * rows.targets.element_size())


def answered(share: Share, question: Question, *by_row: np.ndarray) -> Any:
    """Return what a part says to a question, packed; its last arguments are numbers ``by_row``."""
    rows = share.exactly(question.precise)
    arguments = unpacked((*question.arguments, *by_row), rows.targets.device)
    with torch.no_grad():
        at = () if question.omega is None else (share.moving(question.omega),)
        found = getattr(rows, question.name)(*at, *arguments)
    return packed(found)


def answered_at(share: Share, question: Question, theta: np.ndarray) -> Any:
    """Return what a part says to a question whose first argument is θ, which comes of other answers."""
    return answered(share, replace(question, arguments=(theta, *question.arguments)))


def second(_: Share, values: np.ndarray) -> np.ndarray:
    """Return numbers by row, which then lie where the rows of the part do."""
    return values


def told(share: Share, what: str, start: int) -> np.ndarray:
    """Return the ``"numbers"`` of a part's rows among all, of which the first is ``start``, or their ``"classes"``."""
    targets = share.rows.targets
    found: np.ndarray = np.arange(start, start + len(targets)) if what == "numbers" else targets.argmax(1).cpu().numpy()
    return found


# With the part as an argument these run where it lies: what is by row is not to be moved to be taken apart.
def by_row_of(_: Share, flowed: Flowed) -> Any:
    """Return the numbers by row of what flowed back."""
    return flowed.weights


def sums_of(_: Share, flowed: Flowed) -> tuple[Any, ...]:
    """Return the sums of what flowed back."""
    return flowed[1:]


def packed(value: Any) -> Any:
    """Return arrays on the host in place of tensors, in tuples, lists and dicts too."""
    return _replaced(value, Tensor, lambda tensor: tensor.detach().cpu().numpy())


def unpacked(value: Any, device: torch.device | None = None) -> Any:
    """Return tensors in place of arrays, which may be read-only as they were received."""
    return _replaced(value, np.ndarray, lambda array: torch.from_numpy(np.require(array, None, "W")).to(device))


def _replaced(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple | list):
        items = [_replaced(item, kind, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {name: _replaced(item, kind, change) for name, item in value.items()}
    return value
