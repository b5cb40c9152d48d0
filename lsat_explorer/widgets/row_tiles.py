"""What a page of training rows looks like: words, thumbnails as one sprite, small graphs."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from lsat_explorer.data import Data
from lsat_explorer.data.images import sprite
from lsat_explorer.plots.curves import weight_bins
from lsat_explorer.widgets.rows import Page, Positions, RowValues, name_of, span_text, weight_places, weight_text

__all__ = ["RowTiles", "plain"]

_COLUMNS = 25  # of the sprite
_BINS = 48
_LARGE, _SMALL, _FEW = 112, 64, 100  # pixels a side of a thumbnail on a page of few rows, and of many


def plain(row: Any) -> Any:
    """Return the name of a row as a plain Python value where it is a numpy number or text."""
    return row.item() if isinstance(row, np.integer | np.floating | np.str_ | np.bool_) else row


class RowTiles:
    """The training rows of some data, ready to be shown.

    Parameters
    ----------
    data : Data
        The data.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.classes: list[Any] = list(data.classes or ())
        self.has_images = data.image_shape is not None

    @cached_property
    def codes(self) -> Positions:
        """Position in `classes` of each row (k,)."""
        targets = self.data.train.targets
        return targets.argmax(dim=1).numpy() if self.classes else np.zeros(len(targets), dtype=np.intp)

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """Position of a row by its name."""
        return {plain(row): place for place, row in enumerate(self.data.train.rows)}

    @cached_property
    def values(self) -> RowValues:
        """Rows that are not images, as graphs."""
        return RowValues(self.data.train.inputs.numpy(), self.data.feature_names)

    def words(self, weights: np.ndarray, positions: Positions) -> tuple[list[str], list[str], list[str]]:
        """Return label, weight and name of some rows as texts."""
        train, places = self.data.train, weight_places(weights)
        labels = [name_of(train.labels[place]) for place in positions]
        texts = [weight_text(weights[place], places) for place in positions]
        return labels, texts, [name_of(train.rows[place], 40) for place in positions]

    def images(self, positions: Positions) -> np.ndarray:
        """Return thumbnails (N, h, w) or (N, h, w, 3), uint8, no larger than a page shows them."""
        images = self.data.images("train", positions)
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

    def describe(self, weights: np.ndarray, page: Page) -> dict[str, Any]:
        """Return what a page shows beside its sprite, as values of JSON."""
        labels, texts, rows = self.words(weights, page.positions)
        edges, counts = weight_bins(weights, _BINS)
        shown = weights[page.positions]
        finite = shown[np.isfinite(shown)]
        lit = np.searchsorted(edges[1:-1], [finite.min(), finite.max()], side="right") if len(finite) else [1, 0]
        described: dict[str, Any] = {
            "positions": page.positions.tolist(),
            "labels": labels,
            "weights": texts,
            "exact": [f"{weight:.5g}" for weight in shown],
            "rows": rows,
            "pages": page.pages,
            "total": page.total,
            "all": len(weights),
            "span": span_text(weights),
            "bins": counts.tolist(),
            "lit": [int(place) for place in lit],
            "classes": [name_of(name, 24) for name in self.classes],
            "columns": _COLUMNS,
            "shape": list((self.data.image_shape or ())[:2]),
        }
        if not self.has_images:
            described["graphs"] = self.values.graphs(page.positions)
            described["unusual"] = self.values.unusual(page.positions)
        return described
