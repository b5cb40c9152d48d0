"""The line above the Explorer."""

from __future__ import annotations

import traitlets

from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.shown import looks, script

__all__ = ["Heading"]


class Heading(View):
    """Title, data in words, choice of device, and a cell to copy that makes it all again.

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
