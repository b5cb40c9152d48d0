"""What the hands do to a tree of steps: one command for each control, and undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lsat_explorer.model.piece import REGISTRY, nearest
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets.featurizer_draft import (
    Path,
    Step,
    added,
    at,
    leaves,
    moved,
    removed,
    renamed,
    with_field,
    with_hold,
)
from lsat_explorer.widgets.featurizer_fields import fresh, kind_of
from lsat_explorer.widgets.undo import Undo

__all__ = ["Assembly"]


class Assembly:
    """A tree of steps, the step that is looked at, and what both were before.

    Parameters
    ----------
    root : Step
        The tree to begin with.
    width_at : callable
        Takes a path and whether what follows it is meant; returns how many columns come in there.
    image_shape : tuple of int or None
        Shape of the rows where they are images.

    Examples
    --------
    >>> from lsat_explorer import Scale
    >>> from lsat_explorer.widgets.featurizer_draft import built, step_of
    >>> assembly = Assembly(step_of(Scale()), lambda path, after: 4, None)
    >>> assembly.obey({"do": "add", "path": [], "kind": "LowRank"})
    >>> built(assembly.root)[0]
    Chain(Scale(), LowRank(rank=4))
    >>> assembly.obey({"do": "undo"})
    >>> built(assembly.root)[0]
    Scale()
    """

    def __init__(self, root: Step, width_at: Callable[[Path, bool], int], image_shape: tuple[int, ...] | None) -> None:
        self._undo: Undo[tuple[Step, Path]] = Undo((root, _leaf_in(root, ())))
        self._width_at, self._image_shape = width_at, image_shape
        self._commands = {
            "set": self._set,
            "each": self._each,
            "hold": self._hold,
            "add": self._add,
            "remove": self._remove,
            "move": self._move,
            "rename": self._rename,
        }

    @property
    def root(self) -> Step:
        """The present tree."""
        return self._undo.present[0]

    @property
    def chosen(self) -> Path:
        """The step that is looked at."""
        return self._undo.present[1]

    @property
    def undoes(self) -> str:
        """What undo would take back, in words; empty where there is nothing."""
        return self._undo.undoes

    @property
    def redoes(self) -> str:
        """What redo would do again, in words; empty where there is nothing."""
        return self._undo.redoes

    def obey(self, message: Mapping[str, Any]) -> None:
        """Do what a control asks for.

        Parameters
        ----------
        message : mapping
            ``do``, a command; ``path``, a list of places; and what the command needs. Changes of one ``gesture``, such
            as a drag, are undone together.

        Raises
        ------
        ValueError
            For a command that does not exist, or cannot be done to that step.
        """
        do = message.get("do")
        if do in ("undo", "redo"):
            (self._undo.undo if do == "undo" else self._undo.redo)()
            return
        if do not in self._commands:
            raise ValueError(f"There is no command {do!r}{nearest(do, self._commands)}")
        path = tuple(message.get("path", ()))
        title = kind_of(at(self.root, path).kind).title
        root, chosen = self._commands[str(do)](path, message)
        words = {"set": "change", "each": "change", "hold": "hold or tune"}.get(str(do), str(do))
        what = kind_of(message["kind"]).title if do == "add" else title
        self.change(root, chosen, f"{words} {what}", str(message.get("gesture", "")))

    def change(self, root: Step, chosen: Path | None = None, label: str = "assign", gesture: str = "") -> None:
        """Put another tree in place, as one step to be undone."""
        if root != self.root:
            self._undo.push((root, _leaf_in(root, self.chosen if chosen is None else chosen)), label, gesture)

    def choose(self, path: Path) -> None:
        """Look at another step; where there is none, at the first."""
        self._undo.replace((self.root, _leaf_in(self.root, path)))

    def _set(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        name, value = str(message.get("field")), message.get("value")
        present, column = at(self.root, path).fields.get(name), message.get("column")
        if isinstance(present, list) and isinstance(column, int) and not isinstance(value, list):
            if not 0 <= column < len(present):
                raise ValueError(f"{name} holds {len(present)} numbers: there is no column {column}.")
            value = [*present[:column], value, *present[column + 1 :]]
        return with_field(self.root, path, name, value), path

    def _each(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        name, column = str(message.get("field")), int(message.get("column", 0))
        present = at(self.root, path).fields.get(name)
        if message.get("one"):
            value: Any = present if isinstance(present, list) else [present] * self._width_at(path, False)
        else:
            value = present[min(column, len(present) - 1)] if isinstance(present, list) else present
        return with_field(self.root, path, name, value), path

    def _hold(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        return with_hold(self.root, path, str(message.get("name")), bool(message.get("held"))), path

    def _add(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        kind = message.get("kind")
        known = [name for name, piece in REGISTRY.items() if issubclass(piece, Featurizer)]
        if kind not in known:
            raise ValueError(f"There is no featurizer {kind!r}{nearest(kind, known)}")
        beside = bool(message.get("beside"))
        step = fresh(str(kind), self._width_at(path, not beside), self._image_shape)
        return added(self.root, path, step, beside)

    def _remove(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        return removed(self.root, path), (*path[:-1], max(0, path[-1] - 1)) if path else path

    def _move(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        return moved(self.root, path, int(message.get("by", 0)))

    def _rename(self, path: Path, message: Mapping[str, Any]) -> tuple[Step, Path]:
        return renamed(self.root, path, str(message.get("name")).strip()), self.chosen


def _leaf_in(root: Step, path: Path) -> Path:
    """Return the path of the first piece at a path that is not made of pieces, or of the first of all."""
    known = [leaf for leaf, _, _ in leaves(root)]
    return next((leaf for leaf in known if leaf[: len(path)] == path), known[0])
