"""What a recipe assembles, as cards of names and present values: plain data, before any view shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import cos, exp, isqrt, pi, sin
from typing import Any

from torch import Tensor

from lsat_explorer.model.graphs import Graph
from lsat_explorer.model.hyper_penalties import Frozen, HyperPenalty, Sum
from lsat_explorer.model.piece import Omega, Piece, tensor, within
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.curves import number_text
from lsat_explorer.widgets.featurizer_fields import controls

__all__ = ["TABS", "Card", "cards", "graph_picture"]

TABS = ("Features", "Regularizers", "Weights", "Loss", "Method", "Code")

_MOST_EDGES = 4_000  # of a graph that is drawn


@dataclass(frozen=True)
class Card:
    """One assembled piece.

    Parameters
    ----------
    name : str
        Its name in the recipe.
    kind : str
        Its type, and the block it acts on.
    facts : tuple of (str, str)
        Names and values, in the order shown.
    tuned : bool or None
        Whether its hyper-parameters are tuned or frozen; None where it has none.
    notes : tuple of str
        What stands beside the drawing.
    picture : str
        Path data of a small drawing in a unit square, or ``""``.
    path : str
        Where a regularizer is in the recipe's: dotted names of members, ``""`` for one alone.
    start : float or None
        e^{2ω} at which the weight of a regularizer starts; None for any other piece.
    """

    name: str
    kind: str
    facts: tuple[tuple[str, str], ...] = ()
    tuned: bool | None = None
    notes: tuple[str, ...] = ()
    picture: str = ""
    path: str = ""
    start: float | None = None


def cards(
    recipe: Recipe,
    omega: Omega | None = None,
    widths: Mapping[str, int] | None = None,
    held: Collection[str] = (),
) -> dict[str, list[Card]]:
    """Return the cards of each tab.

    Parameters
    ----------
    recipe : Recipe
        What is assembled.
    omega : dict of str to Tensor, optional
        Present hyper-parameters; before the features are prepared only what the recipe itself says is known.
    widths : mapping of str to int, optional
        Number of features of each block, once they are prepared.
    held : collection of str
        Names of ω that are not tuned and of which the recipe says nothing: the parameters that a module froze.

    Examples
    --------
    >>> [card.name for card in cards(Recipe())["Features"]]
    ['features', 'one']
    """
    known = omega or {}
    penalties = dict.fromkeys(held, Frozen()) | recipe.hyper_penalties
    features = [
        _card(name, piece, f"featurizer.{name}" if name else "featurizer", known, penalties, _width(name, widths))
        for name, piece in _members(recipe.featurizer)
    ]
    regularizers = [
        replace(
            _card(name, piece, f"regularizer.{name}" if name else "regularizer", known, penalties),
            path=name,
            start=exp(2 * piece.log_weight) if hasattr(piece, "log_weight") else None,
        )
        for name, piece in _members(recipe.regularizer)
    ]
    weights = (
        [Card("training rows", "all rows weigh 1")]
        if recipe.data_weights is None
        else [_card("training rows", recipe.data_weights, "data_weights", known, penalties)]
    )
    loss = (
        Card("validation loss", "by the task: cross-entropy for classes, squared error for numbers")
        if recipe.loss is None
        else _card("validation loss", recipe.loss, "loss", known, penalties)
    )
    criterion = Card("criterion", type(recipe.criterion).__name__, _settings(recipe.criterion, skip=_ON_SLIDERS))
    method = Card("method", type(recipe.method).__name__, _settings(recipe.method, skip=_ON_SLIDERS))
    numbers = Card("arithmetic", recipe.dtype, (("device", recipe.device), ("seed", str(recipe.seed))))
    return {
        "Features": features,
        "Regularizers": regularizers,
        "Weights": weights,
        "Loss": [loss, criterion],
        "Method": [method, numbers],
    }


_ON_SLIDERS = (
    *("step", "tolerance", "max_iterations", "grow", "shrink", "memory"),
    *("starts", "spread", "low", "high", "points", "folds"),
)


def _members(piece: Any) -> Iterator[tuple[str, Piece]]:
    """Yield named members, those of members with dotted names; a piece alone has no name."""
    if piece.members_field is None:
        yield "", piece
        return
    for name, member in piece.members.items():
        for inner, part in _members(member):
            yield (f"{name}.{inner}" if inner else name), part


def _width(name: str, widths: Mapping[str, int] | None) -> tuple[tuple[str, str], ...]:
    return (("columns", f"{widths[name]:,}"),) if widths is not None and name in widths else ()


def _card(
    name: str,
    piece: Piece,
    prefix: str,
    omega: Omega,
    penalties: Mapping[str, HyperPenalty],
    extra: tuple[tuple[str, str], ...] = (),
) -> Card:
    features = isinstance(piece, Featurizer)
    block = None if features else getattr(piece, "block", None)
    kind = type(piece).__name__ + (f" · {block}" if block else "")
    values = _values(piece, prefix, omega)
    inner = [name for name in within(prefix, omega) if "." in name]  # parameters of a module
    names = [f"{prefix}.{local}" for local in [*values, *inner]]
    tuned = any(not isinstance(penalties.get(full), Frozen) for full in names) if names else None
    facts = [(_QUANTITIES.get(local, (local,))[0], text) for local, text in values.items()]
    facts += extra
    formulas = [_penalty(penalties[full]) for full in names if full in penalties]
    facts += [("penalty", formula) for formula in formulas if formula]
    facts += _settings(piece, skip=("block", "log_weight", "log_scale", "graph", "temperature"))
    graph = getattr(piece, "graph", None)
    notes, picture = _graph_words(graph) if isinstance(graph, Graph) else ((), "")
    title, about = (name, kind) if name else (type(piece).__name__, "" if features else block or "all features")
    return Card(title, about, tuple(facts), tuned, notes, picture)


@lru_cache(maxsize=64)  # cards are made at every report, and counting components takes longer than the rest
def _graph_words(graph: Graph) -> tuple[tuple[str, ...], str]:
    counts = ((graph.n, "node"), (len(graph.edges), "edge"), (graph.components(), "component"))
    return tuple(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts), graph_picture(graph)


_QUANTITIES: dict[str, tuple[str, float]] = {
    "log_weight": ("weight e²ω", 2.0),
    "log_scale": ("scale eσ", 1.0),
    "log_temperature": ("temperature eτ", 1.0),
}
"""What a name of ω is shown as: e to the power of so many times its value."""


def _values(piece: Piece, prefix: str, omega: Omega) -> dict[str, str]:
    """Return the present hyper-parameters of a piece as text, by local name."""
    present = {name: value for name, value in within(prefix, omega).items() if "." not in name}
    if present:
        return {name: _amount(name, value) for name, value in present.items()}
    start = {name: getattr(piece, name) for name in ("log_weight", "log_scale") if hasattr(piece, name)}
    return {
        name: "set when the features are prepared" if value is None else _amount(name, tensor(value))
        for name, value in start.items()
    }


def _amount(name: str, value: Tensor) -> str:
    power = _QUANTITIES[name][1] if name in _QUANTITIES else None
    values = value.detach().cpu()
    shown = (power * values).exp() if power is not None else values
    if shown.numel() == 1:
        return number_text(float(shown))
    return f"{number_text(float(shown.min()), '.3g')} to {number_text(float(shown.max()), '.3g')}"


def _penalty(penalty: HyperPenalty) -> str:
    """Return a hyper-penalty as a formula."""
    if isinstance(penalty, Sum):
        return ", ".join(filter(None, map(_penalty, penalty.terms)))
    formula = _FORMULAS.get(type(penalty).__name__)
    if formula is None:
        return ""
    numbers = {f.name: number_text(getattr(penalty, f.name), ".3g") for f in fields(penalty)}  # type: ignore[arg-type]
    return formula.format(**numbers)


_FORMULAS = {
    "SumSquares": "{weight} ‖ω‖²",
    "AbsoluteValue": "{weight} ‖ω‖₁",
    "ZeroSum": "Σω = 0",
    "Box": "{low} ≤ ω ≤ {high}",
}


def _settings(piece: Any, skip: tuple[str, ...] = ()) -> tuple[tuple[str, str], ...]:
    """Return the plain fields of a piece by readable names."""
    plain = [
        (f.name, getattr(piece, f.name))
        for f in fields(piece)
        if f.name not in skip and isinstance(getattr(piece, f.name), int | float | str)
    ]
    words = [(name, _setting(value)) for name, value in plain]
    known = {c.name: c.label for c in controls(type(piece).__name__)} if isinstance(piece, Featurizer) else {}
    return tuple((known.get(name, name.replace("_", " ")), text) for name, text in words)


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number_text(value) if isinstance(value, float) else str(value)


def graph_picture(graph: Graph) -> str:
    """Return SVG path data of a graph in a unit square: a grid as a grid, any other on a circle.

    Parameters
    ----------
    graph : Graph
        The graph; one of more than 4,000 edges is not drawn.

    Returns
    -------
    str
        Line segments of the edges, or ``""``.

    Examples
    --------
    >>> from lsat_explorer import graphs
    >>> graph_picture(graphs.grid(1, 3))
    'M.167 .5L.5 .5M.5 .5L.833 .5'
    """
    if len(graph.edges) > _MOST_EDGES:
        return ""
    places = _places(graph)
    return "".join(f"M{places[a]}L{places[b]}" for a, b in graph.edges.tolist())


def _places(graph: Graph) -> list[str]:
    preset = graph.to_dict()
    side = isqrt(graph.n)
    if preset.get("preset") == "grid":
        height, width = preset["arguments"]
    elif side * side == graph.n and side > 2:
        height = width = side
    else:
        turn = [2 * pi * i / graph.n for i in range(graph.n)]
        return [f"{_short(0.5 + 0.45 * sin(a))} {_short(0.5 - 0.45 * cos(a))}" for a in turn]
    most = max(height, width)
    left, top = (most - width) / 2 + 0.5, (most - height) / 2 + 0.5
    return [f"{_short((left + i % width) / most)} {_short((top + i // width) / most)}" for i in range(graph.n)]


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").removeprefix("0").rstrip(".") or "0"
