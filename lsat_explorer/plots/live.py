"""The plotly figure of a run, fit for a live FigureWidget.

Colours sit between a light and a dark page, backgrounds are transparent, and no trace needs WebGL or LaTeX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go

from lsat_explorer.plots.curves import Curve, Curves, curves, value_text
from lsat_explorer.plots.layout import PANELS, TITLES, run_layout
from lsat_explorer.plots.maps import ACCENT, AMBER, MUTED, escape, heading, present
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks
from lsat_explorer.plots.words import VALIDATION, loss_words

__all__ = ["OVERLAYS", "run_plotly", "run_traces", "update_run"]

OVERLAYS = (
    ("#d1642c", "dash"),
    ("#22a06b", "dash"),
    ("#b05fc4", "dash"),
    ("#a07f14", "dot"),
    ("#d9548a", "dot"),
    ("#3f9fb0", "dot"),
)
"""Colour and dash of each curve that may lie beside that of the shown run."""

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
    look = {"hovertemplate": f"{name} %{{y:.5~g}}<extra></extra>", "cliponaxis": False, "xaxis": "x"} | looks[name]
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
    said: Mapping[str, Any] = MappingProxyType({}),
    judging: str = VALIDATION,
) -> dict[str, Any]:
    """Show a history in a figure made by :func:`run_plotly`, in one message.

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
    said : dict, optional
        What the last call for this figure returned. Only what differs from it is set, as each property of the layout
        costs plotly 0.1 ms, changed or not; without it all are set.
    judging : str
        The rows that judge, as ``run.recipe.criterion.judging`` calls them.

    Returns
    -------
    dict of str to object
        The properties of the layout that belong to the history, by their paths.
    """
    drawn = curves(history)
    others = {k: curves(run) for k, (_, run) in (overlays or {}).items()}
    points = _points(drawn, tolerance, others, marked)
    traces = {trace.name: (k, trace) for k, trace in enumerate(figure.data) if trace.meta is None}
    # most are empty and stay so
    moved = [name for name, (_, trace) in traces.items() if len(points[name]) or trace.x is None or len(trace.x)]
    last = max([drawn.last, *(other.last for other in others.values())])
    losses = [drawn.loss.y, drawn.training.y, drawn.stopping.y, *(other.loss.y for other in others.values())]
    ticks = integer_ticks(last)
    place = marked if len(points["marked"]) else None
    layout = {
        **_ticks("yaxis", linear_ticks(np.concatenate(losses))),
        **_ticks("yaxis2", log_ticks(drawn.step.y)),
        **_ticks("yaxis3", log_ticks(np.concatenate([drawn.residual.y, points["tolerance"].y]))),
        **_ticks("xaxis", (ticks, [f"{tick:,}" for tick in ticks])),
        "xaxis.autorangeoptions.clipmax": max(last, 1),  # no room beyond the newest point
        "yaxis4.ticktext": ["rejected" if len(drawn.rejected) else ""],
        **{f"{axis}.visible": not drawn.empty for axis in ("xaxis", *PANELS)},
        **{f"shapes[{k}].visible": drawn.empty for k in (1, 2, 3)},
        **{"shapes[0].x0": place or 0, "shapes[0].x1": place or 0, "shapes[0].visible": place is not None},
        **_words(drawn, points["tolerance"], judging),
    }
    figure.plotly_update(
        {"x": [points[name].x for name in moved], "y": [points[name].y for name in moved]},
        {key: value for key, value in layout.items() if key not in said or said[key] != value},
        [traces[name][0] for name in moved],
    )
    if overlays:
        templates = [f"{escape(name)} %{{y:.5~g}}<extra></extra>" for name, _ in overlays.values()]
        figure.plotly_restyle({"hovertemplate": templates}, [traces[f"overlay {k}"][0] for k in overlays])
    return layout


def _words(drawn: Curves, line: Curve, judging: str) -> dict[str, Any]:
    """Return the titles, the present values and the words beside the curves."""
    also = [word for word, curve in _ALSO.items() if len(getattr(drawn, curve))]
    loss, of = loss_words(judging)
    tails: tuple[list[str], ...] = [*of, *also], [], ["tolerance dashed"] if len(line) else []
    names = loss, *(title for title, _ in TITLES[1:])
    titles = [heading(title) + _tail(words) for title, words in zip(names, tails, strict=True)]
    present_values = (drawn.loss.last, "loss"), (drawn.step.last, "step"), (drawn.residual.last, "residual")
    values = ["" if drawn.empty else present(value_text(value, kind)) for value, kind in present_values]
    empty = "no iteration yet" if drawn.empty else ""
    return {f"annotations[{k}].text": text for k, text in enumerate([*titles, *values, empty])}


def _tail(words: Sequence[str]) -> str:
    """Return what stands behind a title, each of the words in a span of its own: a narrow page leaves them out."""
    return "".join(f' <span style="color:{MUTED}">· {each}</span>' for each in words)


def _ticks(axis: str, ticks: tuple[Any, list[str]]) -> dict[str, Any]:
    return {f"{axis}.tickmode": "array", f"{axis}.tickvals": ticks[0].tolist(), f"{axis}.ticktext": ticks[1]}


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
