"""WeightBrowser: the rows of a run, to look at, to understand and to decide about."""

from __future__ import annotations

import threading
from typing import Any

import traitlets

from lsat_explorer.verdicts import Verdicts
from lsat_explorer.widgets.row_fits import RowFits, can_judge, can_predict
from lsat_explorer.widgets.row_page import RowPage
from lsat_explorer.widgets.row_still import still
from lsat_explorer.widgets.row_verdicts import open_verdicts
from lsat_explorer.widgets.rows import EXPLAINED, FEATURE, PREDICTED, Browsable, name_of, order_text
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["WeightBrowser"]

_MODULES = ("pictures", "histogram", "confusion", "verdicts", "reasons", "zoom", "bar", "list")


class WeightBrowser(Shown, RowPage):
    """The training rows, the most doubtful labels first: thumbnails with given and suggested label, weight and row.

    A weight e^{2 ω_i} says how much a row counts in the fit. It is neither an error nor a quality of the row. Nor is
    doubt (`lsat_explorer.explain.label_doubt`), that the fit without a row favours another label, nor effect
    (`lsat_explorer.explain.effect_on_validation`), what more weight on it does to the validation loss: a person
    decides. A verdict on a row is kept under the row's own name, at once, in a file. Rows that are not images show as
    lines of a table with small graphs of their features.

    What the model says of the rows is found out in the background, and only where it is asked for: by an order, by
    `confusion`, by a row that is looked at, or by the columns of rows that are no images once the run has ended. While
    the run goes on it stays as of the iteration at which it was asked for; once it has ended it is of its last one.

    Parameters
    ----------
    run : Run
        What to browse; anything with ``data`` and ``weights()``.
    order : str, optional
        Which rows come first: ``"lightest"`` or ``"heaviest"``; or a column, ``"doubt"``, ``"effect"``, ``"row"``,
        ``"label"``, ``"predicted"``, ``"loss"`` (the loss of the row alone) or ``"feature x"`` for a feature x of rows
        that are no images, with a minus before it for the largest first, as in ``"-loss"``. Where None, ``"-doubt"``
        for a run that has ended, and for another ``"lightest"``, or ``"row"`` if its recipe tunes no row weights.
    part : {"training", "validation", "test"}
        Which rows to show. Only training rows get verdicts, and test rows are shown without predictions.
    label : object, optional
        Show the rows of this class alone; None shows all.
    confusion : (given, predicted), optional
        Show the rows of one class that the model predicts as another, or as the same.
    weights : (low, high), optional
        Show the rows whose weights lie in this range, its ends included; None for an end that is open.
    verdict : str
        Show ``"all"`` rows, those with ``"any"`` verdict or with ``"none"``, or those of one kind, such as ``"drop"``.
    verdicts : Verdicts or path, optional
        The verdicts to show and to add to, or the JSON file in which they are kept. Where None, the file
        ``verdicts-NAME.json`` in the working folder, NAME being that of the data (``verdicts.json`` where they have
        none); it is written at the first verdict.
    page : int
        The page, from 1.
    page_size : int
        Rows on a page, 1 to 500. Assign to it to have another number.
    **settings
        ``layout``, ``tooltip``, ``tabbable``.

    Attributes
    ----------
    selected : list
        The chosen rows, by the names of the user's own rows (``run.data.train.rows``), the last chosen at the end.
        Assign to it to choose.
    verdicts : Verdicts
        What was decided: as a table, as weights, as other data, as code.

    Raises
    ------
    ValueError
        If `run` is not a run, or for an order, label, range, page, size or row that does not exist, or for an order or
        a confusion that takes predictions of a run that has not begun.
    TypeError
        For an unknown setting, also one that is assigned.

    Examples
    --------
    >>> browser = WeightBrowser(lsat.tune(recipe, data), order="heaviest")  # doctest: +SKIP
    >>> browser.selected = [59467]  # doctest: +SKIP
    >>> browser.verdicts.relabel(browser.selected, 7)  # doctest: +SKIP
    """

    _esm = script(*(f"row_{name}.js" for name in _MODULES), "weight_browser.js")
    _css = looks("weight_browser.css", "row_verdicts.css")

    _fits: RowFits | None = None  # a view that could not be made is closed too

    def __init__(
        self,
        run: Browsable,
        *,
        order: str | None = None,
        part: str = "training",
        label: Any = None,
        confusion: Any = None,
        weights: Any = None,
        verdict: str = "all",
        verdicts: Any = None,
        page: int = 1,
        page_size: int = 20,
        **settings: Any,
    ) -> None:
        self._lock = threading.RLock()  # a worker may refresh while the page asks for another order
        self._tiles: Any = None  # a RowTiles once there is a run
        self._all, self._orders = {}, {}
        self._drawn: tuple[int, ...] | None = None
        self._fits = RowFits(self._take_found)
        self._given, self._verdicts, self._decided = verdicts, Verdicts(), {}
        super().__init__(**settings)
        with self.hold_sync(), self._without_layout():  # the page hears of the view once, as it is then
            self.add_class("lsat-live")
            self.selected = []
            self.run = run
            self.page_size = page_size
            self.part = part
            self.order = self._usual_order() if order is None else order
            self.label, self.weights, self.confusion, self.verdict = label, weights, confusion, verdict
            self.page = page
        self._lay_out()
        self._ask()
        self.on_msg(self._obey)

    @traitlets.observe("run")
    def _take_run(self, change: Any) -> None:
        with self._lock:
            self._model.take(self.run)
            other = self._tiles is None or self._tiles.data is not self.run.data
            moved = other and self.part != "training"
            if other:
                self._take_data()
            self._weights = self._own_weights()
            if moved or self._misplaced(other):
                self.order = self._usual_order()
            if not can_predict(self.run):
                self.confusion, self._folded = None, True
            if other:
                self._carry_over()
            self._lay_out()
            self._ask()

    def _take_data(self) -> None:
        """Turn to the training rows of other data, and to the verdicts on them."""
        self._all, self._orders, self._trail, self._drawn = {}, {}, [], None
        self._taking = True
        self.part = "training"
        self._taking = False
        self._tiles = self._tiles_of("training")
        self._count_parts()
        self._verdicts.unobserve(self._follow_verdicts)
        self._verdicts, self._complaint = open_verdicts(self._given, self.run.data)
        self._verdicts.observe(self._follow_verdicts)
        self._decided = dict(self._verdicts.items())

    def _carry_over(self) -> None:
        """Keep of the choices those that other data have too, at the places where they have them."""
        classes, places = self._tiles.classes, self._tiles.places
        label, confusion, selected = self.label, self.confusion, self.selected
        self.label, self.confusion, self.selected, self._looked = None, None, [], -1
        self.label = label if label in classes else None
        self.confusion = confusion if confusion is not None and set(confusion) <= set(classes) else None
        self.selected = [row for row in selected if row in places]
        self._folded = self._folded or not classes

    def _misplaced(self, other: bool) -> bool:
        """Whether the present order is one that another run does not have."""
        column = self.order.removeprefix("-")
        lost = column in (*PREDICTED, *EXPLAINED) and not can_predict(self.run)
        unjudged = column == "effect" and not can_judge(self.run)
        unweighed = column in ("lightest", "heaviest") and not self._tuned()
        return lost or unjudged or unweighed or (other and column.startswith(FEATURE))

    @traitlets.observe("order", "_class", "_cell", "_brush", "_size", "verdict")
    def _turn_to_first(self, change: Any) -> None:
        if self.run is not None:
            self._sought = -1
            self.page = 1
            self._lay_out()
            self._ask()

    @traitlets.observe("page")
    def _turn(self, change: Any) -> None:
        with self._lock:
            if not self._moving:
                self._sought = -1
                self._lay_out(turned=True)
                self._look_ahead()

    @traitlets.observe("_looked", "_folded", "_solving")
    def _look(self, change: Any) -> None:
        if self.run is not None:
            if change["name"] == "_looked":
                self._zoom_image = self._tiles.whole(self._looked) if self._looked >= 0 else b""
            self._lay_out(turned=change["name"] == "_looked")
            self._ask()

    def _follow_verdicts(self) -> None:
        """Show verdicts that were given, by whatever thread and in whatever view."""
        with self._lock:
            self._decided = dict(self._verdicts.items())
            self._lay_out()
            self._ask()

    def refresh(self, run: Browsable | None = None) -> None:
        """Show the weights as they are now; any thread may call it.

        Order, filters, page and selection stay as they are. Predictions follow once the run has ended.

        Parameters
        ----------
        run : Run, optional
            Another run to show from now on.
        """
        with self._lock:
            if run is not None and run is not self.run:
                self.run = run
                return
            if self._renew_weights() or self._shown["explains"] != can_predict(self.run):
                self._lay_out()
            self._standing = self._model.standing()
            if self._model.at_rest and not self._model.problem:
                self._ask()

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until what was asked for of the model is shown: doubt, effect, predictions, reasons.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most.

        Raises
        ------
        TimeoutError
            If it took longer.
        ValueError
            If the run has no fit to ask.
        """
        if not self._model.wait(timeout):
            raise TimeoutError(f"The rows were still being predicted after {timeout:g} s: wait longer.")
        if self._model.problem:
            raise ValueError(self._model.problem)

    def _appearing(self) -> None:
        self._look_ahead()  # while the page is busy with the first

    def close(self) -> None:
        """Take the view away."""
        if self._fits is not None:
            self._fits.close()
            self._verdicts.unobserve(self._follow_verdicts)
        super().close()

    def sentence(self) -> str:
        """Return what the view is, the same for every state."""
        return "WeightBrowser: rows of a run, in the order that was chosen"

    def picture(self) -> bytes:
        """Return the first rows of the page as a PNG, with the range of the weights."""
        by_weight, given = self._shown_order.column == "weight", "label" if self._tiles.classes else "target"
        of = f" of class {name_of(self.label, 30)}" if self._class >= 0 else ""
        if self._shown_cell:
            true, predicted = (name_of(self._tiles.classes[code], 30) for code in self._shown_cell)
            of = f"{of} and" if of and self._class != self._shown_cell[0] else ""
            of += f" of class {true} predicted as {predicted}"
        which = order_text(self._shown_order, given, of) if self._tuned() or not by_weight else f"Rows{of}"
        return still(self._tiles, self._present(), self._weights, f"{which} · {self._span()}")

    @property
    def _model(self) -> RowFits:
        assert self._fits is not None
        return self._fits

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if content.get("do") == "update":
            self._ask(renew=True)
        elif content.get("do") == "look":
            self._go_to(content.get("part"), content.get("position"))
        elif content.get("do") == "back":
            self._go_back()
        elif content.get("do") in ("verdict", "undo", "redo"):
            self._command(content)
