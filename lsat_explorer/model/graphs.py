"""Graphs over features that are often wanted: grids, paths, rings, nearest neighbours, and those of networkx."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .graph import LIMIT, PRESETS, Graph, preset
from .piece import flag, one_of, whole

if TYPE_CHECKING:
    import networkx

__all__ = ["Graph", "from_networkx", "grid", "nearest_neighbours", "path", "ring"]


def _size(value: Any, name: str, low: int = 1) -> int:
    return whole(int(value) if isinstance(value, np.integer) else value, name, low=low, high=LIMIT)


def grid(h: int, w: int, *, neighbours: int = 4, horizontal: bool = True, vertical: bool = True) -> Graph:
    """Return the grid of h × w nodes, row by row, each joined to its neighbours.

    Parameters
    ----------
    h, w : int
        Height and width.
    neighbours : {4, 8}
        4 joins each node to those beside, above and below it, 8 also to those at its corners.
    horizontal, vertical : bool
        Which of the 4 to keep, so that both directions can have weights of their own in a `Stack`.

    Raises
    ------
    ValueError
        For neither direction, or only one of them with 8 neighbours.

    Examples
    --------
    >>> graph = grid(28, 28)
    >>> graph.n, len(graph.edges)
    (784, 1512)
    >>> len(grid(28, 28, vertical=False).edges), len(grid(28, 28, neighbours=8).edges)
    (756, 2970)
    """
    h, w = _size(h, "h"), _size(w, "w")
    if h * w > LIMIT // 4:
        raise ValueError(f"A grid of {h} × {w} nodes: expected at most {LIMIT // 4:,}.")
    one_of(neighbours, "neighbours", (4, 8))
    kept = [flag(horizontal, "horizontal"), flag(vertical, "vertical")]
    if not any(kept) or (neighbours == 8 and not all(kept)):
        raise ValueError("A grid joins nodes horizontally, vertically or both; 8 neighbours need both.")
    node = np.arange(h * w).reshape(h, w)
    pairs = [(node[:, :-1], node[:, 1:])] * horizontal + [(node[:-1], node[1:])] * vertical
    if neighbours == 8:
        pairs += [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
    given = {"neighbours": (neighbours, 4), "horizontal": (horizontal, True), "vertical": (vertical, True)}
    options = {name: value for name, (value, default) in given.items() if value != default}
    return preset(Graph(h * w, edges), "grid", h, w, **options)


def path(n: int) -> Graph:
    """Return the path 0 — 1 — … — n − 1.

    Examples
    --------
    >>> len(path(5).edges)
    4
    """
    n = _size(n, "n")
    return preset(Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], 1)), "path", n)


def ring(n: int) -> Graph:
    """Return the ring 0 — 1 — … — n − 1 — 0 of at least 3 nodes, such as hours of a day.

    Examples
    --------
    >>> len(ring(24).edges)
    24
    """
    n = _size(n, "n", low=3)
    node = np.arange(n)
    return preset(Graph(n, np.stack([node, (node + 1) % n], 1)), "ring", n)


def nearest_neighbours(X: Any, k: int, *, distance: str = "correlation") -> Graph:
    """Return the graph that joins each column of X to its k nearest columns, from either side.

    Parameters
    ----------
    X : array-like (N, d)
        Training rows. The names of a data frame's columns become those of the nodes.
    k : int
        Neighbours of each column, 1 to d − 1.
    distance : {"correlation", "euclidean"}
        One minus the correlation of two columns, which suits any units, or the length of their difference. A column
        that does not vary has no correlation and is joined to none.

    Raises
    ------
    ValueError
        For a k that does not fit, or a NaN or an infinity in X.

    Examples
    --------
    >>> nearest_neighbours([[1.0, 2.1, 0.0], [2.0, 3.9, 5.0], [3.0, 6.0, 1.0]], 1).edges.tolist()
    [[0, 1], [0, 2]]
    """
    from sklearn.neighbors import NearestNeighbors

    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    try:
        columns = np.array(X, dtype=np.float64).T
    except (TypeError, ValueError) as error:
        raise ValueError(f"nearest_neighbours: X is no table of numbers: {error}.") from error
    if columns.ndim != 2 or not columns.size or not np.isfinite(columns).all():
        raise ValueError(f"nearest_neighbours: X has shape {columns.T.shape}, expected finite numbers (N, d).")
    one_of(distance, "nearest_neighbours: distance", ("correlation", "euclidean"))
    vary = np.arange(len(columns))
    if distance == "correlation":
        # Centred columns of length one are as far apart as sqrt(2 (1 − correlation)): the order is the same.
        columns = columns - columns.mean(1, keepdims=True)
        length = np.linalg.norm(columns, axis=1)
        vary = np.flatnonzero(length > 1e-12 * np.abs(np.array(X, dtype=np.float64)).max(0) * len(columns[0]) ** 0.5)
        columns = columns[vary] / length[vary, None]
    k = _size(k, "nearest_neighbours: k")
    if k >= len(columns):
        raise ValueError(f"nearest_neighbours: k is {k}, but only {len(columns)} columns vary: expected k below that.")
    found = NearestNeighbors(n_neighbors=k).fit(columns).kneighbors(return_distance=False)
    pairs = np.stack([np.repeat(vary, k), vary[found.ravel()]], 1)
    return Graph(len(names) if names else np.shape(X)[1], np.unique(np.sort(pairs, axis=1), axis=0), names=names)


def from_networkx(G: networkx.Graph) -> Graph:
    """Return the graph of a networkx graph, its nodes numbered in their order and named.

    ``from_networkx(G).ordered(data.feature_names)`` has the nodes in the order of the columns. Directions and weights
    are dropped: the penalty Σ w (θ_a − θ_b)² of edges with weights w is that of a `Matrix` with a row √w (e_a − e_b)
    for each edge.

    Warns
    -----
    UserWarning
        When the graph is directed, or the attribute ``weight`` of an edge is not 1.

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
    found: Any = G.edges(data="weight")
    weighted = sum(weight not in (1, None) for *_, weight in found)
    if weighted:
        warnings.warn(
            f"The graph has {weighted:,} edges of a weight other than 1: its edges are taken without their weights. "
            "For a penalty that has them give lsat.Matrix a row √w (e_a − e_b) for each edge.",
            stacklevel=2,
        )
    number = {node: index for index, node in enumerate(G.nodes)}
    edges = [(number[edge[0]], number[edge[1]]) for edge in G.edges]
    return Graph(len(number), edges, names=[str(node) for node in G.nodes])


PRESETS |= {"grid": grid, "path": path, "ring": ring}
