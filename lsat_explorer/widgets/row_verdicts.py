"""Verdicts as a view over rows gives and shows them: which rows are meant, how each is marked, where they are kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import traitlets

from lsat_explorer.data import Data
from lsat_explorer.verdicts import KINDS, Verdict, Verdicts
from lsat_explorer.widgets.base import error_words
from lsat_explorer.widgets.row_columns import Doubts
from lsat_explorer.widgets.row_resolve import Changes, changes_of
from lsat_explorer.widgets.row_tiles import RowTiles, plain
from lsat_explorer.widgets.rows import name_of
from lsat_explorer.widgets.settings import SettingError
from lsat_explorer.widgets.typed import typed_number

__all__ = ["FILTERS", "RowVerdicts", "marked", "open_verdicts", "passing", "usual_path"]

FILTERS = ("all", "any", "none", *KINDS)
"""Which rows to show by their verdicts: all of them, those with any, those with none, those with one kind."""

_OPEN: WeakValueDictionary[Path, Verdicts] = WeakValueDictionary()
"""The verdicts of each file: views over one file show the same, and take back each other's steps."""

_WAITING = "Suggestions are still being worked out: press again once they are there."


def usual_path(data: Data) -> Path:
    """Return where verdicts on the rows of a data set are kept: in the working folder, that of the notebook.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> usual_path(lsat.datasets.digits()).name
    'verdicts-digits.json'
    """
    name = re.sub(r"[^a-z0-9]+", "-", data.name.split(",")[0].lower()).strip("-")[:40]
    return Path.cwd() / ("verdicts.json" if name in ("", "data") else f"verdicts-{name}.json")


def open_verdicts(given: Any, data: Data) -> tuple[Verdicts, str]:
    """Return the verdicts that a view is to show, and why they are not those of the usual file if they are not.

    Parameters
    ----------
    given : Verdicts, path or None
        None takes the usual file, which is written at the first verdict.
    data : Data
        Whose rows.

    Raises
    ------
    ValueError, OSError
        When a path was given and its file cannot be read.
    """
    problem = ""
    if isinstance(given, Verdicts):
        verdicts = given
    elif given is not None:
        verdicts = _of_file(Path(given))
    else:
        try:
            verdicts = _of_file(usual_path(data))
        except (ValueError, OSError) as error:  # a file of somebody else's must not keep the rows from being shown
            verdicts, problem = Verdicts(), f"{error} Until then verdicts are kept in memory alone."
    verdicts.about(data)
    return verdicts, problem


def _of_file(path: Path) -> Verdicts:
    place = path.expanduser().resolve()
    known = _OPEN.get(place)
    if known is None:
        known = _OPEN[place] = Verdicts(place)
    return known


def marked(verdict: Verdict | None) -> dict[str, str] | None:
    """Return a verdict as values of JSON."""
    if verdict is None:
        return None
    return {"kind": verdict.kind, "to": "" if verdict.to is None else name_of(verdict.to, 24)}


def _as_array(label: Any) -> Any:
    return np.array(label) if isinstance(label, tuple | list) else label


def passing(names: list[Any], verdicts: Mapping[Any, Verdict], which: str) -> np.ndarray:
    """Return which rows (k,) of these names pass one of `FILTERS`.

    Examples
    --------
    >>> passing([1, 2, 3], {2: Verdict("drop"), 3: Verdict("keep")}, "drop").tolist()
    [False, True, False]
    """
    if which == "all":
        return np.ones(len(names), dtype=bool)
    kinds = [getattr(verdicts.get(name), "kind", "none") for name in names]
    wanted = [(kind != "none") if which == "any" else kind == which for kind in kinds]
    return np.array(wanted, dtype=bool)


