"""A run as a folder of files that a person can read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.data import Data
from ..model.recipe import Recipe
from .fitted import FittedModel
from .iterate import SCALARS, Iterate, Status
from .run import Run

__all__ = ["load_run", "save_run"]


def save_run(run: Run, folder: Path) -> None:
    """Write recipe.json, iterates.csv, run.json and model.safetensors."""
    model = run.model
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recipe.json").write_text(run.recipe.to_json(), encoding="utf-8")
    run.history().to_csv(folder / "iterates.csv", index=False)
    model.save(folder / "model.safetensors")
    about = {"status": run.status.value, "looks": run.looks, "data": repr(run.data), "message": run.message}
    (folder / "run.json").write_text(json.dumps(about, indent=2, ensure_ascii=False), encoding="utf-8")


def load_run(folder: Path, data: Data | None) -> Run:
    """Read the folder again, without its rows where ``data`` is None."""
    import pandas

    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        table = pandas.read_csv(folder / "iterates.csv")
        recipe = Recipe.from_json((folder / "recipe.json").read_text(encoding="utf-8"))
        omega = FittedModel.load(folder / "model.safetensors").omega
    except FileNotFoundError as error:
        raise ValueError(f"{folder} holds no saved run: {Path(str(error.filename)).name} is missing.") from error
    run = Run(recipe, data) if data is not None else _Record(recipe, about)
    iterates = [_iterate({str(k): v for k, v in row.items()}) for row in table.to_dict("records")]
    run.restore([*iterates[:-1], replace(iterates[-1], omega=omega)], Status(about["status"]), about["looks"])
    return run


def _iterate(row: dict[str, Any]) -> Iterate:
    values = {name: row[name] for name in SCALARS if name != "status"}
    return Iterate(**values, status=Status(row["status"]), omega={})


class _Record(Run):
    """A run read back without its rows: it can be looked at, not continued."""

    def __init__(self, recipe: Recipe, about: dict[str, Any]) -> None:
        super().__init__(recipe, None)  # type: ignore[arg-type]
        self._about = about

    @property
    def message(self) -> str:
        """The sentence that was saved."""
        return str(self._about["message"])

    def steps(self) -> Iterator[Iterate]:
        """Refuse: there are no rows."""
        raise ValueError("This run was loaded without its rows: use Run.load(folder, data) to go on.")
