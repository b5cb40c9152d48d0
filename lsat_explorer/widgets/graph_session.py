"""Editing named graphs: what has been done, what is chosen, and what a page shows of it. No widget, no browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.model import graphs
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.graph_patterns import pattern
from lsat_explorer.model.regularizers import Ridge
from lsat_explorer.widgets import graph_view
from lsat_explorer.widgets.graph_commands import COMMANDS, Desk
from lsat_explorer.widgets.graph_effect import Question
from lsat_explorer.widgets.graph_layouts import grid_shape
from lsat_explorer.widgets.graph_set import GraphSet
from lsat_explorer.widgets.graph_sheet import GraphSheet
from lsat_explorer.widgets.undo import Undo

__all__ = ["GraphSession", "rows_or_none", "usual_graph"]

_MOST_ROWS = 4_000  # of the training rows, for the nearest columns


def rows_or_none(data: Any) -> Data | None:
    """Return rows as they are, or refuse what is none."""
    if data is not None and not isinstance(data, Data):
        raise ValueError(f"data is a {type(data).__name__}, expected Data; make one with lsat.Data.from_arrays")
    return data


def usual_graph(data: Data | None, shape: tuple[int, int] | None) -> Graph:
    """Return what is edited where nobody gave a graph: the grid of the image, or no edges between named features.

    Raises
    ------
    ValueError
        Where there is neither a shape nor data.
    """
    if shape is not None:
        return graphs.grid(*shape)
    if data is None:
        raise ValueError("There is nothing to edit: give a graph, such as graphs.grid(28, 28), shape=(h, w) or data=….")
    plain = Graph(len(data.feature_names), (), names=data.feature_names)
    found = grid_shape(plain, image_shape=data.image_shape)
    return plain if found is None else graphs.grid(*found)


class GraphSession:
    """Named graphs under the hand: a state with its past, and the node and the nodes that are chosen.

    Parameters
    ----------
    state : GraphSet
        The graphs at first.
    data : Data, optional
        The rows whose features are the nodes.
    shape : (h, w), optional
        The grid on which the nodes lie, where it does not tell itself.
    placement : str, optional
        Where nodes are drawn at first.

    Attributes
    ----------
    state : GraphSet
        The graphs now.
    selected : list of int
        The selected nodes.
    k : int
        Neighbours of each column for the pattern ``"nearest"``.
    sheet : GraphSheet
        The nodes: names and positions.

    Examples
    --------
    >>> session = GraphSession(GraphSet.of(graphs.path(3)))
    >>> session.do("toggle", {"a": 0, "b": 2})
    >>> session.state.graph == graphs.ring(3)
    True
    >>> session.do("undo")
    >>> session.state.graph
    graphs.path(3)
    """

    def __init__(
        self,
        state: GraphSet,
        data: Data | None = None,
        *,
        shape: tuple[int, int] | None = None,
        placement: str | None = None,
    ) -> None:
        self.data = data
        self.selected: list[int] = []
        self.k = 4
        self.sheet = GraphSheet(state, data, shape, placement)
        self._undo: Undo[GraphSet] = Undo(state)
        self._node, self._waits = -1, False  # the chosen node, and whether it waits for the other end of an edge
        self._near: dict[int, Graph] = {}  # nearest columns by their number
        self._own = {
            "pick": self._pick,
            "find": self._find,
            "leave": self._leave,
            "place": self._place,
            "select": lambda content: self.select(content["nodes"]),
            "choose": lambda content: self.choose(str(content["name"])),
            "near": self._count_near,
        }

    @property
    def state(self) -> GraphSet:
        """The graphs now."""
        return self._undo.present

    def do(self, command: str, content: Mapping[str, Any] | None = None) -> None:
        """Do what a hand meant.

        Parameters
        ----------
        command : str
            One of `graph_commands.COMMANDS`, or ``"undo"``, ``"redo"``, ``"pick"``, ``"find"``, ``"leave"``,
            ``"select"``, ``"choose"``, ``"near"``, ``"place"``.
        content : mapping, optional
            What the command needs.

        Raises
        ------
        ValueError
            In one sentence, where it cannot be done; nothing has changed then.
        """
        given = content or {}
        if command in ("undo", "redo"):
            (self._undo.undo if command == "undo" else self._undo.redo)()
        elif command in self._own:
            self._own[command](given)
        elif command in COMMANDS:
            if given.get("pattern") == "nearest":
                self._find_near()
            state, label, kind = COMMANDS[command](self.state, given, self._desk())
            if state != self.state:
                self._undo.push(state, label, kind)
            self._waits = False
        self._settle()

    def replace(self, state: GraphSet, label: str) -> None:
        """Take graphs that come from outside, as a step that can be taken back."""
        self._undo.push(state, label)
        self.sheet.forget()
        self._settle()

    def choose(self, name: str) -> None:
        """Edit another graph; this is no step of its own."""
        self._undo.replace(self.state.choose(name))
        self._waits = False
        self._settle()

    def select(self, nodes: list[int]) -> None:
        """Select these nodes, those that exist."""
        self.selected = [node for node in dict.fromkeys(nodes) if 0 <= node < self.state.graph.n]

    def take(self, data: Data | None) -> None:
        """Take other rows."""
        self.data = data
        self._near.clear()
        self._settle()

    def question(self, output: int) -> Question:
        """Return what the preview of the graph that is edited has to answer."""
        piece = self.state.piece
        ridges = [m for m in self.state.members.values() if isinstance(m, Ridge) and m.block in (None, piece.block)]
        return Question(self.state.active, piece, ridges[0] if ridges else None, output)

    def frame(self) -> dict[str, Any]:
        """Return what no edge changes, as `graph_view.frame`."""
        return graph_view.frame(self.state, self.sheet.shape, self.data, self.sheet.placement, self.sheet.places)

    def shown(self) -> dict[str, Any]:
        """Return what an edge may change, as `graph_view.shown`, with what can be undone and redone."""
        near = self._near.get(self.k)
        described = graph_view.shown(self.state, self.sheet.names, self.sheet.shape, near, (self._node, self._waits))
        return described | {"undo": self._undo.undoes, "redo": self._undo.redoes}

    def _settle(self) -> None:
        """Let go of nodes that are others now."""
        if self.sheet.fit(self.state, self.data) or self._node >= self.state.graph.n:
            self._node, self._waits, self.selected = -1, False, []

    def _desk(self) -> Desk:
        return Desk(self.sheet.names, self.sheet.shape, self._near.get(self.k), self.selected, self._node)

    def _find_near(self) -> None:
        """Find the nearest columns, once for each number of neighbours."""
        n, data = self.state.graph.n, self.data
        if self.k not in self._near or self._near[self.k].n != n:
            rows = None if data is None else data.train.inputs[:: -(-len(data.train) // _MOST_ROWS)].numpy()
            self._near[self.k] = pattern("nearest", n, rows=rows, k=self.k)

    def _pick(self, content: Mapping[str, Any]) -> None:
        """Choose a node, or with the one that waits add or remove an edge."""
        node = self._known(content["node"])
        if not self._waits:
            self._node, self._waits = node, True
        elif node == self._node:
            self._waits = False
        else:
            self.do("toggle", {"a": self._node, "b": node})
            self._node = node

    def _find(self, content: Mapping[str, Any]) -> None:
        text = str(content["text"]).strip()
        self._node = self._desk().number(text, self.state.graph) if text else -1
        self._waits = False

    def _leave(self, content: Mapping[str, Any]) -> None:
        """Let go of what was chosen last: the end of an edge, the selection, the node."""
        if self._waits:
            self._waits = False
        elif self.selected:
            self.selected = []
        else:
            self._node = -1

    def _count_near(self, content: Mapping[str, Any]) -> None:
        self.k = int(content["k"])

    def _place(self, content: Mapping[str, Any]) -> None:
        self.sheet.place(self.state.graph, str(content["placement"]))

    def _known(self, node: Any) -> int:
        n = self.state.graph.n
        if not isinstance(node, int) or not 0 <= node < n:
            raise ValueError(f"There is no node {node!r}: nodes are 0 to {n - 1}.")
        return node
