"""A run and its data in words and small pictures, for headings, tables and stills."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lsat_explorer.engines import available_devices
from lsat_explorer.model.piece import Omega
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.curves import number_text, value_text
from lsat_explorer.plots.words import weight_places, weight_text
from lsat_explorer.tune.advice import advice
from lsat_explorer.tune.branch import takes_up
from lsat_explorer.tune.iterate import Status
from lsat_explorer.widgets.fitting_pieces import still_told
from lsat_explorer.widgets.knobs import everyday, knobs, set_knob
from lsat_explorer.widgets.row_weights import weights_of
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = [
    "SHORT_OF_GOAL",
    "TONES",
    "devices",
    "difference",
    "extremes",
    "facts",
    "iterate_words",
    "known",
    "seconds_to_go",
    "standing",
    "told",
    "tolerance",
]

_ACROSS = 10

TONES = {
    Status.CONVERGED: "good",
    Status.MAX_ITERATIONS: "warn",
    Status.STALLED: "warn",
    Status.NOT_FINITE: "bad",
}
"""How a run has ended, by the name of a colour."""

SHORT_OF_GOAL = (Status.READY, Status.MAX_ITERATIONS, Status.STOPPED_BY_USER, Status.BROKEN_OFF)
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
        The recipe as it is now, which a run that has ended, or one of other pieces, does not take up.
    """
    said = _standing(worker, activity)
    run: Any = worker.run
    if activity in (Activity.RUNNING, Activity.PAUSED) and not takes_up(run.recipe, wanted, run.data.task):
        return f"{said} Restart to use the changed recipe."
    changed = activity is Activity.ENDED and wanted != run.recipe
    return f"{said} Restart to use the changed settings." if changed else said


def _standing(worker: Worker, activity: Activity) -> str:
    run: Any = worker.run
    if activity is Activity.PREPARING:
        return "Preparing features…"
    if activity is Activity.STOPPING:
        return "Stopping…" if run.problem is not None else "Stopping once the features are prepared…"
    if activity is Activity.FAILED:
        return "The run failed: Restart begins it anew."
    if activity is Activity.PAUSED:
        if not worker.resting:
            return "Pausing after this iteration…"
        return f"Paused after iteration {run.iterates[-1].number}." if run.iterates else "Paused before it began."
    if activity is Activity.READY and not run.iterates:
        return "Not started: press Start, or Step for a single iteration."
    return told(run)


def told(run: Any) -> str:
    """Return the state of a run as sentences, for a page with a button that goes on with it."""
    if run.status is Status.MAX_ITERATIONS:
        return advice(run, "Press Go on for as many again.")
    return str(run.message)


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


def devices() -> dict[str, str]:
    """Return the devices that can be chosen, in words with the memory that they have or, for the cpu, have free now."""
    found = available_devices()
    if (free := _free_memory()) is not None:
        found["cpu"] = f"{found['cpu']}, {free / 2**30:.0f} GiB free"
    return found


def _free_memory() -> int | None:
    """Return the bytes of memory that new work can take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    sizes = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(sizes["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in sizes else None


def seconds_to_go(run: Any, seconds: float) -> float | None:
    """Return how long a run goes on at most: each iteration as long as they were on average, until their limit.

    Parameters
    ----------
    run : Run
        The run.
    seconds : float
        How long it has computed.
    """
    if not run.iterates or run.limit is None:
        return None
    number = run.iterates[-1].number
    return seconds / (number + 1) * max(run.limit - number, 0)


def iterate_words(run: Any, number: int) -> str:
    """Return an iterate's values in words."""
    if number >= len(run.iterates):
        return ""
    iterate, whole = run.iterates[number], run.iterates.whole(number)
    values = [f"loss {value_text(iterate.loss)}", f"step {value_text(iterate.step, 'step')}"]
    if math.isfinite(iterate.residual):
        values.append(f"residual {value_text(iterate.residual, 'residual')}")
    words = ", ".join(values if iterate.accepted else [*values, "rejected"])
    if whole.number == number:
        return words
    gone = " and ".join(everyday(name) for name in whole.omega if name not in iterate.omega)
    place = f"iteration {whole.number:,}, the nearest with them"
    return f"{words}. Its {gone} are no longer kept: a branch begins at {place}."


def tolerance(recipe: Recipe) -> float | None:
    """Return the residual at which a recipe's method stops, None where it has no such rule."""
    return getattr(recipe.method, "tolerance", None)


def known(run: Any, recipe: Recipe) -> tuple[Omega | None, dict[str, int] | None, list[str]]:
    """Return what the cards of a recipe, that of a run or one for the next, can tell of where the run stands.

    Returns
    -------
    omega : dict of str to Tensor or None
        See `still_told`; None before the first iterate.
    widths : dict of str to int or None
        The number of columns of each block, once they are known.
    held : list of str
        Names of ω that are not tuned though the recipe does not say so.
    """
    omega = still_told(run.recipe, run.omega, recipe) if run.iterates else None
    if run.problem is None or run.recipe.featurizer != recipe.featurizer:
        return omega, None, []
    held = [name for name in run.problem.init() if name not in {*run.problem.tuned, *run.recipe.hyper_penalties}]
    return omega, {name: columns.stop - columns.start for name, columns in run.problem.columns.items()}, held


def difference(old: Recipe, new: Recipe) -> str:
    """Return in a few words what changed from one recipe to the next, with the values where they are numbers.

    Examples
    --------
    >>> difference(Recipe(), set_knob(Recipe(), "method/max_iterations", 50))
    'maximum iterations 250 → 50'
    """
    before = {knob.path: knob.value for knob in knobs(old)}
    moved = [knob for knob in knobs(new) if knob.path in before and before[knob.path] != knob.value]
    rest = old
    for knob in moved:
        rest = set_knob(rest, knob.path, knob.value)
    words = [
        f"{knob.label} {number_text(before[knob.path], '.3g')} → {number_text(knob.value, '.3g')}" for knob in moved
    ]
    return ", ".join(words + ([rest.differs(new)] if rest != new else []))


def extremes(data: Any, run: Any) -> tuple[NDArray[np.uint8] | None, list[tuple[object, str, object]]]:
    """Return the ten lightest and the ten heaviest training rows as images with captions.

    Parameters
    ----------
    data : Data
        The rows; without an image shape there is nothing to draw.
    run : Run
        Whose weights the rows have; they stay where they are.

    Returns
    -------
    images : (20, h, w) uint8 or None
        None where rows are no images, or all weigh the same.
    captions : list of (label, weight, row)
        As `explorer_picture` takes them.
    """
    if data.image_shape is None:
        return None, []
    weights = weights_of(run, lambda: np.zeros(len(data.train), dtype=np.intp))
    if len(set(weights.ends)) < 2:  # all alike, or none is finite
        return None, []
    keep, across = weights.kept(None, -1, None), min(_ACROSS, len(weights) // 2)
    chosen = np.concatenate([keep.page(1, across, falling).positions for falling in (False, True)])
    said = [weight_text(weight, weight_places(weights.ends)) for weight in weights.at(chosen)]
    told = zip(chosen, said, strict=True)
    return data.images("train", chosen), [(data.train.labels[i], weight, data.train.rows[i]) for i, weight in told]
