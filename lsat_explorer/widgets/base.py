"""What every view shares: static files, layouts that are closed with it, a picture for notebooks without a kernel."""

from __future__ import annotations

import base64
import struct
import warnings
from collections.abc import Iterator
from importlib import resources
from typing import Any

import anywidget
import ipywidgets

from lsat_explorer.widgets.settings import OnlyKnown, refuse_unknown

__all__ = ["OwnLayout", "Pictured", "View", "error_words", "hear_while_busy", "static", "styles"]

_PNG_WIDTH = slice(16, 20)  # of the IHDR chunk, which is always the first
_DISPLAY_WIDTH = 1000  # css pixels; pictures are drawn larger so that they stay crisp on dense screens


def static(name: str) -> str:
    """Return the text of a file of ``widgets/static``.

    Parameters
    ----------
    name : str
        File name, such as ``"weight_browser.js"``.

    Returns
    -------
    str
        The text, ready for ``_esm`` or ``_css``.

    Raises
    ------
    FileNotFoundError
        If the package holds no such file.

    Examples
    --------
    >>> static("theme.css").startswith("/*")
    True
    """
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def styles(*names: str) -> str:
    """Return the shared theme followed by the named style sheets, as one text for ``_css``.

    Parameters
    ----------
    *names : str
        File names in ``widgets/static``.

    Returns
    -------
    str
        The style sheets, theme first.
    """
    return "\n".join(static(name) for name in ("theme.css", *names))


def error_words(error: BaseException) -> str:
    """Return an error as a page shows it: the sentence of one of ours, with its kind where it is another."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def hear_while_busy(comm: Any) -> None:
    """Let what a page says on a comm reach its view while a cell runs, wherever the kernel has subshells.

    JupyterLab sends it to a subshell of its own. ipykernel passes it on to the shell that last wrote on the comm, for
    code that waits there for an answer: mostly that of the cells, where Stop would wait until the running cell has
    ended. No view waits for answers.

    Parameters
    ----------
    comm : Comm
        The comm of a widget that is open.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _data, subshell: subshell


class OwnLayout:
    """Mixin of a view that, when it is closed, closes the layouts that were made for it.

    ipywidgets makes one for each widget, a widget itself with a line to the page, and leaves it open for good. Put the
    mixin before the widget class. A layout that the user gave stays the user's.
    """

    _own_layout: Any = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if not isinstance(settings.get("layout"), ipywidgets.Layout):
            self._own_layout = self.layout  # type: ignore[attr-defined]

    def close(self) -> None:
        """Take the view away."""
        layouts = [self._own_layout, *(box.layout for box in _boxes(self))]
        super().close()  # type: ignore[misc]
        for layout in layouts:
            if layout is not None:
                layout.close()


def _boxes(view: Any) -> Iterator[ipywidgets.Box]:
    """Yield the boxes below a view that only put others side by side."""
    for child in getattr(view, "children", ()):
        if type(child) in (ipywidgets.Box, ipywidgets.HBox, ipywidgets.VBox):
            yield child
            yield from _boxes(child)


class View(OnlyKnown, OwnLayout, anywidget.AnyWidget):
    """A hand-made widget over one domain object: refuses settings that it does not know.

    Parameters
    ----------
    **settings
        Public traits of the view, and ``layout``, ``tooltip``, ``tabbable``.

    Raises
    ------
    TypeError
        For an unknown setting, also one that is assigned; the message names the nearest known one.
    """

    def __init__(self, **settings: Any) -> None:
        refuse_unknown(type(self), settings)
        super().__init__(**settings)

    def open(self) -> None:
        """Open the line to the page."""
        super().open()
        hear_while_busy(self.comm)


class Pictured:
    """Mixin of a view whose saved notebook shows a picture where no kernel runs.

    Put it before the widget class: ``class Browser(Pictured, View)``. The bundle carries ``image/png`` and a constant
    ``text/plain``, and no ``text/html``, which would win over the picture.
    """

    def picture(self) -> bytes:
        """Return the present state as a PNG."""
        raise NotImplementedError(f"{type(self).__name__} must draw its picture().")

    def sentence(self) -> str:
        """Return one sentence that says what the view is, the same for every state, since notebooks compare it."""
        raise NotImplementedError(f"{type(self).__name__} must word its sentence().")

    def _live(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the bundle without the picture."""
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        data = {kind: value for kind, value in data.items() if kind != "text/html"} | {"text/plain": self.sentence()}
        return data, metadata

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = self._live(**kwargs)
        try:
            still, size = self._still()
        except Exception as error:  # a live view without its still picture is worth more than neither
            warnings.warn(f"The picture of {type(self).__name__} could not be drawn: {error}", stacklevel=2)
            return data, metadata
        return data | still, metadata | size

    def _still(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the picture and the sentence as a bundle, and how wide the picture is shown."""
        png = self.picture()
        (width,) = struct.unpack(">I", png[_PNG_WIDTH])
        data = {"image/png": base64.b64encode(png).decode("ascii"), "text/plain": self.sentence()}
        return data, {"image/png": {"width": min(width, _DISPLAY_WIDTH)}}
