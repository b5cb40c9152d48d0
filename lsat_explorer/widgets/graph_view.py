"""What a page shows of named graphs, as plain values: words, counts, positions and edges."""

from __future__ import annotations

import io
import math
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from lsat_explorer.data import Data
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.graph_edits import neighbours
from lsat_explorer.model.graph_patterns import PATTERNS, pattern
from lsat_explorer.plots.curves import count_text, number_text, short
from lsat_explorer.widgets.graph_layouts import PLACEMENTS, Places
from lsat_explorer.widgets.graph_set import GraphSet

__all__ = ["backdrop", "drawable", "drawn_graphs", "edge_bytes", "frame", "node_names", "shown"]

_MOST_NODES, _MOST_EDGES = 5_000, 60_000  # that a page draws
_MOST_NEIGHBOURS = 40  # listed
_MOST_AVERAGED = 1_000  # images behind the nodes


def node_names(graph: Graph, shape: tuple[int, int] | None, data: Data | None) -> list[str]:
    """Return what the nodes are called: by the graph, by the columns of the data, by their pixels, or by numbers.

    Examples
    --------
    >>> node_names(Graph(2, ()), (1, 2), None), node_names(Graph(2, (), names=["wind", "rain"]), None, None)
    (['pixel_0_0', 'pixel_0_1'], ['wind', 'rain'])
    """
    if graph.names is not None:
        return [short(name, 60) for name in graph.names]
    if data is not None and len(data.feature_names) == graph.n:
        return [short(name, 60) for name in data.feature_names]
    if shape is not None:
        return [f"pixel_{node // shape[1]}_{node % shape[1]}" for node in range(graph.n)]
    return [str(node) for node in range(graph.n)]


def drawn_graphs(state: GraphSet) -> dict[str, Graph]:
    """Return the graphs on as many nodes as the one that is edited: they are drawn over each other."""
    return {name: graph for name, graph in state.graphs.items() if graph.n == state.graph.n}


def drawable(state: GraphSet) -> bool:
    """Whether a page can draw so many nodes and edges."""
    edges = sum(len(graph.edges) for graph in drawn_graphs(state).values())
    return state.graph.n <= _MOST_NODES and edges <= _MOST_EDGES


def edge_bytes(state: GraphSet) -> bytes:
    """Return the edges of the drawn graphs, one after the other, as pairs of Int32; nothing where they are too many."""
    if not drawable(state):
        return b""
    return np.concatenate([graph.edges for graph in drawn_graphs(state).values()]).astype("<i4").tobytes()


def frame(state: GraphSet, shape: tuple[int, int] | None, data: Data | None, placement: str, places: Places) -> Any:
    """Return what does not change with an edge: where nodes may be placed and which patterns there are."""
    has = {"": True, "shape": shape is not None, "rows": data is not None and _columns(data) == state.graph.n}
    lacks = {"shape": "needs nodes on a grid: give shape=(h, w)", "rows": "needs training rows: give data=…"}
    patterns = [
        {
            "name": name,
            "label": each.label,
            "title": each.meaning if has[each.needs] else f"{each.label} {lacks[each.needs]}",
            "enabled": has[each.needs],
        }
        for name, each in PATTERNS.items()
    ]
    placements = [
        {"name": name, "label": label, "title": title, "enabled": name != "image" or shape is not None}
        for name, (label, title) in PLACEMENTS.items()
    ]
    return {
        "patterns": patterns,
        "placements": placements,
        "placement": placement,
        "placed": PLACEMENTS[placement][0],
        "aspect": places.aspect,
        "spacing": places.spacing,
        "drawn": drawable(state),
    }


def shown(
    state: GraphSet, names: list[str], shape: tuple[int, int] | None, near: Graph | None, chosen: tuple[int, bool]
) -> dict[str, Any]:
    """Return what may change with an edge.

    Parameters
    ----------
    state : GraphSet
        The graphs.
    names : list of str
        What the nodes of the edited one are called.
    shape : (h, w) or None
        Their grid.
    near : Graph or None
        The graph of the pattern ``"nearest"``, where it has been computed.
    chosen : (int, bool)
        The chosen node, −1 for none, and whether it waits for the other end of an edge.
    """
    graph, together = state.graph, drawn_graphs(state) if drawable(state) else {}
    counts = [count_text(graph.n, "node"), count_text(len(graph.edges), "edge")]
    return {
        "counts": [*counts, count_text(graph.components(), "component")],
        "preset": _preset(graph, shape, near),
        "graphs": [
            {
                "name": name,
                "about": count_text(len(piece.graph.edges), "edge"),
                "weight": _weight(piece.log_weight),
                "log_weight": piece.log_weight,
                "block": piece.block or "",
                "drawn": len(together[name].edges) if name in together else 0,
            }
            for name, piece in state.pieces.items()
        ],
        "node": _node(graph, names, chosen[0]) if chosen[0] >= 0 else None,
        "first": chosen[1],
    }


def _node(graph: Graph, names: list[str], node: int) -> dict[str, Any]:
    near = neighbours(graph, node)
    listed = [[other, names[other]] for other in near[:_MOST_NEIGHBOURS]]
    return {"number": node, "name": names[node], "neighbours": listed, "count": len(near)}


def _preset(graph: Graph, shape: tuple[int, int] | None, near: Graph | None) -> str:
    """Return the pattern that has exactly these edges, empty where none has."""
    if not len(graph.edges):
        return "none"
    known = dict(_patterns(graph.n, shape)) if graph.n <= _MOST_NODES else {}
    if near is not None and near.n == graph.n:
        known["nearest"] = near
    return next((name for name, each in known.items() if np.array_equal(each.edges, graph.edges)), "")


@lru_cache(maxsize=8)
def _patterns(n: int, shape: tuple[int, int] | None) -> tuple[tuple[str, Graph], ...]:
    names = [name for name, each in PATTERNS.items() if each.needs == "" or (each.needs == "shape" and shape)]
    return tuple((name, pattern(name, n, shape=shape)) for name in names if name != "ring" or n > 2)


def _weight(log_weight: float) -> str:
    return number_text(math.exp(2 * log_weight)) if log_weight < 350 else "∞"


def _columns(data: Data) -> int:
    return int(data.train.inputs.shape[1])


def backdrop(data: Data | None, graph: Graph, shape: tuple[int, int] | None) -> bytes:
    """Return the mean training image as the opacity of a PNG, to lie behind the nodes; empty where there is none."""
    if data is None or data.image_shape is None or shape != data.image_shape[:2] or _columns(data) != graph.n:
        return b""
    step = -(-len(data.train) // _MOST_AVERAGED)
    mean = data.images("train", np.arange(0, len(data.train), step)).mean(axis=0)
    pixels = np.zeros((*shape, 2), dtype=np.uint8)
    pixels[..., 1] = np.rint(mean * (255 / max(float(mean.max()), 1.0)))
    buffer = io.BytesIO()
    Image.fromarray(pixels, mode="LA").save(buffer, "PNG")
    return buffer.getvalue()
