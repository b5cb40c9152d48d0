"""What a page asks of a graph editor and what it is sent, for the tests of its parts."""

from __future__ import annotations

import json
from typing import Any

import networkx
import numpy as np

import lsat_explorer as lsat
from lsat_explorer.widgets import GraphEditor

HOSTILE = ["<img src=x onerror=alert(1)>", "🎉 $x$", "n" * 300, 'a "quoted", name']
SOON = 60.0
PNG = b"\x89PNG\r\n\x1a\n"
CLUB = networkx.karate_club_graph()
networkx.set_edge_attributes(CLUB, 1, "weight")  # its own are dropped with a warning
GRAPHS = {
    "grid": lsat.graphs.grid(28, 28),
    "grid8": lsat.graphs.grid(5, 7, neighbours=8),
    "path": lsat.graphs.path(9),
    "ring": lsat.graphs.ring(24),
    "one node": lsat.Graph(1, ()),
    "no edges": lsat.Graph(784, ()),
    "named": lsat.graphs.from_networkx(networkx.relabel_nodes(CLUB, lambda i: f"member {i}")),
    "hostile": lsat.Graph(4, [(0, 3)], names=HOSTILE),
}


def ask(editor: GraphEditor, do: str, **content: Any) -> str:
    """Send what a page sends; return what is said under the widget."""
    editor._handle_custom_msg({"do": do, **content}, [])
    return str(sent(editor, "_problem"))


def sent(editor: GraphEditor, name: str) -> Any:
    """Return a trait as a page receives it."""
    value = editor.get_state([name])[name]
    if not isinstance(value, bytes | memoryview):
        json.dumps(value)
    return value


def shown(editor: GraphEditor) -> dict[str, Any]:
    described: dict[str, Any] = sent(editor, "_shown")
    return described


def pairs(editor: GraphEditor) -> list[list[int]]:
    edges: list[list[int]] = np.frombuffer(sent(editor, "_edges"), dtype="<i4").reshape(-1, 2).tolist()
    return edges


def as_set(graph: lsat.Graph) -> set[tuple[int, ...]]:
    return set(map(tuple, graph.edges.tolist()))
