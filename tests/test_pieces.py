"""What holds for every piece in the registry: it can be written as code and as JSON, and it refuses bad input."""

from __future__ import annotations

import json
import math

import networkx
import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.model.hyper_penalties import HyperPenalty, Sum
from lsat_explorer.model.piece import REGISTRY, decode, encode
from pieces import ALL, EXAMPLES

PUBLIC = {name: getattr(lsat, name) for name in lsat.__all__}
PENALTIES = [piece for piece in ALL if isinstance(piece, HyperPenalty)]


def test_every_registered_piece_has_examples():
    assert set(REGISTRY) == set(EXAMPLES)


@pytest.mark.parametrize("piece", ALL, ids=repr)
def test_round_trip_as_code(piece):
    assert eval(repr(piece), dict(PUBLIC)) == piece
    assert eval(piece.to_code("lsat.", 0), {"lsat": lsat}) == piece


@pytest.mark.parametrize("piece", ALL, ids=repr)
def test_round_trip_as_json(piece):
    text = json.dumps(encode(piece), allow_nan=False)
    assert decode(json.loads(text), "piece") == piece


@pytest.mark.parametrize("piece", ALL, ids=repr)
def test_pieces_are_frozen_and_refuse_unknown_keys(piece):
    with pytest.raises(AttributeError):
        piece.anything = 1
    with pytest.raises(ValueError, match="wieght"):
        decode({**encode(piece), "wieght": 1}, "piece")


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("step", [0.1, 3.0])
def test_prox_by_its_definition(penalty, step):
    """No neighbour inside the domain has a lower r(x) + ‖x − v‖² / 2t."""
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(6, generator=generator, dtype=torch.float64)
    best = penalty.prox(v, step)
    if isinstance(penalty, lsat.Frozen):
        assert torch.equal(best, v)
        return

    def total(x: torch.Tensor) -> float:
        return float(penalty.value(x) + (x - v).square().sum() / (2 * step))

    assert math.isfinite(total(best))
    tried = 0
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(200):
            x = best + scale * torch.randn(6, generator=generator, dtype=torch.float64)
            x = project(penalty, x)
            if math.isfinite(float(penalty.value(x))):
                tried += 1
                assert total(x) >= total(best) - 1e-12
    assert tried >= 600


def project(penalty: HyperPenalty, x: torch.Tensor) -> torch.Tensor:
    """Bring a random neighbour into the domain, so that the comparison is not with +∞."""
    terms = penalty.terms if isinstance(penalty, Sum) else (penalty,)
    if any(isinstance(term, lsat.ZeroSum) for term in terms):
        x = x - x.mean()
    for term in terms:
        if isinstance(term, lsat.Box):
            x = torch.clamp(x, *term.ends())
    return x


def test_prox_of_zero_sum_solves_its_optimality_system():
    # Block elimination of [(1 + 2λt) I, 1; 1ᵀ, 0] [ω; ν] = [v; 0].
    v, lam, t = torch.tensor([3.0, 1.0, -2.5], dtype=torch.float64), 0.7, 0.9
    system = torch.zeros(4, 4, dtype=torch.float64)
    system[:3, :3] = (1 + 2 * lam * t) * torch.eye(3)
    system[:3, 3] = system[3, :3] = 1
    expected = torch.linalg.solve(system, torch.cat([v, torch.zeros(1, dtype=torch.float64)]))[:3]
    assert torch.allclose((lsat.SumSquares(lam) + lsat.ZeroSum()).prox(v, t), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsat.SumSquares(-1.0), "weight is -1.0"),
        (lambda: lsat.SumSquares(math.nan), "weight is nan"),
        (lambda: lsat.SumSquares("1"), "weight is '1'"),
        (lambda: lsat.Box(2.0, 1.0), "low ≤ high"),
        (lambda: lsat.Box(-1.0, 1.0) + lsat.ZeroSum(), r"Box \+ ZeroSum is not known"),
        (lambda: lsat.SumSquares(1.0) + lsat.SumSquares(1.0), "is not known"),
        (lambda: lsat.Concat(), "nothing"),
        (lambda: lsat.Concat(a=lsat.Ridge()), "a is Ridge"),
        (lambda: lsat.Concat(**{"a b": lsat.Identity()}), "'a b' cannot name"),
        (lambda: lsat.Stack(a=lsat.Identity()), "expected a regularizer"),
        (lambda: lsat.Ridge(log_weight=math.inf), "log_weight is inf"),
        (lambda: lsat.Ridge(block=3), "block is 3"),
        (lambda: lsat.Smooth(7), "graph is 7"),
        (lambda: lsat.KMeansArchetypes(per_class=0), "per_class is 0"),
        (lambda: lsat.KMeansArchetypes(kernel="cosine"), "kernel is 'cosine'"),
        (lambda: lsat.CrossEntropy(temperature=1), "temperature is 1"),
        (lambda: lsat.Scale(tuned="no"), "tuned is 'no'"),
        (lambda: lsat.ProximalGradient(step=0), "step is 0"),
        (lambda: lsat.ProximalGradient(shrink=1.0), "shrink is 1.0"),
        (lambda: lsat.ProximalGradient(max_iterations=-1), "max_iterations is -1"),
        (lambda: lsat.graphs.grid(0, 3), "h is 0"),
        (lambda: lsat.Graph(3, [(0, 3)]), r"\(0, 3\) leaves the graph"),
        (lambda: lsat.Graph(3, [(1, 1)]), "joins a node to itself"),
        (lambda: lsat.Graph(3, [(0.5, 1)]), "pairs of node numbers"),
        (lambda: lsat.Graph(3, [(0, 1)], names=["a"]), "1 names"),
        (lambda: lsat.graphs.from_networkx([1]), "got list"),
    ],
)
def test_bad_input_is_one_sentence_that_names_it(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_repeated_edges_are_merged_with_a_warning():
    with pytest.warns(UserWarning, match="1 repeated edges were merged"):
        graph = lsat.Graph(3, [(0, 1), (1, 0), (1, 2)])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_a_directed_networkx_graph_keeps_names_and_loses_directions():
    with pytest.warns(UserWarning, match="directed"):
        graph = lsat.graphs.from_networkx(networkx.DiGraph([("wind", "rain"), ("rain", "sun")]))
    assert graph.names == ("wind", "rain", "sun")
    assert sorted(map(sorted, graph.to_networkx().edges)) == [["rain", "sun"], ["rain", "wind"]]


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
