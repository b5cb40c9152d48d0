"""Figures of a run, of weights, of θ and of rows, from plain arrays and tables.

Matplotlib figures are still and carry their own PNG; plotly figures follow the page's width and can be made live.
Each library is loaded when one of its figures is asked for, so that the command line does without plotly, and a view
appears before matplotlib is there.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsat_explorer.plots.images import theta_figure, weights_figure
    from lsat_explorer.plots.layout import run_layout
    from lsat_explorer.plots.live import run_plotly, run_traces, update_run
    from lsat_explorer.plots.maps import theta_plotly, thumbnails_plotly, weights_plotly
    from lsat_explorer.plots.still import explorer_picture, run_figure
    from lsat_explorer.plots.tiles import graphs_figure, thumbnails_figure

__all__ = [
    "explorer_picture",
    "graphs_figure",
    "run_figure",
    "run_layout",
    "run_plotly",
    "run_traces",
    "theta_figure",
    "theta_plotly",
    "thumbnails_figure",
    "thumbnails_plotly",
    "update_run",
    "weights_figure",
    "weights_plotly",
]

_MODULES = {
    "images": ("theta_figure", "weights_figure"),
    "layout": ("run_layout",),
    "live": ("run_plotly", "run_traces", "update_run"),
    "maps": ("theta_plotly", "thumbnails_plotly", "weights_plotly"),
    "still": ("explorer_picture", "run_figure"),
    "tiles": ("graphs_figure", "thumbnails_figure"),
}


def __getattr__(name: str) -> Any:
    place = next((module for module, names in _MODULES.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{place}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "plotly":
            raise
        raise ImportError(f"{name} needs plotly, which is not installed: install lsat_explorer[lab].") from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
