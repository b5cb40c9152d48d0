"""What the graph editor is made of: the quick fit behind its preview, and where nodes are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsat_explorer as lsat
from lsat_explorer.tune.quick_fit import QuickFit
from lsat_explorer.widgets.graph_layouts import PLACEMENTS, grid_shape, place
from lsat_explorer.widgets.graph_session import GraphSession
from lsat_explorer.widgets.graph_set import GraphSet

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
        np.mean(found.argmax(1) != W.argmax(1)) if task == "classification" else np.sqrt(((found - W) ** 2).mean())
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


def test_graphs_on_other_nodes_keep_their_layouts_and_those_on_the_same_share_one() -> None:
    one = lsat.Graph(6, lsat.graphs.ring(6).edges, names=list("abcdef"))
    other = lsat.Graph(5, lsat.graphs.path(5).edges, names=list("vwxyz"))
    session = GraphSession(GraphSet.of({"one": one, "same": lsat.Graph(6, ((0, 5),), one.names), "other": other}))
    session.do("place", {"placement": "networkx"})
    first = session.sheet.places
    session.do("choose", {"name": "other"})
    session.do("place", {"placement": "circle"})
    session.do("choose", {"name": "same"})
    assert (session.sheet.placement, session.sheet.places) == ("networkx", first)
    session.do("place", {"placement": "line"})
    session.do("choose", {"name": "other"})
    assert session.sheet.placement == "circle"
    session.do("choose", {"name": "one"})
    assert session.sheet.placement == "line"
