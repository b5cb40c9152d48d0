"""One verdict, and the label it gives: plain Python values that JSON can hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.tables import shown

__all__ = ["KINDS", "Verdict", "same"]

KINDS = ("keep", "relabel", "drop", "ambiguous")
"""What can be decided about a row."""

_LARGEST = 2**64  # beyond it, a whole number is no target either


@dataclass(frozen=True)
class Verdict:
    """What was decided about a row.

    Parameters
    ----------
    kind : {"keep", "relabel", "drop", "ambiguous"}
        The row is right as it is; has another label; is left out; or has no single right label.
    to : label, optional
        The other label, with ``"relabel"`` alone: a class, or in regression a number (a tuple for several outputs).

    Raises
    ------
    ValueError
        For another kind, a label that is missing or is none, or one where none belongs.

    Examples
    --------
    >>> Verdict("relabel", 7)
    Verdict(kind='relabel', to=7)
    """

    kind: str
    to: Any = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"A verdict is {shown(self.kind)}: expected one of {', '.join(KINDS)}.")
        if self.kind == "relabel":
            object.__setattr__(self, "to", _label(self.to))
        elif self.to is not None:
            raise ValueError(f"The verdict {self.kind} comes with the label {shown(self.to)}: relabel alone has one.")


def same(one: Verdict | None, other: Verdict | None) -> bool:
    """Whether two verdicts agree; the label 1 is neither True nor 1.0.

    Examples
    --------
    >>> same(Verdict("relabel", 1), Verdict("relabel", True)), same(None, None)
    (False, True)
    """
    return repr(one) == repr(other)


def _label(label: Any) -> Any:
    if hasattr(label, "tolist"):
        label = label.tolist()
    if isinstance(label, list | tuple):
        return tuple(_number(each, label) for each in label)
    if isinstance(label, str | bool):
        return label if isinstance(label, bool) else str(label)
    return _number(label, label)


def _number(value: Any, label: Any) -> int | float:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) < _LARGEST:
        return int(plain)
    if isinstance(plain, float) and math.isfinite(plain):
        return float(plain)
    raise ValueError(
        f"A row is relabelled to {shown(label)}: expected a class, or in regression a finite number or a tuple of them."
    )
