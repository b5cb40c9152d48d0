"""Graphs changed by some edges. A graph is frozen, so that each change is another graph on the same nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .graph import Graph

__all__ = ["cut", "inside", "joined", "neighbours", "toggled"]

Codes = NDArray[np.int64]


def joined(graph: Graph, other: Graph) -> Graph:
    """Return ``graph`` with the edges of ``other`` too.

    Parameters
    ----------
    graph, other : Graph
        Two graphs on as many nodes; the names are those of ``graph``.

    Raises
    ------
    ValueError
        When the numbers of nodes differ.

    Examples
    --------
    >>> joined(Graph(3, [(0, 1)]), Graph(3, [(0, 1), (1, 2)])).edges.tolist()
    [[0, 1], [1, 2]]
    """
    return _decode(graph, np.union1d(_codes(graph, graph), _codes(graph, other)))


def cut(graph: Graph, other: Graph) -> Graph:
    """Return ``graph`` without the edges that ``other`` has as well.

    Examples
    --------
    >>> cut(Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (0, 2)])).edges.tolist()
    [[1, 2]]
    """
    return _decode(graph, np.setdiff1d(_codes(graph, graph), _codes(graph, other), assume_unique=True))


def toggled(graph: Graph, other: Graph) -> Graph:
    """Return ``graph`` with the edges of ``other`` that it lacks, and without those that it has.

    Examples
    --------
    >>> toggled(Graph(3, [(0, 1), (1, 2)]), Graph(3, [(2, 1)])).edges.tolist()
    [[0, 1]]
    """
    return _decode(graph, np.setxor1d(_codes(graph, graph), _codes(graph, other), assume_unique=True))


def inside(graph: Graph, nodes: Iterable[int]) -> Graph:
    """Return the graph of those edges of ``graph`` whose nodes are both among ``nodes``.

    Examples
    --------
    >>> inside(Graph(4, [(0, 1), (1, 2), (2, 3)]), [1, 2, 0]).edges.tolist()
    [[0, 1], [1, 2]]
    """
    chosen = np.zeros(graph.n, dtype=bool)
    chosen[np.fromiter(nodes, np.int64)] = True
    return Graph(graph.n, graph.edges[chosen[graph.edges].all(axis=1)], graph.names)


def neighbours(graph: Graph, node: int) -> list[int]:
    """Return the nodes that share an edge with ``node``, in ascending order.

    Examples
    --------
    >>> neighbours(Graph(4, [(0, 1), (1, 2), (2, 3)]), 2)
    [1, 3]
    """
    ends = graph.edges[(graph.edges == node).any(axis=1)]
    return sorted(int(end) for end in ends.ravel() if end != node)


def _codes(graph: Graph, other: Graph) -> Codes:
    """Return the edges of ``other`` as one number each, ascending as the edges are."""
    if other.n != graph.n:
        raise ValueError(f"One graph has {graph.n} nodes and the other {other.n}: give two on the same nodes.")
    codes: Codes = other.edges[:, 0] * other.n + other.edges[:, 1]
    return codes


def _decode(graph: Graph, codes: Codes) -> Graph:
    return Graph(graph.n, np.stack(np.divmod(codes, graph.n), axis=1), graph.names)
