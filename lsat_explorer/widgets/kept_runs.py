"""The runs of a view, kept in a folder beside the notebook, so that a kernel that is gone has lost none of them."""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.data.locks import Held, can_lock, locked
from lsat_explorer.data.whole_file import whole_file
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.tune.checkpoint import Checkpoint, Keeper
from lsat_explorer.tune.fingerprint import fingerprint
from lsat_explorer.tune.run import Run
from lsat_explorer.widgets.cells import Cell
from lsat_explorer.widgets.row_verdicts import usual_path
from lsat_explorer.widgets.run_list import KeptRun

__all__ = ["RunFolder", "Session", "kept_beside", "left_behind", "sessions"]

FORMAT = 1
_ABOUT = "runs.json"
_LARGEST = 2**26
_open: weakref.WeakSet[RunFolder] = weakref.WeakSet()


def kept_beside(data: Data, keep: Any) -> Path | None:
    """Return the folder for the runs on some data: in the working folder, that of the notebook; None keeps none.

    Parameters
    ----------
    data : Data
        Whose rows.
    keep : bool, path or None
        None is what LSAT_RUNS says: the folder in which to have it, or ``off``; the working folder where it is unset.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> kept_beside(lsat.datasets.digits(), True).name
    'lsat-runs-digits'
    """
    usual = f"lsat-runs{usual_path(data).stem.removeprefix('verdicts')}"
    told = os.environ.get("LSAT_RUNS", "")
    if keep is None:
        return None if told == "off" else Path(told or Path.cwd()).expanduser().absolute() / usual
    if isinstance(keep, bool):
        return Path.cwd() / usual if keep else None
    if not isinstance(keep, str | os.PathLike):
        raise ValueError(f"keep is {keep!r}, expected True, False or the name of a folder.")
    return Path(keep).expanduser().absolute()


def notebook() -> str:
    """Return the name of the notebook, as far as its front end tells; empty where it does not."""
    told = os.environ.get("JPY_SESSION_NAME", "")
    with suppress(ImportError, AttributeError):
        from IPython.core.getipython import get_ipython

        told = str(get_ipython().user_ns.get("__vsc_ipynb_file__", told))  # type: ignore[union-attr]
    return Path(told).name


class RunFolder:
    """The runs of one view: a folder of its own within that for the data, made when the first run begins.

    Other views, notebooks and kernels have others, so that nothing mixes. Nothing that was computed is
    deleted from it: a run gives way to another only as long as it has no iterate.

    Parameters
    ----------
    base : Path or None
        The folder for runs on the data; None keeps nothing.
    data : Data
        Whose rows.
    cell : tuple of str, optional
        The cell that makes the view; made by an earlier execution of it, another view lets go of its folder.

    Attributes
    ----------
    place : Path or None
        The folder, None while nothing is kept.
    problem : str
        Why the last change could not be kept, empty where it was.
    """

    def __init__(self, base: Path | None, data: Data, cell: Cell | None) -> None:
        self.base, self.data, self.cell = base, data, cell
        self.place: Path | None = None
        self.problem = ""
        self._keepers: weakref.WeakKeyDictionary[Any, Keeper] = weakref.WeakKeyDictionary()
        self._kept: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()
        self._own: weakref.WeakSet[Any] = weakref.WeakSet()  # runs that did not come from an earlier kernel
        self._count, self._said = 0, ""
        self._rows: dict[str, str] | None = None
        self._lost: list[dict[str, Any]] = []
        self._lock: Held | None = None
        self._following = threading.Lock()  # reports come from the worker and from the buttons
        for other in list(_open):
            if cell is not None and other.cell is not None and other.cell[0] == cell[0] and other.cell[1] != cell[1]:
                other.release()
        if base is not None:
            _open.add(self)

    def release(self) -> None:
        """Let go of the folder, for another view to take up; nothing is kept from now on."""
        _open.discard(self)
        self.base = self.place = None
        if self._lock is not None:
            self._lock.let_go()

    def follow(self, runs: Sequence[KeptRun], recipe: Recipe, busy: bool) -> None:
        """Keep what has changed of the runs, and of the recipe that is assembled.

        Parameters
        ----------
        runs : sequence of KeptRun
            All of them, the steered one at the end.
        recipe : Recipe
            As it is now.
        busy : bool
            Whether the last run is being computed: it then keeps itself.
        """
        last = runs[-1:]
        began = [k for k in runs if isinstance(k.run, Run) and (k.run.iterates or (busy and k in last))]
        if self.base is None or not began:
            return
        with self._following:
            try:
                self._write(began, recipe, busy)
                self.problem = next((k.problem for k in self._keepers.values() if k.problem), "")
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error).rstrip(".")
                where = self.place or self.base
                self.problem = f"The runs could not be kept in {where}: {why}. They are in memory alone."

    def _write(self, runs: Sequence[KeptRun], recipe: Recipe, busy: bool) -> None:
        place = self._made()
        for kept in runs:
            self._keep(place, kept.run, busy and kept is runs[-1])
        said = json.dumps(self._about(runs, recipe), ensure_ascii=False, indent=1)
        if said != self._said:
            with whole_file(place / _ABOUT) as file:
                # Half a surrogate pair, as a name may hold, is written as the escape that JSON has for it.
                file.write_bytes(said.encode("utf-8", "backslashreplace"))
            self._said = said

    def forget(self, kept: KeptRun) -> None:
        """Remove what is there of a run that gave way to another before its first iterate."""
        keeper = self._keepers.pop(kept.run, None)
        if keeper is not None and kept.run in self._own:
            kept.run.keeper = None if kept.run.keeper is keeper else kept.run.keeper
            with suppress(OSError):
                keeper.path.unlink(missing_ok=True)
                keeper.path.parent.rmdir()

    def take_up(self, session: Session, restored: dict[str, Run]) -> None:
        """Go on with the folder of a view that is gone: its runs by the names of their folders.

        What it says of runs that could not be read stays in it.
        """
        self._lost = [entry for entry in session.about["runs"] if entry["folder"] not in restored]
        self.place, self._lock = session.place, session.lock
        numbers = [int(path.name) for path in session.place.iterdir() if path.name.isdigit()]
        self._count = max(numbers, default=0)
        for run in restored.values():
            if run.keeper is not None:
                self._keepers[run] = run.keeper
                self._kept[run] = len(run.iterates), run.looks

    def _made(self) -> Path:
        if self.place is None:
            assert self.base is not None
            self.base.mkdir(parents=True, exist_ok=True)
            place = self.base / f"{datetime.now():%Y-%m-%d-%H%M%S}-{secrets.token_hex(2)}"
            place.mkdir()
            self.place, self._lock = place, locked(place)
        self._rows = self._rows or fingerprint(self.data)
        return self.place

    def _keep(self, place: Path, run: Run, busy: bool) -> None:
        """Have a run keep itself, and write what it has not."""
        keeper = self._keepers.get(run)
        if keeper is None:
            self._count += 1
            keeper = self._keepers[run] = Keeper(Checkpoint(str(place / str(self._count)), seconds=10.0))
            self._own.add(run)
            if run.keeper is None:
                run.keeper = keeper
        state = len(run.iterates), run.looks
        if not busy and self._kept.get(run) != state:
            keeper.write(run)
            if not keeper.problem:
                self._kept[run] = state

    def _about(self, runs: Sequence[KeptRun], recipe: Recipe) -> dict[str, Any]:
        folders = {kept.number: self._keepers[kept.run].path.parent.name for kept in runs}
        return {
            "format": FORMAT,
            "notebook": notebook(),
            "cell": self.cell[0] if self.cell is not None else "",
            "rows": self._rows,
            "recipe": json.loads(recipe.to_json()),
            "runs": [
                *self._lost,
                *(
                    {
                        "folder": folders[kept.number],
                        "number": kept.number,
                        "name": kept.name,
                        "note": kept.note,
                        "origin": None if kept.origin is None else [kept.origin[0].number, kept.origin[1]],
                    }
                    for kept in runs
                ),
            ],
        }


