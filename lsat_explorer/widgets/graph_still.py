"""The picture of edited graphs that a notebook shows without a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsat_explorer.plots.nodes import nodes_figure
from lsat_explorer.widgets.graph_session import GraphSession
from lsat_explorer.widgets.graph_view import drawable, drawn_graphs

__all__ = ["graph_picture"]


def graph_picture(session: GraphSession, effect: dict[str, Any], theta: bytes) -> bytes:
    """Draw the graphs as they lie on the page, and what the preview has found.

    Parameters
    ----------
    session : GraphSession
        The graphs and their nodes.
    effect : dict
        The words of the preview.
    theta : bytes
        θ before and after as Float32, empty where there is none.

    Returns
    -------
    bytes
        A PNG.
    """
    state, sheet, shown = session.state, session.sheet, session.shown()
    drawn = drawn_graphs(state)
    nothing = np.empty((0, 2), dtype=np.int64)
    graphs = [
        (
            each["name"],
            drawn[each["name"]].edges if each["name"] in drawn else nothing,
            f"{each['about']}, weight {each['weight']}",
        )
        for each in shown["graphs"]
    ]
    lines = [f"{state.active}: {' · '.join(shown['counts'])}"]
    known = bool(theta) and "captions" in effect
    if known:
        lines += [f"{what}: {before} → {after}" for what, before, after in effect["facts"]]
    figure = nodes_figure(
        sheet.places.points if drawable(state) else sheet.places.points[:0],
        graphs,
        aspect=sheet.places.aspect,
        placement=sheet.placement,
        names=sheet.names if sheet.placement != "image" else (),
        lines=lines,
        thetas=np.frombuffer(theta, dtype=np.float32).reshape(2, -1) if known else None,
        image_shape=effect.get("shape", ()) if known else (),
        captions=effect.get("captions", ()),
    )
    return figure.png()
