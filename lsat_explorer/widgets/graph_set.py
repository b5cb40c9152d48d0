"""Named graphs, each a regularizer with a weight of its own, and the one that is edited: a frozen state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lsat_explorer.model.graph import Graph
from lsat_explorer.model.piece import nearest
from lsat_explorer.model.regularizers import Regularizer, Smooth, Stack

__all__ = ["GraphSet"]

_NAME = "smooth"


@dataclass(frozen=True)
class GraphSet:
    """The members of a Stack, of which those that are `Smooth` are edited; the others are kept as they are.

    Parameters
    ----------
    members : mapping of str to Regularizer
        In their order; at least one is `Smooth`.
    active : str
        Name of the `Smooth` whose graph is edited.

    Raises
    ------
    ValueError
        When there is no graph, or none of this name.

    Examples
    --------
    >>> from lsat_explorer import graphs
    >>> GraphSet.of(graphs.path(3)).regularizer
    Stack(smooth=Smooth(graph=graphs.path(3)))
    """

    members: Mapping[str, Regularizer]
    active: str

    def __post_init__(self) -> None:
        if not self.pieces:
            raise ValueError(
                f"{dict(self.members)!r} holds no graph: add a Smooth, for example Smooth(graphs.path(8))."
            )
        if self.active not in self.pieces:
            raise ValueError(f"There is no graph {self.active!r}{nearest(self.active, self.pieces)}")

    @classmethod
    def of(cls, source: Any, active: str = "") -> GraphSet:
        """Return the state of a graph, of graphs by name, of a `Smooth`, or of a `Stack`.

        Raises
        ------
        ValueError
            For anything else.
        """
        members: Mapping[str, Any]
        if isinstance(source, Graph):
            members = {active or _NAME: Smooth(source)}
        elif isinstance(source, Smooth):
            members = {active or _NAME: source}
        elif isinstance(source, Stack):
            members = source.members
        elif isinstance(source, Mapping) and all(isinstance(graph, Graph) for graph in source.values()) and source:
            members = Stack(**{str(name): Smooth(graph) for name, graph in source.items()}).members
        else:
            raise ValueError(
                f"Expected a Graph, graphs by name, or a regularizer with graphs, got {_short(source)}; "
                "give for example graphs.grid(28, 28)."
            )
        first = next((name for name, member in members.items() if isinstance(member, Smooth)), "")
        return cls(dict(members), active or first)

    @property
    def pieces(self) -> dict[str, Smooth]:
        """The members with a graph."""
        return {name: member for name, member in self.members.items() if isinstance(member, Smooth)}

    @property
    def piece(self) -> Smooth:
        """The member that is edited."""
        return self.pieces[self.active]

    @property
    def graph(self) -> Graph:
        """The graph that is edited."""
        return self.piece.graph

    @property
    def graphs(self) -> dict[str, Graph]:
        """Every graph by its name."""
        return {name: piece.graph for name, piece in self.pieces.items()}

    @property
    def regularizer(self) -> Stack:
        """Everything as one regularizer."""
        return Stack(**self.members)

    def choose(self, name: str) -> GraphSet:
        """Return the state with another graph to edit."""
        return replace(self, active=name)

    def change(self, **fields: Any) -> GraphSet:
        """Return the state with other ``graph``, ``block`` or ``log_weight`` of the piece that is edited."""
        return replace(self, members={**self.members, self.active: replace(self.piece, **fields)})

    def with_graphs(self, graphs: Mapping[str, Graph]) -> GraphSet:
        """Return the state with these graphs and no others; weights and blocks of known names stay."""
        known = self.pieces
        rest = {name: member for name, member in self.members.items() if name not in known or name in graphs}
        new = {n: replace(known[n], graph=g) if n in known else Smooth(g) for n, g in graphs.items()}
        members = {**rest, **new}
        return GraphSet.of(Stack(**members), self.active if self.active in graphs else "")

    def add(self) -> GraphSet:
        """Return the state with one more graph, without edges, on the nodes and the block of the one edited."""
        number = 2
        while f"{_NAME}_{number}" in self.members:
            number += 1
        name, graph = f"{_NAME}_{number}", self.graph
        empty = replace(self.piece, graph=Graph(graph.n, (), graph.names))
        return GraphSet({**self.members, name: empty}, name)

    def remove(self) -> GraphSet:
        """Return the state without the graph that is edited."""
        if len(self.pieces) == 1:
            raise ValueError(f"{self.active} is the only graph: clear its edges instead.")
        names = list(self.pieces)
        at = names.index(self.active)
        left = {name: member for name, member in self.members.items() if name != self.active}
        return GraphSet(left, names[at - 1] if at else names[1])

    def rename(self, name: str) -> GraphSet:
        """Return the state with another name for the graph that is edited."""
        if name != self.active and name in self.members:
            raise ValueError(f"The name {name!r} is taken: choose another.")
        members = {name if old == self.active else old: member for old, member in self.members.items()}
        try:
            return GraphSet(Stack(**members).members, name)
        except ValueError as error:
            raise ValueError(str(error).removeprefix("Stack: ")) from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"
