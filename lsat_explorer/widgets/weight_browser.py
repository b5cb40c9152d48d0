"""WeightBrowser: the training rows that weigh least and most, to look at and to choose from."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import traitlets

from lsat_explorer.plots.curves import count_text
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.row_choice import RowChoice
from lsat_explorer.widgets.row_filters import confusion_counts, in_cell, in_range
from lsat_explorer.widgets.row_fits import RowFits, can_predict
from lsat_explorer.widgets.row_predictions import Predictions
from lsat_explorer.widgets.row_tiles import RowTiles
from lsat_explorer.widgets.rows import FEATURE, PREDICTED, Browsable, Page, name_of, order_text, page_of, span_text
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["WeightBrowser"]

_PICTURED = 20  # rows in the still picture
_MODULES = ("pictures", "histogram", "confusion", "zoom", "bar", "list")


class WeightBrowser(Shown, RowChoice, View):
    """The training rows in the order of their weights e^{2 ω_i}: thumbnails with label, weight and row.

    A weight says how much a row counts in the fit. It is neither an error nor a quality of the row. Rows that are not
    images show as lines of a table with small graphs of their features.

    What the model predicts for the rows is found out in the background, and only where it is asked for: by an order, by
    `confusion`, or by a row that is looked at. While the run goes on these predictions stay as of the iteration at
    which they were asked for; once it has ended they are those of its last one.

    Parameters
    ----------
    run : Run
        What to browse; anything with ``data`` and ``weights()``.
    order : str
        Which rows come first: ``"lightest"`` or ``"heaviest"``; or a column, ``"row"``, ``"label"``, ``"predicted"``,
        ``"loss"`` (the loss of the row alone) or ``"feature x"`` for a feature x of rows that are no images, with a
        minus before it for the largest first, as in ``"-loss"``.
    label : object, optional
        Show the rows of this class alone; None shows all.
    confusion : (given, predicted), optional
        Show the rows of one class that the model predicts as another, or as the same.
    weights : (low, high), optional
        Show the rows whose weights lie in this range, its ends included; None for an end that is open.
    page : int
        The page, from 1.
    page_size : int
        Rows on a page, 1 to 500.
    **settings
        ``layout``, ``tooltip``, ``tabbable``.

    Attributes
    ----------
    selected : list
        The chosen rows, by the names of the user's own rows (``run.data.train.rows``), the last chosen at the end.
        Assign to it to choose.

    Raises
    ------
    ValueError
        If `run` is not a run, or for an order, label, range, page, size or row that does not exist, or for an order or
        a confusion that takes predictions of a run that has not begun.
    TypeError
        For an unknown setting.

    Examples
    --------
    >>> browser = WeightBrowser(lsat.tune(recipe, data), order="heaviest")  # doctest: +SKIP
    >>> browser.selected = [59467]  # doctest: +SKIP
    >>> browser.confusion, browser.weights = (3, 5), (None, 0.5)  # doctest: +SKIP
    """

    _esm = script(*(f"row_{name}.js" for name in _MODULES), "weight_browser.js")
    _css = looks("weight_browser.css")

    _shown = traitlets.Dict().tag(sync=True)
    _sprite = traitlets.Bytes(b"").tag(sync=True)
    _zoom = traitlets.Dict().tag(sync=True)
    _zoom_image = traitlets.Bytes(b"").tag(sync=True)
    _matrix: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _standing = traitlets.Dict().tag(sync=True)

    _fits: RowFits | None = None  # a view that could not be made is closed too

    def __init__(
        self,
        run: Browsable,
        *,
        order: str = "lightest",
        label: Any = None,
        confusion: Any = None,
        weights: Any = None,
        page: int = 1,
        page_size: int = 20,
        **settings: Any,
    ) -> None:
        self._lock = threading.RLock()  # a worker may refresh while the page asks for another order
        self._tiles: Any = None  # a RowTiles once there is a run
        self._drawn: tuple[int, ...] | None = None
        self._fits = RowFits(self._lay_out)
        super().__init__(**settings)
        self.add_class("lsat-live")
        self.selected = []
        self.run = run
        self._size = page_size
        self.order, self.label, self.weights, self.confusion = order, label, weights, confusion
        self.page = page
        self.on_msg(self._obey)

    @traitlets.observe("run")
    def _take_run(self, change: Any) -> None:
        with self._lock:
            self._weights = np.asarray(self.run.weights(), dtype=np.float64)
            self._model.take(self.run)
            other = self._tiles is None or self._tiles.data is not self.run.data
            if other:
                self._tiles, self._drawn = RowTiles(self.run.data), None
            if self._misplaced(other):
                self.order = "lightest"
            if not can_predict(self.run):
                self.confusion, self._folded = None, True
            if other:
                self._carry_over()
            self._lay_out()
            self._ask()

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
        return (column in PREDICTED and not can_predict(self.run)) or (other and column.startswith(FEATURE))

    @traitlets.observe("order", "_class", "_cell", "_brush", "_size")
    def _turn_to_first(self, change: Any) -> None:
        if self.run is not None:
            self.page = 1
            self._lay_out()
            self._ask()

    @traitlets.observe("page")
    def _turn(self, change: Any) -> None:
        self._lay_out()

    @traitlets.observe("_looked", "_folded")
    def _look(self, change: Any) -> None:
        if self.run is not None:
            if change["name"] == "_looked":
                self._zoom_image = self._tiles.whole(self._looked) if self._looked >= 0 else b""
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
            weights = np.asarray(self.run.weights(), dtype=np.float64)
            if not np.array_equal(weights, self._weights, equal_nan=True):
                self._weights = weights
                self._lay_out()
            self._standing = self._model.standing()
            if self._model.at_rest and not self._model.problem:
                self._ask()

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until the predictions that were asked for are shown.

        Parameters
        ----------
        timeout : float
            Seconds to wait at most.

        Raises
        ------
        TimeoutError
            If it took longer.
        ValueError
            If the run has no fit to predict with.
        """
        if not self._model.wait(timeout):
            raise TimeoutError(f"The rows were still being predicted after {timeout:g} s: wait longer.")
        if self._model.problem:
            raise ValueError(self._model.problem)

    def close(self) -> None:
        """Take the view away."""
        if self._fits is not None:
            self._fits.close()
        super().close()

    def sentence(self) -> str:
        """Return what the view is, the same for every state."""
        return "WeightBrowser: the training rows in the order of their weights"

    def picture(self) -> bytes:
        """Return the first rows of the page as a PNG, with the range of the weights."""
        from lsat_explorer.plots import graphs_figure, thumbnails_figure

        page = self._present()
        rows = page.positions[:_PICTURED]
        by_weight = self._sorting.column == "weight"
        which = order_text(self._sorting) if self._tuned() or not by_weight else "Rows"
        which += f" of class {name_of(self.label, 30)}" if self._class >= 0 else ""
        if self.confusion is not None:
            which += " of class {}, predicted as {}".format(*(name_of(label, 30) for label in self.confusion))
        title = f"{which} · {self._span()} · {count_text(page.total, 'row')}"
        captions = list(zip(*self._tiles.words(self._weights, rows), strict=True))
        if self._tiles.has_images:
            return thumbnails_figure(self._tiles.images(rows), captions, title).png()
        return graphs_figure(self._tiles.values.graphs(rows), captions, title).png()

    def _tuned(self) -> bool:
        """Whether the run's recipe has weights of rows."""
        recipe = getattr(self.run, "recipe", None)
        return recipe is None or recipe.data_weights is not None

    def _span(self) -> str:
        return span_text(self._weights) if self._tuned() else "This recipe tunes no row weights"

    def _keep(self) -> np.ndarray:
        """Return which rows pass every filter; a cell of the confusion matrix is one once there are predictions."""
        keep = in_range(self._weights, self.weights)
        if self._class >= 0:
            keep &= self._tiles.codes == self._class
        if self._cell and self._predictions is not None:
            keep &= in_cell(self._tiles.codes, self._predictions.codes, (self._cell[0], self._cell[1]))
        return keep

    def _present(self, keep: np.ndarray | None = None) -> Page:
        order = self._sorting
        keys = self._tiles.keys(order.column, self._weights, self._predictions)
        return page_of(keys, self.page, self._size, falling=order.falling, keep=self._keep() if keep is None else keep)

    def _lay_out(self) -> None:
        with self._lock, self.hold_sync():
            keep = self._keep()
            page = self._present(keep)
            drawn = tuple(page.positions.tolist())
            if drawn != self._drawn:  # a picture is worth sending only when other rows are in it
                self._drawn = drawn
                self._sprite = self._tiles.sprite(page.positions)
            told = self._tiles.describe(self._weights, page, keep, self._predictions, self._sorting.column)
            self._shown = told | {"span": self._span(), "tuned": self._tuned(), "order": self.order}
            zoomed = self._looked >= 0
            known = self._tiles.zoom(self._weights, self._looked) if zoomed else {}
            self._zoom = known | {"said": self._model.said(self._looked)} if zoomed else {}
            if self._predictions is not None and not self._folded:
                codes, classes = self._tiles.codes, len(self._tiles.classes)
                self._matrix = confusion_counts(codes, self._predictions.codes, classes).tolist()
            self._standing = self._model.standing()
        self.save_soon()

    @property
    def _model(self) -> RowFits:
        assert self._fits is not None
        return self._fits

    @property
    def _predictions(self) -> Predictions | None:
        return self._model.predictions if self._asks_model else None

    def _ask(self, renew: bool = False) -> None:
        self._model.ask(rows=self._asks_model, position=self._looked, renew=renew)
        self._standing = self._model.standing()

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if content == {"do": "update"}:
            self._ask(renew=True)
