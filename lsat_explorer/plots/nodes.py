"""Still pictures of graphs over features, and of what their penalty does to θ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.node_names import name_nodes
from lsat_explorer.plots.sheet import ACCENT, AMBER, LINE, MUTED, TEXT, Sheet, bare, write

__all__ = ["GRAPH_COLOURS", "nodes_figure"]

GRAPH_COLOURS = (ACCENT, AMBER, "#1a7f4b", "#c62828", "#6f42c1", MUTED)
"""Colours of graphs, in their order."""

_ARC = np.linspace(0, np.pi, 24)


def nodes_figure(
    points: NDArray[np.floating],
    graphs: Sequence[tuple[str, NDArray[np.integer], str]],
    *,
    aspect: float = 1.0,
    placement: str = "image",
    names: Sequence[str] = (),
    lines: Sequence[str] = (),
    thetas: ArrayLike | None = None,
    image_shape: Sequence[int] = (),
    captions: Sequence[str] = (),
) -> Sheet:
    """Draw graphs on the same nodes, what they are, and θ of a fit without and with their penalty.

    Parameters
    ----------
    points : (n, 2) array
        Nodes in the unit square, the second coordinate downwards; none where they are too many to draw.
    graphs : sequence of (name, edges (e, 2), words)
        Each in a colour of its own; the words stand behind its name.
    aspect : float
        Width over height of the square.
    placement : str
        Where the nodes lie: edges of those on a ``"line"`` are arcs, names around a ``"circle"`` lie along its rays.
    names : sequence of str
        Names of the nodes; those are written that have room.
    lines : sequence of str
        What stands below the names of the graphs.
    thetas : (2, n) array, optional
        θ before and after.
    image_shape : (h, w), optional
        Draw θ as images of this shape, as curves where left out.
    captions : sequence of str
        One for each θ.

    Returns
    -------
    Sheet
        A matplotlib figure.
    """
    sheet = Sheet(8.0, 4.4)
    axes = sheet.add_axes((0.015, 0.03, 0.52, 0.94))
    bare(axes)
    arcs = placement == "line"
    axes.set_aspect(1 / aspect if not arcs else "auto")
    if len(points):
        _draw(axes, points, graphs, arcs)
        if names:
            name_nodes(axes, points, names, placement)
    else:
        write(axes, 0.5, 0.5, "Too many nodes or edges to draw.", color=MUTED, ha="center")
    y = 0.93
    for index, (name, _, words) in enumerate(graphs[:8]):
        write(sheet, 0.57, y, "—", color=GRAPH_COLOURS[index % len(GRAPH_COLOURS)], fontweight="bold")
        write(sheet, 0.6, y, name, most=24, fontweight="bold")
        write(sheet, 0.985, y, words, most=40, color=MUTED, ha="right")
        y -= 0.06
    for line in lines:
        write(sheet, 0.57, y, line, most=70, color=MUTED)
        y -= 0.055
    if thetas is not None:
        _draw_thetas(sheet, np.asarray(thetas, dtype=np.float64), tuple(image_shape), captions, y)
    return sheet


def _draw(
    axes: Axes, points: NDArray[np.floating], graphs: Sequence[tuple[str, NDArray[np.integer], str]], arcs: bool
) -> None:
    size = float(np.clip(140 / np.sqrt(len(points)), 2, 26))
    width = float(np.clip(26 / np.sqrt(len(points)), 0.5, 1.6))
    top = 0.0
    for index, (_, edges, _) in enumerate(graphs):
        ends = points[edges]
        drawn = [_arc(a, b) for a, b in ends] if arcs else ends
        top = max([top, *(1 - float(arc[:, 1].min()) for arc in drawn)]) if arcs else top
        colour = GRAPH_COLOURS[index % len(GRAPH_COLOURS)]
        axes.add_collection(LineCollection(list(drawn), colors=colour, linewidths=width))
    axes.scatter(points[:, 0], points[:, 1], s=size, color=TEXT, linewidths=0, zorder=3)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.04
    axes.set_xlim(min(low[0], 0) - margin, max(high[0], 1) + margin)
    if arcs:  # in the middle, as high as the highest arc
        axes.set_ylim(1.3 + 0.5 * max(0.9 - top, 0.0), 1 - max(top, 0.9))
    else:
        axes.set_ylim(max(high[1], 1) + margin, min(low[1], 0) - margin)


def _arc(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    half = abs(float(b[0] - a[0])) / 2
    return np.stack([(a[0] + b[0]) / 2 + half * np.cos(_ARC), a[1] - min(half * 1.8, 0.95) * np.sin(_ARC)], axis=1)


def _draw_thetas(
    sheet: Sheet, thetas: NDArray[np.float64], shape: tuple[int, ...], captions: Sequence[str], top: float
) -> None:
    finite = np.abs(thetas[np.isfinite(thetas)])
    limit = (float(np.quantile(finite, 0.995)) if finite.size else 0.0) or 1.0
    height = min(0.42, top - 0.12)
    if shape:
        for index, theta in enumerate(thetas):
            axes = sheet.add_axes((0.57 + 0.215 * index, top - height, 0.2, height))
            axes.imshow(theta.reshape(shape), cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
            bare(axes)
            for spine in axes.spines.values():
                spine.set_visible(True)
                spine.set_color(LINE)
            if captions:
                write(axes, 0.0, -0.1, captions[index], most=32, fontsize=8, color=MUTED)
        return
    axes = sheet.add_axes((0.57, top - height, 0.415, height))
    bare(axes)
    axes.axhline(0, color=LINE, linewidth=0.8)
    for index, (theta, colour) in enumerate(zip(thetas, (MUTED, ACCENT), strict=True)):
        axes.plot(theta, color=colour, linewidth=1.2)
        if captions:
            write(axes, 0.5 * index, -0.1, captions[index], most=32, fontsize=8, color=colour)
    axes.set_ylim(-1.1 * limit, 1.1 * limit)
