"""Where the panels of a run's figure lie, and what is written beside them."""

from __future__ import annotations

from typing import Any

from lsat_explorer.plots.maps import ACCENT, AMBER, FONT, GRID, heading

__all__ = ["EMPTY", "PANELS", "TITLES", "run_layout"]

PANELS = {"yaxis": (0.70, 0.93), "yaxis2": (0.375, 0.585), "yaxis4": (0.325, 0.365), "yaxis3": (0.03, 0.235)}
"""Where each panel lies between bottom and top; the strip of rejected steps hangs under the step size."""

EMPTY = ("yaxis", "yaxis2", "yaxis3")
"""The panels that have a title and, while there is no iterate, a line at their foot."""

TITLES = (("Validation loss", 0.945), ("Step size t", 0.60), ("Stopping residual", 0.25))
"""The titles and where they stand."""


def run_layout(*, height: int = 400) -> dict[str, Any]:
    """Return the layout of a run's figure: three stacked panels over one axis of iterations.

    Parameters
    ----------
    height : int
        Height in pixels; the width follows the page.

    Returns
    -------
    dict
        For ``go.Figure(layout=...)`` or ``go.FigureWidget(layout=...)``. Annotations 0 to 2 are the titles, 3 to 5
        the present values, 6 is what is said while there is no iterate, 7 to 9 belong to the panels of ω. Shape 0 is
        the line at the marked iterate, 1 to 3 are the feet of empty panels.
    """
    quiet: dict[str, Any] = {"gridcolor": GRID, "zeroline": False, "showline": False, "automargin": True}
    quiet |= {"ticks": "", "ticklabelstandoff": 5}
    axes: dict[str, Any] = {
        name: quiet | {"domain": list(domain), "anchor": "x", "fixedrange": True} for name, domain in PANELS.items()
    }
    axes["yaxis2"] |= {"type": "log"}
    axes["yaxis3"] |= {"type": "log"}
    # of the panels of ω: a page cannot change the type of an axis that it does not draw yet
    axes |= {name: quiet | {"anchor": "x", "fixedrange": True} for name in ("yaxis5", "yaxis6")}
    axes["yaxis5"] |= {"type": "log"}
    axes["yaxis4"] |= {"range": [0, 1], "showgrid": False, "tickvals": [0.5], "ticktext": [""]}
    return {
        **axes,
        "xaxis": quiet
        | {"anchor": "y3", "showgrid": False, "rangemode": "tozero", "hoverformat": ",d"}
        | {"title": {"text": "iteration", "standoff": 4, "font": FONT}},
        "annotations": _annotations(),
        "shapes": [
            {"type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 0.93, "visible": False}
            | {"line": {"color": AMBER, "width": 1, "dash": "dot"}, "name": "marked"},
            *_frames(),
        ],
        "height": height,
        "autosize": True,
        "margin": {"l": 58, "r": 12, "t": 2, "b": 36},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": FONT,
        "hovermode": "x",
        "hoversubplots": "axis",
        "showlegend": False,
        "uirevision": "run",
        "template": {},  # all is said here; plotly's own would be read and sent for nothing
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GRID, "activecolor": ACCENT},
    }


def _frames() -> list[dict[str, Any]]:
    place = {"type": "line", "xref": "paper", "yref": "paper", "x0": 0, "x1": 1, "line": {"color": GRID, "width": 1}}
    return [place | {"y0": PANELS[name][0], "y1": PANELS[name][0], "name": f"foot {name}"} for name in EMPTY]


def _annotations() -> list[dict[str, Any]]:
    place = {"xref": "paper", "yref": "paper", "showarrow": False, "yanchor": "bottom"}
    titles = [
        place | {"x": 0, "y": y, "xanchor": "left", "text": heading(title), "name": f"title {title.lower()}"}
        for title, y in TITLES
    ]
    values = [
        place
        | {"x": 1, "y": y, "xanchor": "right", "text": "", "name": f"value {title.lower()}"}
        | {"font": FONT | {"color": ACCENT}}
        for title, y in TITLES
    ]
    empty = place | {"x": 0.5, "y": 0.47, "text": "", "name": "empty", "font": FONT | {"size": 13}}
    beyond = [
        place | {"x": x, "y": 0, "xanchor": side, "text": "", "name": name}
        for x, side, name in ((0, "left", "title gradient"), (0, "left", "title omega"), (1, "right", "value gradient"))
    ]
    return [*titles, *values, empty, *beyond]
