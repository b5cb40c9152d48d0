"""Plotly figures of weights and of θ per class, and the colours that all plotly figures share.

Colours sit between a light and a dark page, backgrounds are transparent, and no trace needs WebGL or LaTeX.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from lsat_explorer.plots.curves import short, weight_bins
from lsat_explorer.plots.images import theta_images

__all__ = ["ACCENT", "AMBER", "FONT", "GRID", "MUTED", "escape", "theta_plotly", "weights_plotly"]

ACCENT = "#2f86de"
MUTED = "#858c96"
AMBER = "#cf8420"
GRID = "rgba(133, 140, 150, 0.25)"
FONT = {"family": "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif", "size": 12, "color": MUTED}


def escape(text: object, most: int = 60) -> str:
    """Return text from data so that plotly shows it as text: one line, markup escaped, ``$`` not read as LaTeX.

    Examples
    --------
    >>> escape("<img src=x>")
    '&lt;img src=x&gt;'
    """
    return html.escape(short(text, most), quote=False).replace("$", "&#36;")


def weights_plotly(weights: ArrayLike, *, height: int = 240) -> go.Figure:
    """Draw the histogram of the training rows' weights e^{2 ω_i} with plotly.

    Parameters
    ----------
    weights : (k,) array
        Weights; values that are not finite are left out.
    height : int
        Height in pixels.
    """
    edges, counts = weight_bins(weights)
    log = len(edges) > 2 and edges[0] > 0
    middles = np.sqrt(edges[1:] * edges[:-1]) if log else (edges[1:] + edges[:-1]) / 2 if len(edges) else edges
    spans = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    bars = go.Bar(x=middles, y=counts, customdata=spans, marker_color=ACCENT, width=np.diff(edges), name="rows")
    bars.hovertemplate = "weight %{customdata}: %{y:,} rows<extra></extra>"
    figure = go.Figure(bars, layout=_plain_layout(height))
    figure.update_xaxes(title_text="weight", type="log" if log else "linear", showgrid=False)
    figure.update_yaxes(title_text="rows", gridcolor=GRID, zeroline=False)
    return figure


def theta_plotly(
    theta: ArrayLike, image_shape: Sequence[int], classes: Sequence[object] | None = None, *, height: int = 360
) -> go.Figure:
    """Draw the pixel coefficients θ of each class with plotly, colours symmetric around zero.

    Parameters
    ----------
    theta, image_shape, classes
        See :func:`lsat_explorer.plots.theta_figure`.
    height : int
        Height in pixels.
    """
    from plotly.subplots import make_subplots

    images, names, limit = theta_images(theta, image_shape, classes)
    across = min(5, len(images))
    down = -(-len(images) // across)
    titles = [escape(name, 14) for name in names]
    figure = make_subplots(
        rows=down, cols=across, subplot_titles=titles, horizontal_spacing=0.02, vertical_spacing=0.12
    )
    for index, image in enumerate(images):
        maps = go.Heatmap(z=image, coloraxis="coloraxis", hovertemplate="%{z:.3g}<extra></extra>", name=titles[index])
        figure.add_trace(maps, row=index // across + 1, col=index % across + 1)
    figure.update_layout(_plain_layout(height) | {"margin": {"l": 8, "r": 8, "t": 28, "b": 8}})
    figure.update_annotations(font=FONT)
    figure.update_layout(coloraxis={"cmin": -limit, "cmax": limit, "colorscale": "RdBu_r"})
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    for number in range(1, len(images) + 1):  # each panel square to its own x axis
        name = "" if number == 1 else str(number)
        figure.layout[f"yaxis{name}"].scaleanchor = f"x{name}"
    return figure


def _plain_layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "autosize": True,
        "font": FONT,
        "margin": {"l": 58, "r": 12, "t": 12, "b": 40},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
    }
