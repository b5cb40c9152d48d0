"""A look at the test rows, by a button that counts how often they have been looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import traitlets

from lsat_explorer.plots.curves import number_text, value_text
from lsat_explorer.tune.last_look import last_rows
from lsat_explorer.widgets.base import View, error_words
from lsat_explorer.widgets.cells import after_cells
from lsat_explorer.widgets.shown import looks, script
from lsat_explorer.widgets.worker import Activity

__all__ = ["LastLook"]


class LastLook(View):
    """The loss and the error on rows that decided nothing, shown when somebody asks, with the number of looks.

    Parameters
    ----------
    **settings
        The traits below.

    Attributes
    ----------
    looked : callable
        Called after each look.

    Examples
    --------
    >>> view = LastLook()
    >>> view.follow(lsat.tune(recipe, data), Activity.ENDED)  # doctest: +SKIP
    >>> view.look()  # doctest: +SKIP
    """

    _esm = script("last_look.js")
    _css = looks("last_look.css")

    looked: Callable[[], None]

    result = traitlets.Unicode("").tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)  # why one cannot look now
    problem = traitlets.Unicode("").tag(sync=True)

    _hears_no_more: Callable[[], None] = staticmethod(lambda: None)  # of a view that could not be made

    def __init__(self, **settings: Any) -> None:
        self._run: Any = None
        self.looked = lambda: None
        # ω that was tested, what came out in words, and the iterate with its loss
        self._results: WeakKeyDictionary[Any, tuple[Any, str, tuple[int, float]]] = WeakKeyDictionary()
        super().__init__(**settings)
        self.on_msg(self._obey)
        self._hears_no_more = after_cells(self._recount)

    def follow(self, run: Any, activity: Activity) -> None:
        """Show what is known of the test rows of a run.

        Parameters
        ----------
        run : Run
            The run that is shown.
        activity : Activity
            What its worker is doing.
        """
        if run is not self._run:
            self.problem = ""  # with a look at the run before it
        self._run = run
        omega, text, _ = self._results.get(run, (None, "", None))
        with self.hold_sync():
            self.count, self.reason = run.looks, _reason(run, activity)
            self.result = text
            if text and run.iterates and omega is not run.omega:
                self.result += " The run has gone on since."

    def _recount(self) -> None:
        if self._run is not None:  # a cell may have called run.test()
            self.count = self._run.looks

    def close(self) -> None:
        """Take the view away."""
        self._hears_no_more()
        super().close()

    def look(self) -> Any:
        """Test the model of the run that is shown, count it, and return the result."""
        run = self._run  # another one may be shown before this one has been tested
        result = run.test()
        error = f"{100 * result.error:.2f} %" if run.data.task == "classification" else number_text(result.error)
        name = "error" if run.data.task == "classification" else "RMSE"
        number, rows = run.kept.number, "Test" if last_rows(run.recipe) == "test" else "Final"
        text = f"{rows} {name} {error}, loss {value_text(result.loss)} (◇ in the curve), after iteration {number}."
        self._results[run] = (run.omega, text, (number, result.loss))
        if run is self._run:
            with self.hold_sync():
                self.result, self.count, self.problem = text, result.looks, ""
        self.looked()
        return result

    def of(self, run: Any) -> tuple[int, float] | None:
        """Return the number of the iterate at which a run was last tested, and the loss there; None if it was not."""
        return self._results[run][2] if run in self._results else None

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("command") != "look":
            return
        run, self.problem = self._run, ""
        try:
            self.look()
        except Exception as error:  # of a loss that somebody wrote, too; a callback's error would reach nobody
            if run is self._run:
                self.problem = error_words(error)


def _reason(run: Any, activity: Activity) -> str:
    """Return why a run cannot be tested now, or nothing."""
    name = last_rows(run.recipe)
    if getattr(run.data, name) is None:
        return f"These data have no {name} rows: make them with {name}=0.2."
    if not run.iterates:
        return "There is no model yet: start the run."
    return "Pause or stop the run first: a look is at a model that stands still." if activity.busy else ""
