"""The graph editor: graphs edited, named, read, written and previewed, without a kernel or a browser."""

from __future__ import annotations

import base64
import io
import itertools
import json
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import traitlets
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.model.edge_lists import node_number, read_edges, write_csv, write_edges
from lsat_explorer.model.graph_edits import cut, inside, joined, neighbours, toggled
from lsat_explorer.model.graph_patterns import PATTERNS, pattern
from lsat_explorer.tune.quick_fit import QuickFit
from lsat_explorer.widgets import GraphEditor
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.graph_layouts import PLACEMENTS, grid_shape, place
from lsat_explorer.widgets.undo import Undo

HOSTILE = ["<img src=x onerror=alert(1)>", "🎉 $x$", "n" * 300, 'a "quoted", name']
SOON = 60.0
PNG = b"\x89PNG\r\n\x1a\n"


def ask(editor: GraphEditor, do: str, **content: Any) -> str:
    """Send what a page sends; return what is said under the widget."""
    editor._handle_custom_msg({"do": do, **content}, [])
    return str(sent(editor, "_problem"))


def sent(editor: GraphEditor, name: str) -> Any:
    """Return a trait as a page receives it."""
    value = editor.get_state([name])[name]
    if not isinstance(value, bytes | memoryview):
        json.dumps(value)
    return value


def shown(editor: GraphEditor) -> dict[str, Any]:
    described: dict[str, Any] = sent(editor, "_shown")
    return described


def pairs(editor: GraphEditor) -> list[list[int]]:
    edges: list[list[int]] = np.frombuffer(sent(editor, "_edges"), dtype="<i4").reshape(-1, 2).tolist()
    return edges


def as_set(graph: lsat.Graph) -> set[tuple[int, ...]]:
    return set(map(tuple, graph.edges.tolist()))


# --- graphs that change, against sets


@pytest.mark.parametrize("seed", range(5))
def test_edits_are_those_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(range(9), 2))
    a, b = (lsat.Graph(9, [every[i] for i in rng.choice(36, size, replace=False)]) for size in rng.integers(0, 30, 2))
    assert as_set(joined(a, b)) == as_set(a) | as_set(b)
    assert as_set(cut(a, b)) == as_set(a) - as_set(b)
    assert as_set(toggled(a, b)) == as_set(a) ^ as_set(b)
    chosen = rng.choice(9, 4, replace=False).tolist()
    assert as_set(inside(a, chosen)) == {e for e in as_set(a) if set(e) <= set(chosen)}
    assert all(neighbours(a, i) == sorted(networkx.Graph(a.to_networkx()).neighbors(i)) for i in range(9))


def test_edits_keep_names_and_refuse_other_nodes() -> None:
    named = lsat.Graph(3, [(0, 1)], names=["wind", "rain", "sun"])
    for edit in (joined, cut, toggled):
        assert edit(named, lsat.Graph(3, [(1, 2)])).names == named.names
        with pytest.raises(ValueError, match="3 nodes and the other 4"):
            edit(named, lsat.Graph(4, ()))


@pytest.mark.parametrize("name", [name for name, each in PATTERNS.items() if each.needs == "shape"])
def test_a_pattern_on_some_nodes_is_the_pattern_between_them(name: str) -> None:
    nodes = [1, 2, 5, 6, 7, 9]
    whole = pattern(name, 12, shape=(3, 4))
    assert as_set(pattern(name, 12, shape=(3, 4), nodes=nodes)) == {e for e in as_set(whole) if set(e) <= set(nodes)}
    with pytest.raises(ValueError, match="needs 12 nodes on a grid"):
        pattern(name, 12)


def test_a_ring_goes_through_the_chosen_nodes() -> None:
    assert as_set(pattern("ring", 9, nodes=[8, 0, 3])) == {(0, 3), (3, 8), (0, 8)}
    assert pattern("ring", 9) == lsat.graphs.ring(9)
    assert pattern("path", 9) == lsat.graphs.path(9)
    with pytest.raises(ValueError, match="A ring through 2 nodes"):
        pattern("ring", 9, nodes=[1, 2])
    with pytest.raises(ValueError, match="did you mean 'ring'"):
        pattern("rin", 9)


