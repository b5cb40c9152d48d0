"""Names of nodes in the still picture of graphs: as many as there is room for, none over another, none cut off."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation

from boxes import overlapping
from lsat_explorer import Graph, graphs
from lsat_explorer.plots.node_names import every_nth
from lsat_explorer.plots.nodes import nodes_figure
from lsat_explorer.plots.sheet import Sheet
from lsat_explorer.widgets.graph_layouts import place

NAMES = {
    "numbers": str,
    "pixels": lambda node: f"pixel_{node // 28}_{node % 28}",
    "long and wide": lambda node: f"WWWW {node} MMMM of the whole",
}
SIZES = (1, 2, 3, 4, 7, 12, 16, 17, 31, 64, 150, 784)
TOUCH = 0.5  # px by which boxes may meet: letters do not fill theirs


def drawn(sheet: Sheet) -> tuple[list[str], np.ndarray]:
    """Return the names in a picture, and the corners (m, 4, 2) of what they cover, px."""
    canvas = FigureCanvasAgg(sheet)
    canvas.draw()
    renderer = canvas.get_renderer()
    texts, corners = [], []
    for text in sheet.findobj(Annotation):
        turn = np.radians(text.get_rotation())
        text.set_rotation(0)  # the extent of a turned text is that of a box around it
        box = text.get_window_extent(renderer)
        anchor = _anchor(text)
        flat = np.array([[box.x0, box.y0], [box.x1, box.y0], [box.x1, box.y1], [box.x0, box.y1]]) - anchor
        corners.append(flat @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]] + anchor)
        texts.append(text.get_text())
    return texts, np.array(corners).reshape(-1, 4, 2)


def _anchor(text: Annotation) -> np.ndarray:
    assert text.axes is not None
    offset = np.array(text.xyann) * text.axes.figure.dpi / 72
    return np.asarray(text.axes.transData.transform(text.xy)) + offset


def figure(placement: str, n: int, names: str) -> Sheet:
    graph = graphs.path(n) if n > 1 else Graph(1, ())
    places = place(graph, placement, None)
    return nodes_figure(
        places.points, [("smooth", graph.edges, "")], placement=placement, names=[NAMES[names](i) for i in range(n)]
    )


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("placement", ["line", "circle", "networkx"])
def test_no_name_lies_over_another_or_is_cut_off(placement: str, names: str) -> None:
    for n in SIZES:
        sheet = figure(placement, n, names)
        texts, corners = drawn(sheet)
        assert overlapping(corners, TOUCH) == [], n
        assert corners.min() >= 0, n
        assert (corners.max(axis=(0, 1)) <= sheet.get_size_inches() * sheet.dpi).all(), n
        assert len(texts) >= min(n, 8), n  # room is used
        if n <= 16 and placement != "networkx":
            assert len(texts) == n


def test_every_name_is_written_where_there_is_room() -> None:
    texts, corners = drawn(figure("circle", 64, "pixels"))
    assert len(texts) == 64
    assert texts[:2] == ["pixel_0_0", "pixel_0_1"]
    assert len(corners) == 64


@pytest.mark.parametrize(("room", "step"), [(0.2, 1), (1, 1), (1.01, 2), (3, 5), (6, 10), (20.5, 50)])
def test_names_are_left_out_by_round_steps(room: float, step: int) -> None:
    assert every_nth(room) == step
