"""Matplotlib figures of a run: its curves, and the picture of a whole view for notebooks opened without a kernel."""

from __future__ import annotations

import io
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from matplotlib.transforms import blended_transform_factory
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.curves import Curve, Curves, count_text, curves, value_text
from lsat_explorer.plots.pixels import as_picture
from lsat_explorer.plots.sheet import (
    ACCENT,
    AMBER,
    LINE,
    MUTED,
    Sheet,
    bare,
    mounted,
    place_image,
    write,
    write_caption,
)
from lsat_explorer.plots.ticks import integer_ticks, linear_ticks, log_ticks
from lsat_explorer.plots.words import VALIDATION, loss_words

__all__ = ["explorer_picture", "run_figure"]

_ACROSS = 10
_MOST_BYTES = 140_000


def run_figure(history: Any, tolerance: float | None = None, *, judging: str = VALIDATION) -> Sheet:
    """Draw a run: validation loss with training loss, step size t, stopping residual, over the iterations.

    Parameters
    ----------
    history : DataFrame or mapping of column name to values
        One row per iterate: ``number``, ``loss``, ``step``, ``residual``, ``accepted`` and, if there,
        ``training_loss``. ``run.history()`` is one.
    tolerance : float, optional
        Drawn as a line in the panel of the stopping residual.
    judging : str
        The rows that judge, as ``run.recipe.criterion.judging`` calls them.

    Returns
    -------
    Sheet
        A matplotlib figure. Rejected steps are marked under the step size.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> history = {"number": [0, 1], "loss": [2.0, 1.5], "step": [1.0, 1.2], "residual": [float("nan"), 0.1],
    ...            "accepted": [True, True]}
    >>> len(run_figure(history, tolerance=1e-4).axes)
    3
    """
    sheet = Sheet(8.0, 5.0)
    _panels(sheet, curves(history), tolerance, (0.09, 0.055, 0.885, 0.90), judging)
    return sheet


def _panels(
    sheet: Sheet, drawn: Curves, tolerance: float | None, box: tuple[float, float, float, float], judging: str
) -> None:
    left, bottom, width, share = box[0], box[1], box[2], box[3] / 3
    top, middle, low = (
        sheet.add_axes((left, bottom + (place + 0.15) * share, width, 0.65 * share)) for place in (2, 1, 0)
    )
    if drawn.empty:
        write(middle, 0.5, 0.5, "no iteration yet", color=MUTED, ha="center", va="center")
    title, words = loss_words(judging)
    _draw_curve(top, drawn, drawn.loss, title, "loss")
    _draw_curve(middle, drawn, drawn.step, "Step size t", "step")
    _draw_curve(low, drawn, drawn.residual, "Stopping residual", "residual")
    if len(drawn.training):
        top.plot(drawn.training.x, drawn.training.y, color=MUTED, linewidth=1.2, linestyle=":", zorder=2)
        words = [*words, "training dotted"]
    if words:
        write(top, 0.16, 1.1, " · ".join(words), color=MUTED, fontsize=8.5)
    _set_axis(top, np.concatenate([drawn.loss.y, drawn.training.y]), log=False)
    _set_axis(middle, drawn.step.y, log=True)
    _draw_rejected(middle, drawn)
    level = [] if tolerance is None or drawn.empty or not 0 < tolerance < np.inf else [tolerance]
    _set_axis(low, np.concatenate([drawn.residual.y, level]), log=True)
    if level:
        low.axhline(level[0], color=AMBER, linewidth=1.1, linestyle=(0, (4, 2)), zorder=2)
        write(low, 0.19, 1.1, "tolerance dashed", color=MUTED, fontsize=8.5)
    ticks = integer_ticks(drawn.last)
    low.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    if not drawn.empty:
        write(low, 1.0, -0.19, "iteration", color=MUTED, ha="right", va="top", fontsize=8.5)


def _draw_curve(axes: Axes, drawn: Curves, curve: Curve, title: str, kind: str) -> None:
    write(axes, 0, 1.1, title, fontweight="bold")
    if not drawn.empty:
        write(axes, 1, 1.1, value_text(curve.last, kind), ha="right", color=ACCENT, fontweight="bold")
    end = curve.end()
    axes.plot(curve.x, curve.y, color=ACCENT, linewidth=1.5, zorder=3)
    axes.plot(end.x, end.y, "o", color=ACCENT, markersize=4.5, zorder=4, clip_on=False)
    axes.set_xlim(-0.01 * max(drawn.last, 1), max(drawn.last, 1))


def _set_axis(axes: Axes, values: NDArray[np.float64], *, log: bool) -> None:
    bare(axes)
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    if values.size == 0:
        return
    low, high = float(values.min()), float(values.max())
    if log:
        axes.set_ylim(low / 1.3, high * 1.3)
        axes.set_yscale("log")
    else:
        room = 0.08 * (high - low) or 0.5 * abs(high) or 1.0
        axes.set_ylim(low - room, high + room)
    positions, texts = log_ticks(values) if log else linear_ticks(values)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator(positions.tolist()))
    axes.yaxis.set_major_formatter(FixedFormatter(texts))


