"""Training, validation and test rows as parts of one view, and the way from a row of one to a row of another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import traitlets

from lsat_explorer.data.on_disk import RowsApart
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.row_choice import RowChoice
from lsat_explorer.widgets.row_columns import Told
from lsat_explorer.widgets.row_fits import RowFits, at_hand, can_predict
from lsat_explorer.widgets.row_tiles import PARTS, RowTiles
from lsat_explorer.widgets.row_weights import Kept, Weights, weights_of
from lsat_explorer.widgets.rows import Order, page_of

__all__ = ["RowParts"]

_BEHIND = {"training": "validation", "validation": "training"}
"""Which rows are behind a row. None are behind test rows, which must decide nothing."""

_MOST_STEPS = 20  # back


class RowParts(RowChoice, View):
    """A view that shows one part of the rows at a time, each in an order of its own."""

    _parts: traitlets.List[Any] = traitlets.List().tag(sync=True)  # that there are, with their numbers of rows
    _trail: traitlets.List[Any] = traitlets.List().tag(sync=True)  # rows looked at before: part, position, name

    _lock: threading.RLock
    _drawn: tuple[int, ...] | None
    _all: dict[str, RowTiles]
    _weights: Weights  # of the rows of the part: ones where they have none
    _orders: dict[str, str]  # the order in which each part was shown last
    _sought = -1  # position of a row whose page is to be shown
    _moving = False  # between several choices: nothing is shown until all are made
    _taking = False  # other data, whose training rows come first

    @property
    def _model(self) -> RowFits:
        raise NotImplementedError

    def _lay_out(self, *, turned: bool = False) -> None:
        raise NotImplementedError

    def _ask(self, renew: bool = False) -> None:
        raise NotImplementedError

    def _keep(self) -> Kept:
        """Return which rows pass every filter."""
        raise NotImplementedError

    @property
    def _told(self) -> Told:
        """What is known of the rows."""
        raise NotImplementedError

    @property
    def _shown_order(self) -> Order:
        """The order that the rows are in, which is another than the one asked for while that is not known."""
        raise NotImplementedError

    @property
    def _training(self) -> RowTiles:
        return self._tiles_of("training")

    @property
    def _other(self) -> RowTiles | None:
        """The rows behind the row that is looked at, None where none are told."""
        part = _BEHIND.get(self.part)
        told = part is not None and self._looked >= 0 and can_predict(self.run) and self._judges
        return self._tiles_of(part) if part is not None and told else None

    @property
    def _judges(self) -> bool:
        """Whether the model is asked what takes a pass over all rows: where these are elsewhere, if somebody did."""
        return at_hand(self.run) or self._asks_columns or self._model.told(self._training).doubts is not None

    def _tiles_of(self, part: str) -> RowTiles:
        if part not in self._all:
            self._all[part] = RowTiles(self.run.data, part)
        return self._all[part]

    def _own_weights(self) -> Weights:
        """Return the present weights of the rows of the part; those that are not fitted weigh nothing, shown as one."""
        tiles = self._tiles
        if self.part != "training":
            return Weights(np.ones(len(tiles.split)), lambda: tiles.codes)
        return weights_of(self.run, lambda: tiles.codes)

    def _tuned(self) -> bool:
        """Whether the rows of the part have weights that the run's recipe tunes."""
        recipe = getattr(self.run, "recipe", None)
        return self.part == "training" and (recipe is None or recipe.data_weights is not None)

    def _usual_order(self) -> str:
        """Return the order in which the rows of the part come first: the doubtful, or the mistaken ones."""
        rest = can_predict(self.run) and self._model.at_rest and at_hand(self.run)
        if self.part == "training":
            return "-doubt" if rest else "lightest" if self._tuned() else "row"
        inputs = self._tiles.split.inputs
        told = self.part == "validation" and can_predict(self.run) and not isinstance(inputs, RowsApart)
        return "-loss" if told else "row"

    def _count_parts(self) -> None:
        splits = {part: getattr(self.run.data, name) for part, name in PARTS.items()}
        self._parts = [[part, len(split)] for part, split in splits.items() if split is not None and len(split)]

    @traitlets.observe("part")
    def _take_part(self, change: Any) -> None:
        with self._lock, self.hold_sync():
            if self._taking:
                return
            with self._without_layout():
                self._orders[change["old"]] = self.order
                self.selected = []
                self._tiles = self._tiles_of(self.part)
                self._weights = self._own_weights()
                self._drawn = None
                if self.part != "training":
                    self.weights = None
                if self.part == "test":
                    self.confusion, self._folded = None, True
                self._resume_order()
                self.page = 1
            self._lay_out()
            self._ask()

    def _resume_order(self) -> None:
        try:
            self.order = self._orders.get(self.part) or self._usual_order()
        except ValueError:  # what it took is gone
            self.order = self._usual_order()

    def _go_to(self, part: Any, position: Any, *, back: bool = False) -> None:
        """Look at a row, of another part perhaps, on the page where it is."""
        known = part in dict(self._parts) and isinstance(position, int)
        if not known or not 0 <= position < len(self._tiles_of(part).split):
            return
        if self._looked >= 0 and not back:
            step = [self.part, self._looked, self._tiles.words(self._weights, np.array([self._looked]))[2][0]]
            self._trail = [*self._trail, step][-_MOST_STEPS:]
        self.part = part
        self.selected = [self._tiles.names[position]]
        self._sought = position
        self._lay_out()

    def _turn_to_sought(self) -> None:
        """Turn to the page with the row that is sought, until its order is the one that was asked for."""
        order, told = self._shown_order, self._told
        if order.column == "weight":
            place = self._keep().place(self._sought, order.falling)
        else:
            keys = self._tiles.keys(order.column, told)
            rows = page_of(keys, 1, len(keys), falling=order.falling, keep=self._keep().mask).positions
            place = next(iter(np.flatnonzero(rows == self._sought).tolist()), -1)
        if place >= 0:
            self._turn_silently(place // self._size + 1)
        if order == self._sorting:
            self._sought = -1

    def _turn_silently(self, page: int) -> None:
        """Turn to a page within what is being laid out."""
        with self._without_layout():
            self.page = page

    @contextmanager
    def _without_layout(self) -> Iterator[None]:
        """Change several choices with nothing shown, and the model asked for nothing, in between."""
        moving, self._moving = self._moving, True
        try:
            yield
        finally:
            self._moving = moving

    def _go_back(self) -> None:
        if self._trail:
            *rest, (part, position, _) = self._trail
            self._trail = rest
            self._go_to(part, position, back=True)
