"""Where the graph editor draws nodes: several graphs, edges that change, images, graphs too large to draw."""

from __future__ import annotations

import lsat_explorer as lsat
from graph_asks import GRAPHS, PNG, ask, pairs, sent, shown
from lsat_explorer.widgets import GraphEditor


def test_graphs_on_other_nodes_are_not_drawn_over_each_other() -> None:
    editor = GraphEditor({"pixels": lsat.graphs.grid(4, 4), "hours": lsat.graphs.ring(24)})
    assert len(pairs(editor)) == 24
    ask(editor, "pick", node=15)
    editor.set_state({"_selected": [1, 2]})
    editor.active = "hours"
    assert len(pairs(editor)) == 24
    assert [each["drawn"] for each in shown(editor)["graphs"]] == [0, 24]
    assert sent(editor, "_frame")["placement"] == "circle"
    assert (shown(editor)["node"], sent(editor, "_selected")) == (None, [])
    ask(editor, "toggle", a=0, b=12)
    assert len(editor.graphs["hours"].edges) == 25
    assert editor.graphs["pixels"] == lsat.graphs.grid(4, 4)


def test_nodes_stay_where_they_are_while_edges_change() -> None:
    graph = GRAPHS["named"]
    editor = GraphEditor(graph)
    assert sent(editor, "_frame")["placement"] == "networkx"
    before = bytes(sent(editor, "_places"))
    ask(editor, "toggle", a=0, b=33)
    assert bytes(sent(editor, "_places")) == before
    ask(editor, "place", placement="networkx")
    assert bytes(sent(editor, "_places")) != before
    ask(editor, "place", placement="line")
    ask(editor, "pattern", pattern="ring")
    assert sent(editor, "_frame")["placement"] == "line"
    assert "lie on no grid" in ask(editor, "place", placement="image")
    assert sent(editor, "_frame")["placement"] == "line"


def test_a_grid_that_lost_an_edge_still_lies_on_its_image() -> None:
    editor = GraphEditor(lsat.graphs.grid(5, 7))
    ask(editor, "toggle", a=0, b=1)
    assert sent(editor, "_frame")["placement"] == "image"
    assert ask(editor, "pattern", pattern="grid8") == ""
    assert editor.graph == lsat.graphs.grid(5, 7, neighbours=8)


def test_a_graph_too_large_to_draw_is_still_edited() -> None:
    editor = GraphEditor(lsat.graphs.path(6_000))
    assert sent(editor, "_frame")["drawn"] is False
    assert bytes(sent(editor, "_edges")) == b""
    assert ask(editor, "toggle", a=0, b=5_999) == ""
    assert shown(editor)["counts"] == ["6,000 nodes", "6,000 edges", "1 component"]
    assert editor.picture().startswith(PNG)
