"""What is chosen of the training rows: their order, filters, page and selection, in Python and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from lsat_explorer.data.on_disk import RowsApart
from lsat_explorer.data.row_names import mask_told, place_of
from lsat_explorer.widgets.row_filters import check_ends
from lsat_explorer.widgets.row_fits import can_judge, can_predict
from lsat_explorer.widgets.row_tiles import PARTS, RowTiles, plain
from lsat_explorer.widgets.rows import EXPLAINED, PREDICTED, Browsable, Order, Page, name_of, order_of
from lsat_explorer.widgets.settings import NotNone, SettingError, checked

__all__ = ["RowChoice"]

_MOST_ROWS = 500  # on a page
_NAMED = 60  # selected rows whose names the page shows


class RowChoice(traitlets.HasTraits):
    """Mixin of a view over the rows of a run: each choice is a trait for Python, and another one for the page.

    Python speaks of labels and of the user's rows, the page of positions: the traits of both follow each other. A value
    that does not exist is refused whoever sends it.
    """

    run = NotNone()
    part = traitlets.Enum(list(PARTS), "training").tag(sync=True)
    order = traitlets.Unicode("lightest", help="give a name such as 'lightest' or '-loss'").tag(sync=True)
    label = traitlets.Any(None, allow_none=True)
    confusion = traitlets.Any(None, allow_none=True)
    weights = traitlets.Any(None, allow_none=True)
    page = traitlets.Int(1, help="give its number from 1").tag(sync=True)
    selected = NotNone()

    _size = traitlets.Int(20).tag(sync=True)
    _class = traitlets.Int(-1).tag(sync=True)  # position in data.classes, -1 for all
    _cell = traitlets.List(traitlets.Int()).tag(sync=True)  # positions of given and predicted class; empty for all
    _brush: traitlets.List[Any] = traitlets.List().tag(sync=True)  # low and high, empty for all
    _picked = traitlets.List(traitlets.Int()).tag(sync=True)  # positions among the rows of the part
    _picked_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # of the last of them, to be read
    _picked_text = traitlets.Unicode("").tag(sync=True)  # the names of all as they are, one a line, to be copied
    _looked = traitlets.Int(-1).tag(sync=True)  # position of the row that is looked at, -1 for none
    _folded = traitlets.Bool(True).tag(sync=True)  # whether the confusion matrix is out of sight

    _tiles: RowTiles

    @property
    def page_size(self) -> int:
        """Rows on a page."""
        return int(self._size)

    @page_size.setter
    def page_size(self, size: int) -> None:
        if not isinstance(size, int | np.integer) or isinstance(size, bool):
            raise _wrong_size(size)
        self._size = int(size)

    def _present(self) -> Page:
        """Return the page that is on show."""
        raise NotImplementedError

    @property
    def _sorting(self) -> Order:
        return order_of(self.order, self._tiles.features)

    @property
    def _asks_model(self) -> bool:
        """Whether what is chosen takes the predictions of all rows."""
        return self._sorting.column in PREDICTED or bool(self._cell) or not self._folded

    @property
    def _lists_predictions(self) -> bool:
        """Whether the lines of the rows have a place for what the model predicts."""
        return not self._tiles.has_images and self.part != "test" and self._sorting.column not in EXPLAINED

    @property
    def _apart(self) -> bool:
        """Whether the rows are not in memory, so that the model says something of them all by a pass over them only."""
        return isinstance(self._tiles.split.inputs, RowsApart)

    @property
    def _asks_columns(self) -> bool:
        """Whether what is chosen takes doubt and effect."""
        return self.part == "training" and self._sorting.column in EXPLAINED

    def _check_model(self, what: str) -> None:
        if self.part == "test":
            raise SettingError(
                f"{what} takes predictions, and test rows are shown without: run.test() looks at them, and counts that"
            )
        if not can_predict(self.run):
            raise SettingError(f"{what} takes predictions, which the run has once it has begun; start the run first")

    def _check_columns(self, order: Order, name: str) -> None:
        """Refuse an order that the rows of this part, or this run, do not have."""
        if self.part != "training" and order.column in ("weight", *EXPLAINED):
            raise SettingError(
                f"order {name!r} is of training rows, and these are {self.part} rows; give 'row', 'label' or '-loss'"
            )
        if order.column in EXPLAINED and not can_predict(self.run):
            raise SettingError(
                f"order {name!r} takes a fit, which the run has once it has begun; start it first, or give 'lightest'"
            )
        if order.column == "effect" and not can_judge(self.run):
            raise SettingError(
                f"order {name!r} takes validation rows, and the data have none; fit with validation=…, or give '-doubt'"
            )

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
        if run.data is None:
            raise SettingError("WeightBrowser got a run without its rows: load it with Run.load(folder, data)")
        return run

    @traitlets.validate("part")
    def _check_part(self, proposal: Any) -> str:
        split = getattr(self.run.data, PARTS[proposal["value"]])
        if split is None or not len(split):
            raise SettingError(f"part is {proposal['value']!r}, and the data have no such rows; give 'training'")
        return str(proposal["value"])

    @traitlets.validate("order")
    def _check_order(self, proposal: Any) -> str:
        order = checked(lambda: order_of(proposal["value"], self._tiles.features))
        self._check_columns(order, proposal["value"])
        if order.column in PREDICTED:
            self._check_model(f"order {proposal['value']!r}")
        return str(proposal["value"])

    @traitlets.validate("_size")
    def _check_size(self, proposal: Any) -> int:
        if not 1 <= proposal["value"] <= _MOST_ROWS:
            raise _wrong_size(proposal["value"])
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

    @traitlets.validate("_cell")
    def _check_cell(self, proposal: Any) -> list[int]:
        cell = list(proposal["value"])
        if cell and (len(cell) != 2 or not all(0 <= code < len(self._tiles.classes) for code in cell)):
            raise SettingError(f"cell {cell} does not exist: the data has {len(self._tiles.classes)} classes")
        if cell:
            self._check_model("confusion")
        return cell

    @traitlets.validate("_brush")
    def _check_brush(self, proposal: Any) -> list[float | None]:
        return list(_ends_of(proposal["value"] or None) or ())

    @traitlets.validate("_looked")
    def _check_looked(self, proposal: Any) -> int:
        return int(proposal["value"]) if 0 <= proposal["value"] < len(self._tiles.split) else -1

    @traitlets.validate("_folded")
    def _check_folded(self, proposal: Any) -> bool:
        no_model = self.part == "test" or not can_predict(self.run)
        return bool(proposal["value"]) or not self._tiles.classes or no_model

    @traitlets.validate("label")
    def _check_label(self, proposal: Any) -> Any:
        if proposal["value"] is not None:
            self._code_of(proposal["value"], "label")
        return proposal["value"]

    @traitlets.validate("confusion")
    def _check_confusion(self, proposal: Any) -> tuple[Any, Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 2:
            raise SettingError(f"confusion is {value!r}, expected (given, predicted); give two labels or None")
        for label in value:
            self._code_of(label, "confusion")
        self._check_model("confusion")
        return value[0], value[1]

    @traitlets.validate("weights")
    def _check_weights(self, proposal: Any) -> Any:
        return _ends_of(proposal["value"])

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> list[Any]:
        try:
            if isinstance(proposal["value"], str | bytes):  # whose letters are no names
                raise TypeError
            rows = list(proposal["value"])
            known = [place_of(row, self._tiles.places) is not None for row in rows]
        except TypeError:
            raise SettingError(
                f"selected is {proposal['value']!r}, expected names of rows; give a list of them"
            ) from None
        for row, there in zip(rows, known, strict=True):
            if not there:
                where = f"run.data.{PARTS[self.part]}.rows"
                if told := mask_told(proposal["value"]):
                    raise SettingError(f"selected is {told}, expected names of rows; give those in {where}[mask]")
                raise SettingError(f"row {name_of(row)} is no {self.part} row; give names from {where}")
        return [plain(row) for row in dict.fromkeys(rows)]

    @traitlets.observe("label")
    def _follow_label(self, change: Any) -> None:
        self._class = -1 if change["new"] is None else self._tiles.classes.index(change["new"])

    @traitlets.observe("_class")
    def _follow_class(self, change: Any) -> None:
        self.label = None if change["new"] < 0 else self._tiles.classes[change["new"]]

    @traitlets.observe("confusion")
    def _follow_confusion(self, change: Any) -> None:
        self._cell = [] if change["new"] is None else [self._tiles.classes.index(label) for label in change["new"]]

    @traitlets.observe("_cell")
    def _follow_cell(self, change: Any) -> None:
        given = [self._tiles.classes[code] for code in change["new"]]
        self.confusion = (given[0], given[1]) if given else None

    @traitlets.observe("weights")
    def _follow_weights(self, change: Any) -> None:
        self._brush = list(change["new"] or ())

    @traitlets.observe("_brush")
    def _follow_brush(self, change: Any) -> None:
        self.weights = _ends_of(change["new"] or None)

    @traitlets.observe("selected")
    def _follow_selected(self, change: Any) -> None:
        self._picked_names = [name_of(row, 40) for row in change["new"][-_NAMED:]]
        self._picked_text = "\n".join(map(str, change["new"])).encode("utf-8", "replace").decode()
        picked = [self._tiles.places[row] for row in change["new"]]
        if picked != self._picked:  # else a page chose them, and said which one it looks at
            self._picked, self._looked = picked, picked[-1] if picked else -1

    @traitlets.observe("_picked")
    def _follow_picked(self, change: Any) -> None:
        rows = self._tiles.split.rows
        self.selected = [plain(rows[place]) for place in change["new"] if 0 <= place < len(rows)]

    def _code_of(self, label: Any, trait: str) -> int:
        classes = self._tiles.classes
        if label not in classes:
            known = ", ".join(name_of(name, 20) for name in classes[:10]) or "no classes, this being regression"
            raise SettingError(f"{trait} is {name_of(label)!r}, but the data has {known}; give one of these or None")
        return classes.index(label)


def _wrong_size(size: Any) -> SettingError:
    return SettingError(f"page_size is {size!r}, expected 1 to {_MOST_ROWS}; give one of these")


def _ends_of(value: Any) -> Any:
    return checked(lambda: check_ends(value))
