"""The fields of featurizers as controls: found in the dataclass and its docstring, worded better where we know more."""

from __future__ import annotations

import inspect
import re
import types
import typing
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Any

from lsat_explorer.model.piece import REGISTRY, encode
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets.featurizer_draft import Step

__all__ = ["Control", "Kind", "controls", "fresh", "kind_of", "kinds", "parameter"]


@dataclass(frozen=True)
class Kind:
    """One kind of featurizer that can be added.

    Parameters
    ----------
    name : str
        Its type.
    title : str
        The type in words.
    about : str
        What it does, in a few words.
    formula : str
        The feature map.
    off : str
        Why it cannot be added to these rows; empty where it can.
    """

    name: str
    title: str
    about: str
    formula: str = ""
    off: str = ""


@dataclass(frozen=True)
class Control:
    """How one field is shown and changed.

    Parameters
    ----------
    name, label, meaning, unit : str
        The field, its visible name, a sentence that says what it means, and what its numbers count.
    form : {"flag", "whole", "number", "choice", "list", "knots", "text"}
        What kind of control it is.
    choices : tuple of str
        What a choice is among.
    low, high : float or None
        Ends of a slider; without both there is only a field to type into.
    log : bool
        Whether equal distances on the slider are equal ratios.
    empty : str or None
        What an empty field stands for; None where it may not be empty.
    each : bool
        Whether it may hold one number for each column.
    default : JSON value
        What a reset puts there.
    off : str
        What a flag that is off is called.
    """

    name: str
    label: str
    meaning: str
    form: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    empty: str | None = None
    each: bool = False
    default: Any = None
    off: str = ""


_KINDS = {
    "Scale": ("shift and scale each column", "φ(x) = eˢ (x − b)"),
    "PowerTransform": ("bend each column by a power", "φ(x) = sgn(x − c) |x − c|ᵞ"),
    "Spline": ("a piecewise polynomial of each column", "φ(x) = Σ Cᵢₚ sᵖ between knots"),
    "LowRank": ("a few linear combinations", "φ(x) = Tᵀx"),
    "SelectFeatures": ("keep a share of the columns", "φ(x) = a ⊙ x, a of zeros and ones"),
    "KMeansArchetypes": ("closeness to typical rows", "φ(x) = softmax(−‖x − c‖ / e^σ)"),
    "RandomPatches": ("responses of images to patches", "φ(x) = mean of max(0, x ∗ p) over cells"),
    "Identity": ("the columns as they are", "φ(x) = x"),
    "FromModule": ("a torch module of your own", "φ(x) = module(x)"),
    "Constant": ("an intercept", "φ(x) = 1"),
    "Concat": ("blocks side by side", "φ = (φ₁, φ₂, …)"),
    "Chain": ("steps one after another", "φ = … φ₂(φ₁(x))"),
}

_OF_IMAGES, _NO_IMAGES = "RandomPatches", "Needs rows that are images."

_WORDS: dict[tuple[str, str], dict[str, Any]] = {
    ("Scale", "tuned"): {
        "label": "scale and shift are hyper-parameters",
        "meaning": "Whether shift and scale of each column are hyper-parameters. Off, they stay at standardisation.",
        "off": "standardisation",
    },
    ("PowerTransform", "shared"): {"label": "one c and γ for all"},
    ("PowerTransform", "centre"): {"label": "centre c", "unit": "in units of the column", "empty": "mean"},
    ("PowerTransform", "exponent"): {
        "label": "exponent γ",
        "meaning": "Where γ starts, from 0 to 8, without unit: one number, or one for each column.",
        "low": 0.0,
        "high": 4.0,
    },
    ("Spline", "knots"): {"low": 1, "high": 20, "unit": "in each column"},
    ("Spline", "degree"): {"meaning": "Degree of the polynomials, 1 to 7, without unit.", "low": 1, "high": 7},
    ("Spline", "continuity"): {
        "meaning": "Highest order of derivative that is continuous at the knots; empty, the degree less one.",
        "empty": "auto",
        "unit": "derivatives",
    },
    ("LowRank", "rank"): {
        "label": "rank r",
        "meaning": "Number of features r, at most the number of columns.",
        "low": 1,
        "unit": "features",
    },
    ("SelectFeatures", "fraction"): {
        "label": "share kept",
        "meaning": "Share f of the columns that is kept: the ⌊f d⌋ that tuning finds most useful.",
        "low": 0.0,
        "high": 1.0,
        "unit": "of the columns",
    },
    ("KMeansArchetypes", "per_class"): {
        "label": "k per class",
        "low": 1,
        "high": 100,
        "log": True,
        "unit": "archetypes",
    },
    ("KMeansArchetypes", "log_scale"): {
        "label": "log scale σ",
        "meaning": "Where σ starts: e^σ is the distance over which closeness fades. Empty, it suits the training rows.",
        "unit": "log distance",
        "empty": "auto",
    },
    ("KMeansArchetypes", "n_init"): {"label": "restarts", "low": 1, "high": 20, "unit": "of k-means"},
    ("KMeansArchetypes", "total"): {"label": "k of all rows", "empty": "by class", "unit": "archetypes"},
    ("RandomPatches", "image_shape"): {"unit": "pixels"},
    ("RandomPatches", "patches"): {
        "meaning": "Number of patches.",
        "low": 1,
        "high": 1000,
        "log": True,
        "unit": "in all",
    },
    ("RandomPatches", "size"): {"low": 1, "unit": "pixels"},
    ("RandomPatches", "cells"): {"low": 1, "high": 8, "unit": "a side"},
    ("FromModule", "name"): {
        "label": "module",
        "meaning": "The name under which lsat.register_module made a torch module known in this program.",
    },
}
"""What is known better than by looking at the dataclass."""

