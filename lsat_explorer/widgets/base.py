"""What every view shares: static files, refusal of unknown settings, a picture for notebooks without a kernel."""

from __future__ import annotations

import base64
import difflib
import inspect
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from typing import Any

import anywidget
import ipywidgets
import traitlets
from traitlets import HasTraits, TraitError

__all__ = [
    "NotNone",
    "OwnLayout",
    "Pictured",
    "SettingError",
    "View",
    "checked",
    "error_words",
    "hear_while_busy",
    "refuse_unknown",
    "static",
    "styles",
]

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


def refuse_unknown(cls: type[HasTraits], keywords: Iterable[str]) -> None:
    """Raise for a keyword that a view does not take, naming the nearest one that it does.

    Widgets accept unknown keywords silently, so a misspelt setting would have no effect and no message.

    Parameters
    ----------
    cls : type
        The view. Its settings are its public traits and the named parameters of its ``__init__``.
    keywords : iterable of str
        The keywords that came.

    Raises
    ------
    TypeError
        If one is unknown.
    """
    inherited = set(ipywidgets.VBox.class_trait_names()) - {"layout", "tooltip", "tabbable"}
    traits = {name for name in cls.class_trait_names() if not name.startswith("_")} - inherited
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = {p.name for p in inspect.signature(cls.__init__).parameters.values() if p.kind in named} - {"self"}
    known = sorted(traits | parameters)
    for keyword in keywords:
        if keyword in known:
            continue
        near = difflib.get_close_matches(keyword, known, n=1, cutoff=0.5)
        advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
        raise TypeError(f"{cls.__name__} has no setting {keyword!r}: {advice}")


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


class SettingError(TraitError, ValueError):
    """A value that a view cannot take: a ValueError for the user, rolled back by the widget if a page sent it."""


def checked(value: Callable[[], Any]) -> Any:
    """Return what a function gives; what it refuses is refused as a setting, so that a trait keeps its value."""
    try:
        return value()
    except ValueError as error:
        raise SettingError(str(error)) from error


class NotNone(traitlets.Any):
    """Any value that the view's own validator takes. `traitlets.Any` lets None pass without asking it."""

    allow_none = False


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


class View(OwnLayout, anywidget.AnyWidget):
    """A hand-made widget over one domain object: refuses settings that it does not know.

    Parameters
    ----------
    **settings
        Public traits of the view, and ``layout``, ``tooltip``, ``tabbable``.

    Raises
    ------
    TypeError
        For an unknown setting; the message names the nearest known one.
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
            png = self.picture()
        except Exception as error:  # a live view without its still picture is worth more than neither
            warnings.warn(f"The picture of {type(self).__name__} could not be drawn: {error}", stacklevel=2)
            return data, metadata
        (width,) = struct.unpack(">I", png[_PNG_WIDTH])
        data["image/png"] = base64.b64encode(png).decode("ascii")
        return data, metadata | {"image/png": {"width": min(width, _DISPLAY_WIDTH)}}
