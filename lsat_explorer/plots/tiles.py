"""Rows as a grid of tiles: thumbnails of images, small graphs of other rows, each with its caption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.pixels import as_picture
from lsat_explorer.plots.sheet import ACCENT, LINE, MUTED, Sheet, mounted, place_image, write, write_caption

__all__ = ["graphs_figure", "thumbnails_figure"]

_MOST_BARS = 24
_SIDE = 0.9  # inches of a tile


def thumbnails_figure(
    images: Sequence[ArrayLike] | NDArray[np.generic],
    captions: Sequence[object] | None = None,
    title: object | None = None,
    *,
    across: int = 10,
) -> Sheet:
    """Draw rows as a grid of thumbnails, a caption under each.

    Parameters
    ----------
    images : (N, h, w), (N, h, w, 3) array or sequence of images
        What to show, in order.
    captions : sequence of N, optional
        Under each thumbnail: a text, or (label, weight, row).
    title : object, optional
        Text above the grid.
    across : int
        Thumbnails in a line.

    Returns
    -------
    Sheet
        A matplotlib figure, with the words "no rows" where there are none.

    Raises
    ------
    ValueError
        If the captions are not one for each image, or an image is none.
    """

    def draw(axes: Axes, image: ArrayLike, left: float, top: float) -> None:
        place_image(axes, as_picture(image), left, top, _SIDE)

    return _grid(images, captions, title, across, draw)


def graphs_figure(
    graphs: Sequence[Sequence[float]],
    captions: Sequence[object] | None = None,
    title: object | None = None,
    *,
    across: int = 10,
) -> Sheet:
    """Draw rows that are no images as a grid of small graphs: bars for few numbers, a line for many.

    Parameters
    ----------
    graphs : sequence of N sequences
        Numbers in -3 .. 3 for each row: deviations of its features from the mean.
    captions, title, across
        See :func:`thumbnails_figure`.
    """

    def draw(axes: Axes, graph: Sequence[float], left: float, top: float) -> None:
        axes.add_patch(Rectangle((left, top), _SIDE, _SIDE, color="#f7f8fa", linewidth=0))
        middle, scale = top + _SIDE / 2, _SIDE / 2 / 3.1
        axes.plot([left, left + _SIDE], [middle, middle], color=LINE, linewidth=0.8)
        x = left + (np.arange(len(graph)) + 0.5) * _SIDE / max(len(graph), 1)
        y = middle - scale * np.asarray(graph, dtype=np.float64)
        if len(graph) <= _MOST_BARS:
            width = 0.75 * _SIDE / max(len(graph), 1)
            axes.vlines(x, middle, y, color=ACCENT, linewidth=72 * width, capstyle="butt")
        else:
            axes.plot(x, y, color=ACCENT, linewidth=1.0)

    return _grid(graphs, captions, title, across, draw)


def _grid(
    items: Sequence[Any] | NDArray[np.generic],
    captions: Sequence[object] | None,
    title: object | None,
    across: int,
    draw: Callable[[Axes, Any, float, float], None],
) -> Sheet:
    captions = [""] * len(items) if captions is None else list(captions)
    if len(captions) != len(items):
        raise ValueError(f"There are {len(items)} rows to draw and {len(captions)} captions: give one for each.")
    across = max(1, min(across, len(items) or across))
    down = max(1, -(-len(items) // across))
    lines = max((2 if isinstance(caption, tuple) else bool(str(caption)) for caption in captions), default=0)
    head, cell = 0.38 if title is not None else 0.08, 0.96 + 0.16 * lines
    width, height = max(0.98 * across + 0.16, 4.0), head + cell * down + 0.04
    sheet = Sheet(width, height)
    if title is not None:
        most = int(12 * width)
        write(sheet, 0.08 / width, 1 - 0.25 / height, title, most=most, fontsize=10, fontweight="bold")
    if len(items) == 0:
        write(sheet, 0.5, 0.35, "no rows", color=MUTED, ha="center")
    axes = mounted(sheet)
    for index, (item, caption) in enumerate(zip(items, captions, strict=True)):
        left, top = 0.08 + 0.98 * (index % across), head + cell * (index // across)
        draw(axes, item, left, top)
        write_caption(sheet, caption, (left, left + _SIDE), top + _SIDE + 0.13)
    return sheet
