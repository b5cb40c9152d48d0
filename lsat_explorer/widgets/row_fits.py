"""The fit of a run that its rows are predicted with: found in the background, renewed only where that is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from lsat_explorer.widgets.latest import Latest
from lsat_explorer.widgets.row_predictions import Fit, Predictions, fit_of, predictions_of, said_of

__all__ = ["RowFits", "can_predict"]


def can_predict(run: Any) -> bool:
    """Whether a run has a model to predict with: it has one from its first iterate on."""
    return bool(getattr(run, "iterates", ()))


@dataclass(frozen=True)
class _Wish:
    run: Any
    rows: bool = False  # the predictions of all rows
    position: int = -1  # what is said of one
    renew: bool = False


@dataclass(frozen=True)
class _Known:
    """What is known of one run."""

    run: Any = None
    fit: Fit | None = None
    predictions: Predictions | None = None
    position: int = -1
    said: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


class RowFits:
    """What the model of a run says of its training rows.

    A run that goes on is asked for a model only when somebody chose what takes one: a fit costs what an iteration
    costs, and both share the processor. The fit that was found then stays until the run is at rest, or until a newer
    one is asked for.

    Parameters
    ----------
    changed : callable
        Called, from the thread that found it out, when something is known that was not.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._threads = torch.get_num_threads()
        self._lock = threading.Lock()
        self._known = _Known()
        self._last = _Wish(None)
        self._latest = Latest(self._find_out, "lsat-rows")
        self.busy = False
        self.wait, self.close = self._latest.wait, self._latest.close

    @property
    def predictions(self) -> Predictions | None:
        """What is predicted for all rows, if that was asked for."""
        return self._known.predictions

    @property
    def problem(self) -> str:
        """Why there are no predictions, empty where nothing went wrong."""
        return self._known.problem

    @property
    def at_rest(self) -> bool:
        """Whether the run has ended, so that its fit may be asked for at any time."""
        status = getattr(self._known.run, "status", None)
        return status is not None and bool(status.final)

    def said(self, position: int) -> dict[str, Any]:
        """Return what was said of a row, nothing where it was not asked for."""
        return self._known.said if self._known.position == position else {}

    def standing(self) -> dict[str, Any]:
        """Return where the predictions stand, as values of JSON.

        Returns
        -------
        dict
            ``can``, whether the run has a model; ``busy``, whether one is being asked; ``number``, the iteration that
            the predictions are of, None where there are none; ``now``, the last iteration of the run; ``behind``,
            whether it has moved on since; ``problem``.
        """
        known = self._known
        can, now = can_predict(known.run), known.run.iterates[-1].number if can_predict(known.run) else 0
        behind = known.fit is not None and can and known.fit.behind(known.run)
        number = None if known.fit is None else known.fit.number if behind else now
        return {
            "can": can,
            "busy": self.busy,
            "number": number,
            "now": now,
            "behind": behind,
            "problem": known.problem,
        }

    def take(self, run: Any) -> None:
        """Begin anew with another run."""
        with self._lock:
            self._known, self._last, self.busy = _Known(run), _Wish(None), False

    def ask(self, *, rows: bool, position: int, renew: bool = False) -> None:
        """Have found out, in the background, what is not known yet.

        Parameters
        ----------
        rows : bool
            Whether all rows are to be predicted.
        position : int
            A row to be told about, -1 for none.
        renew : bool
            Whether to take the run's present fit where an earlier one is at hand. A run at rest is always taken as it
            is now.
        """
        known = self._known
        if not can_predict(known.run) or not (rows or position >= 0):
            return
        renew = renew or self.at_rest or (rows and not self._last.rows)
        lacking = (rows and known.predictions is None) or (position >= 0 and known.position != position)
        stale = known.fit is None or (renew and known.fit.behind(known.run))
        wish = _Wish(known.run, rows, position, renew)
        if (lacking or stale) and not (self.busy and wish == self._last):
            self._last, self.busy = wish, True
            self._latest.ask(wish)

    def _find_out(self, wish: _Wish, stale: Callable[[], bool]) -> None:
        torch.set_num_threads(self._threads)  # a new thread does not inherit it
        known, problem = self._known, ""
        if known.run is not wish.run:
            return
        try:
            if known.fit is None or (wish.renew and known.fit.behind(wish.run)):
                known = _Known(wish.run, fit_of(wish.run))
            assert known.fit is not None
            split, model = wish.run.data.train, known.fit.model
            if wish.position >= 0 and known.position != wish.position:
                known = replace(known, position=wish.position, said=said_of(model, split, wish.position))
            if wish.rows and known.predictions is None:
                known = replace(known, predictions=predictions_of(model, split, stale))
        except Exception as error:  # the rows are worth looking at without their predictions
            problem = f"The rows could not be predicted: {error}"
        with self._lock:
            if self._known.run is not wish.run:
                return
            self._known = replace(known, problem=problem)
            self.busy = stale()
        self._changed()