@dataclass(frozen=True)
class Session:
    """The folder of a view that is gone: where, what it says, and the lock that keeps others from it."""

    place: Path
    about: dict[str, Any]
    lock: Held | None

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield what is said of each run whose folder is one of this session.

        Raises
        ------
        ValueError
            When it is not what a view writes.
        """
        for entry in self.about["runs"]:
            if not isinstance(entry, dict) or not re.fullmatch(r"[0-9]{1,9}", str(entry.get("folder"))):
                raise ValueError(f"{self.place / _ABOUT} is damaged: a run is {str(entry)[:80]}.")
            yield entry


def sessions(base: Path, data: Data, cell: Cell | None) -> Iterator[Session]:
    """Yield what views that are gone have left of runs on the same rows, that of the same cell first, then the newest.

    Where the names of both notebooks are known they are the same. Each is locked; one that is not taken is let go of.
    """
    for place, about in _found(base, cell, "sha256", fingerprint(data)["sha256"]):
        lock = locked(place)
        if lock is not None or not can_lock():
            yield Session(place, about, lock)


def left_behind(base: Path | None, data: Data) -> bool:
    """Whether views of this notebook that are gone have left runs on data of this name and size; reads no row."""
    for place, _ in [] if base is None else _found(base, None, "name", repr(data)):
        lock = locked(place)
        if lock is not None:
            lock.let_go()
        if lock is not None or not can_lock():
            return True
    return False


def _found(base: Path, cell: Cell | None, by: str, rows: str) -> list[tuple[Path, dict[str, Any]]]:
    """Return the folders of views whose rows are these, by their ``sha256`` or their ``name``, with what they say."""
    mine, name = "" if cell is None else cell[0], notebook()
    found = []
    for path in base.glob(f"*/{_ABOUT}"):
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            if path.stat().st_size > _LARGEST:
                continue
            about = json.loads(path.read_text(encoding="utf-8"))
            same = about["format"] == FORMAT and about["rows"][by] == rows and isinstance(about["runs"], list)
            if same and (not name or not about["notebook"] or about["notebook"] == name):
                found.append((bool(mine) and about["cell"] == mine, path.stat().st_mtime, path.parent, about))
    return [(place, about) for *_, place, about in sorted(found, key=lambda entry: entry[:2], reverse=True)]
