"""A model's file, all of it checked: sizes before memory is taken, names, and one row through the features."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data.file_kinds import kind_of
from ..data.safe_file import json_in, read_tensors
from ..data.split import counted
from ..data.tables import shown
from ..model.losses import SquaredError
from ..model.piece import Omega, nearest, within
from ..model.prepared import Prepared
from ..model.recipe import Recipe

__all__ = ["FORMAT", "read_model"]

FORMAT = "lsat_explorer.model/1"
_EXPECTED = "Give a model that was saved, such as the model.safetensors in the folder of a run."
_TEXTS = ("format", "recipe", "model")
_KNOWN = ("omega", "loss", "classes", "feature_names", "fill", "target_names")
_DAMAGE = (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, RuntimeError, ValueError)


def read_model(path: Path, device: str) -> dict[str, Any]:
    """Return the fields of a `FittedModel` that `FittedModel.save` wrote.

    Raises
    ------
    ValueError
        When the file is no model, is damaged, or has a format of another version; the sentence names what is wrong.
    """
    if not path.is_file():
        raise ValueError(f"{path} is no model file: there is no such file.")
    try:
        texts, tensors = read_tensors(path, device)
    except ValueError as error:
        kind = kind_of(path)
        what = f"it is {kind}. {_EXPECTED}" if kind else str(error)
        raise ValueError(f"{path} is no model file: {what}") from error
    if texts.get("format") != FORMAT:
        raise ValueError(f"{path} has format {texts.get('format')!r}, expected {FORMAT!r}. {_EXPECTED}")
    try:
        _refuse_unknown(texts, _TEXTS, "The header")
        return _checked(Recipe.from_json(texts["recipe"]), json_in(texts["model"], "its description"), tensors)
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__} {error}") from error


def _refuse_unknown(given: Any, known: tuple[str, ...] | list[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{where} has no {name[:60]!r}{nearest(name[:60], known)}")


def _checked(recipe: Recipe, said: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    _refuse_unknown(said, _KNOWN, "A model")
    omega = {name: tensors[f"omega.{name}"] for name in said["omega"]}
    state = within("featurizer", tensors)
    prepared = recipe.featurizer.restore(state)
    wanted = ["theta", *(f"omega.{name}" for name in omega), *(f"featurizer.{name}" for name in prepared.state())]
    _refuse_unknown(tensors, wanted, "A model of this recipe")
    for name, value in tensors.items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} holds a NaN or an infinity.")
    classes, names, fill = said["classes"], said["feature_names"], said.get("fill")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names are no list of names.")
    if classes is not None and not (isinstance(classes, list) and all(map(_is_label, classes)) and len(classes) > 1):
        raise ValueError("classes are no list of labels.")
    if fill is not None and not (len(fill) == len(names) and all(math.isfinite(value) for value in fill)):
        raise ValueError(f"fill is no list of {len(names)} finite numbers.")
    outputs = said.get("target_names", [])
    _try(prepared, omega, tensors["theta"], len(names), None if classes is None else len(classes))
    _refuse_outputs(outputs, tensors["theta"].shape[1], classes)
    return {
        "recipe": recipe,
        "loss": Recipe.from_json(said["loss"]).loss or SquaredError(),
        "prepared": prepared,
        "omega": omega,
        "theta": tensors["theta"],
        "classes": None if classes is None else tuple(classes),
        "feature_names": tuple(names),
        "fill": None if fill is None else tuple(map(float, fill)),
        "target_names": tuple(outputs),
    }


def _refuse_outputs(names: Any, m: int, classes: Any) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("target_names are no list of names.")
    if names and (len(names) != m or len(set(names)) != m or classes is not None):
        wanted = "none, for there are classes" if classes is not None else f"one for each of {counted(m, 'output')}"
        raise ValueError(f"target_names are {shown(names)}, expected {wanted}.")


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _try(prepared: Prepared, omega: Omega, theta: Tensor, inputs: int, outputs: int | None) -> None:
    """Compute the features of one row, and see that θ (n, m) fits them."""
    if any(not value.is_floating_point() for value in omega.values()):
        raise ValueError("an entry of omega is no number.")
    with torch.no_grad():
        row = torch.zeros(1, inputs, dtype=torch.float64, device=theta.device)
        features = torch.cat(list(prepared.blocks(within("featurizer", omega), row).values()), 1)
    n = max(columns.stop for columns in prepared.columns().values())
    m = theta.shape[-1] if outputs is None and theta.ndim == 2 else outputs
    if theta.shape != (n, m) or features.shape != (1, n) or theta.dtype != torch.float64:
        raise ValueError(f"theta is {tuple(theta.shape)} {theta.dtype}, expected finite float64 ({n}, {m}).")
