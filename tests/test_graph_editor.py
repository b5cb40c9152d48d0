"""The graph editor from Python and back: graphs and regularizers without loss, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pytest
import traitlets

import lsat_explorer as lsat
from graph_asks import GRAPHS, HOSTILE, ask, pairs, shown
from lsat_explorer.model.graph_edits import toggled
from lsat_explorer.widgets import GraphEditor


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
