"""The graph editor by hand, as a page asks it: edges, patterns, names, weights, lists, undo."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lsat_explorer as lsat
from graph_asks import GRAPHS, SOON, as_set, ask, pairs, sent, shown
from lsat_explorer.model.graph_patterns import PATTERNS
from lsat_explorer.widgets import GraphEditor
from lsat_explorer.widgets.base import View


def test_clicking_two_nodes_adds_an_edge_and_again_removes_it() -> None:
    editor = GraphEditor(lsat.graphs.grid(28, 28))
    ask(editor, "pick", node=0)
    assert (shown(editor)["node"]["name"], shown(editor)["first"]) == ("pixel_0_0", True)
    ask(editor, "pick", node=29)
    assert (0, 29) in as_set(editor.graph)
    assert [0, 29] in pairs(editor)
    assert shown(editor)["node"] == {
        "number": 29,
        "name": "pixel_1_1",
        "neighbours": [[i, f"pixel_{i // 28}_{i % 28}"] for i in (0, 1, 28, 30, 57)],
        "count": 5,
    }
    assert shown(editor)["preset"] == ""
    assert shown(editor)["undo"] == "add the edge pixel_0_0 – pixel_1_1"
    ask(editor, "pick", node=29)
    ask(editor, "pick", node=0)
    assert editor.graph == lsat.graphs.grid(28, 28)
    assert shown(editor)["preset"] == "grid4"
    ask(editor, "pick", node=5)
    ask(editor, "pick", node=5)  # the same one lets go
    assert not shown(editor)["first"]
    ask(editor, "pick", node=7)
    ask(editor, "leave")
    assert not shown(editor)["first"]
    assert shown(editor)["node"]["number"] == 7
    ask(editor, "leave")
    assert shown(editor)["node"] is None


def test_the_state_says_which_message_it_answers_also_where_that_was_refused() -> None:
    editor = GraphEditor(lsat.graphs.path(3))
    for stamp, asked in (("a 1", {"do": "pick", "node": 0}), ("a 2", {"do": "pick", "node": 7})):
        ask(editor, asked.pop("do"), **asked, stamp=stamp)
        assert sent(editor, "_heard") == stamp
    ask(editor, "pick", node=2)  # a message without a stamp is nobody's that waits
    assert sent(editor, "_heard") == "a 2"
    assert editor.graph == lsat.graphs.ring(3)


def test_undo_gives_the_very_graph_back_and_redo_what_was_made() -> None:
    grid = lsat.graphs.grid(4, 4)
    editor = GraphEditor(grid)
    ask(editor, "toggle", a=0, b=5)
    made = editor.graph
    ask(editor, "undo")
    assert editor.graph is grid
    assert repr(editor.regularizer) == "Stack(smooth=Smooth(graph=graphs.grid(4, 4)))"
    assert (shown(editor)["undo"], shown(editor)["redo"]) == ("", "add the edge pixel_0_0 – pixel_1_1")
    editor.redo()
    assert editor.graph == made
    ask(editor, "undo")
    ask(editor, "undo")
    assert editor.graph is grid


def test_every_usual_pattern_is_offered(digits: lsat.Data) -> None:
    editor = GraphEditor(data=digits)
    offered = {each["label"] for each in sent(editor, "_frame")["patterns"] if each["enabled"]}
    assert offered == {"Grid 4", "Grid 8", "Horizontal", "Vertical", "Path", "Ring", "Nearest", "None"}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_replaces_all_edges_and_is_written_as_its_call(name: str, digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.Graph(64, [(0, 63)]), data=digits)
    assert ask(editor, "pattern", pattern=name) == ""
    columns = digits.train.inputs.numpy()
    expected = {
        "grid4": lsat.graphs.grid(8, 8),
        "grid8": lsat.graphs.grid(8, 8, neighbours=8),
        "horizontal": lsat.graphs.grid(8, 8, vertical=False),
        "vertical": lsat.graphs.grid(8, 8, horizontal=False),
        "path": lsat.graphs.path(64),
        "ring": lsat.graphs.ring(64),
        "nearest": lsat.graphs.nearest_neighbours(columns, 4),
        "none": lsat.Graph(64, ()),
    }[name]
    assert repr(editor.graph) == repr(expected)
    assert shown(editor)["preset"] == name
    editor.undo()
    assert editor.graph == lsat.Graph(64, [(0, 63)])


def test_the_number_of_nearest_columns_is_chosen(digits: lsat.Data) -> None:
    editor = GraphEditor(digits)
    editor.set_state({"_k": 2})
    ask(editor, "pattern", pattern="nearest")
    assert editor.graph == lsat.graphs.nearest_neighbours(digits.train.inputs.numpy(), 2)
    editor.set_state({"_k": 64})
    assert "only" in ask(editor, "pattern", pattern="nearest")
    assert len(editor.graph.edges) > 0


def test_selected_nodes_are_joined_cut_and_cleared() -> None:
    editor = GraphEditor(lsat.Graph(16, [(0, 1), (0, 15)]), shape=(4, 4))
    editor.set_state({"_selected": [0, 1, 4, 5, 99, -1, 5]})
    assert sent(editor, "_selected") == [0, 1, 4, 5]
    ask(editor, "join", pattern="grid8")
    square = {(0, 1), (0, 4), (0, 5), (1, 4), (1, 5), (4, 5)}
    assert as_set(editor.graph) == square | {(0, 15)}
    assert shown(editor)["undo"] == "join 4 nodes by Grid 8"
    ask(editor, "cut", pattern="grid4")
    assert as_set(editor.graph) == {(0, 5), (1, 4), (0, 15)}
    ask(editor, "join", pattern="ring")
    assert as_set(editor.graph) == {(0, 1), (1, 4), (4, 5), (0, 5), (0, 15)}
    ask(editor, "clear")
    assert as_set(editor.graph) == {(0, 15)}
    for _ in range(4):
        editor.undo()
    assert as_set(editor.graph) == {(0, 1), (0, 15)}
    assert sent(editor, "_selected") == [0, 1, 4, 5]
    ask(editor, "leave")
    assert sent(editor, "_selected") == []


def test_a_node_is_found_by_name_and_joined_to_another_by_name() -> None:
    editor = GraphEditor(lsat.Graph(4, [(0, 1)], names=["wind", "rain", "sun", "snow"]))
    assert ask(editor, "find", text=" sun ") == ""
    assert shown(editor)["node"]["number"] == 2
    assert ask(editor, "meet", text="wind") == ""
    assert as_set(editor.graph) == {(0, 1), (0, 2)}
    assert editor.graph.names == ("wind", "rain", "sun", "snow")
    assert shown(editor)["node"]["neighbours"] == [[0, "wind"]]
    assert ask(editor, "meet", text="0") == ""
    assert as_set(editor.graph) == {(0, 1)}
    assert ask(editor, "find", text="") == ""
    assert shown(editor)["node"] is None


@pytest.mark.parametrize(
    ("do", "content", "said"),
    [
        ("toggle", {"a": 3, "b": 3}, "joins a node to itself"),
        ("toggle", {"a": 0, "b": 9}, "leaves the graph: nodes are 0 to 8"),
        ("pick", {"node": 9}, "There is no node 9: nodes are 0 to 8."),
        ("pick", {"node": "0"}, "There is no node '0'"),
        ("find", {"text": "pixel_9_9"}, "There is no node 'pixel_9_9': did you mean"),
        ("meet", {"text": "1"}, "No node is chosen"),
        ("pattern", {"pattern": "nearest"}, "Nearest needs training rows of 9 columns"),
        ("pattern", {"pattern": "gird4"}, "did you mean 'grid4'"),
        ("join", {"pattern": "ring"}, "A ring through 0 nodes"),
        ("read", {"text": "0 1\n1 0"}, "Line 2 repeats edge 0 1 of line 1"),
        ("read", {"text": "hello"}, "Line 1 is 'hello': expected two nodes"),
        ("weigh", {"weight": "-3"}, "The weight is '-3': expected a number above 0"),
        ("weigh", {"weight": "much"}, "The weight is 'much'"),
        ("weigh", {"weight": "inf"}, "The weight is 'inf'"),
        ("weigh", {"log_weight": float("nan")}, "log_weight is nan"),
        ("rename", {"name": "two words"}, "cannot name a regularizer"),
        ("rename", {"name": ""}, "cannot name a regularizer"),
        ("remove", {}, "smooth is the only graph"),
        ("place", {"placement": "sphere"}, "There is no placement 'sphere'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_and_changes_nothing(
    do: str, content: dict[str, Any], said: str
) -> None:
    editor = GraphEditor(lsat.graphs.grid(3, 3))
    before = {name: sent(editor, name) for name in ("_edges", "_shown", "_frame", "active")}
    problem = ask(editor, do, **content)
    assert said in problem
    assert "\n" not in problem
    assert not problem.startswith("Stack:")
    assert sent(editor, "_refused") == do
    assert editor.graph is editor.regularizer.members["smooth"].graph
    assert editor.graph == lsat.graphs.grid(3, 3)
    assert {name: sent(editor, name) for name in before} == before
    assert ask(editor, "toggle", a=0, b=8) == ""  # what succeeds ends the complaint


def test_several_graphs_are_added_named_weighed_and_removed() -> None:
    editor = GraphEditor(lsat.Smooth(lsat.graphs.grid(4, 4), block="pixels"))
    ask(editor, "add")
    assert editor.active == "smooth_2"
    assert editor.graph == lsat.Graph(16, ())
    ask(editor, "rename", name="diagonal")
    ask(editor, "toggle", a=0, b=5)
    ask(editor, "weigh", weight="1,000")
    assert math.isclose(editor.regularizer.members["diagonal"].log_weight, math.log(1000) / 2)
    ask(editor, "weigh", weight="9,0")
    ask(editor, "block", block="")
    assert editor.regularizer == lsat.Stack(
        smooth=lsat.Smooth(lsat.graphs.grid(4, 4), block="pixels"),
        diagonal=lsat.Smooth(lsat.Graph(16, [(0, 5)]), log_weight=math.log(9) / 2),
    )
    assert pairs(editor) == [*lsat.graphs.grid(4, 4).edges.tolist(), [0, 5]]
    assert [(each["name"], each["weight"], each["drawn"]) for each in shown(editor)["graphs"]] == [
        ("smooth", "1", 24),
        ("diagonal", "9", 1),
    ]
    editor.set_state({"active": "smooth"})
    assert editor.graph == lsat.graphs.grid(4, 4)
    assert "is taken" in ask(editor, "rename", name="diagonal")
    ask(editor, "remove")
    assert (list(editor.graphs), editor.active) == (["diagonal"], "diagonal")
    editor.undo()
    assert list(editor.graphs) == ["smooth", "diagonal"]


def test_a_new_name_leaves_the_order_as_it_was() -> None:
    given = lsat.Stack(a=lsat.Smooth(lsat.graphs.path(4)), r=lsat.Ridge(), b=lsat.Smooth(lsat.graphs.ring(4)))
    editor = GraphEditor(given)
    ask(editor, "rename", name="c")
    assert list(editor.regularizer.members) == ["c", "r", "b"]
    assert (editor.active, editor.graph) == ("c", lsat.graphs.path(4))


def test_nodes_are_named_by_the_graph_by_the_data_or_by_their_pixels(digits: lsat.Data) -> None:
    weather = ["wind", "rain", "sun", "snow"]
    editor = GraphEditor({"plain": lsat.Graph(4, ()), "named": lsat.Graph(4, (), names=weather)})
    assert sent(editor, "_names") == ["0", "1", "2", "3"]
    ask(editor, "pick", node=0)
    ask(editor, "choose", name="named")
    assert sent(editor, "_names") == weather
    ask(editor, "pick", node=1)  # the end of an edge of one graph is not that of an edge of another
    assert len(editor.graph.edges) == 0
    editor = GraphEditor(lsat.graphs.grid(4, 16))
    assert sent(editor, "_names")[17] == "pixel_1_1"
    assert bytes(sent(editor, "_backdrop")) == b""
    editor.graph = lsat.Graph(64, ())
    columns = lsat.Data.from_arrays(
        digits.train.inputs.numpy(), digits.train.labels, image_shape=(8, 8), feature_names=[f"p{i}" for i in range(64)]
    )
    editor.data = columns
    assert sent(editor, "_names")[17] == "p17"
    with Image.open(io.BytesIO(sent(editor, "_backdrop"))) as image:
        opacity = np.asarray(image)[..., 1]
    mean = columns.images("train").mean(axis=0)
    np.testing.assert_allclose(opacity, 255 * mean / mean.max(), atol=1.5)


def test_a_weight_that_slides_is_one_step() -> None:
    editor = GraphEditor(lsat.graphs.path(4))
    for log_weight in (0.5, 1.0, 1.5):
        ask(editor, "weigh", log_weight=log_weight)
    assert editor.regularizer.members["smooth"].log_weight == 1.5
    editor.undo()
    assert editor.regularizer.members["smooth"].log_weight == 0.0


def test_edges_are_written_to_files_and_read_back(tmp_path: Path) -> None:
    editor = GraphEditor(GRAPHS["hostile"])
    editor.export_edges(tmp_path / "edges.csv")
    text = editor.export_edges(tmp_path / "edges.txt")
    assert text == editor.export_edges() == (tmp_path / "edges.txt").read_text() == "0 3\n"
    for name in ("edges.csv", "edges.txt"):
        ask(editor, "pattern", pattern="none")
        editor.import_edges(tmp_path / name)
        assert editor.graph == GRAPHS["hostile"]
    editor.import_edges(text="1 2\n2 3")
    assert as_set(editor.graph) == {(1, 2), (2, 3)}
    with pytest.raises(ValueError, match="Line 1 joins node 1 to itself"):
        editor.import_edges(text="1 1")
    assert as_set(editor.graph) == {(1, 2), (2, 3)}


def test_the_list_and_the_code_follow_while_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    editor = GraphEditor(lsat.graphs.path(3))
    assert sent(editor, "_text") == ""
    editor.set_state({"_listing": True})
    assert sent(editor, "_text") == "0 1\n1 2\n"
    assert eval(sent(editor, "_source"), {"lsat": lsat}) == editor.regularizer
    ask(editor, "read", text="0 2")
    assert sent(editor, "_text") == "0 2\n"
    assert eval(sent(editor, "_source"), {"lsat": lsat}) == editor.regularizer
    answers: list[Any] = []
    monkeypatch.setattr(editor, "send", answers.append)
    ask(editor, "csv")
    assert answers == [{"csv": "source,target\n0,2\n"}]


def test_a_page_that_is_opened_later_gets_the_whole_state(digits: lsat.Data) -> None:
    editor = GraphEditor({"a": lsat.graphs.grid(8, 8), "b": lsat.graphs.ring(64)}, data=digits, active="b")
    ask(editor, "place", placement="circle")
    ask(editor, "pick", node=3)
    editor.set_state({"_selected": [1, 2], "_zoom": 3.0, "_listing": True})
    assert editor._preview.wait(SOON)
    state = editor.get_state()
    assert (state["active"], state["_zoom"], state["_selected"]) == ("b", 3.0, [1, 2])
    assert (state["_shown"]["node"]["number"], state["_shown"]["first"]) == (3, True)
    assert state["_frame"]["placement"] == "circle"
    assert len(state["_edges"]) == 8 * (112 + 64)
    assert len(state["_places"]) == 8 * 64
    assert len(state["_names"]) == 64
    assert len(state["_theta"]) == 8 * 64
    assert state["_text"]
    public = {name for name in editor.trait_names() if not name.startswith("_")}
    assert public - set(View.class_trait_names()) == {"graph", "regularizer", "active", "data"}
