"""Views for JupyterLab, each over one public object: a run, a recipe, the rows of a data set.

Nothing is imported until a view is asked for: ipywidgets, anywidget and plotly are heavy, and optional.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsat_explorer.widgets.explorer import Explorer
    from lsat_explorer.widgets.featurizer_builder import FeaturizerBuilder
    from lsat_explorer.widgets.graph_editor import GraphEditor
    from lsat_explorer.widgets.hyper_sliders import HyperSliders
    from lsat_explorer.widgets.live_tuner import LiveTuner
    from lsat_explorer.widgets.weight_browser import WeightBrowser

__all__ = ["Explorer", "FeaturizerBuilder", "GraphEditor", "HyperSliders", "LiveTuner", "WeightBrowser"]

_MODULES = {
    "Explorer": "explorer",
    "FeaturizerBuilder": "featurizer_builder",
    "GraphEditor": "graph_editor",
    "HyperSliders": "hyper_sliders",
    "LiveTuner": "live_tuner",
    "WeightBrowser": "weight_browser",
}


def __getattr__(name: str) -> Any:
    """Load a view when it is first asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("lsat_explorer"):
            raise
        raise ModuleNotFoundError(
            f"{name} needs {error.name}, which is not installed: pip install 'lsat_explorer[lab]'.", name=error.name
        ) from error
    view = getattr(module, name)
    globals()[name] = view
    return view


def __dir__() -> list[str]:
    return sorted(__all__)
