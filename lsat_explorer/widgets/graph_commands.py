"""What can be done to named graphs by hand: a command takes the state and returns another, with words for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from lsat_explorer.model.edge_lists import node_number, read_edges
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.graph_edits import cut, inside, joined, toggled
from lsat_explorer.model.graph_patterns import PATTERNS, pattern
from lsat_explorer.plots.curves import count_text, short
from lsat_explorer.widgets.graph_set import GraphSet
from lsat_explorer.widgets.typed import typed_number

__all__ = ["COMMANDS", "Desk", "Edited"]


@dataclass(frozen=True)
class Desk:
    """What commands may count on besides the state.

    Parameters
    ----------
    names : sequence of str
        What the nodes are called.
    shape : (h, w) or None
        The grid of the nodes.
    near : Graph or None
        The graph of the pattern ``"nearest"``, where there are rows to find it from.
    selected : sequence of int
        The selected nodes.
    node : int
        The chosen node, −1 for none.
    """

    names: Sequence[str]
    shape: tuple[int, int] | None = None
    near: Graph | None = None
    selected: Sequence[int] = ()
    node: int = -1

    def pattern(self, name: str, n: int, nodes: Sequence[int] | None = None) -> Graph:
        """Return the graph of a pattern on all nodes, or on some."""
        if name == "nearest" and self.near is not None:
            return self.near if nodes is None else inside(self.near, nodes)
        return pattern(name, n, shape=self.shape, nodes=nodes)

    def number(self, text: Any, graph: Graph) -> int:
        """Return the number of the node that a text names."""
        try:
            return node_number(str(text), graph.n, self.names)
        except ValueError as error:
            raise ValueError(f"T{str(error)[1:]}") from error  # a sentence of its own here


Edited = tuple[GraphSet, str, str]
"""The new state, what was done in words, and the kind of steps that are one step together."""

Content = Mapping[str, Any]


def _toggle(state: GraphSet, content: Content, desk: Desk) -> Edited:
    return _between(state, index(content["a"]), index(content["b"]), desk)


def _meet(state: GraphSet, content: Content, desk: Desk) -> Edited:
    if desk.node < 0:
        raise ValueError("No node is chosen: choose one first, then name the other end of the edge.")
    return _between(state, desk.node, desk.number(content["text"], state.graph), desk)


def _between(state: GraphSet, a: int, b: int, desk: Desk) -> Edited:
    edge = Graph(state.graph.n, [(a, b)])
    graph = toggled(state.graph, edge)
    done = "add" if len(graph.edges) > len(state.graph.edges) else "remove"
    return state.change(graph=graph), f"{done} the edge {desk.names[a]} – {desk.names[b]}", ""


def _pattern(state: GraphSet, content: Content, desk: Desk) -> Edited:
    name = str(content["pattern"])
    made = desk.pattern(name, state.graph.n)
    # the preset itself where nodes have no names: it is then written as its call
    graph = made if state.graph.names is None else Graph(made.n, made.edges, state.graph.names)
    done = "remove all edges" if name == "none" else f"all edges by {PATTERNS[name].label}"
    return state.change(graph=graph), done, ""


def _join(state: GraphSet, content: Content, desk: Desk) -> Edited:
    made = desk.pattern(str(content["pattern"]), state.graph.n, desk.selected)
    return state.change(graph=joined(state.graph, made)), f"join {_many(desk)} by {_label(content)}", ""


def _cut(state: GraphSet, content: Content, desk: Desk) -> Edited:
    made = desk.pattern(str(content["pattern"]), state.graph.n, desk.selected)
    return state.change(graph=cut(state.graph, made)), f"cut {_label(content)} among {_many(desk)}", ""


def _clear(state: GraphSet, content: Content, desk: Desk) -> Edited:
    graph = cut(state.graph, inside(state.graph, desk.selected))
    return state.change(graph=graph), f"clear the edges inside {_many(desk)}", ""


def _many(desk: Desk) -> str:
    return count_text(len(desk.selected), "node")


def _label(content: Content) -> str:
    return PATTERNS[str(content["pattern"])].label


def _read(state: GraphSet, content: Content, desk: Desk) -> Edited:
    read = read_edges(str(content["text"]), state.graph.n, desk.names)
    return state.change(graph=Graph(read.n, read.edges, state.graph.names)), "edges from a list", ""


def _add(state: GraphSet, content: Content, desk: Desk) -> Edited:
    new = state.add()
    return new, f"add the graph {new.active}", ""


def _remove(state: GraphSet, content: Content, desk: Desk) -> Edited:
    return state.remove(), f"remove the graph {state.active}", ""


def _rename(state: GraphSet, content: Content, desk: Desk) -> Edited:
    name = str(content["name"]).strip()
    return state.rename(name), f"rename {state.active} to {short(name)}", ""


def _block(state: GraphSet, content: Content, desk: Desk) -> Edited:
    block = str(content["block"]).strip() or None
    return state.change(block=block), f"block of {state.active}", ""


def _weigh(state: GraphSet, content: Content, desk: Desk) -> Edited:
    if "log_weight" in content:
        log_weight = float(content["log_weight"])
    else:
        text = str(content["weight"]).strip()
        try:
            weight = typed_number(text)
        except ValueError:
            weight = math.nan
        if not 0 < weight < math.inf:
            raise ValueError(f"The weight is {text[:40]!r}: expected a number above 0, such as 1.")
        log_weight = 0.5 * math.log(weight)
    return state.change(log_weight=log_weight), f"weight of {state.active}", f"weight of {state.active}"


COMMANDS: dict[str, Callable[[GraphSet, Content, Desk], Edited]] = {
    "toggle": _toggle,
    "meet": _meet,
    "pattern": _pattern,
    "join": _join,
    "cut": _cut,
    "clear": _clear,
    "read": _read,
    "add": _add,
    "remove": _remove,
    "rename": _rename,
    "block": _block,
    "weigh": _weigh,
}
"""Every command by its name."""
