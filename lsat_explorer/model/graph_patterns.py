"""Neighbourhoods that are often wanted, by name, on all nodes or on some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import graphs
from .graph import Graph
from .graph_edits import inside
from .piece import nearest

__all__ = ["PATTERNS", "Pattern", "pattern"]


@dataclass(frozen=True)
class Pattern:
    """A neighbourhood: what it is called and what it joins.

    Parameters
    ----------
    label : str
        What a button says.
    meaning : str
        One sentence for its tooltip.
    needs : str
        What it cannot do without: ``"shape"``, ``"rows"`` or nothing.
    """

    label: str
    meaning: str
    needs: str = ""


PATTERNS: dict[str, Pattern] = {
    "grid4": Pattern("Grid 4", "Each node with those beside, above and below it", "shape"),
    "grid8": Pattern("Grid 8", "Each node with the eight around it", "shape"),
    "horizontal": Pattern("Horizontal", "Each node with those beside it in its row", "shape"),
    "vertical": Pattern("Vertical", "Each node with those above and below it", "shape"),
    "path": Pattern("Path", "Each node with the next, in their order"),
    "ring": Pattern("Ring", "Each node with the next, and the last with the first"),
    "none": Pattern("None", "No edges"),
    "nearest": Pattern(
        "Nearest", "Each column with the k columns it correlates with most on the training rows", "rows"
    ),
}
"""Every pattern by its name, in the order shown."""


def pattern(
    name: str,
    n: int,
    *,
    shape: tuple[int, int] | None = None,
    rows: Any = None,
    k: int = 4,
    nodes: Sequence[int] | None = None,
) -> Graph:
    """Return the graph of a pattern on n nodes.

    Parameters
    ----------
    name : str
        One of `PATTERNS`.
    n : int
        Number of nodes.
    shape : (h, w), optional
        The grid on which the nodes lie row by row, n = h w.
    rows : array-like (N, n), optional
        Training rows whose columns are the nodes, for ``"nearest"``.
    k : int
        Neighbours of each column, for ``"nearest"``.
    nodes : sequence of int, optional
        Join these alone: a path or a ring runs through them in ascending order, of any other pattern only the edges
        between them are taken.

    Raises
    ------
    ValueError
        For an unknown name, or where the pattern lacks the grid or the rows it needs.

    Examples
    --------
    >>> pattern("grid4", 6, shape=(2, 3), nodes=[0, 1, 3]).edges.tolist()
    [[0, 1], [0, 3]]
    >>> pattern("path", 6, nodes=[5, 0, 3]).edges.tolist()
    [[0, 3], [3, 5]]
    """
    if name not in PATTERNS:
        raise ValueError(f"There is no pattern {name!r}{nearest(name, PATTERNS)}")
    if name == "none":
        return Graph(n, ())
    if name in ("path", "ring"):
        return _through(name, n, nodes)
    whole = _near(n, rows, k) if name == "nearest" else _on_grid(name, n, shape)
    return whole if nodes is None else inside(whole, nodes)


def _on_grid(name: str, n: int, shape: tuple[int, int] | None) -> Graph:
    if shape is None or shape[0] * shape[1] != n:
        raise ValueError(f"{PATTERNS[name].label} needs {n} nodes on a grid: give shape=(h, w) with h w = {n}.")
    if name == "grid8":
        return graphs.grid(*shape, neighbours=8)
    return graphs.grid(*shape, horizontal=name != "vertical", vertical=name != "horizontal")


def _near(n: int, rows: Any, k: int) -> Graph:
    if rows is None or np.shape(rows)[-1] != n:
        raise ValueError(f"Nearest needs training rows of {n} columns, one a node: give data=….")
    return Graph(n, graphs.nearest_neighbours(rows, k).edges)


def _through(name: str, n: int, nodes: Sequence[int] | None) -> Graph:
    if nodes is None:
        return graphs.path(n) if name == "path" else graphs.ring(n)
    order = np.unique(np.asarray(nodes, dtype=np.int64))
    if name == "ring" and len(order) < 3:
        raise ValueError(f"A ring through {len(order)} nodes: choose at least 3.")
    following = np.roll(order, -1) if name == "ring" else order[1:]
    return Graph(n, np.stack([order[: len(following)], following], axis=1))
