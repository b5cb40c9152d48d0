"""The file of a run that goes on: numbers, tensors and text, without a pickle."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ..data.safe_file import check_tensors, write_tensors
from ..data.whole_file import whole_file
from ..model.piece import Omega, prefixed, tensor, within
from ..model.recipe import Recipe
from .fingerprint import versions
from .iterate import COLUMNS, Iterate, Memory, Status, from_row
from .iterates import Iterates, Parts, read_since

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .stepping import Stepping

__all__ = ["NAME", "Head", "State", "read_head", "read_state", "write_state"]

NAME = "checkpoint.safetensors"
FORMAT = "lsat_explorer.checkpoint/1"
_STATUSES = [status.value for status in Status]
_DAMAGE = (KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError, ValueError, RuntimeError)


@dataclass(frozen=True)
class State:
    """A run as it was, but for its rows.

    Attributes
    ----------
    recipe, wanted : Recipe
        That of the last iterate, and the one that the run was to go on with.
    status, looks, notes
        As in `Run`.
    leg : int
        How many iterates there were when the method last set out.
    rows : dict of str to str
        The fingerprint of the data.
    every : tuple of (int, float)
        The numbers of the `Checkpoint`.
    iterates : Iterates
        As they were.
    start : dict of str to Tensor, or None
        As in `Run`.
    memory : dict of str to Tensor, or None
        The method's; None where it has ended.
    """

    recipe: Recipe
    wanted: Recipe
    status: Status
    looks: int
    notes: list[str]
    leg: int
    rows: dict[str, str]
    every: tuple[int, float]
    iterates: Iterates
    start: Omega | None
    memory: Memory | None


def write_state(run: Stepping, path: Path, rows: dict[str, str], checkpoint: Checkpoint) -> None:
    """Write a run; the file before stays until this one is whole.

    Raises
    ------
    OSError, SafetensorError
        When it cannot be written.
    """
    with run.settled:
        parts, memory, status, leg = run.iterates.parts(), run.memory, run.status, run.leg
        recipe, wanted = run.recipe, run.wanted
    names, tensors = _packed(parts)
    said: dict[str, Any] = {
        "status": status.value,
        "looks": run.looks,
        "notes": run.notes,
        "leg": leg,
        "rows": rows,
        "every": [checkpoint.iterations, checkpoint.seconds],
        "columns": list(parts.names),
        "statuses": _STATUSES,
        "names": names,
        "stride": parts.stride,
        "size": parts.size,
        "since": parts.since,
        "started": run.start is not None,
        "versions": versions(),
    }
    if run.start is not None:
        tensors |= prefixed("start", run.start)
    if memory is not None:
        tensors |= prefixed("memory", memory())
    said["order"] = list(tensors)  # that of the file is its own, and sums over ω depend on it
    header = {"format": FORMAT, "recipe": recipe.to_json(), "run": json.dumps(said)}
    if wanted != recipe:
        header["wanted"] = wanted.to_json()
    with whole_file(path) as file:
        write_tensors(file, header, tensors)


def _packed(parts: Parts) -> tuple[list[str], dict[str, Tensor]]:
    """Return the names of ω in their order, and the tensors of the iterates: those that several share once."""
    last = parts.whole[max(parts.whole)].omega if parts.whole else {}
    names = list(dict.fromkeys([*last, *(name for one in parts.whole.values() for name in one.omega)]))
    tensors = {"table": torch.from_numpy(parts.table), "whole": torch.from_numpy(np.array([*parts.whole], np.int64))}
    for name in names:
        of = [one.omega.get(name) for one in parts.whole.values()]
        of = [value if value is not None and value.ndim else None for value in of]
        different = list({id(value): value for value in of if value is not None}.values())
        if different:
            place = {id(value): index for index, value in enumerate(different)}
            tensors[f"omega.{name}"] = torch.stack([value.detach().cpu() for value in different])
            which = [-1 if value is None else place[id(value)] for value in of]
            tensors[f"which.{name}"] = torch.tensor(which, device="cpu")
    return names, tensors


def _unpacked(said: dict[str, Any], tensors: dict[str, Tensor]) -> Iterates:
    table, columns, names = tensors["table"].numpy(), tuple(said["columns"]), list(said["names"])
    if columns[: len(COLUMNS)] != COLUMNS or table.ndim != 2 or table.shape[1] != len(columns) or not len(table):
        raise ValueError(f"the table of iterates is {table.shape}, expected {len(columns)} columns and a row each.")
    if table.dtype != np.float64 or table[:, columns.index("number")].tolist() != list(range(len(table))):
        raise ValueError(f"its {len(table):,} iterates are not numbered from 0 on.")
    table[:, columns.index("status")] = [
        _STATUSES.index(said["statuses"][int(code)]) for code in table[:, columns.index("status")]
    ]
    # Copied, so that one that is let go of gives its memory back.
    kept = {name: [one.clone() for one in tensors[f"omega.{name}"]] for name in names if f"omega.{name}" in tensors}
    which = {name: tensors[f"which.{name}"].tolist() for name in kept}
    whole: dict[int, Iterate] = {}
    for index, place in enumerate(tensors["whole"].tolist()):
        row, omega = table[place].tolist(), {}
        for name in names:
            if name in kept and which[name][index] >= 0:
                omega[name] = kept[name][which[name][index]]
            elif name in columns and not math.isnan(row[columns.index(name)]):
                omega[name] = tensor(row[columns.index(name)])
        whole[place] = from_row(row[: len(COLUMNS)], omega)
    stride, size = int(said["stride"]), int(said["size"])
    if len(table) - 1 not in whole or min(whole) < 0 or min(stride, size) < 1:
        raise ValueError(f"it keeps {len(whole):,} of its {len(table):,} iterates whole, the last not among them.")
    return Iterates.of_parts(Parts(columns, table, whole, stride, size, read_since(said, len(table))))


def read_state(path: Path) -> State:
    """Read what `write_state` wrote.

    Sizes in the file's header are compared with the file before memory is taken for anything.

    Raises
    ------
    ValueError
        When there is no such file, it is cut off or damaged, or it has another format.
    """
    header, tensors = _content(path)
    try:
        said = json.loads(header["run"])
        tensors = {name: tensors[name] for name in said["order"]}
        recipe = Recipe.from_json(header["recipe"])
        iterations, seconds = said["every"]
        leg, iterates = int(said["leg"]), _unpacked(said, tensors)
        if not 0 <= leg <= len(iterates):
            raise ValueError(f"it set out after {leg:,} of {len(iterates):,} iterates.")
        return State(
            recipe=recipe,
            wanted=Recipe.from_json(header["wanted"]) if "wanted" in header else recipe,
            status=Status(said["status"]),
            looks=int(said["looks"]),
            notes=[str(note) for note in said["notes"]],
            leg=leg,
            rows={str(name): str(value) for name, value in said["rows"].items()},
            every=(int(iterations), float(seconds)),
            iterates=iterates,
            start=within("start", tensors) if said["started"] else None,
            memory=within("memory", tensors) or None,
        )
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__} {error}") from error


@dataclass(frozen=True)
class Head:
    """What a checkpoint says of its run before its numbers are read.

    Attributes
    ----------
    status : Status
        As it was written: RUNNING of a run whose process is gone, or still at work.
    recipe : Recipe
        That of the last iterate.
    rows : dict of str to str
        The fingerprint of the data.
    plain : bool
        Whether its recipe and data alone lead to it: it began where the recipe does, and nothing was changed since.
    """

    status: Status
    recipe: Recipe
    rows: dict[str, str]
    plain: bool


def read_head(path: Path) -> Head | None:
    """Return what is said of the run in a file, None where there is no file.

    Raises
    ------
    ValueError
        When it is no checkpoint.
    """
    if not path.exists():
        return None
    header, _ = _content(path, numbers=False)
    try:
        said = json.loads(header["run"])
        plain = not said["started"] and not said["leg"] and "wanted" not in header
        return Head(Status(said["status"]), Recipe.from_json(header["recipe"]), dict(said["rows"]), plain)
    except _DAMAGE as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__} {error}") from error


def _content(path: Path, *, numbers: bool = True) -> tuple[dict[str, str], dict[str, Tensor]]:
    if not path.is_file():
        raise ValueError(f"{path.parent} holds no checkpoint: {path.name} is missing.")
    try:
        check_tensors(path)
    except ValueError as error:
        raise ValueError(f"{path} is cut off, or is no checkpoint: {str(error).rstrip('.')}.") from error
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise ValueError(f"{path} has format {header.get('format')!r}, expected {FORMAT!r}.")
            names = file.keys() if numbers else ()
            return header, {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is cut off, or is no checkpoint: {str(error).rstrip('.')}.") from error
