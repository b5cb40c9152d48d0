"""Two more panels under those of a run: the norm of the gradient, and the hyper-parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.curves import Curve, thin, value_text
from lsat_explorer.plots.layout import EMPTY, PANELS, TITLES
from lsat_explorer.plots.live import OVERLAYS
from lsat_explorer.plots.maps import ACCENT, FONT, MUTED, escape, heading, present
from lsat_explorer.plots.ticks import linear_ticks, log_ticks

__all__ = ["MOST_NAMES", "hide_omega", "show_omega", "update_omega"]

MOST_NAMES = 8  # colours that can be told apart
_COLOURS = (ACCENT, *(colour for colour, _ in OVERLAYS), MUTED)
_PARTS = {"median": "solid", "least": "dot", "greatest": "dash"}
_AXES = ("y5", "y6")  # of the gradient norm, and of the hyper-parameters
_TOP, _BOTTOM = 2, 36  # margins of the figure
# pixels below what was there: title, panel, title, panel; then the names under the axis
_GRADIENT, _OMEGA, _MORE, _NAMES = (30, 100), (142, 262), 270, 64


def show_omega(figure: go.Figure, *, height: int = 400) -> None:
    """Make room under the panels of a run for the gradient's norm and the hyper-parameters.

    Parameters
    ----------
    figure : go.Figure or go.FigureWidget
        Made by `lsat_explorer.plots.run_plotly`.
    height : int
        Height that it had then.
    """
    _arrange(figure, height, _MORE)


def hide_omega(figure: go.Figure, *, height: int = 400) -> None:
    """Take the two panels away again.

    Parameters
    ----------
    figure : go.Figure or go.FigureWidget
        The figure.
    height : int
        Height that it had when it was made.
    """
    _arrange(figure, height, 0)


def _arrange(figure: go.Figure, height: int, more: int) -> None:
    before = height - _TOP - _BOTTOM
    area, shown, layout = before + more, more > 0, figure.layout

    def moved(share: float) -> float:
        return 1 - (1 - share) * before / area

    def below(pixels: int) -> float:
        return 1 - (before + pixels) / area

    with figure.batch_update():
        for name, (low, high) in PANELS.items():
            layout[name].domain = [moved(low), moved(high)]
        for index, (_, y) in enumerate(TITLES):
            layout.annotations[index].y = layout.annotations[index + 3].y = moved(y)
        layout.shapes[0].y1 = moved(0.93)
        for foot, name in zip(layout.shapes[1:4], EMPTY, strict=True):
            foot.update(y0=moved(PANELS[name][0]), y1=moved(PANELS[name][0]))
        for name, (top, bottom) in (("yaxis5", _GRADIENT), ("yaxis6", _OMEGA)):
            layout[name].update(domain=[below(bottom), below(top)] if shown else [0, 1], visible=shown)
        for index, (top, _) in ((7, _GRADIENT), (8, _OMEGA), (9, _GRADIENT)):
            layout.annotations[index].update(y=below(top - 4) if shown else 0, text="")
        layout.update(height=height + more + (_NAMES if shown else 0), showlegend=shown)
        layout.margin.b = _BOTTOM + (_NAMES if shown else 0)
        layout.xaxis.anchor = "y6" if shown else "y3"
        layout.legend.update(
            {"orientation": "h", "x": 0, "xanchor": "left", "y": -_BOTTOM / area, "yanchor": "top", "font": FONT}
            | {"itemclick": False, "itemdoubleclick": False, "bgcolor": "rgba(0,0,0,0)"}
        )
        for trace in figure.data:
            if trace.yaxis in _AXES:
                trace.visible = shown


def update_omega(figure: go.Figure, history: Mapping[str, ArrayLike]) -> None:
    """Show hyper-parameters in a figure that has room for them.

    Parameters
    ----------
    figure : go.Figure or go.FigureWidget
        The figure, after `show_omega`.
    history : dict of str to array
        ``"number"`` (N,) and ``"gradient_norm"`` (N,), and by its name each hyper-parameter: values (N,) of a number,
        or (N, 3) least, median and greatest entry of a vector. At most eight names are drawn, those that moved most.
    """
    number = np.asarray(history["number"], dtype=np.float64)
    every = {n: np.asarray(v, dtype=np.float64) for n, v in history.items() if n not in ("number", "gradient_norm")}
    chosen = sorted(every, key=lambda name: -_moved(every[name]))[:MOST_NAMES]
    lines = {name: values for name, values in every.items() if name in chosen}
    _add_traces(figure, len(lines))
    traces = {trace.meta: trace for trace in figure.data if trace.yaxis in _AXES}
    norm = _curve(number, history["gradient_norm"], positive=True)
    layout, drawn = figure.layout, len(number) > 0
    with figure.batch_update():
        traces["gradient"].update(x=norm.x, y=norm.y)
        for index in range((len(traces) - 1) // len(_PARTS)):
            name, values = list(lines.items())[index] if index < len(lines) else ("", np.empty(0))
            for part in _PARTS:
                _draw(traces[f"{index} {part}"], name, part, number, values)
        ends = [values.ravel()[np.isfinite(values.ravel())] for values in lines.values()]
        for axis, (places, words) in (
            (layout.yaxis5, log_ticks(norm.y)),
            (layout.yaxis6, linear_ticks(np.concatenate(ends) if ends else [])),
        ):
            axis.update(tickmode="array", tickvals=places, ticktext=words, visible=drawn)
        some = f" · {len(lines)} of {len(every)}, those that moved most" if len(lines) < len(every) else ""
        vectors = " · vectors: median, least dotted, greatest dashed" if any(v.ndim > 1 for v in lines.values()) else ""
        tail = f'<span style="color:{MUTED}">{some}{vectors}</span>'
        value = present(value_text(norm.last, "residual"))
        texts = (heading("Gradient norm"), heading("Hyper-parameters ω") + tail, value)
        for index, text in zip((7, 8, 9), texts, strict=True):
            layout.annotations[index].text = text if drawn else ""


def _moved(values: NDArray[np.float64]) -> float:
    """Return how far a number, or the entries of a vector, have gone."""
    finite = values[np.isfinite(values)]
    return float(np.ptp(finite)) if finite.size else 0.0


def _curve(x: NDArray[np.float64], y: ArrayLike, *, positive: bool = False) -> Curve:
    values = np.asarray(y, dtype=np.float64)
    keep = np.isfinite(values) & ((values > 0) | (not positive))
    return thin(x[keep], values[keep])


def _draw(trace: Any, name: str, part: str, number: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    column = {"least": 0, "median": 1, "greatest": 2}[part]
    has = bool(name) and (values.ndim > 1 or part == "median")
    curve = _curve(number, values[:, column] if values.ndim > 1 else values) if has else Curve(number[:0], number[:0])
    said = escape(name) + (f", {part}" if values.ndim > 1 else "")
    template = f"{said} %{{y:.5~g}}<extra></extra>"
    if len(curve) or len(trace.x):
        trace.x, trace.y = curve.x, curve.y
    if trace.hovertemplate != template:
        trace.update(name=escape(name), hovertemplate=template, showlegend=has and part == "median")


def _add_traces(figure: go.Figure, names: int) -> None:
    """Add what is lacking: traces are never taken away, since a page may be drawing them."""
    there = {trace.meta for trace in figure.data}
    common: dict[str, Any] = {"mode": "lines", "xaxis": "x", "cliponaxis": False, "x": [], "y": []}
    added = []
    if "gradient" not in there:
        template = "gradient norm %{y:.5~g}<extra></extra>"
        look = {"line": {"color": ACCENT, "width": 1.8}, "hovertemplate": template, "showlegend": False}
        added.append(go.Scatter(meta="gradient", yaxis="y5", name="gradient norm", **look, **common))
    for index in range(names):
        for part, dash in _PARTS.items():
            if f"{index} {part}" not in there:
                line = {"color": _COLOURS[index], "width": 1.6 if part == "median" else 1.1, "dash": dash}
                added.append(go.Scatter(meta=f"{index} {part}", yaxis="y6", line=line, showlegend=False, **common))
    if added:
        figure.add_traces(added)
