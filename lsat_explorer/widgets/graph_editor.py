"""GraphEditor: regularization graphs drawn, edited by hand, and taken back as graphs and as a regularizer."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import traitlets

from lsat_explorer.data import Data
from lsat_explorer.model.edge_lists import write_csv, write_edges
from lsat_explorer.model.graph import Graph
from lsat_explorer.model.piece import source as source_of
from lsat_explorer.model.regularizers import Stack
from lsat_explorer.widgets import graph_view
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.graph_effect import Preview
from lsat_explorer.widgets.graph_session import GraphSession, rows_or_none, usual_graph
from lsat_explorer.widgets.graph_set import GraphSet
from lsat_explorer.widgets.settings import NotNone, checked
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["GraphEditor"]
_PARTS = ("parts", "edges", "hands", "guess", "names", "drawing", "bar", "cards", "preview", "text", "editor")


class GraphEditor(Shown, View):
    """Regularization graphs, Σ ‖θ_a − θ_b‖² over the edges (a, b), drawn and edited by mouse or by keyboard.

    Several named graphs can be edited, each a regularizer with a weight e^{2ω} of its own. With data a quick fit shows
    what the penalty does to θ. Graphs on the same nodes share a layout; those on others keep their own.

    Parameters
    ----------
    source : Graph, dict of str to Graph, Smooth, Stack or Data, optional
        What to edit. Members of a `Stack` without a graph are kept as they are. Left out, or with data alone, it is the
        grid of the image, or no edges where rows are no images.
    data : Data, optional
        The rows, for the preview and for the nearest columns.
    shape : (h, w), optional
        The grid on which the nodes lie row by row; found by itself for grids, for image data and for a square number
        of nodes without names.
    placement : {"image", "line", "circle", "networkx"}, optional
        Where nodes are drawn at first; what suits the graph by default.
    active : str
        Name of the graph that is edited at first, the first one by default; the name of a graph that comes alone.
    **settings
        ``layout``, ``tooltip``, ``tabbable``.

    Attributes
    ----------
    graph : Graph
        The graph that is edited. Assign to it to replace it.
    graphs : dict of str to Graph
        Every graph by its name. Assign to it to replace them; the weights and blocks of known names stay.
    regularizer : Stack
        All of them as regularizers, with block and log weight. Assign a `Stack` or a `Smooth` to replace them.

    Raises
    ------
    ValueError
        For a source that holds no graph, a shape that does not fit the nodes, or an unknown placement or name.
    TypeError
        For an unknown setting.

    Examples
    --------
    >>> from lsat_explorer import graphs
    >>> editor = GraphEditor(graphs.grid(28, 28))
    >>> editor.graph
    graphs.grid(28, 28)
    >>> editor.graph = graphs.ring(24)
    >>> editor.regularizer
    Stack(smooth=Smooth(graph=graphs.ring(24)))
    """

    _esm = script(*(f"graph_{part}.js" for part in _PARTS))
    _css = looks("graph_editor.css")

    graph = traitlets.Instance(Graph)
    regularizer = NotNone()
    active = traitlets.Unicode().tag(sync=True)
    data = traitlets.Any(None, allow_none=True)

    _edges = traitlets.Bytes(b"").tag(sync=True)  # pairs of Int32, those of each drawn graph after the other
    _places = traitlets.Bytes(b"").tag(sync=True)  # pairs of Float32 in the unit square
    _names: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _frame = traitlets.Dict().tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)
    _backdrop = traitlets.Bytes(b"").tag(sync=True)
    _selected: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _zoom = traitlets.Float(1.0).tag(sync=True)
    _k = traitlets.Int(4).tag(sync=True)
    _class = traitlets.Int(0).tag(sync=True)
    _effect = traitlets.Dict().tag(sync=True)
    _theta = traitlets.Bytes(b"").tag(sync=True)  # Float32, before and after
    _listing = traitlets.Bool(False).tag(sync=True)
    _text = traitlets.Unicode("").tag(sync=True)
    _source = traitlets.Unicode("").tag(sync=True)
    _problem = traitlets.Unicode("").tag(sync=True)
    _refused = traitlets.Unicode("").tag(sync=True)  # which command of a page it is that the problem is with
    _heard = traitlets.Unicode("").tag(sync=True)  # stamp of the last message of a page, which the state answers

    def __init__(
        self,
        source: Any = None,
        *,
        data: Data | None = None,
        shape: tuple[int, int] | None = None,
        placement: str | None = None,
        active: str = "",
        **settings: Any,
    ) -> None:
        self._preview = Preview(self._publish)  # first: a view that is refused below is closed too
        source, data = (None, source) if isinstance(source, Data) else (source, data)
        state = GraphSet.of(usual_graph(rows_or_none(data), shape) if source is None else source, active)
        self._session = GraphSession(state, rows_or_none(data), shape=shape, placement=placement)
        self._pictured: tuple[Any, Any] = (None, None)  # what the saved picture shows, or soon will
        self._lock = threading.RLock()  # commands of a page and the preview come from threads of their own
        super().__init__(**settings)
        self.add_class("lsat-live")
        self._preview.take(data)
        self.data = data
        self.on_msg(self._obey)
        self._show()

    @property
    def graphs(self) -> dict[str, Graph]:
        """Every graph by its name."""
        return self._session.state.graphs

    @graphs.setter
    def graphs(self, graphs: Mapping[str, Graph]) -> None:
        self._replace(self._session.state.with_graphs(GraphSet.of(graphs).graphs), "graphs set in Python")

    @traitlets.validate("regularizer")
    def _check_regularizer(self, proposal: Any) -> Stack:
        return checked(lambda: GraphSet.of(proposal["value"]).regularizer)

    @traitlets.validate("active")
    def _check_active(self, proposal: Any) -> str:
        return checked(lambda: self._session.state.choose(proposal["value"]).active)

    @traitlets.validate("data")
    def _check_data(self, proposal: Any) -> Data | None:
        return checked(lambda: rows_or_none(proposal["value"]))

    @traitlets.observe("graph")
    def _take_graph(self, change: Any) -> None:
        if change["new"] is not self._session.state.graph:
            self._replace(self._session.state.change(graph=change["new"]), "graph set in Python")

    @traitlets.observe("regularizer")
    def _take_regularizer(self, change: Any) -> None:
        present = self._session.state
        if change["new"] != present.regularizer:
            state = GraphSet.of(change["new"])
            kept = present.active in state.pieces
            self._replace(state.choose(present.active) if kept else state, "regularizer set in Python")

    @traitlets.observe("active", "_selected", "_k", "data", "_class", "_listing")
    def _follow(self, change: Any) -> None:
        session, name, new = self._session, change["name"], change["new"]
        known = {"active": session.state.active, "_selected": session.selected, "_k": session.k, "data": session.data}
        if name in known and (new is known[name] or new == known[name]):
            return
        with self._lock:
            if name == "active":
                session.choose(new)
            elif name == "_selected":
                session.select(new)
            elif name == "_k":
                session.k = new
            elif name == "data":
                self._preview.take(new)
                session.take(new)
            self._show()

    def import_edges(self, path: str | os.PathLike[str] | None = None, *, text: str = "") -> None:
        """Make the edges of a list those of the graph that is edited.

        Parameters
        ----------
        path : path, optional
            A file of edges; without it `text` is read.
        text : str
            Two nodes a line, numbers or names, separated by blanks, a tab or a comma.

        Raises
        ------
        ValueError
            For a line that is no edge between two nodes, naming it.
        """
        with self._lock:
            self._session.do("read", {"text": text if path is None else Path(path).read_text(encoding="utf-8")})
            self._show()

    def export_edges(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the edges of the graph that is edited, two node numbers a line.

        Parameters
        ----------
        path : path, optional
            Where to write them as well; comma separated values with a header where it ends in ``.csv``.
        """
        table = path is not None and Path(path).suffix.lower() == ".csv"
        text = write_csv(self.graph) if table else write_edges(self.graph)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def undo(self) -> None:
        """Take the last step back, if there is one."""
        self._obey(self, {"do": "undo"}, [])

    def redo(self) -> None:
        """Do again what was taken back last, if anything was."""
        self._obey(self, {"do": "redo"}, [])

    def wait(self, timeout: float = 60.0) -> Stack:
        """Wait until the preview shows the graphs as they are, save the picture, and return `regularizer`.

        Parameters
        ----------
        timeout : float
            Seconds.

        Raises
        ------
        TimeoutError
            If it took longer.
        """
        if not self._preview.wait(timeout):
            raise TimeoutError(f"The preview was still being made after {timeout:g} s: wait longer.")
        self.save_picture()
        return self.regularizer

    def sentence(self) -> str:
        """Return what the view is, the same for every state."""
        return "GraphEditor: regularization graphs over the features"

    def picture(self) -> bytes:
        """Return the graphs as a PNG, with what their penalty does to θ once that is known."""
        from lsat_explorer.widgets.graph_still import graph_picture

        return graph_picture(self._session, self._effect, self._theta)

    def close(self) -> None:
        """Take the view away; a preview that was to be computed is not."""
        self._preview.close()
        super().close()

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Do what a page asks for; what cannot be done is said."""
        with self._lock:
            self._problem = ""
            try:
                if content["do"] == "csv":
                    self.send({"csv": write_csv(self.graph)})
                else:
                    self._session.do(content["do"], content)
            except ValueError as error:
                self._refused, self._problem = str(content["do"]), str(error)
            self._show(str(content.get("stamp", "")))

    def _replace(self, state: GraphSet, label: str) -> None:
        with self._lock:
            self._session.replace(state, label)
            self._problem = ""
            self._show()

    def _show(self, stamp: str = "") -> None:
        """Let the traits say what the session has, in answer to the message of this stamp."""
        session, sheet = self._session, self._session.sheet
        with self._lock, self.hold_sync():
            self._heard = stamp or self._heard
            with self.hold_trait_notifications():  # who observes one of them finds the others in step
                self.regularizer, self.graph = session.state.regularizer, session.state.graph
                self.active, self._selected, self._k = session.state.active, session.selected, session.k
            self._names, self._places = sheet.names, sheet.places.points.tobytes()
            self._backdrop, self._frame, self._shown = sheet.backdrop, session.frame(), session.shown()
            self._edges = graph_view.edge_bytes(session.state)
            if self._listing:  # while somebody looks at them
                self._text, self._source = write_edges(self.graph), source_of(self.regularizer, "lsat.", 0)
            self._preview.ask(session.question(self._class))
        drawn = (session.state, sheet.places)
        if any(new is not old for new, old in zip(drawn, self._pictured, strict=True)):  # not for a node that is chosen
            self._pictured = drawn
            self.save_soon()

    def _publish(self, words: dict[str, Any], thetas: Any) -> None:
        """Show what the preview says; its own thread calls this too."""
        with self._lock, self.hold_sync():
            self._effect = words if thetas is not None else self._effect | words
            self._theta = self._theta if thetas is None else thetas.tobytes()
        if words["state"] == "ready":
            self.save_soon()
