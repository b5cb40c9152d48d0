"""WeightBrowser: the training rows that weigh least and most, to look at and to choose from."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import traitlets

from lsat_explorer.plots.curves import count_text
from lsat_explorer.plots.tiles import graphs_figure, thumbnails_figure
from lsat_explorer.widgets.base import SettingError, View
from lsat_explorer.widgets.row_tiles import RowTiles, plain
from lsat_explorer.widgets.rows import ORDERS, Browsable, Page, name_of, page_of, span_text
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["WeightBrowser"]

_MOST_ROWS = 500  # on a page
_PICTURED = 20  # rows in the still picture
_NAMED = 60  # selected rows whose names are sent to the page


class WeightBrowser(Shown, View):
    """The training rows in the order of their weights e^{2 ω_i}: thumbnails with label, weight and row.

    A weight says how much a row counts in the fit. It is neither an error nor a quality of the row. Rows that are not
    images show as small graphs of their features.

    Parameters
    ----------
    run : Run
        What to browse; anything with ``data`` and ``weights()``.
    order : {"lightest", "heaviest"}
        Which rows come first.
    label : object, optional
        Show the rows of this class alone; None shows all.
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
        If `run` is not a run, or for an order, label, page, size or row that does not exist.
    TypeError
        For an unknown setting.

    Examples
    --------
    >>> browser = WeightBrowser(lsat.tune(recipe, data), order="heaviest")  # doctest: +SKIP
    >>> browser.selected = [59467]  # doctest: +SKIP
    """

    _esm = script("weight_browser.js")
    _css = looks("weight_browser.css")

    run = traitlets.Any()
    order = traitlets.Unicode("lightest").tag(sync=True)
    label = traitlets.Any(None, allow_none=True)
    page = traitlets.Int(1).tag(sync=True)
    selected = traitlets.Any()

    _size = traitlets.Int(20).tag(sync=True)
    _class = traitlets.Int(-1).tag(sync=True)  # position in data.classes, -1 for all
    _picked = traitlets.List(traitlets.Int()).tag(sync=True)  # positions in the training split
    _picked_names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)
    _sprite = traitlets.Bytes(b"").tag(sync=True)

    def __init__(
        self,
        run: Browsable,
        *,
        order: str = "lightest",
        label: Any = None,
        page: int = 1,
        page_size: int = 20,
        **settings: Any,
    ) -> None:
        self._lock = threading.RLock()  # a worker may refresh while the page asks for another order
        self._tiles: Any = None  # a RowTiles once there is a run
        self._drawn: tuple[int, ...] | None = None
        super().__init__(**settings)
        self.add_class("lsat-live")
        self.selected = []
        self.run = run
        self._size = page_size
        self.order, self.label = order, label
        self.page = page

    @traitlets.default("selected")
    def _nothing_selected(self) -> list[Any]:
        return []

    @traitlets.validate("run")
    def _check_run(self, proposal: Any) -> Browsable:
        run = proposal["value"]
        if not isinstance(run, Browsable):
            raise SettingError(
                f"WeightBrowser got a {type(run).__name__}, expected a run; pass what lsat.tune(recipe, data) returns"
            )
        return run

    @traitlets.validate("order")
    def _check_order(self, proposal: Any) -> str:
        if proposal["value"] not in ORDERS:
            raise SettingError(f"order is {proposal['value']!r}, expected {' or '.join(map(repr, ORDERS))}; pass one")
        return str(proposal["value"])

    @traitlets.validate("_size")
    def _check_size(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= _MOST_ROWS:
            raise SettingError(f"page_size is {proposal['value']}, expected 1 to {_MOST_ROWS}; give one of these")
        return int(proposal["value"])

    @traitlets.validate("page")
    def _check_page(self, proposal: Any) -> int:
        pages = self._present().pages
        if not 1 <= proposal["value"] <= pages:
            raise SettingError(f"page is {proposal['value']}, expected 1 to {pages}; give a page that exists")
        return int(proposal["value"])

    @traitlets.validate("_class")
    def _check_class(self, proposal: Any) -> int:
        if not -1 <= proposal["value"] < len(self._tiles.classes):
            raise SettingError(f"class {proposal['value']} does not exist: the data has {len(self._tiles.classes)}")
        return int(proposal["value"])

    @traitlets.validate("label")
    def _check_label(self, proposal: Any) -> Any:
        label = proposal["value"]
        if label is not None and label not in self._tiles.classes:
            known = (
                ", ".join(name_of(name, 20) for name in self._tiles.classes[:10]) or "no classes, this being regression"
            )
            raise SettingError(f"label is {name_of(label)!r}, but the data has {known}; give one of these or None")
        return label

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> list[Any]:
        rows = list(proposal["value"])
        for row in rows:
            if row not in self._tiles.places:
                raise SettingError(f"row {name_of(row)} is no training row; give names from run.data.train.rows")
        return [plain(row) for row in dict.fromkeys(rows)]

    @traitlets.observe("run")
    def _take_run(self, change: Any) -> None:
        with self._lock:
            self._weights = np.asarray(self.run.weights(), dtype=np.float64)
            if self._tiles is None or self._tiles.data is not self.run.data:
                self._tiles = RowTiles(self.run.data)
                self._drawn = None
                if self.label not in self._tiles.classes:
                    self.label = None
                self.selected = [row for row in self.selected if row in self._tiles.places]
            self._lay_out()

    @traitlets.observe("label")
    def _follow_label(self, change: Any) -> None:
        self._class = -1 if change["new"] is None else self._tiles.classes.index(change["new"])

    @traitlets.observe("_class")
    def _follow_class(self, change: Any) -> None:
        self.label = None if change["new"] < 0 else self._tiles.classes[change["new"]]

    @traitlets.observe("selected")
    def _follow_selected(self, change: Any) -> None:
        with self.hold_sync():
            self._picked = [self._tiles.places[row] for row in change["new"]]
            self._picked_names = [name_of(row, 40) for row in change["new"][-_NAMED:]]

    @traitlets.observe("_picked")
    def _follow_picked(self, change: Any) -> None:
        rows = self.run.data.train.rows
        self.selected = [plain(rows[place]) for place in change["new"] if 0 <= place < len(rows)]

    @traitlets.observe("order", "_class", "_size")
    def _turn_to_first(self, change: Any) -> None:
        if self.run is not None:
            self.page = 1
            self._lay_out()

    @traitlets.observe("page")
    def _turn(self, change: Any) -> None:
        self._lay_out()

    def refresh(self, run: Browsable | None = None) -> None:
        """Show the weights as they are now; any thread may call it.

        Order, class, page and selection stay as they are.

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

    def sentence(self) -> str:
        """Return what the view is, the same for every state."""
        return "WeightBrowser: the training rows in the order of their weights"

    def picture(self) -> bytes:
        """Return the first rows of the page as a PNG, with the range of the weights."""
        page = self._present()
        rows = page.positions[:_PICTURED]
        which = f"{self.order.capitalize()} rows" if self._tuned() else "Rows"
        which += f" of class {name_of(self.label, 30)}" if self._class >= 0 else ""
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

    def _present(self) -> Page:
        keep = None if self._class < 0 else self._tiles.codes == self._class
        return page_of(self._weights, self.order, self.page, self._size, keep)

    def _lay_out(self) -> None:
        with self._lock, self.hold_sync():
            page = self._present()
            drawn = tuple(page.positions.tolist())
            if drawn != self._drawn:  # a picture is worth sending only when other rows are in it
                self._drawn = drawn
                self._sprite = self._tiles.sprite(page.positions)
            self._shown = self._tiles.describe(self._weights, page) | {"span": self._span(), "tuned": self._tuned()}
