"""A plotly figure as a widget that is quick to import and whose views can be taken away while it is drawn."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import traitlets

from lsat_explorer.widgets.base import hear_while_busy
from lsat_explorer.widgets.shown import script

__all__ = ["figure_widget"]

_SELDOM = "nbformat"
_ONCE = {"_widget_data", "_widget_layout"}


def figure_widget(figure: Any) -> Any:
    """Return a ``plotly.graph_objects.FigureWidget`` of a figure: no tool bar, as wide as its place.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        The figure to make live.
    """
    widget = _live_plot()(figure)
    widget._whole = True
    widget._config = widget._config | {"displayModeBar": False, "responsive": True}
    widget.add_class("lsat-plot")
    return widget


@cache
def _live_plot() -> Any:
    import plotly

    base = _figure_widget_class()
    module = base._esm.read_bytes() if isinstance(base._esm, Path) else str(base._esm).encode()

    class LivePlot(base):  # type: ignore[misc, valid-type]
        _esm = script("live_plot.js")
        _module = traitlets.Bytes(module).tag(sync=True)  # plotly's script, which the page reads last
        _module_name = traitlets.Unicode(f"plotly {plotly.__version__}").tag(sync=True)
        _whole = False  # until plotly's own making is done

        def open(self) -> None:
            super().open()
            hear_while_busy(self.comm)

        def get_state(self, key: Any = None, **kwargs: Any) -> Any:
            # A page that is loaded again asks for traits that plotly set once: later points went out as messages.
            # Each of those messages asks for itself alone, and copying a whole figure would be a third of its cost.
            if self._whole and (key is None or not _ONCE.isdisjoint([key] if isinstance(key, str) else key)):
                self._trait_values |= {"_widget_data": deepcopy(self._data), "_widget_layout": deepcopy(self._layout)}
            return super().get_state(key, **kwargs)

    return LivePlot


def _figure_widget_class() -> Any:
    # plotly imports nbformat, that jsonschema, and that compiles 38 grammars to check international addresses: five
    # sixths of the time until the first view is there. All that plotly wants of it is its version, in `figure.show()`.
    seldom = _SELDOM not in sys.modules and find_spec(_SELDOM) is not None
    if seldom:
        sys.modules[_SELDOM] = None  # type: ignore[assignment]
    try:
        from plotly.graph_objects import FigureWidget
    finally:
        if seldom:
            del sys.modules[_SELDOM]
    user = sys.modules.get("plotly.io._renderers")
    if seldom and user is not None:
        user.nbformat = _Later(_SELDOM)  # type: ignore[attr-defined]
    return FigureWidget


class _Later(ModuleType):
    """A module that is loaded when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)
