"""What one step does, as plain numbers and small images: curve, histograms, knots, archetypes, memberships."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lsat_explorer.data import Data
from lsat_explorer.data.images import PixelScale, sprite
from lsat_explorer.model.featurizers import KMeansArchetypes, LowRank, RandomPatches, SelectFeatures, Spline
from lsat_explorer.plots.curves import count_text
from lsat_explorer.plots.ticks import linear_ticks
from lsat_explorer.widgets.featurizer_trial import Trials, Tried
from lsat_explorer.widgets.rows import name_of

__all__ = ["ACROSS", "look", "telling_column"]

ACROSS = 20  # images in a line of the sprite
_MOST_IMAGES = 200
_MOST_ROWS = 3_000  # of a histogram
_MOST_CURVES = 24
_BINS = 36
_POINTS = 161  # of a curve
_TABLE = np.linspace(0, 1, 101)  # shares at which the places of knots are known
_GRAPH = 48  # numbers of a small graph


def telling_column(inputs: Tensor) -> int:
    """Return the column that varies most for its reach: one that is constant has no histogram to speak of."""
    rows = inputs[:_MOST_ROWS].double()
    reach = rows.amax(0) - rows.amin(0)
    return int((rows.std(0, correction=0) / torch.where(reach > 0, reach, 1.0)).argmax())


def _column_names(tried: Tried, data: Data) -> list[str]:
    """Return the names of the columns that come into a step."""
    if tried.inputs.named:
        return [name_of(name, 40) for name in data.feature_names]
    return [f"feature {place + 1}" for place in range(tried.rows.shape[1])]


def look(tried: Tried, trials: Trials, data: Data, column: int, row: int) -> tuple[dict[str, Any], bytes]:
    """Return what a step does to one column, or to one row, and the images that belong to it.

    Parameters
    ----------
    tried : Tried
        The step.
    trials : Trials
        Where it was prepared.
    data : Data
        The data of the trials.
    column : int
        A column of what comes into the step; the last one stands for those beyond.
    row : int
        A position in the training rows.

    Returns
    -------
    facts : dict
        Values of JSON.
    sheet : bytes
        The images as one PNG, ``ACROSS`` in a line; empty where there are none.
    """
    column = min(column, tried.rows.shape[1] - 1)
    if isinstance(tried.piece, KMeansArchetypes):
        return _archetypes(tried, trials, data, row)
    facts = _columns(tried, column, _column_names(tried, data)[column])
    if isinstance(tried.piece, Spline):
        facts["knots"] = _knots(tried, column)
    if isinstance(tried.piece, SelectFeatures):
        kept, d = math.floor(tried.piece.fraction * tried.rows.shape[1] + 1e-9), tried.rows.shape[1]
        facts["note"] = f"Tuning keeps {kept:,} of {count_text(d, 'column')} and sets the others to zero."
    images = _own_images(tried, data)
    if images is None:
        return facts, b""
    title = "The columns of T, as images" if isinstance(tried.piece, LowRank) else "The patches"
    facts["images"] = _sheet(images, [str(place + 1) for place in range(len(images))]) | {"title": title}
    return facts, sprite(images, ACROSS)


def _raw(tried: Tried) -> bool:
    """Whether the columns of the data themselves come into a step."""
    return not tried.inputs.before


def _columns(tried: Tried, column: int, name: str) -> dict[str, Any]:
    """Return histograms of a column before and of a feature after, and the curve between them where there is one."""
    stride = max(1, -(-len(tried.rows) // _MOST_ROWS))
    rows = tried.rows[::stride].double()
    before = rows[:, column].numpy()
    features = tried.features(rows).double().numpy()
    own, grid, curves = _curves(tried, rows, column)
    facts: dict[str, Any] = {
        "before": _histogram(before),
        "before_name": name,
        "curves": [],
        "width": tried.block.width,
    }
    if len(own):
        facts["grid"] = _rounded(grid)
        facts["curves"] = [_rounded(curve) for curve in curves[:_MOST_CURVES]]
        facts["x"], facts["y"] = _axis(np.concatenate([grid[[0, -1]]])), _axis(np.concatenate(curves[:_MOST_CURVES]))
        facts["features"] = len(own)
    if len(own) <= 1:
        shown = int(own[0]) if len(own) else min(column, tried.block.width - 1)
        facts["after"] = _histogram(features[:, shown])
        facts["after_name"] = f"feature {shown + 1:,} of {tried.block.width:,}"
    return facts


def _curves(tried: Tried, rows: Tensor, column: int) -> tuple[NDArray[np.intp], NDArray[np.float64], list[Any]]:
    """Return the features that depend on this column alone, the places where they were taken, and their values.

    The features are taken along the column at two different rows: those that change along it and are the same for both
    are functions of the column.
    """
    low, high = float(rows[:, column].min()), float(rows[:, column].max())
    room = 0.04 * (high - low) or 1.0
    grid = torch.linspace(low - room, high + room, _POINTS, dtype=torch.float64, device="cpu")
    taken = []
    other = rows[(rows - rows[0]).abs().sum(1).argmax()]  # one that differs
    for row in (rows[0], other):
        along = row.repeat(_POINTS, 1)
        along[:, column] = grid
        taken.append(np.nan_to_num(tried.features(along).double().numpy()))
    reach = np.ptp(taken[0], axis=0)
    same = np.abs(taken[0] - taken[1]).max(0) <= 1e-9 * (np.abs(taken[0]).max(0) + 1e-300)
    own = np.flatnonzero((reach > 1e-12 * (np.abs(taken[0]).max(0) + 1e-300)) & same)
    return own, grid.numpy(), [taken[0][:, place] for place in own]


def _histogram(values: NDArray[np.float64]) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return {"low": 0.0, "high": 1.0, "counts": [], "axis": _axis(np.array([0.0, 1.0]))}
    low, high = float(finite.min()), float(finite.max())
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    bins = min(_BINS, max(5, len(np.unique(finite))))  # whole numbers leave no gaps
    counts, _ = np.histogram(finite, bins=bins, range=(low, high))
    return {"low": low, "high": high, "counts": counts.tolist(), "axis": _axis(np.array([low, high]))}


def _axis(values: NDArray[np.float64]) -> dict[str, Any]:
    """Return the ends of an axis, with round places on it and their texts."""
    low, high = float(values.min()), float(values.max())
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    places, texts = linear_ticks(np.array([low, high]), most=4)
    return {"low": low, "high": high, "at": places.tolist(), "texts": texts}


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _knots(tried: Tried, column: int) -> dict[str, Any]:
    """Return the knots of a column as shares of the rows and as places, and the places of all other shares."""
    piece, places = tried.piece, tried.block.state()["knots"][column].double().numpy()
    assert isinstance(piece, Spline)
    even = np.linspace(0, 1, piece.knots + 2)[1:-1] if isinstance(piece.knots, int) else np.array(piece.knots)
    quantiles = np.quantile(tried.rows[:, column].double().numpy(), [0.0, *even, 1.0])
    by_rows = bool(np.allclose(quantiles, places, atol=1e-6 * (places[-1] - places[0])))
    table = np.quantile(tried.rows[:, column].double().numpy(), _TABLE) if by_rows else None
    table = places[0] + (places[-1] - places[0]) * _TABLE if table is None else table
    return {"shares": even.round(4).tolist(), "at": places[1:-1].tolist(), "table": table.tolist(), "by_rows": by_rows}


def _archetypes(tried: Tried, trials: Trials, data: Data, row: int) -> tuple[dict[str, Any], bytes]:
    """Return archetypes as images or small graphs, with the closeness of one row to each."""
    centres = tried.block.state()["archetypes"].double()
    chunks = tried.rows.split(4096)
    nearest = torch.cat([tried.block.precompute(rows.double()).argmin(1) for rows in chunks]).numpy()
    place = int(np.clip(np.searchsorted(trials.places.numpy(), row), 0, len(trials.places) - 1))
    position = int(trials.places[place])
    closeness = tried.features(tried.rows[place : place + 1])[0].double().numpy()
    shown = min(len(centres), _MOST_IMAGES)
    labels = np.asarray(data.train.labels, dtype=object)[trials.places.numpy()]
    captions = [_usual(labels[nearest == one], data.classes is not None) for one in range(shown)]
    drawn = _means(trials.inputs, nearest, shown)
    if _raw(tried):
        drawn = centres[:shown].numpy()
    facts: dict[str, Any] = {
        "closeness": [float(f"{value:.4g}") for value in closeness[:shown]],
        "sum": float(closeness.sum()),
        "row": {"position": position, "name": name_of(data.train.rows[position], 40), "label": name_of(labels[place])},
        "count": len(centres),
        "note": "" if _raw(tried) else "Drawn as the mean of the training rows nearest to each.",
    }
    if data.image_shape is None:
        mean, deviation = trials.inputs.double().mean(0), trials.inputs.double().std(0, correction=0)
        scores = (np.vstack([trials.inputs[place].double(), drawn]) - mean.numpy()) / np.where(
            deviation > 0, deviation, 1
        )
        pieces = np.array_split(np.arange(scores.shape[1]), min(_GRAPH, scores.shape[1]))
        graphs = np.stack([np.clip(scores, -3, 3)[:, part].mean(1) for part in pieces], 1)
        facts["images"] = {"captions": captions, "graphs": graphs.round(2).tolist()}
        return facts, b""
    images = np.concatenate([data.images("train", [position]), _pictures(drawn, data, _scale(data))])
    facts["images"] = _sheet(images, captions)
    return facts, sprite(images, ACROSS)


def _usual(labels: NDArray[Any], classes: bool) -> str:
    """Return the most frequent label of some rows, or how many rows there are where labels are numbers."""
    if not classes:
        return count_text(len(labels), "row")
    values, counts = np.unique([name_of(label, 12) for label in labels], return_counts=True)
    return str(values[counts.argmax()]) if len(values) else "–"


def _means(inputs: Tensor, nearest: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    """Return the mean of the rows that belong to each of the first ``count`` groups, zeros where none does."""
    rows = inputs.double().numpy()
    groups = [rows[nearest == one] for one in range(count)]
    return np.stack([group.mean(0) if len(group) else np.zeros(rows.shape[1]) for group in groups])


def _scale(data: Data) -> PixelScale:
    inputs = data.train.inputs
    return data.pixel_scale or PixelScale(float(inputs.min()), float(inputs.max()))


def _pictures(rows: NDArray[np.float64], data: Data, scale: PixelScale) -> NDArray[np.uint8]:
    shape = tuple(data.image_shape or ())
    return scale.grey(rows).reshape(-1, *(shape[:2] if shape[2:] == (1,) else shape))


def _own_images(tried: Tried, data: Data) -> NDArray[np.uint8] | None:
    """Return images of what a step is made of: the columns of a linear map of pixels, or patches."""
    if isinstance(tried.piece, LowRank) and _raw(tried) and data.image_shape is not None:
        columns = tried.block.state()["T"].double().numpy().T[:_MOST_IMAGES]
        most = float(np.abs(columns).max()) or 1.0
        return _pictures(columns, data, PixelScale(-most, most))
    if isinstance(tried.piece, RandomPatches):
        patches = tried.block.state()["patches"][:_MOST_IMAGES].movedim(1, -1).double().numpy()
        patches = patches if patches.shape[-1] == 3 else patches.mean(-1)
        most = float(np.abs(patches).max()) or 1.0
        return PixelScale(-most, most).grey(patches.reshape(len(patches), -1)).reshape(patches.shape)
    return None


def _sheet(images: NDArray[np.uint8], captions: Sequence[str]) -> dict[str, Any]:
    return {"captions": list(captions), "shape": list(images.shape[1:3]), "total": len(images), "across": ACROSS}
