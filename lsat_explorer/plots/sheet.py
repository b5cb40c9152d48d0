"""The matplotlib sheet that the still figures are drawn on: explicit colours, text as text, no state of pyplot."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from lsat_explorer.plots.curves import short

__all__ = [
    "ACCENT",
    "AMBER",
    "LINE",
    "MUTED",
    "TEXT",
    "Sheet",
    "bare",
    "mounted",
    "place_image",
    "write",
    "write_caption",
]

TEXT, MUTED, LINE, ACCENT, AMBER = "#1f2328", "#626b76", "#e1e4e8", "#0b6bcb", "#a86508"
_FAMILY = ["DejaVu Sans"]


class Sheet(Figure):
    """A matplotlib figure that a notebook shows without pyplot or a backend switch.

    Parameters
    ----------
    width, height : float
        Size in inches of 100 css pixels.
    **options
        Passed to :class:`matplotlib.figure.Figure`.
    """

    def __init__(self, width: float = 7.0, height: float = 4.0, **options: Any) -> None:
        settings: dict[str, Any] = {"figsize": (width, height), "dpi": 100, "facecolor": "white"} | options
        super().__init__(**settings)

    def png(self, dpi: int = 130) -> bytes:
        """Return the figure as PNG bytes.

        Parameters
        ----------
        dpi : int
            Pixels per inch.
        """
        buffer = io.BytesIO()
        with warnings.catch_warnings():  # a box for a letter the font lacks is all there is to say about it
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            self.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png()


def write(target: Axes | Figure, x: float, y: float, text: object, *, most: int = 200, **look: Any) -> Text:
    """Write text from data: one line, shortened, and never read as mathematics.

    Parameters
    ----------
    target : Axes or Figure
        Axes take the position in axes fractions, figures in figure fractions.
    x, y : float
        The position.
    text : object
        What to write.
    most : int
        The largest number of characters.
    **look
        Passed to the text.
    """
    place: dict[str, Any] = {"transform": target.transAxes} if isinstance(target, Axes) else {}
    style: dict[str, Any] = {"color": TEXT, "fontsize": 9, "family": _FAMILY, "parse_math": False}
    return target.text(x, y, short(text, most), **(place | style | look))


def mounted(sheet: Sheet) -> Axes:
    """Return axes over the whole sheet, in inches from its upper left corner.

    Pictures that need no axes of their own are placed in one: making axes takes longer than all that is drawn in them.
    """
    width, height = sheet.get_size_inches()
    axes = sheet.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0), autoscale_on=False)
    axes.set_axis_off()
    return axes


def place_image(axes: Axes, picture: NDArray[np.generic], left: float, top: float, side: float) -> None:
    """Draw a picture as large as fits into the middle of a square of mounted axes."""
    height, width = (side * size / max(picture.shape[:2]) for size in picture.shape[:2])
    x, y = left + (side - width) / 2, top + (side - height) / 2
    axes.imshow(picture, extent=(x, x + width, y + height, y), aspect="auto", interpolation="nearest")


def bare(axes: Axes) -> None:
    """Take frame, ticks and labels off."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def write_caption(sheet: Sheet, caption: object, span: tuple[float, float], top: float, *, fontsize: float = 8) -> None:
    """Write what a thumbnail is: its label bold, its weight to the right, its row number below.

    Parameters
    ----------
    sheet : Sheet
        The figure.
    caption : str or tuple of label, weight, row
        A plain text takes the first line alone.
    span : (left, right)
        In inches from the left.
    top : float
        Base line of the first line, in inches from the top.
    fontsize : float
        In points.
    """
    width, height = sheet.get_size_inches()
    label, weight, row = caption if isinstance(caption, tuple) else (caption, "", "")
    bold = "bold" if isinstance(caption, tuple) else "normal"
    fits = int(13 * (span[1] - span[0])) - len(str(weight))
    left, y, below = span[0] / width, 1 - top / height, 1 - (top + 0.02 * fontsize) / height
    if str(label) or weight:
        write(sheet, left, y, label, most=max(2, fits), fontsize=fontsize, fontweight=bold)
    if str(weight):
        write(sheet, span[1] / width, y, weight, fontsize=fontsize, color=MUTED, ha="right")
    if str(row):
        write(sheet, left, below, row, most=13, fontsize=fontsize - 0.5, color=MUTED)
