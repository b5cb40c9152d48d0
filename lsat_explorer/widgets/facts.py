"""A run and its data in words and small pictures, for headings, tables and stills."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.tune.iterate import Status
from lsat_explorer.widgets.knobs import knobs, set_knob
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = ["SHORT_OF_GOAL", "TONES", "difference", "extremes", "facts", "standing", "tolerance", "widths"]

_ACROSS = 10

TONES = {
    Status.CONVERGED: "good",
    Status.MAX_ITERATIONS: "warn",
    Status.STALLED: "warn",
    Status.NOT_FINITE: "bad",
}
"""How a run has ended, by the name of a colour."""

SHORT_OF_GOAL = (Status.READY, Status.MAX_ITERATIONS, Status.STOPPED_BY_USER)
"""Ends after which more iterations may help."""


def standing(worker: Worker, activity: Activity, wanted: Recipe) -> str:
    """Return where a run stands, as a sentence.

    Parameters
    ----------
    worker : Worker
        Of the run.
    activity : Activity
        What the worker is doing.
    wanted : Recipe
        The recipe as the sliders have it, which a run that has ended has yet to take up.
    """
    run: Any = worker.run
    if activity is Activity.PREPARING:
        return "Preparing features…"
    if activity is Activity.STOPPING:
        return "Stopping…" if run.problem is not None else "Stopping once the features are prepared…"
    if activity is Activity.FAILED:
        return "The run failed."
    if activity is Activity.PAUSED:
        last = run.iterates[-1].number if run.iterates else 0
        return f"Paused after iteration {last}." if worker.resting else "Pausing after this iteration…"
    if activity is Activity.READY and not run.iterates:
        return "Not started: press Start, or Step for a single iteration."
    changed = activity is Activity.ENDED and wanted != run.recipe
    return f"{run.message} Restart to use the changed settings." if changed else str(run.message)


def facts(data: Any, problem: Any | None) -> list[str]:
    """Return what is fitted, in words: data, rows, features, hyper-parameters.

    Parameters
    ----------
    data : Data
        The rows.
    problem : Problem or None
        Once the features are prepared, their number and that of the hyper-parameters are known.
    """
    if problem is None:
        return [data.describe(), _counted(len(data.feature_names), "input")]
    count = max(columns.stop for columns in problem.columns.values())
    start = problem.init()
    tuned = sum(start[name].numel() for name in problem.tuned)
    return [data.describe(), _counted(count, "feature"), _counted(tuned, "hyper-parameter")]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tolerance(recipe: Recipe) -> float | None:
    """Return the residual at which a recipe's method stops, None where it has no such rule."""
    return getattr(recipe.method, "tolerance", None)


def widths(problem: Any | None) -> dict[str, int] | None:
    """Return the number of columns of each block, once they are known."""
    return None if problem is None else {name: c.stop - c.start for name, c in problem.columns.items()}


def difference(old: Recipe, new: Recipe) -> str:
    """Return in a few words what changed from one recipe to the next, with the values where they are numbers.

    Examples
    --------
    >>> difference(Recipe(), set_knob(Recipe(), "method/step", 0.5))
    'first step size 1 → 0.5'
    """
    before = {knob.path: knob.value for knob in knobs(old)}
    moved = [knob for knob in knobs(new) if knob.path in before and before[knob.path] != knob.value]
    rest = old
    for knob in moved:
        rest = set_knob(rest, knob.path, knob.value)
    words = [f"{knob.label} {before[knob.path]:.3g} → {knob.value:.3g}" for knob in moved]
    return ", ".join(words + ([rest.differs(new)] if rest != new else []))


def extremes(
    data: Any, weights: NDArray[np.float64]
) -> tuple[NDArray[np.uint8] | None, list[tuple[object, str, object]]]:
    """Return the ten lightest and the ten heaviest training rows as images with captions.

    Parameters
    ----------
    data : Data
        The rows; without an image shape there is nothing to draw.
    weights : (k,) array
        Weights of the training rows.

    Returns
    -------
    images : (20, h, w) uint8 or None
        None where rows are no images, or all weigh the same.
    captions : list of (label, weight, row)
        As `explorer_picture` takes them.
    """
    if data.image_shape is None or np.ptp(weights) == 0:
        return None, []
    order = np.argsort(weights, kind="stable")
    across = min(_ACROSS, len(order) // 2)
    chosen = [*order[:across], *order[::-1][:across]]
    captions = [(data.train.labels[i], f"{weights[i]:.2f}", data.train.rows[i]) for i in chosen]
    return data.images("train", chosen), captions
