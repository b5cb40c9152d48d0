"""Plotly figures of weights, of θ per class and of rows, and the colours that all plotly figures share.

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

from lsat_explorer.plots.curves import number_text, short, weight_bins
from lsat_explorer.plots.pixels import as_picture, theta_images

__all__ = [
    "ACCENT",
    "AMBER",
    "FONT",
    "GRID",
    "MUTED",
    "escape",
    "heading",
    "present",
    "theta_plotly",
    "thumbnails_plotly",
    "weights_plotly",
]

ACCENT = "#2f86de"
MUTED = "#858c96"
AMBER = "#cf8420"
GRID = "rgba(133, 140, 150, 0.25)"
FONT = {"family": "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif", "size": 12, "color": MUTED}


def heading(text: str) -> str:
    """Return the title of a panel, in the colour of text of a notebook's theme; elsewhere in the figure's own."""
    return _in_theme(text, "--jp-ui-font-color1")


def present(text: str) -> str:
    """Return a present value, in the accent colour of a notebook's theme; elsewhere in the figure's own."""
    return _in_theme(text, "--jp-brand-color1")


def _in_theme(text: str, variable: str) -> str:
    return f'<span style="color:var({variable}, inherit)"><b>{text}</b></span>'


def escape(text: object, most: int = 60) -> str:
    """Return text from data so that plotly shows it as text.

    It is one line, its markup escaped; ``$`` is not read as LaTeX, and ``%{x}`` not as the place of a value.

    Examples
    --------
    >>> escape("<img src=x>")
    '&lt;img src=x&gt;'
    """
    return html.escape(short(text, most), quote=False).replace("$", "&#36;").replace("%", "&#37;")


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
    spans = [f"{number_text(low, '.3g')} to {number_text(high, '.3g')}" for low, high in pairwise(edges)]
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
    images, names, limit = theta_images(theta, image_shape, classes)
    titles = [escape(name, 14) for name in names]
    maps = [
        go.Heatmap(z=image, coloraxis="coloraxis", hovertemplate="%{z:.3g}<extra></extra>", name=title)
        for image, title in zip(images, titles, strict=True)
    ]
    figure = _panels(maps, titles, 5, height)
    figure.update_layout(coloraxis={"cmin": -limit, "cmax": limit, "colorscale": "RdBu_r"})
    return figure


def thumbnails_plotly(
    images: Sequence[ArrayLike] | ArrayLike,
    captions: Sequence[object] | None = None,
    title: object | None = None,
    *,
    across: int = 10,
) -> go.Figure:
    """Draw images of rows in a grid with plotly, each with its caption above.

    Parameters
    ----------
    images, captions, title, across
        See :func:`lsat_explorer.plots.thumbnails_figure`.

    Raises
    ------
    ValueError
        When there is not one caption an image.
    """
    pictures = [as_picture(image) for image in np.asarray(images)]
    names = [""] * len(pictures) if captions is None else [escape(caption, 24) for caption in captions]
    if len(names) != len(pictures):
        raise ValueError(f"There are {len(pictures)} images and {len(names)} captions: give one for each.")
    traces = [
        go.Image(z=np.asarray(picture), hovertemplate=f"{name}<extra></extra>", name=name)
        for picture, name in zip(pictures, names, strict=True)
    ]
    figure = _panels(traces, names, across, 40 + 110 * max(1, -(-len(traces) // across)))
    if title is not None:
        figure.update_layout(title={"text": escape(title, 90), "font": FONT | {"size": 13}}, margin_t=56)
    return figure


def _panels(traces: Sequence[Any], titles: Sequence[str], most_across: int, height: int) -> go.Figure:
    """Put pictures side by side, ``most_across`` in a line, each with its title and square to its own axes."""
    from plotly.subplots import make_subplots

    across = max(1, min(most_across, len(traces)))
    down = max(1, -(-len(traces) // across))
    gap = {"horizontal_spacing": 0.02 if across <= 5 else 0.008, "vertical_spacing": min(0.12, 0.5 / down)}
    figure = make_subplots(rows=down, cols=across, subplot_titles=list(titles), **gap)
    for index, trace in enumerate(traces):
        figure.add_trace(trace, row=index // across + 1, col=index % across + 1)
    figure.update_layout(_plain_layout(height) | {"margin": {"l": 8, "r": 8, "t": 28, "b": 8}})
    figure.update_annotations(font=FONT)
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    for number in range(1, len(traces) + 1):  # each panel square to its own x axis
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
