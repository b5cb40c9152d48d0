"""The table of runs: choose one, name it, note something, draw it beside another, take it out."""

from __future__ import annotations

from typing import Any

import traitlets

from lsat_explorer.plots.live import OVERLAYS
from lsat_explorer.plots.words import VALIDATION
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.run_list import KeptRun, RunList
from lsat_explorer.widgets.shown import looks, script

__all__ = ["RunTable"]


class RunTable(View):
    """Every run so far, in a line each; the newest first. Choosing one shows its curves.

    Parameters
    ----------
    runs : RunList
        The runs.
    numbers : bool
        Whether their errors are those of numbers, not shares of rows.
    **settings
        The traits below.

    Attributes
    ----------
    rows : list of dict
        What the page shows of each run, as `RunList.rows` returns it.
    chosen : int
        Which row is shown.
    """

    _esm = script("runs.js")
    _css = looks("runs.css")

    runs: RunList

    rows: traitlets.List[Any] = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    error_name = traitlets.Unicode("Validation error").tag(sync=True)
    compared = traitlets.Unicode("Run 1").tag(sync=True)
    undoes = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)  # what else there is, beside these runs
    problem = traitlets.Unicode("").tag(sync=True)
    colours: traitlets.List[Any] = traitlets.List([list(look) for look in OVERLAYS]).tag(sync=True)

    def __init__(self, runs: RunList, *, numbers: bool = False, **settings: Any) -> None:
        self.runs = runs
        self._numbers = numbers
        self._busy = False
        self._seen: KeptRun | None = None
        super().__init__(**settings)
        self.on_msg(self._obey)

    @traitlets.validate("chosen")
    def _check_chosen(self, proposal: Any) -> int:
        return int(min(max(proposal["value"], 0), max(len(self.runs) - 1, 0)))

    @property
    def shown(self) -> KeptRun:
        """The run of the chosen row."""
        return self.runs[max(len(self.runs) - 1 - self.chosen, 0)]

    def refresh(self, busy: bool) -> None:
        """Show the runs as they are.

        Parameters
        ----------
        busy : bool
            Whether the present run is being computed.
        """
        self._busy = busy
        with self.hold_sync():
            self.rows = self.runs.rows(busy)
            self.error_name = self._error_name()
            self.compared = self.runs.first.name
            self.undoes = self.runs.undoes
        self._look()

    def _error_name(self) -> str:
        if all(row["judging"] == VALIDATION for row in self.rows):
            return "Validation RMSE" if self._numbers else "Validation error"
        return "RMSE" if self._numbers else "Error"

    def edited(self) -> None:
        """Show the runs after one was named, taken out or brought back; the same run stays chosen if it is there."""
        place = next((i for i, kept in enumerate(reversed(self.runs)) if kept is self._seen), 0)
        with self.hold_sync():
            self.chosen = place
            self.refresh(self._busy)

    @traitlets.observe("chosen")
    def _look(self, _change: Any = None) -> None:
        self._seen = self.shown if len(self.runs) else None

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Do what the page asks for; what that raises is shown below the table."""
        if not isinstance(content, dict):
            return
        self.problem = ""
        try:
            self._act(content)
        except ValueError as error:
            self.problem = str(error)

    def _act(self, content: dict[str, Any]) -> None:
        command = content.get("command")
        index = next((i for i, kept in enumerate(self.runs) if kept.number == content.get("run")), None)
        if command == "undo":
            self.runs.undo()
        elif index is None:  # another view has deleted it
            return
        elif command == "rename":
            self.runs[index].name = str(content.get("text", ""))
        elif command == "note":
            self.runs[index].note = str(content.get("text", ""))
        elif command == "overlay":
            self.runs.overlay(index, bool(content.get("on")))
        elif command == "delete":
            del self.runs[index]
