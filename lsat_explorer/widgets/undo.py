"""Steps that can be taken back and taken again, over any frozen state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Undo"]

_State = TypeVar("_State")
_MOST = 200  # steps kept


@dataclass(frozen=True)
class _Step(Generic[_State]):
    state: _State
    label: str
    kind: str


class Undo(Generic[_State]):
    """The states of something that is edited, and which of them is the present one.

    Parameters
    ----------
    start : object
        The first state. States are kept as they are and never changed.

    Examples
    --------
    >>> steps = Undo("a")
    >>> steps.push("ab", "add b")
    >>> steps.undo()
    >>> steps.present, steps.undoes, steps.redoes
    ('a', '', 'add b')
    """

    def __init__(self, start: _State) -> None:
        self._steps = [_Step(start, "", "")]
        self._at = 0

    @property
    def present(self) -> _State:
        """The present state."""
        return self._steps[self._at].state

    @property
    def undoes(self) -> str:
        """What `undo` would take back, in words; empty where there is nothing."""
        return self._steps[self._at].label if self._at else ""

    @property
    def redoes(self) -> str:
        """What `redo` would do again, in words; empty where there is nothing."""
        return self._steps[self._at + 1].label if self._at + 1 < len(self._steps) else ""

    def push(self, state: _State, label: str, kind: str = "") -> None:
        """Make a new state the present one; what was taken back before is forgotten.

        Parameters
        ----------
        state : object
            The new state.
        label : str
            What was done, in words.
        kind : str
            A step of the same kind as the last one is one step with it, as while a slider moves.
        """
        del self._steps[self._at + 1 :]
        if kind and self._steps[-1].kind == kind:
            del self._steps[-1]
        self._steps.append(_Step(state, label, kind))
        del self._steps[: -_MOST - 1]
        self._at = len(self._steps) - 1

    def replace(self, state: _State) -> None:
        """Put another state in the place of the present one, as a change that is no step of its own."""
        old = self._steps[self._at]
        self._steps[self._at] = _Step(state, old.label, old.kind)

    def undo(self) -> None:
        """Go back by a step, if there is one."""
        self._at = max(self._at - 1, 0)

    def redo(self) -> None:
        """Go forward by a step, if there is one."""
        self._at = min(self._at + 1, len(self._steps) - 1)
