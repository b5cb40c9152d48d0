"""A run as a folder of files that a person can read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.torch import save_file

from ..data.data import Data
from ..data.safe_file import read_tensors, refuse_path, text_in
from ..data.whole_file import whole_file
from ..data.whole_files import in_force, put_in_place, whole_files
from ..model.piece import tensor
from ..model.prepared import Prepared
from ..model.recipe import Recipe
from .checkpoint import Checkpoint, Keeper
from .checkpoint_file import NAME
from .entry_names import EntryNames
from .fingerprint import fingerprint, is_of, other_data, versions
from .fitted import FittedModel
from .iterate import SCALARS, Iterate, Status, read_field
from .iterates import Iterates, read_since
from .last_look import TestResult
from .run import Run
from .run_folder import DAMAGE, FILES, START, read_about, refuse_foreign

__all__ = ["about", "classes_of", "load_run", "names_of", "prepared_of", "save_run"]

_MOST_ITERATES = 2**30
_Content = TypeVar("_Content")
_WITHOUT = (
    "This run was loaded without its rows: use Run.load(folder, data) to go on; its model is in model.safetensors."
)


def save_run(run: Run, folder: Path) -> None:
    """Write recipe.json, iterates.csv, run.json and model.safetensors, and where a branch began, start.safetensors.

    Together, in one step. After that a checkpoint that is there becomes that of this run.

    Raises
    ------
    ValueError
        When ``folder`` is a file, or holds a file under one of these names that is none of a run.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give the name of a folder, a new one or that of an older run.")
    refuse_path(folder)
    refuse_foreign(folder)
    model = run.model
    with whole_files(folder, FILES) as new:
        (new / "recipe.json").write_text(run.recipe.to_json(), encoding="utf-8")
        run.history().to_csv(new / "iterates.csv", index=False)
        model.save(new / "model.safetensors")
        if run.start is not None:
            with whole_file(new / START) as file:
                save_file({name: value.cpu().contiguous() for name, value in run.start.items()}, file)
        said = about(run)
        # What UTF-8 lacks, as in the name of data that a file has given, is then escaped as JSON has it.
        text = json.dumps(said, indent=2, ensure_ascii=False)
        (new / "run.json").write_text(text, encoding="utf-8", errors="backslashreplace")
    if (folder / NAME).is_file():
        keeper = run.keeper
        if keeper is None or keeper.path != folder.absolute() / NAME:
            keeper = Keeper(Checkpoint(str(folder)))
        keeper.write(run)


def about(run: Run) -> dict[str, Any]:
    """Return what run.json says of a run, beside its recipe and its numbers.

    Returns
    -------
    dict
        ``status``, ``looks``, ``message``, ``notes``; ``since`` as in `Iterates`; ``data``, the rows by ``name`` and
        ``sha256``; ``versions`` by the name of the package. Of a run that was loaded without its rows it is what was
        saved.
    """
    if isinstance(run, _Record):
        return run.about
    said: dict[str, Any] = {"status": run.status.value, "looks": run.looks, "since": run.iterates.since}
    said |= {"data": fingerprint(run.data, run.recipe), "message": run.message}
    return said | {"notes": run.notes, "versions": versions()}


def classes_of(run: Run) -> tuple[Any, ...] | None:
    """Return the classes of a run, also of one that was loaded without its rows; None in regression."""
    return run.saved.classes if isinstance(run, _Record) else run.data.classes


def names_of(run: Run) -> EntryNames:
    """Return the names of the entries of ω, also of a run without rows; before its start, of columns alone."""
    if isinstance(run, _Record):
        return EntryNames(run.recipe, run.saved.feature_names, run.saved.blocks)
    columns = {} if run.problem is None else run.problem.columns
    return EntryNames(run.recipe, run.data.feature_names, columns)


def prepared_of(run: Run) -> Prepared:
    """Return the features of a run, also of one that was loaded without its rows."""
    return run.saved.prepared if isinstance(run, _Record) else run.model.prepared


