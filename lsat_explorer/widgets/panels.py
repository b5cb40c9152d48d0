"""The hand-made parts of the Explorer: its heading, its tabs of cards, its table of runs."""

from __future__ import annotations

from typing import Any

import traitlets

from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.cards import TABS
from lsat_explorer.widgets.shown import looks, script

__all__ = ["Heading", "Runs", "Tabs"]


class Heading(View):
    """Title, data in words, choice of device, and the recipe as code to copy.

    Parameters
    ----------
    **settings
        The traits below.
    """

    _esm = script("heading.js")
    _css = looks("explorer.css")

    title = traitlets.Unicode("Explorer").tag(sync=True)
    facts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    device = traitlets.Unicode("cpu").tag(sync=True)
    devices = traitlets.Dict().tag(sync=True)
    source = traitlets.Unicode("").tag(sync=True)


class Tabs(View):
    """What is assembled, a card for each piece, one tab at a time; the last tab is the recipe as code.

    Parameters
    ----------
    **settings
        The traits below. ``group`` names the sliders that belong to the tab, and follows ``tab`` in the browser.
    """

    _esm = script("tabs.js")
    _css = looks("explorer.css")

    tab = traitlets.Enum(TABS, "Regularizers").tag(sync=True)
    cards = traitlets.Dict().tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    source = traitlets.Unicode("").tag(sync=True)
    group = traitlets.Unicode("none").tag(sync=True)


class Runs(View):
    """Every run so far, in a line each; the newest first. Choosing one shows its curves.

    Parameters
    ----------
    **settings
        ``rows``: for each run ``name``, ``differs``, ``loss``, ``error``, ``iterations``, ``seconds``, ``busy``.
        ``chosen``: which one is shown.
    """

    _esm = script("runs.js")
    _css = looks("explorer.css")

    rows: traitlets.List[Any] = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(0).tag(sync=True)
    error_name = traitlets.Unicode("Validation error").tag(sync=True)
