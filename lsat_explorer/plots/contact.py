"""Contact sheets: the still picture of a page of rows, drawn at once, where a matplotlib figure would take its time.

A notebook keeps such a picture of every view of rows. It is drawn while a person turns pages, in the process that
answers the page: matplotlib would first be imported for a third of a second, then hold that up for a tenth at a time.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from lsat_explorer.plots.curves import short
from lsat_explorer.plots.pixels import as_picture

__all__ = ["contact_sheet"]

Caption = tuple[str, str, str]
"""Label, value and name of a row."""

_SCALE = 1.3  # pixels of the picture to a css pixel, so that it stays crisp on dense screens
_TEXT, _MUTED, _LINE, _ACCENT, _PAPER = "#1f2328", "#626b76", "#e1e4e8", "#0b6bcb", "#f7f8fa"
_ACROSS, _SIDE, _STEP, _MARGIN, _HEAD = 10, 90, 98, 8, 38  # tiles in a line; css pixels
_TITLE = 14  # css pixels
_BELOW = 16  # of each of the two lines under a tile
_FINE = 3  # times as many pixels for a graph's line, which is then made smooth
_MOST_BARS = 24
_FONTS = {False: "DejaVuSans.ttf", True: "DejaVuSans-Bold.ttf"}  # matplotlib's own, without importing it


def contact_sheet(
    tiles: Sequence[ArrayLike] | Sequence[Sequence[float]] | NDArray[np.generic],
    captions: Sequence[Caption],
    title: str,
    *,
    graphs: bool = False,
) -> bytes:
    """Draw rows as tiles under a title, each with its label, value and name: a PNG.

    Parameters
    ----------
    tiles : sequence of N images or graphs
        Images as `lsat_explorer.plots.thumbnails_figure` takes them; or numbers in -3 .. 3 for each row, deviations of
        its features from their means.
    captions : sequence of N (label, value, name)
        What is written under each; nothing where a text is empty.
    title : str
        Text above.
    graphs : bool
        Whether the tiles are graphs.

    Returns
    -------
    bytes
        A PNG of 1.3 pixels a css pixel, with the words "no rows" where there are none. It is as wide as its tiles and
        its title, and at most as ten tiles, to which a longer title is shortened.

    Raises
    ------
    ValueError
        If the captions are not one for each tile, or an image is none.

    Examples
    --------
    >>> contact_sheet([[[0, 255]]], [("7", "1.00", "12")], "One row")[1:4]
    b'PNG'
    """
    if len(captions) != len(tiles):
        raise ValueError(f"There are {len(tiles)} rows to draw and {len(captions)} captions: give one for each.")
    across = min(_ACROSS, len(tiles) or _ACROSS)
    lines = -(-len(tiles) // across) or 1
    cell = _SIDE + 6 + 2 * _BELOW if len(tiles) else _SIDE // 2
    most = _STEP * _ACROSS + 2 * _MARGIN
    title = short(title, 200)
    while (titled := math.ceil(_font(_TITLE, True).getlength(title) / _SCALE) + 2 * _MARGIN) > most:
        title = short(title, len(title) - 1)
    size = max(_STEP * across + 2 * _MARGIN, titled, 400), _HEAD + cell * lines + 4
    sheet = Image.new("RGB", (_px(size[0]), _px(size[1])), "white")
    pen = ImageDraw.Draw(sheet)
    _write(pen, (_MARGIN, 25), title, _TITLE, most=len(title), bold=True)
    if not len(tiles):
        _write(pen, (size[0] / 2, 0.65 * size[1]), "no rows", 12.5, most=20, colour=_MUTED, anchor="ms")
    for index, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        left, top = _MARGIN + _STEP * (index % across), _HEAD + cell * (index // across)
        if graphs:
            sheet.paste(_graph(np.asarray(tile, dtype=np.float64)), (_px(left), _px(top)))
        else:
            _place(sheet, as_picture(tile), left, top)
        _caption(pen, caption, left, top + _SIDE + 13)
    return _png(sheet)


def _px(size: float) -> int:
    return round(_SCALE * size)


def _png(sheet: Image.Image) -> bytes:
    buffer = io.BytesIO()
    sheet.save(buffer, format="PNG", compress_level=4)
    return buffer.getvalue()


@cache
def _font(size: float, bold: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    found = find_spec("matplotlib")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder, "mpl-data", "fonts", "ttf", _FONTS[bold])
        if path.exists():
            # a long name in Arabic or Hindi would be laid out by rules that matplotlib's pictures do not follow either
            return ImageFont.truetype(path, _SCALE * size, layout_engine=ImageFont.Layout.BASIC)
    return ImageFont.load_default(_SCALE * size)


def _write(
    pen: ImageDraw.ImageDraw,
    place: tuple[float, float],
    text: str,
    size: float,
    *,
    most: int,
    colour: str = _TEXT,
    bold: bool = False,
    anchor: str = "ls",
) -> None:
    x, y = (_SCALE * at for at in place)
    pen.text((x, y), short(text, most), colour, _font(size, bold), anchor=anchor)


def _caption(pen: ImageDraw.ImageDraw, caption: Caption, left: float, base: float) -> None:
    label, value, name = caption
    if label or value:
        _write(pen, (left, base), label, 11, most=max(2, 12 - len(value)), bold=True)
    if value:
        _write(pen, (left + _SIDE, base), value, 11, most=12, colour=_MUTED, anchor="rs")
    if name:
        _write(pen, (left, base + _BELOW), name, 10.5, most=12, colour=_MUTED)


def _place(sheet: Image.Image, picture: NDArray[np.uint8], left: float, top: float) -> None:
    """Paste a picture as large as fits into the middle of its square."""
    height, width = (max(1, _px(_SIDE * size / max(picture.shape[:2]))) for size in picture.shape[:2])
    shown = Image.fromarray(picture).resize((width, height), Image.Resampling.NEAREST)
    sheet.paste(shown, (_px(left) + (_px(_SIDE) - width) // 2, _px(top) + (_px(_SIDE) - height) // 2))


def _graph(values: NDArray[np.float64]) -> Image.Image:
    """Return a row's features as a small graph: bars where they are few, a line where they are many."""
    side = _FINE * _px(_SIDE)
    graph = Image.new("RGB", (side, side), _PAPER)
    pen, middle, unit = ImageDraw.Draw(graph), side / 2, side / 6.2
    pen.line([(0, middle), (side, middle)], _LINE, _FINE)
    x = (np.arange(len(values)) + 0.5) * side / max(len(values), 1)
    y = middle - unit * np.clip(np.nan_to_num(values), -3, 3)
    if len(values) <= _MOST_BARS:
        half = 0.375 * side / max(len(values), 1)
        for at, end in zip(x, y, strict=True):
            pen.rectangle([at - half, min(middle, end), at + half, max(middle, end)], _ACCENT)
    else:
        pen.line(list(zip(x.tolist(), y.tolist(), strict=True)), _ACCENT, round(1.3 * _FINE), joint="curve")
    return graph.resize((_px(_SIDE), _px(_SIDE)), Image.Resampling.BOX)
