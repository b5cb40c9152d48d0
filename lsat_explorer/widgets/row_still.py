"""The still picture of a browser of rows, for a notebook without a kernel."""

from __future__ import annotations

from lsat_explorer.plots.contact import contact_sheet
from lsat_explorer.plots.curves import count_text
from lsat_explorer.widgets.row_tiles import RowTiles
from lsat_explorer.widgets.row_weights import Weights
from lsat_explorer.widgets.rows import Page

__all__ = ["still"]

_PICTURED = 20  # rows


def still(tiles: RowTiles, page: Page, weights: Weights, title: str) -> bytes:
    """Return the first rows of a page as a PNG, under a title and with their number."""
    rows = page.positions[:_PICTURED]
    title = f"{title} · {count_text(page.total, 'row')}"
    captions = list(zip(*tiles.words(weights, rows), strict=True))
    if tiles.has_images:
        return contact_sheet(tiles.images(rows), captions, title)
    return contact_sheet(tiles.values.graphs(rows), captions, title, graphs=True)