# --- lists of edges


def test_lists_are_read_as_they_were_written() -> None:
    names = [*HOSTILE, "\tindented", "3"]
    graph = lsat.Graph(6, [(0, 3), (1, 2), (2, 5)], names=names)
    assert read_edges(write_edges(graph), 6, names) == graph
    assert read_edges(write_csv(graph), 6, names) == graph
    assert read_edges("\ufeffsource,target\r\n0,3\r\n1;2\r\n\r\n# a remark\r\n2\t5\r\n", 6, names) == graph
    assert read_edges("wind rain\nrain  sun", 3, ["wind", "rain", "sun"]).edges.tolist() == [[0, 1], [1, 2]]
    assert read_edges("", 3) == lsat.Graph(3, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1\n2", "Line 2 is '2': expected two nodes, such as 0 1."),
        ("0 1 2", "Line 1 is '0 1 2': expected two nodes"),
        ("0,", "Line 1 is '0,': expected two nodes"),
        ("0 1\n\n3 4", "Line 3: there is no node '4': nodes are 0 to 3."),
        ("0 -1", "Line 1: there is no node '-1': nodes are 0 to 3."),
        ("0 1.0", "Line 1: there is no node '1.0': nodes are 0 to 3."),
        ("1 2\n3 3", "Line 2 joins node 3 to itself"),
        ("1 2\n0 3\n2 1", "Line 3 repeats edge 1 2 of line 1"),
        ("0 1\nsource,target", "Line 2: there is no node 'source'"),
        ("٣ 1", "Line 1: there is no node '٣'"),
    ],
)
def test_a_line_that_is_no_edge_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(said)) as error:
        read_edges(text, 4)
    assert "\n" not in str(error.value)


def test_a_misspelt_node_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'wind'"):
        node_number("windd", 2, ["wind", "rain"])
    with pytest.raises(ValueError, match="named like 'pixel_0_0'") as error:
        node_number("qqq", 784, [f"pixel_{i // 28}_{i % 28}" for i in range(784)])
    assert len(str(error.value)) < 120


# --- undo


def test_undo_goes_back_and_forth_and_forgets_what_was_overwritten() -> None:
    steps = Undo("")
    for letter in "abc":
        steps.push(steps.present + letter, f"add {letter}")
    steps.undo()
    steps.undo()
    assert (steps.present, steps.undoes, steps.redoes) == ("a", "add a", "add b")
    steps.redo()
    steps.push("abx", "add x")
    assert (steps.present, steps.redoes) == ("abx", "")
    for _ in range(9):
        steps.undo()
    assert (steps.present, steps.undoes) == ("", "")
    for _ in range(9):
        steps.redo()
    assert steps.present == "abx"


def test_steps_of_one_kind_are_one_step() -> None:
    steps = Undo(0)
    for value in (1, 2, 3):
        steps.push(value, "weight", "weight")
    steps.push(4, "weight", "weight of another")
    steps.undo()
    assert steps.present == 3
    steps.undo()
    assert steps.present == 0
    for value in range(1000):
        steps.push(value, "step")
    for _ in range(1000):
        steps.undo()
    assert 500 < steps.present < 1000  # the past is bounded
    assert steps.undoes == ""


# --- the quick fit


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_quick_fit_is_the_stacked_least_squares_problem(task: Any) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((80, 6)) + 5
    outcome = rng.integers(0, 3, 80) if task == "classification" else rng.standard_normal((80, 2))
    data = lsat.Data.from_arrays(inputs, outcome, task=task, image_shape=(2, 3))
    graph, ridge, weight = lsat.graphs.grid(2, 3), 0.3, 1.2
    result = QuickFit(data).fit(lsat.Ridge(log_weight=ridge), lsat.Smooth(graph, "pixels", weight))
    X, Y = data.train.inputs.numpy(), data.train.targets.numpy()
    zeros = np.zeros((6 + len(graph.edges), 1))
    below = np.vstack([np.exp(ridge) * np.eye(6), np.exp(weight) * graph.incidence().toarray()])
    A = np.vstack([np.hstack([X, np.ones((len(X), 1))]), np.hstack([below, zeros])])
    theta = np.linalg.lstsq(A, np.vstack([Y, np.zeros((len(below), Y.shape[1]))]), rcond=None)[0]
    np.testing.assert_allclose(result.theta.numpy(), theta[:-1], rtol=1e-8, atol=1e-10)
    V, W = data.validation.inputs.numpy(), data.validation.targets.numpy()
    found = V @ theta[:-1] + theta[-1]
    expected = (
        np.mean(found.argmax(1) != W.argmax(1))
        if task == "classification"
        else np.sqrt(((found - W) ** 2).sum(1).mean())
    )
    assert result.error == pytest.approx(expected)


