"""The plotly figure of a run, fit for a live FigureWidget.

Colours sit between a light and a dark page, backgrounds are transparent, and no trace needs WebGL or LaTeX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from lsat_explorer.plots.curves import Curve, Curves, curves, value_text
from lsat_explorer.plots.maps import ACCENT, AMBER, FONT, GRID, MUTED
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks

__all__ = ["run_layout", "run_plotly", "run_traces", "update_run"]

# where each panel lies between bottom and top; the strip of rejected steps hangs under the step size
_PANELS = {"yaxis": (0.70, 0.93), "yaxis2": (0.375, 0.585), "yaxis4": (0.325, 0.365), "yaxis3": (0.03, 0.235)}
_TITLES = (("Validation loss", 0.945), ("Step size t", 0.60), ("Stopping residual", 0.25))
_TRAINING = f' <span style="color:{MUTED}">· training dotted</span>'


def run_traces(history: Any, tolerance: float | None = None) -> dict[str, Curve]:
    """Return the points of every trace of a run's figure, by the trace's name.

    Parameters
    ----------
    history : DataFrame or mapping
        See :func:`lsat_explorer.plots.run_figure`.
    tolerance : float, optional
        The tolerance of the stopping residual.

    Returns
    -------
    dict of str to Curve
        ``"training loss"``, ``"validation loss"``, ``"step size"``, ``"rejected"``, ``"tolerance"``,
        ``"stopping residual"``, ``"current loss"``, ``"current step"``, ``"current residual"``: float64 arrays
        ``.x`` and ``.y``, always all of them, empty where there is nothing to draw.
    """
    return _points(curves(history), tolerance)


def _points(drawn: Curves, tolerance: float | None) -> dict[str, Curve]:
    has_line = tolerance is not None and np.isfinite(tolerance) and tolerance > 0 and not drawn.empty
    ends = np.array([0.0, max(drawn.last, 1)]) if has_line else np.empty(0)
    return {
        "training loss": drawn.training,
        "validation loss": drawn.loss,
        "step size": drawn.step,
        "rejected": Curve(drawn.rejected, np.full(len(drawn.rejected), 0.5)),
        "tolerance": Curve(ends, np.full(len(ends), tolerance or 0.0, dtype=np.float64)),
        "stopping residual": drawn.residual,
        "current loss": drawn.loss.end(),
        "current step": drawn.step.end(),
        "current residual": drawn.residual.end(),
    }


def run_layout(*, height: int = 400) -> dict[str, Any]:
    """Return the layout of a run's figure: three stacked panels over one axis of iterations.

    Parameters
    ----------
    height : int
        Height in pixels; the width follows the page.

    Returns
    -------
    dict
        For ``go.Figure(layout=...)`` or ``go.FigureWidget(layout=...)``. Annotations 0 to 2 are the titles, 3 to 5 the
        present values, 6 the word beside the tolerance, 7 what is said while there is no iterate.
    """
    quiet = {"gridcolor": GRID, "zeroline": False, "showline": False, "ticks": "", "ticklabelstandoff": 5}
    axes: dict[str, Any] = {
        name: quiet | {"domain": list(domain), "anchor": "x", "fixedrange": True} for name, domain in _PANELS.items()
    }
    axes["yaxis2"] |= {"type": "log"}
    axes["yaxis3"] |= {"type": "log"}
    axes["yaxis4"] |= {"range": [0, 1], "showgrid": False, "tickvals": [0.5], "ticktext": [""]}
    return {
        **axes,
        "xaxis": quiet
        | {"anchor": "y3", "showgrid": False, "rangemode": "tozero", "hoverformat": ",d"}
        | {"title": {"text": "iteration", "standoff": 4}},
        "annotations": _annotations(),
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
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GRID, "activecolor": ACCENT},
    }


def _annotations() -> list[dict[str, Any]]:
    place = {"xref": "paper", "yref": "paper", "showarrow": False, "yanchor": "bottom"}
    titles = [
        place | {"x": 0, "y": y, "xanchor": "left", "text": f"<b>{title}</b>", "name": f"title {title.lower()}"}
        for title, y in _TITLES
    ]
    values = [
        place
        | {"x": 1, "y": y, "xanchor": "right", "text": "", "name": f"value {title.lower()}"}
        | {"font": FONT | {"color": ACCENT}}
        for title, y in _TITLES
    ]
    # on the left, where the residual starts high and leaves the line free
    word = place | {"x": 0, "y": 0, "yref": "y3", "xanchor": "left", "text": "", "name": "tolerance"}
    empty = place | {"x": 0.5, "y": 0.47, "text": "", "name": "empty", "font": FONT | {"size": 13}}
    return [*titles, *values, word, empty]


def _scatter(name: str) -> go.Scatter:
    line = {"color": ACCENT, "width": 1.8}
    dot = {"color": ACCENT, "size": 7}
    tick = {"symbol": "line-ns", "size": 6, "line": {"color": AMBER, "width": 1.6}}
    looks: dict[str, dict[str, Any]] = {
        "training loss": {"mode": "lines", "line": {"color": MUTED, "width": 1.4, "dash": "dot"}, "yaxis": "y"},
        "validation loss": {"mode": "lines", "line": line, "yaxis": "y"},
        "step size": {"mode": "lines", "line": line, "yaxis": "y2"},
        "rejected": {"mode": "markers", "marker": tick, "yaxis": "y4", "hovertemplate": "rejected<extra></extra>"},
        "tolerance": {"mode": "lines", "line": {"color": AMBER, "width": 1.2, "dash": "dash"}, "yaxis": "y3"},
        "stopping residual": {"mode": "lines", "line": line, "yaxis": "y3"},
        "current loss": {"mode": "markers", "marker": dot, "yaxis": "y"},
        "current step": {"mode": "markers", "marker": dot, "yaxis": "y2"},
        "current residual": {"mode": "markers", "marker": dot, "yaxis": "y3"},
    }
    look = {"hovertemplate": f"{name} %{{y:.5g}}<extra></extra>", "cliponaxis": False, "xaxis": "x"} | looks[name]
    if name.startswith("current") or name == "tolerance":
        look |= {"hoverinfo": "skip", "hovertemplate": None}
    return go.Scatter(name=name, **look)


def update_run(figure: go.Figure, history: Any, tolerance: float | None = None) -> None:
    """Show a history in a figure made by :func:`run_plotly`, in one batch.

    Parameters
    ----------
    figure : go.Figure or go.FigureWidget
        The figure to change; traces are found by their names.
    history : DataFrame or mapping
        See :func:`lsat_explorer.plots.run_figure`.
    tolerance : float, optional
        The tolerance of the stopping residual.
    """
    drawn = curves(history)
    points = _points(drawn, tolerance)
    line = points["tolerance"]
    with figure.batch_update():
        for trace in figure.data:
            trace.x, trace.y = points[trace.name].x, points[trace.name].y
        _set_ticks(figure.layout.yaxis, linear_ticks(np.concatenate([drawn.loss.y, drawn.training.y])))
        _set_ticks(figure.layout.yaxis2, log_ticks(drawn.step.y))
        _set_ticks(figure.layout.yaxis3, log_ticks(np.concatenate([drawn.residual.y, line.y])))
        ticks = integer_ticks(drawn.last)
        figure.layout.xaxis.update(tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
        figure.layout.xaxis.autorangeoptions.clipmax = max(drawn.last, 1)  # no room beyond the newest point
        figure.layout.yaxis4.ticktext = ["rejected" if len(drawn.rejected) else ""]
        notes = figure.layout.annotations
        if figure.layout.xaxis.visible != (not drawn.empty):
            for axis in ("xaxis", *_PANELS):
                figure.layout[axis].visible = not drawn.empty
        tails = (_TRAINING if len(drawn.training) else "", "", "")
        for note, (title, _), tail in zip(notes[:3], _TITLES, tails, strict=True):
            note.text = "" if drawn.empty else f"<b>{title}</b>{tail}"
        for note, value, kind in zip(
            notes[3:6],
            (drawn.loss.last, drawn.step.last, drawn.residual.last),
            ("loss", "step", "residual"),
            strict=True,
        ):
            note.text = "" if drawn.empty else f"<b>{value_text(value, kind)}</b>"
        notes[6].text = "tolerance" if len(line) else ""
        notes[6].y = float(np.log10(line.last)) if len(line) else 0  # annotations count decades on a log axis
        notes[7].text = "no iteration yet" if drawn.empty else ""


def _set_ticks(axis: Any, ticks: tuple[NDArray[np.float64], list[str]]) -> None:
    axis.update(tickmode="array", tickvals=ticks[0], ticktext=ticks[1])


def run_plotly(history: Any, tolerance: float | None = None, *, height: int = 400) -> go.Figure:
    """Draw a run with plotly: validation and training loss, step size, stopping residual.

    Parameters
    ----------
    history : DataFrame or mapping
        See :func:`lsat_explorer.plots.run_figure`.
    tolerance : float, optional
        Drawn as a line in the panel of the stopping residual.
    height : int
        Height in pixels.

    Returns
    -------
    go.Figure
        ``go.FigureWidget(figure)`` makes it live; :func:`update_run` shows newer histories.
    """
    figure = go.Figure(data=[_scatter(name) for name in run_traces({})], layout=run_layout(height=height))
    update_run(figure, history, tolerance)
    return figure
