"""Names beside drawn nodes: as many as there is room for, and none over another."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.textpath import text_to_path
from numpy.typing import NDArray

from lsat_explorer.plots.curves import short
from lsat_explorer.plots.sheet import TEXT

__all__ = ["every_nth", "name_nodes"]

_FONT = FontProperties(family=["DejaVu Sans"], size=7)
_LETTERS = 14  # of a name at most
_LINE = 9.5  # points from one line of letters to the next
_HALF = 2.6  # points: half the height of a letter, which hangs on its base line
_FAR = 6.0  # points from a node to its name
_EDGE = 8.0  # points from a node to the edge of the axes
_SLOPE = 55  # degrees, of names below a line
_LEVEL = 16  # nodes on a circle up to which names are written level, and not along its rays
_CANDIDATES = 200  # names that are measured


def name_nodes(axes: Axes, points: NDArray[np.floating], names: Sequence[str], placement: str) -> None:
    """Write names beside nodes and make room for them in the limits of the axes.

    Nodes in a row have every second, fifth, tenth … named where not all names have room; anywhere else a name goes to
    the side that is free, or is left out.

    Parameters
    ----------
    axes : Axes
        With the nodes in data coordinates.
    points : (n, 2) array
        Nodes in the unit square, the second coordinate downwards.
    names : sequence of n str
        Shortened to 14 letters.
    placement : str
        ``"line"``, ``"circle"`` or where else nodes lie.
    """
    first = every_nth(len(points) / _CANDIDATES)
    texts = {node: short(names[node], _LETTERS) for node in range(0, len(points), first)}
    widths = {node: _width(text) for node, text in texts.items()}
    written = {"line": _below, "circle": _around}.get(placement, _beside)(axes, points, widths)
    for node, (dx, dy), turn, across, down in written:
        axes.annotate(
            texts[node], (float(points[node, 0]), float(points[node, 1])), (dx, dy), textcoords="offset points",
            rotation=turn, rotation_mode="anchor", ha=across, va=down, font=_FONT, color=TEXT, parse_math=False,
            annotation_clip=False, path_effects=[withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip


def every_nth(room: float) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50 … that is not below ``room``.

    Examples
    --------
    >>> [every_nth(room) for room in (0.3, 1.2, 4, 5.5, 51)]
    [1, 2, 5, 10, 100]
    """
    return next(step * 10**ten for ten in count() for step in (1, 2, 5) if step * 10**ten >= room)


_Written = tuple[int, tuple[float, float], float, str, str]  # node, offset in points, degrees, alignment both ways


def _width(text: str) -> float:
    with warnings.catch_warnings():  # a letter that the font lacks is drawn as a box, and as wide as one
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return float(text_to_path.get_text_width_height_descent(text, _FONT, ismath=False)[0])


def _size(axes: Axes) -> NDArray[np.float64]:
    box = axes.get_window_extent()
    return np.array([box.width, box.height]) * 72 / axes.figure.dpi


def _below(axes: Axes, points: NDArray[np.floating], widths: dict[int, float]) -> Iterator[_Written]:
    longest, (wide, _) = max(widths.values()), _size(axes)
    level = longest + 4 <= (wide - 2 * _EDGE) / len(points)
    slope = np.radians(_SLOPE)
    left = _EDGE if level else _EDGE + longest * np.cos(slope)
    scale = wide - left - _EDGE
    axes.set_xlim(-left / scale, 1 + _EDGE / scale)
    step = 1 if level else every_nth(_LINE / np.sin(slope) / (scale / len(points)))
    for node in widths:
        if node % step == 0:
            yield (node, (0, -11), 0, "center", "baseline") if level else (node, (2, -8), _SLOPE, "right", "baseline")


def _around(axes: Axes, points: NDArray[np.floating], widths: dict[int, float]) -> Iterator[_Written]:
    n, longest, (wide, high) = len(points), max(widths.values()), _size(axes)
    aside = longest + _FAR + _HALF
    scale = min(wide - 2 * aside, high - 2 * (aside if n > _LEVEL else _FAR + _LINE))  # points across the circle
    axes.set_xlim(0.5 - wide / scale / 2, 0.5 + wide / scale / 2)
    axes.set_ylim(0.5 + high / scale / 2, 0.5 - high / scale / 2)
    level = n <= _LEVEL
    step = 1 if level or n < 2 else every_nth(_LINE / (2 * (scale / 2 + _FAR) * np.sin(np.pi / n)))
    for node in widths:
        if node % step or (node and n - node < step):  # the last is next to the first
            continue
        ray = np.pi / 2 - 2 * np.pi * node / n  # upwards at first, and it turns clockwise
        x, y = _FAR * np.cos(ray), _FAR * np.sin(ray)
        across = "left" if np.cos(ray) > -1e-9 else "right"
        if level:
            middle = abs(np.cos(ray)) < 0.1
            down = _HALF if not middle else 2 * _HALF if y < 0 else 0
            yield node, (x, y - down), 0, "center" if middle else across, "baseline"
            continue
        turn = ray if across == "left" else ray + np.pi
        base = (x + _HALF * np.sin(turn), y - _HALF * np.cos(turn))  # from the middle of the letters
        yield node, base, float(np.degrees(turn)), across, "baseline"


def _beside(axes: Axes, points: NDArray[np.floating], widths: dict[int, float]) -> Iterator[_Written]:
    longest, (wide, high) = max(widths.values()), _size(axes)
    scale = min(wide - longest - _FAR - 2 * _EDGE, high - 2 * _EDGE)
    axes.set_xlim(-_EDGE / scale, 1 + (longest + _FAR + _EDGE) / scale)
    axes.set_ylim(1 + _EDGE / scale, -_EDGE / scale)
    places = points * [scale, -scale]  # points, upwards
    taken = np.empty((0, 4))
    dots = np.concatenate([places - 2, places + 2], axis=1)
    room = (-_EDGE, -scale - _EDGE, scale + longest + _FAR + _EDGE, _EDGE)
    for node, width in widths.items():
        sides = (
            ((_FAR, -_HALF), "left", 0.0), ((-_FAR, -_HALF), "right", -1.0),
            ((0.0, _FAR), "center", -0.5), ((0.0, -_FAR - 2 * _HALF), "center", -0.5),
        )  # fmt: skip
        for (dx, dy), across, shift in sides:
            x, y = places[node] + (dx, dy)
            box = np.array([x + shift * width - 1, y - 2, x + (shift + 1) * width + 1, y + _LINE - 2])
            inside = box[0] >= room[0] and box[1] >= room[1] and box[2] <= room[2] and box[3] <= room[3]
            if inside and not _meets(box, taken) and not _meets(box, np.delete(dots, node, axis=0)):
                taken = np.vstack([taken, box])
                yield node, (dx, dy), 0, across, "baseline"
                break


def _meets(box: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether a box (left, bottom, right, top) lies over any of others."""
    beside = (others[:, 2] <= box[0]) | (others[:, 0] >= box[2]) | (others[:, 3] <= box[1]) | (others[:, 1] >= box[3])
    return not beside.all()