def test_a_heavy_penalty_makes_theta_constant_on_each_component(digits: lsat.Data) -> None:
    quick = QuickFit(digits)
    halves = lsat.graphs.grid(8, 8, vertical=False)
    theta = quick.fit(quick.ridge, lsat.Smooth(halves, log_weight=12.0)).theta.numpy().reshape(8, 8, 10)
    assert np.abs(theta - theta.mean(axis=1, keepdims=True)).max() < 1e-5 * np.abs(theta).max()
    assert np.ptp(theta.mean(axis=1), axis=0).min() > 1e-3 * np.abs(theta).max()


def test_too_many_features_are_no_quick_fit() -> None:
    data = lsat.Data.from_arrays(np.zeros((20, 2501)), [0, 1] * 10)
    with pytest.raises(ValueError, match="2,501 features: a quick fit takes at most 2,500"):
        QuickFit(data)


# --- where nodes are drawn


def test_nodes_lie_where_their_pixels_are() -> None:
    places = place(lsat.graphs.grid(2, 4), "image", (2, 4))
    assert places.points[5].tolist() == [0.375, 0.75]
    assert (places.aspect, places.spacing) == (2.0, 0.25)
    circle = place(lsat.graphs.ring(4), "circle", None).points
    np.testing.assert_allclose(circle, [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 400])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_node_is_in_the_unit_square_at_a_place_of_its_own(placement: str, n: int) -> None:
    points = place(lsat.graphs.path(n), placement, (1, n)).points
    assert points.shape == (n, 2)
    assert points.dtype == np.float32
    assert points.min() >= 0
    assert points.max() <= 1
    assert len(np.unique(points.round(6), axis=0)) == n


def test_the_grid_is_found_where_there_is_one() -> None:
    assert grid_shape(lsat.graphs.grid(4, 16)) == (4, 16)
    assert grid_shape(lsat.Graph(64, [(0, 9)])) == (8, 8)
    assert grid_shape(lsat.Graph(64, ()), image_shape=(4, 16, 1)) == (4, 16)
    assert grid_shape(lsat.graphs.ring(64)) is None
    assert grid_shape(lsat.Graph(12, ()), image_shape=(2, 2, 3)) is None
    assert grid_shape(lsat.Graph(16, (), names=map(str, range(16)))) is None


# --- the widget: from Python and back


