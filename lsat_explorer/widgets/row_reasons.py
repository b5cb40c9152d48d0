"""Why a row stands where it does: the rows of the other side that it moves, or that move it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lsat_explorer.data.images import sprite
from lsat_explorer.explain import attribution, consequences
from lsat_explorer.tune.fitted import FittedModel
from lsat_explorer.widgets.row_columns import effect_text
from lsat_explorer.widgets.row_tiles import RowTiles
from lsat_explorer.widgets.rows import name_of

__all__ = ["Reasons", "reasons_of"]

_SHOWN = 6  # rows of a group


@dataclass(frozen=True, eq=False)
class Reasons:
    """Rows behind one row, as values of JSON, and their pictures as one PNG: empty where rows are no images."""

    told: dict[str, Any] = field(default_factory=dict)
    image: bytes = b""


def reasons_of(model: FittedModel, here: RowTiles, other: RowTiles, position: int) -> Reasons:
    """Return which validation rows a training row helps and hurts, or which training rows move a validation row.

    Parameters
    ----------
    model : FittedModel
        Of a run.
    here, other : RowTiles
        The rows among which the row is, training or validation, and those of the other kind.
    position : int
        Of the row within ``here``.
    """
    training = here.part == "training"
    table = (consequences if training else attribution)(model, here.split.rows[position])
    effect, kernel = table["effect"].to_numpy(), table["kernel"].to_numpy()
    if training:
        words, groups = _of_training(effect)
    else:
        scores = model.decision_function(here.split.inputs[position : position + 1])
        words, groups = _of_validation(effect, kernel, _mistake(model, here, position, scores))
    drawn = [place for group in groups for place in group["places"]]
    shown = [
        {
            "title": group["title"],
            "share": group["share"],
            "rows": [_told(other, place, effect[place], kernel[place], group["whole"]) for place in group["places"]],
        }
        for group in groups
    ]
    shape = list((other.data.image_shape or ())[:2])
    told = {"part": other.part, "words": words, "across": max(1, len(drawn)), "groups": shown, "shape": shape}
    return Reasons(told, sprite(other.images(np.array(drawn)), len(drawn)) if other.has_images and drawn else b"")


def _told(tiles: RowTiles, place: int, effect: float, kernel: float, whole: float) -> dict[str, Any]:
    split = tiles.split
    return {
        "position": int(place),
        "row": name_of(split.rows[place], 40),
        "label": name_of(split.labels[place], 24),
        "effect": effect_text(effect, float("nan")),
        "share": _share(abs(effect) / whole),
        "similar": bool(kernel > 0),
    }


def _mistake(model: FittedModel, tiles: RowTiles, position: int, scores: np.ndarray) -> str:
    """Return how a row is misclassified, empty where it is not."""
    if model.classes is None or int(scores[0].argmax()) == tiles.codes[position]:
        return ""
    given, predicted = tiles.classes[tiles.codes[position]], model.classes[int(scores[0].argmax())]
    return f"given as {name_of(given, 24)} and predicted as {name_of(predicted, 24)}"


def _of_training(effect: np.ndarray) -> tuple[str, list[dict[str, Any]]]:
    """Return the words, and the validation rows, of a training row that moves them by ``effect`` (N,)."""
    helped, hurt = int((effect > 0).sum()), int((effect < 0).sum())
    words = (
        f"More weight on this row lowers the loss of {helped:,} and raises that of {hurt:,} of {len(effect):,} "
        "validation rows."
    )
    groups = [_group("Helps most", effect, effect > 0), _group("Hurts most", -effect, effect < 0)]
    return words, [group for group in groups if group["places"]]


def _of_validation(effect: np.ndarray, kernel: np.ndarray, mistake: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the words, and the training rows, of a validation row that they move by ``effect`` (k,)."""
    pushes, total = effect < 0, float(-effect[effect < 0].sum())
    similar = pushes & (kernel > 0)
    share = float(-effect[similar].sum()) / total if total else 0.0
    words = (
        f"{f'This row is {mistake}. ' if mistake else ''}{int(pushes.sum()):,} of {len(effect):,} training rows raise "
        f"its loss; the {int(similar.sum()):,} similar ones (kernel xᵢᵀG⁻¹xᵥ above 0) make up {100 * share:.0f} % of "
        "that."
    )
    verb = "Push it wrong" if mistake else "Raise its loss"
    wrong = _group(f"{verb}, similar rows first", -effect, pushes, first=similar)
    groups = [wrong, _group("Help it most", effect, effect > 0)]
    return words, [group for group in groups if group["places"]]


def _group(title: str, size: np.ndarray, among: np.ndarray, first: np.ndarray | None = None) -> dict[str, Any]:
    """Return the largest of some rows, those of ``first`` before others, with their share of the whole."""
    places = np.flatnonzero(among)
    before = np.zeros(len(places), dtype=bool) if first is None else ~first[places]
    places = places[np.lexsort((-size[places], before))][:_SHOWN]
    whole = float(size[among].sum())
    share = f"{_share(float(size[places].sum()) / whole)} of the whole" if len(places) else ""
    return {"title": title, "share": share, "whole": whole, "places": places.tolist()}


def _share(share: float) -> str:
    if share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
