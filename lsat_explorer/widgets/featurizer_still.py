"""The still picture of a featurizer that is being assembled, for notebooks that are read without a kernel."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from PIL import Image

from lsat_explorer.plots.curves import count_text
from lsat_explorer.plots.sheet import ACCENT, AMBER, LINE, MUTED, Sheet, bare, write

__all__ = ["builder_picture"]

_WIDTH, _MIDDLE, _LINE = 10.0, 5.0, 0.27
_ACROSS, _MOST_IMAGES = 10, 50
_BAD = "#c62828"


def builder_picture(shown: Mapping[str, Any], facts: Mapping[str, Any], sheet: bytes, chosen: Sequence[int]) -> bytes:
    """Draw the steps on the left and what the chosen one does on the right.

    Parameters
    ----------
    shown : mapping
        ``tree``, ``counts`` and ``sentence``, as the view sends them to its page.
    facts : mapping
        As :func:`lsat_explorer.widgets.featurizer_look.look` returns them; empty where nothing is known yet.
    sheet : bytes
        The images that belong to them.
    chosen : sequence of int
        Path of the chosen step.

    Returns
    -------
    bytes
        A PNG.
    """
    lines = list(_lines(shown["tree"], 0, list(chosen)))
    images = _images(facts, sheet)
    rows = -(-len(images) // _ACROSS)
    height = max(0.75 + _LINE * len(lines) + 0.15, 1.0 + 0.62 * rows if len(images) else 3.6)
    picture = Sheet(_WIDTH, height)

    def put(x: float, y: float, text: object, **look: Any) -> None:
        write(picture, x / _WIDTH, 1 - y / height, text, **look)

    put(0.2, 0.3, "Features", fontsize=11, fontweight="bold")
    put(1.15, 0.3, _counts(shown["counts"]), most=80, fontsize=9.5, color=MUTED)
    for place, (indent, text, aside, look) in enumerate(lines):
        y = 0.75 + _LINE * place
        put(0.2 + 0.2 * indent, y, text, most=46 - 2 * indent, **look)
        put(_MIDDLE - 0.3, y, aside, most=24, ha="right", color=MUTED, fontsize=8.5)
    if len(images):
        put(_MIDDLE, 0.75, facts.get("note") or "Archetypes" if "closeness" in facts else "Made of", color=MUTED)
        for place, image in enumerate(images):
            left, top = _MIDDLE + 0.48 * (place % _ACROSS), 0.95 + 0.62 * (place // _ACROSS)
            axes = picture.add_axes((left / _WIDTH, 1 - (top + 0.42) / height, 0.42 / _WIDTH, 0.42 / height))
            axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            bare(axes)
            put(left, top + 0.55, facts["images"]["captions"][place], most=6, fontsize=7.5, color=MUTED)
    elif "before" in facts:
        _draw_column(picture, facts, height)
    return picture.png()


def _lines(node: Mapping[str, Any], indent: int, chosen: list[int]) -> Iterator[tuple[int, str, str, dict[str, Any]]]:
    """Yield indent, text, what stands on the right, and the look of each line of the tree."""
    out = "" if node["out"] is None else count_text(node["out"], "feature")
    if node.get("members") is None:
        text = node["title"] + (f" · {node['summary']}" if node["summary"] else "")
        yield indent, text, out, {"color": ACCENT} if node["path"] == chosen else {}
    if node["problem"]:
        yield indent + 1, node["problem"], "", {"color": _BAD, "fontsize": 8}
    side = node["kind"] != "Chain"
    for member in node.get("members") or ():
        if side:
            width = "" if member["out"] is None else count_text(member["out"], "feature")
            yield indent, member["name"], width, {"fontweight": "bold"}
        yield from _lines(member, indent + side, chosen)


def _counts(found: Mapping[str, int] | None) -> str:
    if found is None:
        return ""
    features, hyper = count_text(found["features"], "feature"), count_text(found["hyper"], "hyper-parameter")
    return f"{features} · {hyper}, {found['tuned']:,} tuned"


def _images(facts: Mapping[str, Any], sheet: bytes) -> list[NDArray[np.uint8]]:
    if not sheet or "images" not in facts:
        return []
    (height, width), across = facts["images"]["shape"], facts["images"]["across"]
    with Image.open(io.BytesIO(sheet)) as opened:
        pixels = np.asarray(opened)
    first = 1 if "closeness" in facts else 0  # the row that is compared stands before the archetypes
    count = min(facts["images"]["total"] - first, _MOST_IMAGES)
    corners = [divmod(place, across) for place in range(first, first + count)]
    return [pixels[i * height : (i + 1) * height, j * width : (j + 1) * width] for i, j in corners]


def _draw_column(picture: Sheet, facts: Mapping[str, Any], height: float) -> None:
    """Draw histogram before, curve and histogram after, one below the other."""
    panels = ["before", *(["curves"] if facts["curves"] else []), *(["after"] if "after" in facts else [])]
    tall = (height - 0.9) / len(panels)
    for place, panel in enumerate(panels):
        bottom = height - 0.8 - tall * (place + 1) + 0.3
        box = ((_MIDDLE + 0.45) / _WIDTH, bottom / height, 4.3 / _WIDTH, (tall - 0.42) / height)
        axes = picture.add_axes(box)
        axes.tick_params(length=0, labelsize=7.5, labelcolor=MUTED)
        for spine in axes.spines.values():
            spine.set_color(LINE)
        if panel == "curves":
            _draw_curves(axes, facts)
        else:
            bins = facts[panel]
            edges = np.linspace(bins["low"], bins["high"], len(bins["counts"]) + 1)
            axes.stairs(bins["counts"], edges, fill=True, color=ACCENT if panel == "after" else MUTED, alpha=0.8)
            axes.set_yticks([])
            axes.set_xticks(bins["axis"]["at"], bins["axis"]["texts"])
        title = {
            "before": f"before: {facts['before_name']}",
            "curves": "φ(x)",
            "after": f"after: {facts.get('after_name')}",
        }
        write(axes, 0, 1.05, title[panel], most=60, fontsize=8, color=MUTED)


def _draw_curves(axes: Axes, facts: Mapping[str, Any]) -> None:
    for curve in facts["curves"]:
        axes.plot(facts["grid"], curve, color=ACCENT, linewidth=1.4)
    for knot in facts.get("knots", {}).get("at", []):
        axes.axvline(knot, color=AMBER, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set_xticks(facts["x"]["at"], facts["x"]["texts"])
    axes.set_yticks(facts["y"]["at"], facts["y"]["texts"])
