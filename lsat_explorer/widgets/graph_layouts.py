"""Where the nodes of a graph are drawn: over an image, on a line, on a circle, or as networkx lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from lsat_explorer.model.graph import Graph
from lsat_explorer.model.piece import nearest

__all__ = ["PLACEMENTS", "Places", "can_place", "grid_shape", "place", "usual_placement"]

PLACEMENTS: dict[str, tuple[str, str]] = {
    "image": ("on the image", "One node a pixel, row by row"),
    "line": ("on a line", "In their order from left to right, edges as arcs"),
    "circle": ("on a circle", "In their order, clockwise from the top"),
    "networkx": ("by networkx", "Nodes that share edges near each other, by the layouts of networkx"),
}
"""What a placement is called, and what it does."""

_MOST_SPRUNG = 300  # nodes: the spring layout of networkx takes seconds beyond
_NAMED_BY_NETWORKX = 120  # nodes: more names than these cannot be read anyway
_LEAST_SQUARE = 4  # pixels a side of what is taken for an image without being told


@dataclass(frozen=True)
class Places:
    """Positions (n, 2) in the unit square, its width over its height, and the usual distance of two neighbours."""

    points: NDArray[np.float32]
    aspect: float
    spacing: float


def grid_shape(
    graph: Graph, shape: tuple[int, int] | None = None, image_shape: tuple[int, ...] | None = None
) -> tuple[int, int] | None:
    """Return the grid (h, w) on which a graph's nodes lie, or None.

    Parameters
    ----------
    graph : Graph
        Its own preset tells, or else a square number of nodes without names.
    shape : (h, w), optional
        What the user said.
    image_shape : tuple of int, optional
        Shape of a row of the data; a colour image has several nodes a pixel and is no grid.

    Examples
    --------
    >>> grid_shape(Graph(64, ())), grid_shape(Graph(6, ()), shape=(2, 3)), grid_shape(Graph(6, ()))
    ((8, 8), (2, 3), None)
    """
    candidates = [shape]
    preset = graph.to_dict()
    if preset.get("preset") == "grid":
        height, width = preset["arguments"]
        candidates.append((height, width))
    if image_shape is not None and image_shape[2:] in ((), (1,)):
        candidates.append((image_shape[0], image_shape[1]))
    for found in candidates:
        if found is not None and found[0] * found[1] == graph.n:
            return found
    side = isqrt(graph.n)
    plain = graph.names is None and "preset" not in preset
    return (side, side) if plain and side * side == graph.n and side >= _LEAST_SQUARE else None


def usual_placement(graph: Graph, shape: tuple[int, int] | None) -> str:
    """Return the placement that suits a graph best."""
    if shape is not None:
        return "image"
    if graph.to_dict().get("preset") == "path":
        return "line"
    return "networkx" if graph.names is not None and graph.n <= _NAMED_BY_NETWORKX and len(graph.edges) else "circle"


def can_place(graph: Graph, placement: str, shape: tuple[int, int] | None) -> bool:
    """Whether `place` can put a graph there."""
    if placement == "networkx":
        return graph.n <= _MOST_SPRUNG or graph.components() == 1
    return placement != "image" or shape is not None


def place(graph: Graph, placement: str, shape: tuple[int, int] | None) -> Places:
    """Return the positions of a graph's nodes.

    Parameters
    ----------
    graph : Graph
        The graph.
    placement : str
        One of `PLACEMENTS`.
    shape : (h, w) or None
        The grid, which ``"image"`` needs.

    Raises
    ------
    ValueError
        For an image without a grid, a large graph of several components, which networkx cannot lay out in time, or an
        unknown placement.

    Examples
    --------
    >>> place(Graph(4, ()), "image", (2, 2)).points.tolist()
    [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]]
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"There is no placement {placement!r}{nearest(placement, PLACEMENTS)}")
    n = graph.n
    index = np.arange(n)
    if placement == "image":
        if shape is None:
            raise ValueError(f"{n} nodes lie on no grid: give shape=(h, w), or place them on a line or a circle.")
        height, width = shape
        points = np.stack([(index % width + 0.5) / width, (index // width + 0.5) / height], axis=1)
        return Places(points.astype(np.float32), width / height, 1 / width)
    if placement == "line":
        return Places(np.stack([(index + 0.5) / n, np.ones(n)], axis=1).astype(np.float32), 2.4, 1 / n)
    if placement == "circle":
        turn = 2 * np.pi * index / n
        points = 0.5 + 0.5 * np.stack([np.sin(turn), -np.cos(turn)], axis=1)
        return Places(points.astype(np.float32), 1.0, float(min(np.sin(np.pi / max(n, 2)), 0.5)))
    return Places(_by_networkx(graph), 1.0, float(min(0.7 / np.sqrt(n), 0.5)))


def _by_networkx(graph: Graph) -> NDArray[np.float32]:
    import networkx

    numbered = Graph(graph.n, graph.edges).to_networkx()
    if not can_place(graph, "networkx", None):
        raise ValueError(
            f"networkx lays out {graph.n} nodes while they hang together, and these are {graph.components()} "
            "components: place them on a line or a circle."
        )
    if graph.n <= _MOST_SPRUNG:
        found = networkx.spring_layout(numbered, seed=0, iterations=80)
    else:
        found = networkx.spectral_layout(numbered)
    points = np.array([found[node] for node in range(graph.n)])
    low, high = points.min(axis=0), points.max(axis=0)
    return np.divide(points - low, high - low, out=np.full_like(points, 0.5), where=high > low).astype(np.float32)
