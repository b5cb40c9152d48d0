"""Still figures of what a fit weighs: the histogram of weights, θ per class as images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from lsat_explorer.plots.curves import count_text, number_text, weight_bins
from lsat_explorer.plots.pixels import theta_images
from lsat_explorer.plots.sheet import ACCENT, LINE, MUTED, Sheet, bare, write

__all__ = ["theta_figure", "weights_figure"]


def weights_figure(weights: ArrayLike) -> Sheet:
    """Draw the histogram of the training rows' weights e^{2 ω_i}, with their range in words.

    Parameters
    ----------
    weights : (k,) array
        Weights; values that are not finite are left out.

    Returns
    -------
    Sheet
        A matplotlib figure; the axis is logarithmic where every weight is positive.

    Examples
    --------
    >>> figure = weights_figure([0.5, 1.0, 1.0, 2.0])
    >>> figure.texts[1].get_text()
    '0.5 to 2 over 4 rows'
    """
    edges, counts = weight_bins(weights)
    sheet = Sheet(7.0, 2.8)
    axes = sheet.add_axes((0.09, 0.17, 0.88, 0.65))
    rows = count_text(int(counts.sum()), "row")
    if len(edges) == 0:
        said = "no rows"
    elif len(edges) == 2:
        said = f"all {number_text(edges.mean())} over {rows}"
    else:
        said = f"{number_text(edges[0])} to {number_text(edges[-1])} over {rows}"
    write(sheet, 0.09, 0.89, "Weights of the training rows", fontsize=10, fontweight="bold")
    write(sheet, 0.97, 0.89, said, color=ACCENT, fontweight="bold", ha="right")
    axes.stairs(counts, edges if len(edges) else [0.0], fill=True, color=ACCENT, alpha=0.85)
    if len(edges) > 2 and edges[0] > 0:
        axes.set_xscale("log")
        marks = np.unique([edges[0], 1.0 if edges[0] < 1 < edges[-1] else np.sqrt(edges[0] * edges[-1]), edges[-1]])
        axes.xaxis.set_major_locator(FixedLocator(marks.tolist()))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value, ".3g")))
    elif len(edges) == 2:
        axes.set_xticks([edges.mean()])
        axes.set_xlim(*(edges.mean() + 12 * (edges - edges.mean())))
    axes.yaxis.set_major_locator(FixedLocator(np.unique([0, int(counts.max(initial=0))]).tolist()))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.tick_params(length=0, labelsize=9, labelcolor=MUTED)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    return sheet


def theta_figure(theta: ArrayLike, image_shape: Sequence[int], classes: Sequence[object] | None = None) -> Sheet:
    """Draw the pixel coefficients θ of each class as an image: red raises the class's score, blue lowers it.

    Parameters
    ----------
    theta : (n, m) array
        Coefficients of the pixels, n = h w or h w c.
    image_shape : (h, w) or (h, w, c)
        Shape of an image; channels are averaged.
    classes : sequence of m names, optional
        Such as ``model.classes`` or ``model.target_names``; without it the outputs are numbered.

    Returns
    -------
    Sheet
        A matplotlib figure; every image has the same colour scale, symmetric around zero.

    Raises
    ------
    ValueError
        If the shapes do not fit each other.
    """
    images, names, limit = theta_images(theta, image_shape, classes)
    across = min(5, len(images))
    down = -(-len(images) // across)
    sheet = Sheet(1.35 * across + 0.9, 1.6 * down + 0.1)
    right = 1 - 0.85 / (1.35 * across + 0.9)
    grid = sheet.add_gridspec(down, across, left=0.01, right=right, top=1 - 0.25 / (1.6 * down), bottom=0.02)
    grid.update(hspace=0.22, wspace=0.08)
    for index, (image, name) in enumerate(zip(images, names, strict=True)):
        axes = sheet.add_subplot(grid[index // across, index % across])
        drawn = axes.imshow(image, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set_facecolor(LINE)  # coefficients that are not finite
        bare(axes)
        write(axes, 0.0, 1.04, name, most=20, fontweight="bold")
    bar = sheet.colorbar(drawn, cax=sheet.add_axes((right + 0.015, 0.06, 0.012, 0.8)), ticks=[-limit, 0, limit])
    bar.ax.set_yticklabels([f"−{number_text(limit, '.3g')}", "0", number_text(limit, ".3g")], fontsize=8, color=MUTED)
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    return sheet
