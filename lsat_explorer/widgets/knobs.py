"""The hyper-hyper-parameters of a recipe: numbers that shape the tuning itself, found by walking the description."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from lsat_explorer.model.arguments import nearest, told
from lsat_explorer.model.piece import plain
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.knob_rules import RULES, Rule

__all__ = ["Knob", "everyday", "knobs", "set_knob"]

SEPARATOR = "/"  # between the parts of a path; names of ω hold dots


@dataclass(frozen=True)
class Knob:
    """One number of a recipe that a slider can move.

    Parameters
    ----------
    path : str
        Where it is, such as ``"method/step"`` or ``"hyper_penalties/data_weights.log_weight/terms/0/weight"``.
    value, low, high : float
        Its value, and the ends of the slider. A value outside them may be typed.
    log : bool
        Whether equal distances on the slider are equal ratios.
    whole : bool
        Whether only whole numbers make sense.
    switch : bool
        Whether it is either off, 0, or on, 1.
    group : str
        ``"penalties"``, ``"loss"`` or ``"method"``: the part of the recipe that it belongs to.
    label : str
        Its visible name.
    meaning : str
        A sentence that says what the number does, and one that says its unit.
    held : str
        Why it cannot be moved while a run goes on; empty where it can.
    """

    path: str
    value: float
    low: float
    high: float
    log: bool
    whole: bool
    switch: bool
    group: str
    label: str
    meaning: str
    held: str = ""


_GROUPS = {
    "hyper_penalties": "penalties",
    "loss": "loss",
    "criterion": "loss",
    "method": "method",
    "early_stopping": "method",
}

_NAMES = {"data_weights.log_weight": "log row weights", "loss.log_temperature": "log temperature"}
"""Names of ω that have everyday words; the others show their own last parts."""


def knobs(recipe: Recipe) -> list[Knob]:
    """Return the hyper-hyper-parameters of a recipe, in its order.

    Parameters
    ----------
    recipe : Recipe
        The description to search: its hyper-penalties, its loss, its criterion, its method and its early stopping.

    Examples
    --------
    >>> [knob.path for knob in knobs(Recipe())]
    ['method/tolerance', 'method/max_iterations']
    """
    found = [knob for part, group in _GROUPS.items() for knob in _walk(getattr(recipe, part), part, group, "")]
    return [knob for knob in found if math.isfinite(knob.value)]


def _walk(value: Any, path: str, group: str, of: str) -> Iterator[Knob]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _walk(item, f"{path}{SEPARATOR}{name}", group, str(name))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}{SEPARATOR}{index}", group, of)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            rule = RULES.get((type(value).__name__, field.name))
            item = getattr(value, field.name)
            inside = f"{path}{SEPARATOR}{field.name}"
            if rule is not None:
                if item is not None:  # a bound that is left open has no place on a slider
                    yield _knob(rule, inside, float(item), group, of)
            else:
                yield from _walk(item, inside, group, of)


def _knob(rule: Rule, path: str, value: float, group: str, of: str) -> Knob:
    low, high = rule.low, rule.high
    if math.isfinite(value) and not (rule.log and value <= 0):  # a slider must reach the value that is set
        low, high = min(low, value), max(high, value)
    name = everyday(of)
    words = {"of": name, "them": "them" if name.endswith("s") else "it"}
    return Knob(
        path=path,
        value=value,
        low=low,
        high=high,
        log=rule.log,
        whole=rule.whole,
        switch=rule.switch,
        group=group,
        label=rule.label.format(**words),
        meaning=f"{rule.meaning.format(**words)} Unit: {rule.unit}.",
        held=rule.held,
    )


def everyday(name: str) -> str:
    """Return short words for a name of ω: ``regularizer.smooth.log_weight`` reads ``smooth log weight``."""
    parts = name.split(".")
    own = parts[1:] if parts[0] in ("regularizer", "featurizer", "loss", "data_weights") and len(parts) > 1 else parts
    return _NAMES.get(name, " ".join(own).replace("_", " "))


def set_knob(recipe: Recipe, path: str, value: float) -> Recipe:
    """Return a copy of the recipe with one number replaced.

    Parameters
    ----------
    recipe : Recipe
        The recipe to copy.
    path : str
        A path as `knobs` gives it.
    value : float
        The new number; the piece that holds it checks it.

    Raises
    ------
    ValueError
        If the recipe has no such number, or the piece refuses the value.

    Examples
    --------
    >>> set_knob(Recipe(), "method/max_iterations", 50).method.max_iterations
    50
    """
    known = {knob.path: knob for knob in knobs(recipe)}
    if path not in known:
        raise ValueError(f"The recipe has no number at {path!r}{nearest(path, known)}")
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{known[path].label} is {told(value)}: expected a finite number.")
    if known[path].whole and value != round(value):
        raise ValueError(f"{known[path].label} is {value!r}: expected a whole number.")
    if known[path].switch and value not in (0, 1):
        raise ValueError(f"{known[path].label} is {value!r}: expected 0 for off or 1 for on.")
    number = bool(value) if known[path].switch else round(value) if known[path].whole else float(value)
    part, *rest = path.split(SEPARATOR)
    try:
        return recipe.replace(**{part: _replaced(getattr(recipe, part), rest, number)})
    except ValueError as error:
        raise ValueError(_labelled(known[path].label, rest[-1], str(error))) from error


def _labelled(label: str, field: str, words: str) -> str:
    """Return what a piece says of a field, with the name that stands beside its slider.

    Examples
    --------
    >>> _labelled("step growth", "grow", "ProximalGradient: grow is 0.5: expected a finite number of at least 1.")
    'step growth is 0.5: expected a finite number of at least 1.'
    """
    own = re.match(rf"\w+: {re.escape(field)} is ", words)
    return f"{label} is {words[own.end() :]}" if own else f"{label}: {words}"


def _replaced(value: Any, path: list[str], number: float | bool) -> Any:
    if not path:
        return number
    head, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {name: _replaced(item, rest, number) if name == head else item for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_replaced(item, rest, number) if i == int(head) else item for i, item in enumerate(value))
    return replace(value, **{head: _replaced(getattr(value, head), rest, number)})