class RowVerdicts(traitlets.HasTraits):
    """Mixin of a view over rows on which verdicts are given.

    A verdict is on the row that is meant, or on all selected rows where it is one of them.
    """

    verdict = traitlets.Enum(FILTERS, "all").tag(sync=True)

    _judged = traitlets.Dict().tag(sync=True)  # how the verdicts stand
    _source = traitlets.Unicode("").tag(sync=True)  # them as Python
    _answer = traitlets.Dict().tag(sync=True)  # what solving with them gave
    _solving = traitlets.Bool(False).tag(sync=True)  # whether that is asked for

    _tiles: RowTiles
    _picked: list[int]
    _verdicts: Verdicts
    _decided: dict[Any, Verdict]  # the verdicts as they are shown
    _complaint = ""

    @property
    def verdicts(self) -> Verdicts:
        """The verdicts on the rows, which every method of theirs may change from Python too."""
        return self._verdicts

    def _doubts(self) -> Doubts | None:
        """Return which labels are suggested, None while that is not known."""
        raise NotImplementedError

    @traitlets.validate("verdict")
    def _check_verdict(self, proposal: Any) -> str:
        return str(proposal["value"])

    @property
    def _off(self) -> str:
        """Why no verdict can be given now, empty where one can."""
        part = self._tiles.part
        if part == "training":
            return ""
        return f"Verdicts are given on training rows. These are {part} rows: they judge, and stay as they are."

    def _changes(self) -> Changes | None:
        """Return what is to be solved with, None where nobody asked."""
        return changes_of(self._decided, self._training.places) if self._solving else None

    @property
    def _training(self) -> RowTiles:
        raise NotImplementedError

    def _tell_verdicts(self) -> None:
        """Show how the verdicts stand."""
        verdicts, here, trained = self._verdicts, self._tiles.places, self._training.places
        counts = Counter(verdict.kind for row, verdict in self._decided.items() if row in here)
        changes = changes_of(self._decided, trained)
        path = verdicts.path
        self._judged = {
            "counts": {kind: counts[kind] for kind in KINDS},
            "kinds": dict(Counter(verdict.kind for verdict in self._decided.values())),
            "changes": len(changes.drop) + len(changes.relabel),
            "total": len(self._decided),
            "elsewhere": sum(row not in trained for row in self._decided),
            "file": "" if path is None else path.name,
            "path": "" if path is None else str(path),
            "undo": verdicts.can_undo,
            "redo": verdicts.can_redo,
            "off": self._off,
            "problem": self._complaint or verdicts.problem,
        }
        self._source = verdicts.to_source()

    def _give(self, content: dict[str, Any]) -> None:
        """Give a verdict that a page asks for."""
        rows = self._meant(content.get("position"))
        kind = content.get("kind")
        if self._off or not rows:
            return
        if kind == "suggestion":
            self._relabel_as_suggested(rows)
        elif kind == "relabel":
            self._verdicts.relabel(self._named(rows), self._label_of(content.get("to")))
        elif kind in ("keep", "drop", "ambiguous", "clear"):
            getattr(self._verdicts, kind)(self._named(rows))

    def _meant(self, position: Any) -> list[int]:
        """Return the positions of the rows that a verdict is on."""
        if not isinstance(position, int) or not 0 <= position < len(self._tiles.names):
            return []
        return list(self._picked) if position in self._picked else [position]

    def _named(self, positions: list[int]) -> list[Any]:
        return [self._tiles.names[place] for place in positions]

    def _relabel_as_suggested(self, positions: list[int]) -> None:
        doubts = self._doubts()
        if doubts is None:
            raise SettingError(_WAITING)
        self._verdicts.relabel({self._tiles.names[place]: doubts.suggested[place] for place in positions})

    def _looked_verdict(self, position: int) -> dict[str, Any] | None:
        """Return the verdict on a row, and whether it is the label that is suggested, as values of JSON."""
        verdict, doubts = self._decided.get(self._tiles.names[position]), self._doubts()
        told: dict[str, Any] | None = marked(verdict)
        if told is None or verdict is None or verdict.kind != "relabel" or doubts is None:
            return told
        return told | {"suggested": np.array_equal(_as_array(verdict.to), _as_array(doubts.suggested[position]))}

    def _label_of(self, value: Any) -> Any:
        """Return the label that a page means: the place of a class, or one or several numbers as text."""
        classes = self._tiles.classes
        if classes:
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(classes):
                raise SettingError(f"class {value!r} does not exist: the data has {len(classes)}")
            return plain(classes[value])
        count = self._tiles.split.targets.shape[1]
        try:
            parts = [str(value)] if count == 1 else str(value).replace(";", ",").split(",")
            numbers = tuple(typed_number(part) for part in parts)
        except ValueError:
            numbers = ()
        if len(numbers) != count or not np.isfinite(numbers).all():
            wanted = "a finite number" if count == 1 else f"{count} finite numbers, separated by commas"
            names = self._tiles.data.target_names if count > 1 else ()
            wanted += f": {', '.join(name_of(name, 24) for name in names[:10])}" if names else ""
            raise SettingError(f"The new label is {value!r}: give {wanted}.")
        return numbers[0] if count == 1 else numbers

    def _command(self, content: dict[str, Any]) -> None:
        """Do with the verdicts what a page asks for, and show what is wrong with it."""
        self._complaint = ""
        try:
            if content["do"] == "verdict":
                self._give(content)
            elif content["do"] == "undo":
                self._verdicts.undo()
            elif content["do"] == "redo":
                self._verdicts.redo()
        except (ValueError, TypeError) as error:
            self._complaint = error_words(error)
        self._tell_verdicts()