GRAPHS = {
    "grid": lsat.graphs.grid(28, 28),
    "grid8": lsat.graphs.grid(5, 7, neighbours=8),
    "path": lsat.graphs.path(9),
    "ring": lsat.graphs.ring(24),
    "one node": lsat.Graph(1, ()),
    "no edges": lsat.Graph(784, ()),
    "named": lsat.graphs.from_networkx(networkx.relabel_nodes(networkx.karate_club_graph(), lambda i: f"member {i}")),
    "hostile": lsat.Graph(4, [(0, 3)], names=HOSTILE),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_comes_back_as_it_went_in(name: str) -> None:
    graph = GRAPHS[name]
    editor = GraphEditor(graph)
    assert editor.graph == graph
    assert repr(editor.graph) == repr(graph)
    assert editor.graphs == {"smooth": graph}
    assert editor.regularizer == lsat.Stack(smooth=lsat.Smooth(graph))
    assert GraphEditor(graph, active="pixels").graphs == {"pixels": graph}
    assert pairs(editor) == graph.edges.tolist()
    assert shown(editor)["counts"] == [
        f"{graph.n:,} node{'s' * (graph.n != 1)}",
        f"{len(graph.edges):,} edge{'s' * (len(graph.edges) != 1)}",
        f"{(c := networkx.number_connected_components(lsat.Graph(graph.n, graph.edges).to_networkx())):,}"
        f" component{'s' * (c != 1)}",
    ]
    editor.graph = lsat.graphs.path(3)
    editor.graph = graph
    assert repr(editor.graph) == repr(graph)
    editor.undo()
    assert editor.graph == lsat.graphs.path(3)


def test_a_regularizer_comes_back_with_blocks_weights_and_what_is_no_graph() -> None:
    given = lsat.Stack(
        pixel_ridge=lsat.Ridge(block="pixels", log_weight=0.7),
        across=lsat.Smooth(lsat.graphs.grid(4, 4, vertical=False), block="pixels", log_weight=-1.25),
        archetype_ridge=lsat.Ridge(block="archetypes"),
        around=lsat.Smooth(lsat.graphs.ring(10), block="archetypes", log_weight=0.1),
    )
    editor = GraphEditor(given)
    assert editor.regularizer == given
    assert list(editor.graphs) == ["across", "around"]
    ask(editor, "toggle", a=0, b=5)
    changed = editor.regularizer.members
    assert list(changed) == list(given.members)
    assert changed["across"].graph == toggled(given.members["across"].graph, lsat.Graph(16, [(0, 5)]))
    assert (changed["across"].block, changed["across"].log_weight) == ("pixels", -1.25)
    assert {**changed, "across": None} == {**given.members, "across": None}
    editor.regularizer = given
    assert editor.regularizer == given
    editor.regularizer = lsat.Smooth(lsat.graphs.path(5), log_weight=2.0)
    assert editor.regularizer == lsat.Stack(smooth=lsat.Smooth(lsat.graphs.path(5), log_weight=2.0))


def test_graphs_assigned_by_name_keep_known_weights() -> None:
    editor = GraphEditor(lsat.Stack(a=lsat.Smooth(lsat.graphs.path(5), "pixels", 2.0), r=lsat.Ridge("pixels")))
    editor.graphs = {"a": lsat.graphs.ring(5), "b": lsat.Graph(5, ())}
    assert editor.regularizer == lsat.Stack(
        a=lsat.Smooth(lsat.graphs.ring(5), "pixels", 2.0), r=lsat.Ridge("pixels"), b=lsat.Smooth(lsat.Graph(5, ()))
    )
    editor.graphs = {"b": lsat.graphs.path(5)}
    assert list(editor.regularizer.members) == ["r", "b"]
    assert editor.active == "b"


def test_who_observes_a_trait_finds_the_others_in_step() -> None:
    editor = GraphEditor(lsat.graphs.path(4))
    seen: list[bool] = []

    def look(change: Any) -> None:
        piece = editor.regularizer.members[editor.active]
        seen.append(editor.graph == piece.graph == editor.graphs[editor.active] and len(pairs(editor)) > 0)

    editor.observe(look, ["graph", "regularizer"])
    ask(editor, "toggle", a=0, b=3)
    editor.graph = lsat.graphs.ring(5)
    ask(editor, "undo")
    assert seen == [True] * 6


def test_without_a_graph_it_starts_from_the_image_or_the_features(digits: lsat.Data) -> None:
    assert GraphEditor(digits).graph == GraphEditor(data=digits).graph == lsat.graphs.grid(8, 8)
    assert GraphEditor(shape=(3, 4)).graph == lsat.graphs.grid(3, 4)
    table = lsat.Data.from_arrays(np.random.default_rng(0).random((30, 3)), [0, 1] * 15, feature_names=HOSTILE[:3])
    assert GraphEditor(table).graph == lsat.Graph(3, (), names=HOSTILE[:3])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GraphEditor(), "There is nothing to edit: give a graph"),
        (lambda: GraphEditor([(0, 1)]), "Expected a Graph, graphs by name, or a regularizer with graphs"),
        (lambda: GraphEditor({}), "Expected a Graph"),
        (lambda: GraphEditor({"3x": lsat.graphs.path(3)}), "'3x' cannot name a regularizer"),
        (lambda: GraphEditor(lsat.Stack(ridge=lsat.Ridge())), "holds no graph: add a Smooth"),
        (lambda: GraphEditor(lsat.graphs.path(6), shape=(2, 4)), "8 nodes and the graph 6"),
        (lambda: GraphEditor(lsat.graphs.path(6), shape=(2.0, 3)), "expected \\(h, w\\), two whole numbers"),
        (lambda: GraphEditor(lsat.graphs.path(6), placement="circel"), "did you mean 'circle'"),
        (lambda: GraphEditor(lsat.graphs.path(6), placement="image"), "6 nodes lie on no grid: give shape"),
        (
            lambda: GraphEditor({"smooth": lsat.graphs.path(6)}, active="smoth"),
            "no graph 'smoth': did you mean 'smooth'",
        ),
        (lambda: GraphEditor(lsat.graphs.path(6), data="digits"), "data is a str, expected Data"),
    ],
)
def test_what_cannot_be_edited_is_refused_in_a_sentence(make: Callable[[], GraphEditor], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        make()
    assert "\n" not in str(error.value)


def test_settings_that_do_not_exist_are_refused() -> None:
    editor = GraphEditor(lsat.graphs.path(6))
    with pytest.raises(TypeError, match="no setting 'shap': did you mean 'shape'"):
        GraphEditor(lsat.graphs.path(6), shap=(2, 3))
    for name, value in [("graph", "grid"), ("regularizer", lsat.Ridge()), ("active", "other"), ("data", 3)]:
        before = getattr(editor, name)
        with pytest.raises(traitlets.TraitError, match=r"(?i)expected|graph"):
            setattr(editor, name, value)
        assert getattr(editor, name) == before
    with pytest.raises(ValueError, match="Expected a Graph"):
        editor.graphs = {"a": 3}
    assert editor.graph == lsat.graphs.path(6)


# --- the widget: by hand


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


# --- the preview


def test_the_preview_is_the_quick_fit_without_and_with_the_penalty(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.Stack(r=lsat.Ridge(log_weight=1.5), s=lsat.Smooth(lsat.graphs.grid(8, 8))), data=digits)
    ask(editor, "weigh", log_weight=2.5)
    editor.set_state({"_class": 3})
    assert editor._preview.wait(SOON)
    quick = QuickFit(digits)
    before = quick.fit(lsat.Ridge(log_weight=1.5))
    after = quick.fit(lsat.Ridge(log_weight=1.5), lsat.Smooth(lsat.graphs.grid(8, 8), log_weight=2.5))
    thetas = np.frombuffer(sent(editor, "_theta"), dtype=np.float32).reshape(2, 64)
    np.testing.assert_allclose(thetas, [r.theta[:, 3].numpy() for r in (before, after)], rtol=1e-5, atol=1e-9)
    words = sent(editor, "_effect")
    assert words["state"] == "ready"
    assert words["captions"] == ["ridge 20.09", "ridge and s 148.4"]
    assert words["shape"] == [8, 8]
    rough = [float(((lsat.graphs.grid(8, 8).incidence() @ t) ** 2).sum()) for t in thetas]
    assert words["facts"] == [
        ["Σ (θᵢ − θⱼ)² over edges", *(f"{value:.3g}" for value in rough)],
        ["validation error", *(f"{100 * r.error:.1f} %" for r in (before, after))],
    ]


def test_a_preview_that_cannot_be_says_why(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.graphs.path(5))
    assert sent(editor, "_effect")["words"].startswith("Give data=")
    editor.data = digits
    assert "the data have 64 features, the graph 5 nodes" in sent(editor, "_effect")["words"]
    editor.graph = lsat.graphs.grid(8, 8)
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect")["state"] == "ready"
    ask(editor, "weigh", log_weight=400.0)
    assert editor._preview.wait(SOON)
    failed = sent(editor, "_effect")
    assert "failed" in failed["words"]
    assert bytes(sent(editor, "_theta")) == b""
    editor.data = None
    assert sent(editor, "_effect")["words"].startswith("Give data=")


def test_rows_that_are_no_images_are_previewed_as_curves() -> None:
    rng = np.random.default_rng(0)
    data = lsat.Data.from_arrays(rng.standard_normal((60, 12)), rng.standard_normal((60, 2)))
    editor = GraphEditor(lsat.graphs.path(12), data=data)
    assert editor._preview.wait(SOON)
    words = sent(editor, "_effect")
    assert (words["shape"], words["outputs"], words["noun"]) == ([], ["0", "1"], "output")
    assert words["facts"][1][0] == "validation RMSE"
    assert editor.picture().startswith(PNG)


def test_waiting_gives_the_regularizer_once_its_preview_is_shown(digits: lsat.Data) -> None:
    editor = GraphEditor(lsat.Graph(64, ()), data=digits)
    editor.graph = lsat.graphs.grid(8, 8)
    assert editor.wait(SOON) == editor.regularizer
    words = sent(editor, "_effect")
    assert words["state"] == "ready"
    assert float(words["facts"][0][1]) > float(words["facts"][0][2]) > 0  # of the grid, not of no edges
    editor.close()


def test_editing_never_waits_for_the_preview_and_the_newest_question_is_answered(
    digits: lsat.Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, asked, real = threading.Event(), [], QuickFit.fit

    def slow(self: QuickFit, *penalties: Any) -> Any:
        go.wait(SOON)
        asked.append(penalties)
        return real(self, *penalties)

    monkeypatch.setattr(QuickFit, "fit", slow)
    editor = GraphEditor(digits)
    for log_weight in np.linspace(0, 1, 20):
        ask(editor, "weigh", log_weight=float(log_weight))
    assert sent(editor, "_effect")["state"] == "busy"
    go.set()
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect")["captions"][1] == "ridge and smooth 7.389"
    assert len(asked) <= 4  # the ridge, the first, the last


def test_an_answer_that_came_too_late_is_not_shown(digits: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    go, begun, real = threading.Event(), threading.Event(), QuickFit.fit

    def slow(self: QuickFit, *penalties: Any) -> Any:
        begun.set()
        go.wait(SOON)
        return real(self, *penalties)

    monkeypatch.setattr(QuickFit, "fit", slow)
    editor = GraphEditor(digits)
    assert begun.wait(SOON)
    editor.graph = lsat.graphs.path(5)
    said = sent(editor, "_effect")
    go.set()
    assert editor._preview.wait(SOON)
    assert sent(editor, "_effect") == said
    assert "5 nodes" in said["words"]


# --- without a kernel


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("placement", ["line", "circle", "networkx"])
def test_a_picture_is_drawn_of_every_graph(name: str, placement: str) -> None:
    editor = GraphEditor({"first": GRAPHS[name], "second": lsat.Graph(GRAPHS[name].n, ())})
    problem = ask(editor, "place", placement=placement)
    assert not problem or "hang together" in problem
    with Image.open(io.BytesIO(editor.picture())) as image:
        assert image.size == (1040, 572)


def test_a_saved_notebook_keeps_a_picture_and_constant_words(digits: lsat.Data) -> None:
    editor = GraphEditor(digits)
    data, metadata = editor._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]).startswith(PNG)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "text/html" not in data
    assert metadata["image/png"]["width"] <= 1040
    ask(editor, "pattern", pattern="ring")
    assert editor._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]
    assert editor._repr_mimebundle_()[0]["image/png"] != data["image/png"]


def test_the_saved_picture_follows_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    monkeypatch.setattr("lsat_explorer.widgets.shown._REST", 0.05)
    editor = GraphEditor(lsat.graphs.path(9))
    editor._ipython_display_()
    del published[:]
    for node in range(2, 8):
        ask(editor, "toggle", a=0, b=node)
    assert editor._resting is not None
    editor._resting.join(SOON)
    assert [set(data) for data in published] == [{"image/png", "text/plain"}]
    editor.close()
