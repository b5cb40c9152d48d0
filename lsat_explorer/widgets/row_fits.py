"""The fit of a run that its rows are predicted with: found in the background, renewed only where that is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from lsat_explorer.data.on_disk import RowsApart
from lsat_explorer.widgets.latest import Latest
from lsat_explorer.widgets.row_columns import Told
from lsat_explorer.widgets.row_findings import STEPS, Known, Wish, lacking
from lsat_explorer.widgets.row_predictions import fit_of
from lsat_explorer.widgets.row_reasons import Reasons
from lsat_explorer.widgets.row_resolve import Answer
from lsat_explorer.widgets.row_tiles import RowTiles

__all__ = ["RowFits", "at_hand", "can_judge", "can_predict"]


def can_predict(run: Any) -> bool:
    """Whether a run has a model to predict with: it has one from its first iterate on."""
    return bool(getattr(run, "iterates", ()))


def at_hand(run: Any) -> bool:
    """Whether the rows are in memory, so that the model says of each at once what it would take a pass over to say."""
    return not isinstance(run.data.train.inputs, RowsApart)


def can_judge(run: Any) -> bool:
    """Whether the model of a run can say what its training rows do to validation rows: it can where there are some."""
    return can_predict(run) and len(run.data.validation) > 0


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
        self._known = Known()
        self._last = Wish()
        self._latest = Latest(self._find_out, "lsat-rows")
        self.busy = False
        self.wait, self.close = self._latest.wait, self._latest.close

    def told(self, tiles: RowTiles) -> Told:
        """Return what is known of some rows."""
        known, training = self._known, tiles.part == "training"
        return Told(
            known.predictions.get(tiles),
            known.doubts if training else None,
            known.effects if training else None,
        )

    @property
    def problem(self) -> str:
        """Why there are no predictions, empty where nothing went wrong."""
        return self._known.problem

    @property
    def at_rest(self) -> bool:
        """Whether the run has ended, so that its fit may be asked for at any time."""
        status = getattr(self._known.run, "status", None)
        return status is not None and bool(status.final)

    @property
    def model(self) -> Any:
        """The model that was asked last, None while none was."""
        return None if self._known.fit is None else self._known.fit.model

    @property
    def answer(self) -> Answer | None:
        """What came of the changes that were solved with last."""
        return self._known.answer

    def said(self, tiles: RowTiles, position: int) -> dict[str, Any]:
        """Return what was said of a row, nothing where it was not asked for."""
        said = self._known.said
        return said[2] if said is not None and said[:2] == (tiles, position) else {}

    def reasons(self, tiles: RowTiles, position: int) -> Reasons:
        """Return the rows behind a row, none where they were not asked for."""
        reasons = self._known.reasons
        return reasons[2] if reasons is not None and reasons[:2] == (tiles, position) else Reasons()

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
            self._known, self._last, self.busy = Known(run), Wish(), False

    def ask(self, wish: Wish) -> None:
        """Have found out, in the background, what is not known yet."""
        if wish.renew:  # what failed is tried again where somebody asks for that
            with self._lock:
                self._known = replace(self._known, failed=frozenset(), problem="")
        known, last = self._known, self._last
        if not can_predict(known.run) or not wish.asks:
            return
        fresh = (wish.rows and not last.rows) or (wish.columns and not last.columns)
        wish = replace(wish, run=known.run, renew=wish.renew or self.at_rest or fresh)
        stale = known.fit is None or (wish.renew and known.fit.behind(known.run))
        if (stale or lacking(known, wish)) and not (self.busy and wish == last):
            self._last, self.busy = wish, True
            self._latest.ask(wish)

    def _find_out(self, wish: Wish, stale: Callable[[], bool]) -> None:
        torch.set_num_threads(self._threads)  # a new thread does not inherit it
        known = self._known
        if known.run is not wish.run:
            return
        try:
            if known.fit is None or (wish.renew and known.fit.behind(wish.run)):
                known = Known(wish.run, fit_of(wish.run))
            assert known.fit is not None
        except Exception as error:  # the rows are worth looking at without their predictions
            self._tell(wish, replace(known, problem=f"The rows could not be predicted: {error}"), busy=stale())
            return
        steps = lacking(known, wish)
        for step in steps:
            if stale():
                break
            find, failure = STEPS[step]
            try:
                known = find(known, wish, known.fit.model, stale)
            except Exception as error:
                known = replace(known, failed=known.failed | {step}, problem=f"{failure}: {error}")
            if step != steps[-1]:
                self._tell(wish, known, busy=True)
        self._tell(wish, known, busy=stale())

    def _tell(self, wish: Wish, known: Known, *, busy: bool) -> None:
        with self._lock:
            if self._known.run is not wish.run or self._latest.closed:
                return
            self._known, self.busy = known, busy
        self._changed()