_PARAMETERS = {
    ("Scale", "log_scale"): ("log scale s", "Log of the factor of each column."),
    ("Scale", "shift"): ("shift b", "What is subtracted from each column."),
    ("PowerTransform", "centre"): ("centre c", "Where the power transform is 0."),
    ("PowerTransform", "exponent"): ("exponent γ", "The power: below 1 it compresses large values."),
    ("Spline", "coefficients"): ("coefficients C", "The polynomial on each interval between knots."),
    ("LowRank", "T"): ("map T", "The linear map to the features."),
    ("SelectFeatures", "mask"): ("mask a", "One for each column that is kept, zero for the others."),
    ("KMeansArchetypes", "log_scale"): ("log scale σ", "Log of the distance over which closeness fades."),
}


def kinds(images: bool = True) -> list[Kind]:
    """Return every kind of featurizer in the registry, the known ones first; ``images``: whether rows are images."""
    names = [name for name, kind in REGISTRY.items() if issubclass(kind, Featurizer)]
    ordered = [*(name for name in _KINDS if name in names), *(name for name in names if name not in _KINDS)]
    found = [kind_of(name) for name in ordered]
    return [replace(kind, off=_NO_IMAGES) if kind.name == _OF_IMAGES and not images else kind for kind in found]


def kind_of(name: str) -> Kind:
    """Return a kind of featurizer by its name in the registry."""
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("KMeans", "K-means")
    title = " ".join([title.split()[0], *(word.lower() for word in title.split()[1:])])
    if name in _KINDS:
        return Kind(name, title, *_KINDS[name])
    first = _plain(inspect.cleandoc(REGISTRY[name].__doc__ or "").split("\n\n")[0])
    return Kind(name, title, first if len(first) <= 60 else first[:59] + "…")


def parameter(kind: str, name: str) -> tuple[str, str]:
    """Return the visible name of an entry of ω, and what it is."""
    return _PARAMETERS.get((kind, name), (name.replace("_", " "), f"The hyper-parameter {name} of this step."))


@cache
def controls(kind: str) -> tuple[Control, ...]:
    """Return the controls of the fields of one kind of piece.

    Examples
    --------
    >>> [control.form for control in controls("KMeansArchetypes")]
    ['whole', 'choice', 'number', 'whole', 'whole']
    """
    piece: Any = REGISTRY[kind]
    if piece.members_field is not None:
        return ()
    hints, texts = typing.get_type_hints(piece), _documented(piece)
    found = []
    for own in fields(piece):
        declared, meaning = texts.get(own.name, ("", ""))
        choices = tuple(re.findall(r'"([^"]*)"', declared)) if declared.startswith("{") else ()
        parts = set(typing.get_args(hints[own.name])) if _is_union(hints[own.name]) else {hints[own.name]}
        control = Control(
            own.name,
            own.name.replace("_", " "),
            meaning or f"The field {own.name} of {kind}.",
            "choice" if choices else _form(parts),
            choices=choices,
            empty="none" if type(None) in parts else None,
            each=float in parts and any(typing.get_origin(part) is tuple for part in parts),
            default=None if own.default is MISSING else encode(own.default),
        )
        found.append(replace(control, **_WORDS.get((kind, own.name), {})))
    return tuple(found)


def _is_union(hint: Any) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def _form(parts: set[Any]) -> str:
    lists = any(typing.get_origin(part) is tuple for part in parts)
    if int in parts:
        return "knots" if lists else "whole"
    if float in parts:
        return "number"
    return "flag" if bool in parts else "list" if lists else "text"


def _documented(piece: type) -> dict[str, tuple[str, str]]:
    """Return declared type and meaning of each field from the section ``Parameters`` of a docstring."""
    text = inspect.cleandoc(piece.__doc__ or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None:
        return {}
    entries = re.findall(r"^(\w+) : ([^\n]*)\n((?:[ ]+[^\n]*\n?|\n)*)", section[1], re.MULTILINE)
    return {name: (declared, _plain(meaning)) for name, declared, meaning in entries}


def _plain(text: str) -> str:
    """Return a docstring's sentence without its markup."""
    return " ".join(re.sub(r"`+([^`]*)`+", r"\1", text).split())


def fresh(kind: str, width: int, image_shape: tuple[int, ...] | None) -> Step:
    """Return a new step of a kind, its required fields filled for inputs of ``width`` columns.

    Parameters
    ----------
    kind : str
        Name in the registry.
    width : int
        Number of columns that it will get.
    image_shape : tuple of int or None
        Shape of the rows where they are images.
    """
    piece: Any = REGISTRY[kind]
    if piece.members_field is not None:
        return Step(kind, members=(("identity", Step("Identity")),))
    usual = {"whole": 1, "number": 1.0, "flag": False, "list": [], "knots": 1, "choice": "", "text": ""}
    values: dict[str, Any] = {
        control.name: control.default if own.default is not MISSING else usual[control.form]
        for control, own in zip(controls(kind), fields(piece), strict=True)
    }
    if kind == "LowRank":
        values["rank"] = min(10, width)
    if kind == "RandomPatches":
        shape = image_shape or (1, width)
        size = min(6, *shape[:2])
        cells = min(4, min(shape[:2]) - size + 1)
        values |= {"image_shape": list(shape), "patches": 50, "size": size, "cells": cells}
    return Step(kind, values)
