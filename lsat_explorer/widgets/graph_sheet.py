"""How the nodes of the edited graph are called and where they are drawn, which stays while edges change."""

from __future__ import annotations

from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.model.graph import Graph
from lsat_explorer.widgets.graph_layouts import Places, can_place, grid_shape, place, usual_placement
from lsat_explorer.widgets.graph_set import GraphSet
from lsat_explorer.widgets.graph_view import backdrop, node_names

__all__ = ["GraphSheet"]


class GraphSheet:
    """The nodes of the graph that is edited.

    Graphs on the same nodes share one layout, since they are drawn over each other. Graphs on other nodes have layouts
    of their own, which they keep while another one is edited; one that is shown for the first time takes the placement
    that was chosen last, where it can.

    Parameters
    ----------
    state : GraphSet
        The graphs.
    data : Data or None
        The rows whose features are the nodes.
    shape : (h, w), optional
        The grid on which the nodes lie, where the user gave one.
    placement : str, optional
        Where nodes are drawn, where the user gave it.

    Attributes
    ----------
    names : list of str
        What the nodes are called.
    shape : (h, w) or None
        Their grid.
    placement : str
        A key of `graph_layouts.PLACEMENTS`.
    places : Places
        Where they are.
    backdrop : bytes
        The mean image behind them, a PNG, empty where there is none.

    Raises
    ------
    ValueError
        For a shape or a placement that cannot be.
    """

    names: list[str]
    shape: tuple[int, int] | None
    placement: str
    places: Places
    backdrop: bytes

    def __init__(self, state: GraphSet, data: Data | None, shape: Any = None, placement: str | None = None) -> None:
        self._given = None if shape is None else _checked(shape, state)
        self._wish: str | None = None
        self._of: tuple[Any, ...] = ()
        self._kept: dict[tuple[Any, ...], tuple[str, Places]] = {}
        self.fit(state, data)
        if placement is not None:
            self.place(state.graph, placement)

    def forget(self) -> None:
        """Look at the graph anew at the next `fit`, since it came from outside."""
        self._of = ()
        self._kept.clear()

    def fit(self, state: GraphSet, data: Data | None) -> bool:
        """Follow the graph that is edited; return whether its nodes may be others than before."""
        graph = state.graph
        of = (graph.n, graph.names, data)
        if self._of == of:
            return False
        self._of = of
        self.shape = grid_shape(graph, self._given, None if data is None else data.image_shape)
        self.names, self.backdrop = node_names(graph, self.shape, data), backdrop(data, graph, self.shape)
        if of in self._kept:
            self.placement, self.places = self._kept[of]
            return True
        possible = self._wish is not None and can_place(graph, self._wish, self.shape)
        self.placement = self._wish if possible and self._wish else usual_placement(graph, self.shape)
        self.places = place(graph, self.placement, self.shape)
        self._kept[of] = self.placement, self.places
        return True

    def place(self, graph: Graph, placement: str) -> None:
        """Draw the nodes elsewhere from now on.

        Raises
        ------
        ValueError
            Where they cannot be placed like that.
        """
        self.places = place(graph, placement, self.shape)
        self.placement = self._wish = placement
        self._kept[self._of] = placement, self.places


def _checked(shape: Any, state: GraphSet) -> tuple[int, int]:
    """Return a shape as two whole numbers that fit the nodes."""
    pair = tuple(shape) if isinstance(shape, tuple | list) else ()
    if len(pair) != 2 or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in pair):
        raise ValueError(f"shape is {shape!r}, expected (h, w), two whole numbers from 1; give for example (28, 28)")
    counts = sorted({graph.n for graph in state.graphs.values()})
    if pair[0] * pair[1] not in counts:
        raise ValueError(
            f"shape {pair} has {pair[0] * pair[1]} nodes and the graph {counts[0]}; give a shape whose product is that"
        )
    return pair[0], pair[1]
