"""Graphs over features: each edge of a regularization graph asks its two coefficients to be close."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .piece import REGISTRY, Piece, nearest

if TYPE_CHECKING:
    import networkx

__all__ = ["Graph", "from_networkx", "grid", "path"]

_LIMIT = 10_000_000
"""Most nodes or edges that a graph may have."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph(Piece):
    """An undirected graph on ``n`` features, without self-loops, each edge once.

    Parameters
    ----------
    n : int
        Number of nodes, one a feature.
    edges : sequence of (int, int)
        Pairs of node numbers from 0 to n − 1. An edge given twice, in either direction, is kept once with a warning.
    names : sequence of str, optional
        Names of the nodes.

    Raises
    ------
    ValueError
        For a self-loop, a node out of range, or names that are not n.

    Examples
    --------
    >>> Graph(3, [(0, 1), (1, 2)]).incidence().toarray()
    array([[ 1., -1.,  0.],
           [ 0.,  1., -1.]])
    """

    n: int
    edges: np.ndarray
    names: tuple[str, ...] | None
    _preset: tuple[str, tuple[int, ...]] | None = field(repr=False)

    def __init__(
        self, n: int, edges: Iterable[Sequence[int]] | np.ndarray, names: Iterable[Hashable] | None = None
    ) -> None:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 < n <= _LIMIT:
            raise ValueError(f"A graph of {n!r} nodes: expected a whole number from 1 to {_LIMIT:,}.")
        pairs = _normalise(edges, int(n))
        labels = None if names is None else tuple(str(name) for name in names)
        if labels is not None and len(labels) != n:
            raise ValueError(f"A graph of {n} nodes got {len(labels)} names: give one a node.")
        pairs.setflags(write=False)
        for name, value in (("n", int(n)), ("edges", pairs), ("names", labels), ("_preset", None)):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self.n == other.n and self.names == other.names and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.n, self.names, self.edges.tobytes()))

    def incidence(self) -> sparse.csr_array:
        """Return D (edges, n), +1 at the first and −1 at the second node of each edge: ‖Dθ‖² = Σ (θ_a − θ_b)²."""
        count = len(self.edges)
        data = np.tile([1.0, -1.0], count)
        indices = self.edges.ravel()
        return sparse.csr_array((data, indices, np.arange(0, 2 * count + 1, 2)), shape=(count, self.n))

    def components(self) -> int:
        """Return the number of connected components."""
        return int(sparse.csgraph.connected_components(abs(self.incidence()).T @ abs(self.incidence()))[0])

    def to_networkx(self) -> networkx.Graph:
        """Return the same graph for networkx, nodes by name where there are names."""
        import networkx

        graph: networkx.Graph[Any] = networkx.Graph()
        labels: Sequence[Any] = self.names if self.names is not None else range(self.n)
        graph.add_nodes_from(labels)
        graph.add_edges_from((labels[a], labels[b]) for a, b in self.edges.tolist())
        return graph

    def to_code(self, prefix: str = "", indent: int | None = None) -> str:
        """Return the call that makes this graph."""
        if self._preset is not None:
            return f"{prefix}graphs.{self._preset[0]}({', '.join(map(str, self._preset[1]))})"
        names = "" if self.names is None else f", names={list(self.names)!r}"
        return f"{prefix}Graph({self.n}, {[tuple(e) for e in self.edges.tolist()]!r}{names})"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: a preset with its arguments, or nodes, edges and names."""
        if self._preset is not None:
            return {"type": "Graph", "preset": self._preset[0], "arguments": list(self._preset[1])}
        names = None if self.names is None else list(self.names)
        return {"type": "Graph", "n": self.n, "edges": self.edges.tolist(), "names": names}

    @classmethod
    def from_dict(cls, value: dict[str, Any], where: str) -> Graph:
        """Rebuild a graph from its JSON form."""
        known = ("preset", "arguments") if "preset" in value else ("n", "edges", "names")
        for key in value:
            if key not in known:
                raise ValueError(f"{where}: Graph has no {key!r}{nearest(key, known)}")
        try:
            if "preset" not in value:
                return cls(value.get("n", 0), value.get("edges", ()), value.get("names"))
            if value["preset"] not in _PRESETS:
                raise ValueError(f"unknown preset {value['preset']!r}{nearest(value['preset'], _PRESETS)}")
            return _PRESETS[value["preset"]](*value.get("arguments", ()))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from error


REGISTRY["Graph"] = Graph


def _normalise(edges: Iterable[Sequence[int]] | np.ndarray, n: int) -> np.ndarray:
    pairs = np.array(edges if isinstance(edges, np.ndarray) else list(edges))
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer) or len(pairs) > _LIMIT:
        raise ValueError(f"Edges of shape {pairs.shape} and type {pairs.dtype}: expected pairs of node numbers.")
    outside = (pairs < 0) | (pairs >= n)
    if outside.any():
        bad = pairs[outside.any(1)][0]
        raise ValueError(f"Edge ({bad[0]}, {bad[1]}) leaves the graph: nodes are 0 to {n - 1}.")
    loops = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(loops):
        raise ValueError(
            f"Edge ({loops[0, 0]}, {loops[0, 0]}) joins a node to itself: remove it, it penalises nothing."
        )
    unique = np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)
    if len(unique) < len(pairs):
        warnings.warn(f"{len(pairs) - len(unique)} repeated edges were merged: each edge counts once.", stacklevel=3)
    return unique


def _preset(name: str, arguments: tuple[int, ...], graph: Graph) -> Graph:
    object.__setattr__(graph, "_preset", (name, arguments))
    return graph


def _size(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 < value <= _LIMIT:
        raise ValueError(f"{name} is {value!r}: expected a whole number from 1 to {_LIMIT:,}.")
    return int(value)


def grid(h: int, w: int) -> Graph:
    """Return the grid of h × w nodes, row by row, each joined to its right and its lower neighbour.

    Examples
    --------
    >>> graph = grid(28, 28)
    >>> graph.n, len(graph.edges)
    (784, 1512)
    """
    h, w = _size(h, "h"), _size(w, "w")
    if h * w > _LIMIT:
        raise ValueError(f"A grid of {h} × {w} nodes: expected at most {_LIMIT:,}.")
    node = np.arange(h * w).reshape(h, w)
    right = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], 1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], 1)
    return _preset("grid", (h, w), Graph(h * w, np.concatenate([right, down])))


def path(n: int) -> Graph:
    """Return the path 0 — 1 — … — n − 1.

    Examples
    --------
    >>> len(path(5).edges)
    4
    """
    n = _size(n, "n")
    return _preset("path", (n,), Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], 1)))


def from_networkx(G: networkx.Graph) -> Graph:
    """Return the graph of a networkx graph, its nodes numbered in their order and named; directions are dropped.

    Examples
    --------
    >>> import networkx
    >>> from_networkx(networkx.path_graph(["wind", "rain", "sun"])).names
    ('wind', 'rain', 'sun')
    """
    import networkx

    if not isinstance(G, networkx.Graph):
        raise ValueError(f"Expected a networkx graph, got {type(G).__name__}.")
    if G.is_directed():
        warnings.warn("The graph is directed: its edges are taken without their direction.", stacklevel=2)
    number = {node: index for index, node in enumerate(G.nodes)}
    edges = [(number[edge[0]], number[edge[1]]) for edge in G.edges]
    return Graph(len(number), edges, names=[str(node) for node in G.nodes])


_PRESETS: dict[str, Callable[..., Graph]] = {"grid": grid, "path": path}