def load_run(folder: Path, data: Data | None) -> Run:
    """Read the folder again, without its rows where ``data`` is None."""
    if not isinstance(data, Data | None):
        raise ValueError(f"data is a {type(data).__name__}, expected Data: give the data that the run was run on.")
    with suppress(OSError):  # in a folder that is read-only they are read from where they are
        put_in_place(folder, FILES)
    said = _read(folder, "run.json", read_about)
    listed = _read(folder, "iterates.csv", _iterates)
    iterates = _read(folder, "run.json", lambda _: Iterates(listed, read_since(said, len(listed))))
    recipe = _read(folder, "recipe.json", lambda path: Recipe.from_json(text_in(path)))
    model = _read(folder, "model.safetensors", FittedModel.load)
    if data is not None:
        rows = dict(said.get("data") or {})
        if not is_of(rows, data, recipe):
            raise ValueError(f"{folder} was run on {other_data(rows, data)}")
    run = Run(recipe, data) if data is not None else _Record(recipe, said, model)
    run.start = _read(folder, START, lambda path: read_tensors(path)[1]) if in_force(folder, START).is_file() else None
    status = Status(said["status"])
    run.restore(iterates, model.omega, status if status.final else Status.BROKEN_OFF, int(said["looks"]))
    run.notes = [str(note) for note in said.get("notes", [])]
    run.told = str(said.get("message", "")) if status.final else ""
    return run


def _read(folder: Path, name: str, reader: Callable[[Path], _Content]) -> _Content:
    """Read one file, or say which one is missing or damaged."""
    path = in_force(folder, name)
    if not path.is_file():
        hint = "; give a folder that Run.save or `lsat-explorer tune --out` wrote"
        if (folder / NAME).is_file():
            hint = f", but one broken off, with which `lsat-explorer tune --resume {folder}` or Run.resume goes on"
        raise ValueError(f"{folder} holds no saved run: {name} is missing{hint}.")
    try:
        return reader(path)
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def _iterates(path: Path) -> list[Iterate]:
    # By float() alone, which gives every number back to its last digit.
    rows = list(csv.DictReader(io.StringIO(text_in(path, _MOST_ITERATES))))
    if not rows:
        raise ValueError("it has no iterates.")
    iterates = [_iterate(row) for row in rows]
    if [iterate.number for iterate in iterates] != list(range(len(rows))):
        raise ValueError(f"its {len(rows):,} rows are not numbered from 0 on.")
    return iterates


def _iterate(row: dict[str, Any]) -> Iterate:
    """Return an iterate with the scalars of ω that the table holds."""
    if None in row or None in row.values():
        raise ValueError("a row has more entries than there are columns, or fewer.")
    values = {name: read_field(name, _number(row[name])) for name in SCALARS if name != "status"}
    # An entry that the loss has gained or lost during the run is blank in the rows that had none.
    known = {name: _number(value) for name, value in row.items() if name not in SCALARS}
    omega = {n: tensor(v) for n, v in known.items() if not math.isnan(v)}
    return Iterate(**values, status=Status(row["status"]), omega=omega)


def _number(entry: str) -> float:
    """Return what stands in a table: a number, a flag, or nothing, which is NaN."""
    if entry in ("True", "False"):
        return float(entry == "True")
    return float(entry or "nan")


class _Record(Run):
    """A run read back without its rows: it can be looked at, not continued."""

    def __init__(self, recipe: Recipe, about: dict[str, Any], saved: FittedModel) -> None:
        super().__init__(recipe, None)  # type: ignore[arg-type]
        self.about, self.saved = about, saved

    @property
    def message(self) -> str:
        """The sentence that was saved."""
        return str(self.about["message"])

    def steps(self) -> Iterator[Iterate]:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)

    def change(self, recipe: Recipe) -> None:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)

    def branch(self, number: int, recipe: Recipe | None = None) -> Run:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)

    @property
    def model(self) -> FittedModel:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)

    def test(self) -> TestResult:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)

    def weights(self) -> np.ndarray:
        """Refuse: there are no rows."""
        raise ValueError(_WITHOUT)
