"""Still pictures of views whose live form is made in the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.curves import number_text
from lsat_explorer.plots.sheet import ACCENT, LINE, MUTED, Sheet, bare, write
from lsat_explorer.widgets.facts import extremes, tolerance
from lsat_explorer.widgets.history import history
from lsat_explorer.widgets.knobs import Knob

__all__ = ["run_picture", "sliders_picture"]

_ROW = 0.32  # inches


def sliders_picture(knobs: Sequence[Knob]) -> bytes:
    """Draw sliders with their names and values.

    Parameters
    ----------
    knobs : sequence of Knob
        What to draw, one line each.

    Returns
    -------
    bytes
        A PNG.
    """
    height = max(len(knobs), 1) * _ROW + 0.2
    sheet = Sheet(6.0, height)
    axes = sheet.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 6.0)
    axes.set_ylim(height, 0)
    bare(axes)
    if not knobs:
        axes.text(0.15, height / 2, "This recipe has no number to set.", color=MUTED, fontsize=9, va="center")
    for index, knob in enumerate(knobs):
        y = 0.1 + (index + 0.5) * _ROW
        write(axes, 0.15 / 6, 1 - y / height, knob.label, most=30, va="center", color=MUTED)
        axes.plot([2.4, 4.9], [y, y], color=LINE, linewidth=3, solid_capstyle="round")
        at = 2.4 + 2.5 * _share(knob)
        axes.plot([2.4, at], [y, y], color=ACCENT, linewidth=3, solid_capstyle="round")
        axes.plot([at], [y], "o", color=ACCENT, markersize=8)
        write(axes, 5.85 / 6, 1 - y / height, number_text(knob.value), va="center", ha="right")
    return sheet.png()


def run_picture(run: Any, recipe: Recipe, sentence: str, title: str) -> bytes:
    """Draw the curves of a run with its lightest and heaviest rows, where they are images.

    Parameters
    ----------
    run : Run
        What to draw.
    recipe : Recipe
        Whose tolerance is drawn.
    sentence, title : str
        What is said of the run, and above it.

    Returns
    -------
    bytes
        A PNG.
    """
    from lsat_explorer.plots import explorer_picture

    images, captions = extremes(run.data, run)
    groups = ("Lightest", "Heaviest") if images is not None else ()
    curves, judging = history(run.iterates), run.recipe.criterion.judging
    return explorer_picture(
        curves, tolerance(recipe), images, captions, sentence, title, groups=groups, judging=judging
    )


def _share(knob: Knob) -> float:
    """Return where between its ends the slider stands."""
    if knob.log:
        if knob.value <= 0:
            return 0.0
        return math.log(knob.value / knob.low) / math.log(knob.high / knob.low)
    return (knob.value - knob.low) / (knob.high - knob.low)
