"""What a page of training rows looks like: words, thumbnails as one sprite, small graphs."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image

from lsat_explorer.data import Data, Split
from lsat_explorer.data.images import sprite
from lsat_explorer.data.on_disk import RowsApart
from lsat_explorer.plots.curves import short
from lsat_explorer.plots.words import signed, span_text, weight_places, weight_text
from lsat_explorer.widgets.row_columns import Told, percent
from lsat_explorer.widgets.row_numbers import number_texts
from lsat_explorer.widgets.row_weights import Kept, Weights
from lsat_explorer.widgets.rows import (
    FEATURE,
    Page,
    Positions,
    RowValues,
    name_of,
)

__all__ = ["PARTS", "RowTiles", "plain"]

PARTS = {"training": "train", "validation": "validation", "test": "test"}
"""The rows that can be looked at, and which split of the data has them."""

_COLUMNS = 25  # of the sprite
_BINS = 48
_FARTHEST, _MOST_VALUES = 3, 40  # features named in a line of the table, and of the chosen row
_MOST_FEATURES = 200  # offered to sort by
_SOME = 2_000  # most training rows that tell what is usual, where these are not in memory
_LARGE, _SMALL, _FEW = 112, 64, 100  # pixels a side of a thumbnail on a page of few rows, and of many


def plain(row: Any) -> Any:
    """Return the name of a row as a plain Python value where it is a numpy number or text."""
    return row.item() if isinstance(row, np.integer | np.floating | np.str_ | np.bool_) else row


class RowTiles:
    """Some rows of some data, ready to be shown.

    Parameters
    ----------
    data : Data
        The data.
    part : {"training", "validation", "test"}
        Which of their rows; there are some.
    """

    def __init__(self, data: Data, part: str = "training") -> None:
        self.data, self.part = data, part
        self.split: Split = getattr(data, PARTS[part])
        self.classes: list[Any] = list(data.classes or ())
        self.has_images = data.image_shape is not None
        # what else rows can be sorted by; a single pixel tells nothing
        self.features: list[str] = [] if self.has_images else list(data.feature_names)

    @cached_property
    def codes(self) -> Positions:
        """Position in `classes` of each row (k,)."""
        targets = self.split.targets
        return targets.argmax(dim=1).numpy() if self.classes else np.zeros(len(targets), dtype=np.intp)

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """Position of a row by its name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def names(self) -> list[Any]:
        """The user's names of the rows, as plain values."""
        rows = self.split.rows
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "biufU":  # at once: they may be a million
            return rows.tolist()
        return [plain(row) for row in rows]

    @cached_property
    def values(self) -> RowValues:
        """Rows that are not images, as graphs."""
        train = self.data.train.inputs
        if isinstance(train, RowsApart):  # some of them tell how far rows lie from the mean
            some = train[torch.arange(0, len(train), -(-len(train) // _SOME), device="cpu")]
            return RowValues(self.split.inputs, self.data.feature_names, some.numpy())
        return RowValues(self.split.inputs.numpy(), self.data.feature_names, train.numpy())

    @cached_property
    def _one_number(self) -> bool:
        """Whether what the data say of a row is one number."""
        return not self.classes and self.split.targets.shape[1] == 1

    @cached_property
    def _reach(self) -> float:
        """The largest size of the training targets, which gives the form of all that are shown."""
        return float(self.data.train.targets.abs().max())

    def _given(self, targets: Any) -> list[str]:
        return number_texts(targets, self._reach)

    def words(self, weights: Weights, positions: Positions) -> tuple[list[str], list[str], list[str]]:
        """Return label, weight and name of some rows as texts."""
        split, places = self.split, weight_places(weights.ends)
        labels = (
            self._given(split.targets[positions, 0])
            if self._one_number
            else [name_of(split.labels[place]) for place in positions]
        )
        texts = [weight_text(weight, places) for weight in weights.at(positions)]
        return labels, texts, [name_of(split.rows[place], 40) for place in positions]

    def images(self, positions: Positions) -> np.ndarray:
        """Return thumbnails (N, h, w) or (N, h, w, 3), uint8, no larger than a page shows them."""
        images = self.data.images(PARTS[self.part], positions)
        most = _LARGE if len(positions) <= _FEW else _SMALL
        height, width = images.shape[1:3]
        if max(height, width) <= most:
            return images
        scale = most / max(height, width)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        return np.stack([np.asarray(Image.fromarray(image).resize(size)) for image in images])

    def sprite(self, positions: Positions) -> bytes:
        """Return the thumbnails in one PNG, empty where there are none."""
        return sprite(self.images(positions), _COLUMNS) if self.has_images and len(positions) else b""

    def whole(self, position: int) -> bytes:
        """Return one row as a PNG of all its pixels, empty where it is no image."""
        return sprite(self.data.images(PARTS[self.part], [position]), 1) if self.has_images else b""

    def keys(self, column: str, told: Told) -> np.ndarray:
        """Return the numbers (k,) of a column other than the weight, or the places in the data while it is unknown."""
        predictions, targets = told.predictions, self.split.targets
        known = {"label": self.codes if self.classes else targets[:, 0].numpy()}
        if told.doubts is not None:
            known["doubt"] = told.doubts.doubt
        if told.effects is not None:
            known["effect"] = told.effects.effect
        if predictions is not None:
            known |= {"predicted": predictions.codes, "loss": predictions.losses}
        if column.startswith(FEATURE):
            return self.values.column(self.features.index(column.removeprefix(FEATURE)))
        return known.get(column, np.arange(len(targets)))

    def describe(self, weights: Weights, page: Page, keep: Kept, told: Told, column: str) -> dict[str, Any]:
        """Return what a page shows beside its sprite, as values of JSON.

        Parameters
        ----------
        weights : Weights
            The present weights.
        page : Page
            Which rows.
        keep : Kept
            The rows of all pages.
        told : Told
            What is known of the rows.
        column : str
            What the rows are sorted by.
        """
        labels, texts, rows = self.words(weights, page.positions)
        histogram, places = keep.histogram(_BINS), weight_places(weights.ends)
        histogram["ends"] = [weight_text(histogram[end], places) for end in ("low", "high")]
        described: dict[str, Any] = {
            "positions": page.positions.tolist(),
            "labels": labels,
            "weights": texts,
            "exact": [signed(weight, ".5g") for weight in weights.at(page.positions)],
            "rows": rows,
            "pages": page.pages,
            "total": page.total,
            "all": len(weights),
            "part": self.part,
            "span": span_text(weights.ends),
            "kept_span": span_text(keep.ends) if page.total else "",
            "histogram": histogram,
            "classes": [name_of(name, 24) for name in self.classes],
            "columns": _COLUMNS,
            "shape": list((self.data.image_shape or ())[:2]),
        }
        described |= self._told(page, told)
        if not self.has_images:
            described["graphs"] = self.values.graphs(page.positions)
            described["unusual"] = self.values.unusual(page.positions, _FARTHEST)
            described["features"] = [short(name, 40) for name in self.features[:_MOST_FEATURES]]
            if column.startswith(FEATURE):
                values = self.keys(column, told)[page.positions]
                described["sorted"] = self.values.texts(values, self.features.index(column.removeprefix(FEATURE)))
        return described

    def _told(self, page: Page, told: Told) -> dict[str, Any]:
        """Return what is known of the rows of a page."""
        places, described, number = page.positions, dict[str, Any](), self._one_number
        if told.predictions is not None:
            words, codes, losses = (
                told.predictions.words,
                told.predictions.codes[places],
                told.predictions.losses[places],
            )
            described["predicted"] = self._given(codes) if number else [words[place] for place in places]
            described["losses"] = number_texts(losses) if number else [weight_text(loss) for loss in losses]
            right = told.predictions.codes[places] == self.codes[places]
            described["wrong"] = (~right).tolist() if self.classes else []
        if told.doubts is not None:
            suggested = np.array(told.doubts.suggested, dtype=object)[places] if number else ()
            described["suggested"] = self._given(suggested) if number else [told.doubts.words(p) for p in places]
            described["confidence"] = [percent(share) for share in told.doubts.confidence[places]]
            described["doubtful"] = told.doubts.doubtful[places].tolist()
            doubts = told.doubts.doubt[places]
            described["doubts"] = [signed(doubt, ".2f") if np.isfinite(doubt) else "–" for doubt in doubts]
        if told.effects is not None:
            described["effects"] = [told.effects.words(place) for place in places]
        return described

    def zoom(self, weights: Weights, position: int) -> dict[str, Any]:
        """Return what is known of one row beside its picture, as values of JSON."""
        place = np.array([position])
        _, _, (row,) = self.words(weights, place)
        (weight,) = weights.at(place)
        shown: dict[str, Any] = {
            "position": position,
            "row": row,
            "label": name_of(self.split.labels[position]),
            "weight": signed(weight, ".5g"),
            "rank": f"{weights.lighter(weight) + 1:,} of {len(weights):,}, lightest first",
            "shape": list((self.data.image_shape or ())[:2]),
        }
        if not self.has_images:
            names = self.values.unusual(place, _MOST_VALUES)[0]
            shown["graph"] = self.values.graphs(place)[0]
            shown["values"] = [list(pair) for pair in names]
            shown["inputs"] = len(self.features)
        return shown
