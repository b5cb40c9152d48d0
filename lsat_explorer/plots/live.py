"""The plotly figure of a run, fit for a live FigureWidget.

Colours sit between a light and a dark page, backgrounds are transparent, and no trace needs WebGL or LaTeX.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lsat_explorer.plots.curves import Curve, Curves, curves, value_text
from lsat_explorer.plots.maps import ACCENT, AMBER, FONT, GRID, MUTED, escape, heading, present
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks

__all__ = ["OVERLAYS", "PANELS", "TITLES", "run_layout", "run_plotly", "run_traces", "update_run"]

OVERLAYS = (
    ("#d1642c", "dash"),
    ("#22a06b", "dash"),
    ("#b05fc4", "dash"),
    ("#a07f14", "dot"),
    ("#d9548a", "dot"),
    ("#3f9fb0", "dot"),
)
"""Colour and dash of each curve that may lie beside that of the shown run."""

PANELS = {"yaxis": (0.70, 0.93), "yaxis2": (0.375, 0.585), "yaxis4": (0.325, 0.365), "yaxis3": (0.03, 0.235)}
"""Where each panel lies between bottom and top; the strip of rejected steps hangs under the step size."""

EMPTY = ("yaxis", "yaxis2", "yaxis3")
"""The panels that have a title and, while there is no iterate, a line at their foot."""

TITLES = (("Validation loss", 0.945), ("Step size t", 0.60), ("Stopping residual", 0.25))
"""The titles and where they stand."""

_ALSO = {"training dotted": "training", "early stopping dash-dotted": "stopping"}  # curves beside the validation loss


def run_traces(
    history: Any,
    tolerance: float | None = None,
    overlays: Mapping[int, tuple[str, Any]] | None = None,
    marked: int | None = None,
) -> dict[str, Curve]:
    """Return the points of every trace of a run's figure, by the trace's name.

    Parameters
    ----------
    history : DataFrame or mapping
        See :func:`lsat_explorer.plots.run_figure`.
    tolerance : float, optional
        The tolerance of the stopping residual.
    overlays : dict of int to (str, history), optional
        Name and history of other runs, each by its place in `OVERLAYS`.
    marked : int, optional
        Number of an iterate to mark.

    Returns
    -------
    dict of str to Curve
        ``"overlay 0"`` and so on, ``"training loss"``, ``"early-stopping loss"``, ``"validation loss"``,
        ``"step size"``, ``"rejected"``, ``"tolerance"``, ``"stopping residual"``, ``"current loss"``,
        ``"current step"``, ``"current residual"``, ``"marked"``: float64 arrays ``.x`` and ``.y``, always all of them,
        empty where there is nothing to draw.
    """
    return _points(curves(history), tolerance, {k: curves(run) for k, (_, run) in (overlays or {}).items()}, marked)


def _points(drawn: Curves, tolerance: float | None, others: dict[int, Curves], marked: int | None) -> dict[str, Curve]:
    nothing = Curve(np.empty(0), np.empty(0))
    here = drawn.loss.x == (-1 if marked is None else marked)
    has_line = tolerance is not None and np.isfinite(tolerance) and tolerance > 0 and not drawn.empty
    ends = np.array([0.0, max(drawn.last, 1)]) if has_line else np.empty(0)
    return {
        **{f"overlay {k}": others[k].loss if k in others else nothing for k in range(len(OVERLAYS))},
        "training loss": drawn.training,
        "early-stopping loss": drawn.stopping,
        "validation loss": drawn.loss,
        "step size": drawn.step,
        "rejected": Curve(drawn.rejected, np.full(len(drawn.rejected), 0.5)),
        "tolerance": Curve(ends, np.full(len(ends), tolerance or 0.0, dtype=np.float64)),
        "stopping residual": drawn.residual,
        "current loss": drawn.loss.end(),
        "current step": drawn.step.end(),
        "current residual": drawn.residual.end(),
        "marked": Curve(drawn.loss.x[here], drawn.loss.y[here]),
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
        present values, 6 the word beside the tolerance, 7 what is said while there is no iterate, 8 to 10 belong
        to the panels of ω. Shape 0 is the line at the marked iterate, 1 to 3 are the feet of empty panels.
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
    # on the left, where the residual starts high and leaves the line free
    word = place | {"x": 0, "y": 0, "yref": "y3", "xanchor": "left", "text": "", "name": "tolerance"}
    empty = place | {"x": 0.5, "y": 0.47, "text": "", "name": "empty", "font": FONT | {"size": 13}}
    beyond = [
        place | {"x": x, "y": 0, "xanchor": side, "text": "", "name": name}
        for x, side, name in ((0, "left", "title gradient"), (0, "left", "title omega"), (1, "right", "value gradient"))
    ]
    return [*titles, *values, word, empty, *beyond]


def _scatter(name: str) -> go.Scatter:
    line = {"color": ACCENT, "width": 1.8}
    dot = {"color": ACCENT, "size": 7}
    ring = {"symbol": "circle-open", "color": AMBER, "size": 11, "line": {"width": 2}}
    tick = {"symbol": "line-ns", "size": 6, "line": {"color": AMBER, "width": 1.6}}
    looks: dict[str, dict[str, Any]] = {
        f"overlay {k}": {"mode": "lines", "line": {"color": colour, "width": 1.6, "dash": dash}, "yaxis": "y"}
        for k, (colour, dash) in enumerate(OVERLAYS)
    }
    looks |= {
        "early-stopping loss": {"mode": "lines", "line": {"color": AMBER, "width": 1.4, "dash": "dashdot"}}
        | {"yaxis": "y"},
        "marked": {"mode": "markers", "marker": ring, "yaxis": "y"},
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
    look |= {"showlegend": False}
    if name.startswith("current") or name in ("tolerance", "marked"):
        look |= {"hoverinfo": "skip", "hovertemplate": None}
    return go.Scatter(name=name, **look)


def update_run(
    figure: go.Figure,
    history: Any,
    tolerance: float | None = None,
    overlays: Mapping[int, tuple[str, Any]] | None = None,
    marked: int | None = None,
) -> None:
    """Show a history in a figure made by :func:`run_plotly`, in one batch.

    Parameters
    ----------
    figure : go.Figure or go.FigureWidget
        The figure to change; traces are found by their names.
    history : DataFrame or mapping
        See :func:`lsat_explorer.plots.run_figure`.
    tolerance : float, optional
        The tolerance of the stopping residual.
    overlays : dict of int to (str, history), optional
        Name and history of other runs, each by its place in `OVERLAYS`: their validation loss is drawn too.
    marked : int, optional
        Number of an iterate to mark.
    """
    drawn = curves(history)
    others = {k: curves(run) for k, (_, run) in (overlays or {}).items()}
    points = _points(drawn, tolerance, others, marked)
    line, layout = points["tolerance"], figure.layout
    with figure.batch_update():
        for trace in figure.data:
            if trace.meta is not None:  # of another panel
                continue
            curve = points[trace.name]
            if len(curve) or trace.x is None or len(trace.x):  # most are empty and stay so
                trace.x, trace.y = curve.x, curve.y
        for k, (name, _) in (overlays or {}).items():
            trace = next(figure.select_traces({"name": f"overlay {k}"}))
            trace.hovertemplate = f"{escape(name)} %{{y:.5g}}<extra></extra>"
        losses = [drawn.loss.y, drawn.training.y, drawn.stopping.y, *(other.loss.y for other in others.values())]
        _set_ticks(layout.yaxis, linear_ticks(np.concatenate(losses)))
        _set_ticks(layout.yaxis2, log_ticks(drawn.step.y))
        _set_ticks(layout.yaxis3, log_ticks(np.concatenate([drawn.residual.y, line.y])))
        last = max([drawn.last, *(other.last for other in others.values())])
        ticks = integer_ticks(last)
        _set_ticks(layout.xaxis, (ticks, [f"{tick:,}" for tick in ticks]))
        layout.xaxis.autorangeoptions.clipmax = max(last, 1)  # no room beyond the newest point
        layout.yaxis4.ticktext = ["rejected" if len(drawn.rejected) else ""]
        if layout.xaxis.visible != (not drawn.empty):
            for axis in ("xaxis", *PANELS):
                layout[axis].visible = not drawn.empty
            for foot in layout.shapes[1:4]:
                foot.visible = drawn.empty
        place, line_there = marked if len(points["marked"]) else None, layout.shapes[0]
        if place is not None or line_there.visible:
            line_there.update(x0=place or 0, x1=place or 0, visible=place is not None)
        _write(layout.annotations, drawn, line)


def _write(notes: Any, drawn: Curves, line: Curve) -> None:
    """Write the titles, the present values and the words beside the curves."""
    also = [word for word, curve in _ALSO.items() if len(getattr(drawn, curve))]
    tail = f' <span style="color:{MUTED}">· {", ".join(also)}</span>' if also else ""
    for note, (title, _), behind in zip(notes[:3], TITLES, (tail, "", ""), strict=True):
        note.text = heading(title) + behind
    for note, value, kind in zip(
        notes[3:6],
        (drawn.loss.last, drawn.step.last, drawn.residual.last),
        ("loss", "step", "residual"),
        strict=True,
    ):
        note.text = "" if drawn.empty else present(value_text(value, kind))
    notes[6].text = "tolerance" if len(line) else ""
    notes[6].y = float(np.log10(line.last)) if len(line) else 0  # annotations count decades on a log axis
    notes[7].text = "no iteration yet" if drawn.empty else ""


def _set_ticks(axis: Any, ticks: tuple[Any, list[str]]) -> None:
    if not np.array_equal(axis.tickvals, ticks[0]) or axis.ticktext != tuple(ticks[1]):  # each change takes its time
        axis.tickmode, axis.tickvals, axis.ticktext = "array", *ticks


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