def _draw_rejected(axes: Axes, drawn: Curves) -> None:
    if len(drawn.rejected) == 0:
        return
    under = blended_transform_factory(axes.transData, axes.transAxes)
    marks = np.full(len(drawn.rejected), -0.14)
    look: dict[str, Any] = {"color": AMBER, "markersize": 5, "markeredgewidth": 1.3, "clip_on": False}
    axes.plot(drawn.rejected, marks, "|", transform=under, **look)
    write(axes, -0.009, -0.14, "rejected", color=MUTED, fontsize=8.5, ha="right", va="center")


def explorer_picture(
    history: Any,
    tolerance: float | None,
    images: Sequence[ArrayLike] | NDArray[np.generic] | None,
    captions: Sequence[object],
    sentence: str,
    title: str,
    *,
    facts: Sequence[tuple[str, str]] | None = None,
    groups: Sequence[str] = (),
    judging: str = VALIDATION,
) -> bytes:
    """Draw the state of an Explorer: curves, numbers, thumbnails, on a light ground.

    Parameters
    ----------
    history, tolerance
        As :func:`run_figure` takes them.
    images : (N, h, w), (N, h, w, 3) array or sequence of images, or None
        Thumbnails, at most 20 are drawn, ten in a line.
    captions : sequence of N
        Text under each thumbnail, as :func:`lsat_explorer.plots.thumbnails_figure` takes it.
    sentence : str
        The status in words.
    title : str
        The heading.
    facts : sequence of (name, value), optional
        The numbers on the left; taken from the history when left out.
    groups : sequence of str
        A name for each line of thumbnails, such as ``("Lightest", "Heaviest")``.
    judging : str
        As :func:`run_figure` takes it.

    Returns
    -------
    bytes
        A PNG, 1534 pixels wide, below about 150 KB.

    Raises
    ------
    ValueError
        If a column of the history is missing or there is not one caption for each image.
    """
    drawn = curves(history)
    shown = [] if images is None else list(images)
    if len(captions) != len(shown):
        raise ValueError(f"There are {len(shown)} images and {len(captions)} captions: give one for each.")
    shown, captions = shown[: 2 * _ACROSS], list(captions)[: 2 * _ACROSS]
    lines = -(-len(shown) // _ACROSS)
    cell = 1.5 + (0.24 if groups else 0.0)
    width, top = 11.8, 4.75
    sheet = Sheet(width, top + cell * lines)
    height = float(sheet.get_figheight())
    _heading(sheet, title, sentence, _facts(history, drawn, judging) if facts is None else facts, height)
    _panels(sheet, drawn, tolerance, (0.385, 1 - 4.62 / height, 0.6, 4.1 / height), judging)
    axes = mounted(sheet)
    for index, image in enumerate(shown):
        line, column = divmod(index, _ACROSS)
        x, y = 0.2 + 1.15 * column, top + cell * line + (0.24 if groups else 0.0)
        place_image(axes, as_picture(image), x, y, 0.98)
        write_caption(sheet, captions[index], (x, x + 0.98), y + 1.14, fontsize=9)
    for line, name in enumerate(list(groups)[:lines]):
        write(sheet, 0.2 / width, 1 - (top + cell * line + 0.12) / height, name, fontweight="bold")
    return _within(sheet.png(130))


def _heading(sheet: Sheet, title: str, sentence: str, facts: Sequence[tuple[str, str]], height: float) -> None:
    left = 0.2 / 11.8
    write(sheet, left, 1 - 0.3 / height, title, most=130, fontsize=10.5, fontweight="bold")
    facts, y = list(facts)[:8], 0.78
    room = int((4.6 - y - 0.18 - 0.25 * len(facts)) / 0.21)
    for line in wrap(" ".join(sentence.split()), 52, max_lines=room, placeholder=" …"):
        write(sheet, left, 1 - y / height, line, fontsize=9.5)
        y += 0.21
    y += 0.18
    for name, value in facts:
        write(sheet, left, 1 - y / height, name, most=24, fontsize=9.5, color=MUTED)
        write(sheet, 0.305, 1 - y / height, value, most=32, fontsize=9.5, ha="right")
        y += 0.25


def _facts(history: Any, drawn: Curves, judging: str) -> list[tuple[str, str]]:
    if drawn.empty:
        return []
    rejected = int(np.sum(np.asarray(history["accepted"], dtype=float) == 0))
    facts = [(loss_words(judging)[0].lower(), value_text(drawn.loss.last))]
    if len(drawn.training):
        facts.append(("training loss", value_text(drawn.training.last)))
    facts += [
        ("step size t", value_text(drawn.step.last, "step")),
        ("stopping residual", value_text(drawn.residual.last, "residual")),
        ("iterations", f"{drawn.last:,}"),
        ("rejected", count_text(rejected, "step")),
    ]
    if "seconds" in history:
        facts.append(("time", f"{float(np.asarray(history['seconds'])[-1]):.1f} s"))
    return facts


def _within(png: bytes) -> bytes:
    # photographs compress badly: 256 colours keep the picture small enough to live in a notebook
    if len(png) <= _MOST_BYTES:
        return png
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
