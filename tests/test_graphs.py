"""Graphs over features against networkx, sorting and sums by hand."""

from __future__ import annotations

import networkx
import numpy as np
import pandas
import pytest

import lsat_explorer as lsat
from lsat_explorer.model.piece import decode


def test_repeated_edges_are_merged_with_a_warning():
    with pytest.warns(UserWarning, match="1 repeated edges were merged"):
        graph = lsat.Graph(3, [(0, 1), (1, 0), (1, 2)])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_a_directed_networkx_graph_keeps_names_and_loses_directions():
    with pytest.warns(UserWarning, match="directed"):
        graph = lsat.graphs.from_networkx(networkx.DiGraph([("wind", "rain"), ("rain", "sun")]))
    assert graph.names == ("wind", "rain", "sun")
    assert sorted(map(sorted, graph.to_networkx().edges)) == [["rain", "sun"], ["rain", "wind"]]


def test_weights_of_networkx_are_not_dropped_without_a_word():
    G = networkx.Graph([("wind", "rain"), ("rain", "sun")])
    G.add_edge("sun", "wind", weight=5.0)
    with pytest.warns(UserWarning, match=r"1 edges of a weight other than 1: .* without their weights.*lsat\.Matrix"):
        graph = lsat.graphs.from_networkx(G)
    assert len(graph.edges) == 3
    G.add_edge("sun", "wind", weight=1.0)  # as good as none: a warning would be an error here
    assert lsat.graphs.from_networkx(G) == graph


def test_edges_may_be_given_by_the_names_of_the_nodes():
    names = ["wind", "rain", "sun"]
    for edges in ([("wind", "sun"), ("sun", "rain")], np.array([["wind", "sun"], ["sun", "rain"]])):
        assert lsat.Graph(3, edges, names=names) == lsat.Graph(3, [(0, 2), (2, 1)], names=names)
    with pytest.raises(ValueError, match=r"the node 'son', which is not among the names: did you mean 'sun'\?"):
        lsat.Graph(3, [("wind", "son")], names=names)
    with pytest.raises(ValueError, match="a name stands there twice"):
        lsat.Graph(3, [("wind", "sun")], names=["wind", "sun", "sun"])


def test_ordered_keeps_every_edge_by_name():
    graph = lsat.Graph(3, [(0, 1), (1, 2)], names=["sun", "wind", "rain"])
    moved = graph.ordered(["snow", "rain", "wind", "sun"])
    assert moved.names == ("snow", "rain", "wind", "sun")
    assert {frozenset(edge) for edge in moved.to_networkx().edges} == {
        frozenset(edge) for edge in graph.to_networkx().edges
    }
    for names, sentence in [
        (["sun", "wind"], "has a node 'rain', which is not among the names"),
        (["sun", "wind", "rain", "rain"], "A name stands there twice"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            graph.ordered(names)
    with pytest.raises(ValueError, match="have no names"):
        lsat.graphs.path(3).ordered(["a", "b", "c"])


@pytest.mark.parametrize("block", [None, "x"])
def test_a_node_that_is_named_as_a_feature_elsewhere_is_refused(block):
    generator = np.random.default_rng(0)
    X = pandas.DataFrame(generator.normal(size=(60, 3)), columns=["wind", "rain", "sun"])
    data = lsat.Data.from_arrays(X, X["wind"] + X["sun"])
    graph = lsat.Graph(3, [("wind", "sun")], names=["sun", "wind", "rain"])

    def tuned(graph):
        smooth = lsat.Smooth(graph, block=block, log_weight=3.0)
        held = {"regularizer.s.log_weight": lsat.Frozen()}
        featurizer = lsat.Identity() if block is None else lsat.Concat(x=lsat.Identity())
        regularizer = lsat.Stack(s=smooth, r=lsat.Ridge())
        recipe = lsat.Recipe(featurizer=featurizer, regularizer=regularizer, hyper_penalties=held)
        return lsat.tune(recipe, data, progress=False).model.theta

    with pytest.raises(ValueError, match=r"regularizer\.s: node 0 of the graph is named 'sun', and feature 0 is"):
        tuned(graph)
    by_hand = tuned(lsat.Graph(3, [(0, 2)]))
    assert tuned(graph.ordered(data.feature_names)).equal(by_hand)
    assert tuned(lsat.Graph(3, [(0, 2)], names=["a", "b", "c"])).equal(by_hand)  # names of one's own are only shown


@pytest.mark.parametrize(
    ("graph", "components"), [(lsat.graphs.grid(4, 5), 1), (lsat.Graph(4, []), 4), (lsat.Graph(5, [(0, 4), (1, 2)]), 3)]
)
def test_incidence_is_the_sum_over_edges(graph, components):
    theta = np.random.default_rng(0).normal(size=graph.n)
    expected = sum((theta[a] - theta[b]) ** 2 for a, b in graph.edges.tolist())
    assert np.isclose((graph.incidence() @ theta) @ (graph.incidence() @ theta), expected)
    assert graph.components() == components


def test_grid_agrees_with_networkx():
    G = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(5, 7))
    assert {tuple(sorted(e)) for e in G.edges} == {tuple(e) for e in lsat.graphs.grid(5, 7).edges.tolist()}


def test_edges_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        lsat.graphs.path(3).edges[0] = 1


def test_grids_of_eight_neighbours_and_of_one_direction_by_hand():
    corner = networkx.convert_node_labels_to_integers(
        networkx.strong_product(networkx.path_graph(4), networkx.path_graph(5))
    )
    assert {tuple(sorted(e)) for e in corner.edges} == {
        tuple(e) for e in lsat.graphs.grid(4, 5, neighbours=8).edges.tolist()
    }
    assert lsat.graphs.grid(2, 3, vertical=False).edges.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert lsat.graphs.grid(2, 3, horizontal=False).edges.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert lsat.graphs.ring(4).edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]


@pytest.mark.parametrize("distance", ["correlation", "euclidean"])
def test_nearest_neighbours_oracle_by_sorting(distance):
    X = np.random.default_rng(0).normal(size=(30, 8)) @ np.random.default_rng(1).normal(size=(8, 8)) + np.arange(8)
    far = 1 - np.corrcoef(X.T) if distance == "correlation" else np.linalg.norm(X.T[:, None] - X.T, axis=2)
    np.fill_diagonal(far, np.inf)
    expected = {tuple(sorted((i, int(j)))) for i in range(8) for j in np.argsort(far[i])[:2]}
    table = pandas.DataFrame(X, columns=list("abcdefgh"))
    graph = lsat.graphs.nearest_neighbours(table, 2, distance=distance)
    assert {tuple(e) for e in graph.edges.tolist()} == expected
    assert graph.names == tuple("abcdefgh")


def test_a_column_that_does_not_vary_has_no_neighbours():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, 2] = 7.3
    assert 2 not in lsat.graphs.nearest_neighbours(X, 1).edges


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "grid", "arguments": [3, 3], "options": {"neighbors": 8}},
        {"preset": "grid", "arguments": [3, 3], "options": 7},
        {"preset": "ring", "arguments": [1e9]},
        {"preset": "nearest_neighbours", "arguments": [[[1.0]], 1]},
    ],
)
def test_a_graph_file_from_a_stranger_is_refused(options):
    with pytest.raises(ValueError, match="piece"):
        decode({"type": "Graph", **options}, "piece")
