"""A graph over features: each edge of a regularization graph asks its two coefficients to be close."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .piece import Piece, nearest, register

if TYPE_CHECKING:
    import networkx

__all__ = ["LIMIT", "PRESETS", "Graph", "preset"]

LIMIT = 10_000_000
"""Most nodes or edges that a graph may have."""

PRESETS: dict[str, Callable[..., Graph]] = {}
"""Functions of plain arguments that make a graph: it is then written as their call."""


@register
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph(Piece):
    """An undirected graph on ``n`` features, without self-loops, each edge once.

    Parameters
    ----------
    n : int
        Number of nodes, one a feature.
    edges : sequence of (int, int), or of (str, str)
        Pairs of node numbers from 0 to n − 1, or of ``names``. An edge given twice, in either direction, is kept once
        with a warning.
    names : sequence of str, optional
        Names of the nodes. Node i stands for feature i: a name that another feature has is refused when it is tuned.

    Raises
    ------
    ValueError
        For a self-loop, a node out of range or of no name, or names that are not n.

    Examples
    --------
    >>> Graph(3, [(0, 1), (1, 2)]).incidence().toarray()
    array([[ 1., -1.,  0.],
           [ 0.,  1., -1.]])
    >>> Graph(3, [("wind", "sun")], names=["wind", "rain", "sun"]).edges.tolist()
    [[0, 2]]
    """

    n: int
    edges: np.ndarray
    names: tuple[str, ...] | None
    _preset: tuple[str, tuple[int, ...], dict[str, Any]] | None = field(repr=False)

    def __init__(
        self,
        n: int,
        edges: Iterable[Sequence[int] | Sequence[str]] | np.ndarray,
        names: Iterable[Hashable] | None = None,
    ) -> None:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 < n <= LIMIT:
            raise ValueError(f"A graph of {n!r} nodes: expected a whole number from 1 to {LIMIT:,}.")
        labels = None if names is None else tuple(str(name) for name in names)
        if labels is not None and len(labels) != n:
            raise ValueError(f"A graph of {n} nodes got {len(labels)} names: give one a node.")
        pairs = _normalise(_numbered(edges, labels), int(n))
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

    def ordered(self, names: Iterable[Hashable]) -> Graph:
        """Return the graph with its nodes in the order of ``names``; one that it lacks becomes a node without edges.

        Parameters
        ----------
        names : sequence of str
            Names of the features, such as ``data.feature_names``.

        Raises
        ------
        ValueError
            When the nodes have no names, a name stands there twice, or a node is not among them.

        Examples
        --------
        >>> Graph(2, [(0, 1)], names=["sun", "wind"]).ordered(["wind", "rain", "sun"])
        Graph(3, [(0, 2)], names=['wind', 'rain', 'sun'])
        """
        wanted = [str(name) for name in names]
        place = {name: number for number, name in enumerate(wanted)}
        if self.names is None:
            raise ValueError("The nodes of this graph have no names: give it names=[…], one a node.")
        if len(place) < len(wanted) or len(set(self.names)) < self.n:
            raise ValueError("A name stands there twice, so that its node is not known: give each its own.")
        for name in self.names:
            if name not in place:
                raise ValueError(f"The graph has a node {name!r}, which is not among the names{nearest(name, place)}")
        return Graph(len(wanted), [(place[self.names[a]], place[self.names[b]]) for a, b in self.edges], wanted)

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
            name, arguments, options = self._preset
            inside = [*map(repr, arguments), *(f"{key}={value!r}" for key, value in options.items())]
            return f"{prefix}graphs.{name}({', '.join(inside)})"
        names = "" if self.names is None else f", names={list(self.names)!r}"
        return f"{prefix}Graph({self.n}, {[tuple(e) for e in self.edges.tolist()]!r}{names})"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: a preset with its arguments, or nodes, edges and names."""
        if self._preset is not None:
            name, arguments, options = self._preset
            given = {"type": "Graph", "preset": name, "arguments": list(arguments)}
            return {**given, "options": dict(options)} if options else given
        names = None if self.names is None else list(self.names)
        return {"type": "Graph", "n": self.n, "edges": self.edges.tolist(), "names": names}

    @classmethod
    def from_dict(cls, value: dict[str, Any], where: str) -> Graph:
        """Rebuild a graph from its JSON form."""
        known = ("preset", "arguments", "options") if "preset" in value else ("n", "edges", "names")
        for key in value:
            if key not in known:
                raise ValueError(f"{where}: Graph has no {key!r}{nearest(key, known)}")
        try:
            if "preset" not in value:
                return cls(value.get("n", 0), value.get("edges", ()), value.get("names"))
            if value["preset"] not in PRESETS:
                raise ValueError(f"unknown preset {value['preset']!r}{nearest(value['preset'], PRESETS)}")
            return PRESETS[value["preset"]](*value.get("arguments", ()), **value.get("options", {}))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {error}") from error


def _numbered(edges: Any, names: tuple[str, ...] | None) -> Any:
    """Return edges between names as edges between numbers; anything else as it is."""
    if names is None or (isinstance(edges, np.ndarray) and edges.dtype.kind not in "UO"):
        return edges
    try:
        pairs = [tuple(edge) for edge in edges]
    except TypeError:
        return edges  # refused with the others
    if not any(isinstance(node, str) for pair in pairs for node in pair):
        return pairs
    place = {name: number for number, name in enumerate(names)}
    if len(place) < len(names):
        raise ValueError("Edges are given by name and a name stands there twice: give each node its own.")
    for node in (node for pair in pairs for node in pair):
        if node not in place:
            raise ValueError(f"An edge has the node {node!r}, which is not among the names{nearest(str(node), place)}")
    return [tuple(place[node] for node in pair) for pair in pairs]


def _normalise(edges: Iterable[Sequence[int]] | np.ndarray, n: int) -> np.ndarray:
    try:
        pairs = np.array(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Edges are {edges!r:.60}: expected pairs of node numbers.") from None
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer) or len(pairs) > LIMIT:
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


def preset(graph: Graph, name: str, *arguments: int, **options: Any) -> Graph:
    """Return ``graph`` written as the call of the preset ``name`` with these arguments."""
    object.__setattr__(graph, "_preset", (name, arguments, options))
    return graph
