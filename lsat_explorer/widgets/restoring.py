"""What an Explorer keeps of its runs beside the notebook, and takes up again in another kernel."""

from __future__ import annotations

import json
from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.tune.run import Run
from lsat_explorer.widgets.cells import this_cell
from lsat_explorer.widgets.kept_runs import RunFolder, Session, kept_beside, left_behind, sessions
from lsat_explorer.widgets.live_tuner import LiveTuner
from lsat_explorer.widgets.run_list import KeptRun
from lsat_explorer.widgets.worker import Activity

__all__ = ["Restoring"]


class Restoring:
    """Mixin of a view around a `LiveTuner` whose runs are kept in a folder beside the notebook."""

    tuner: LiveTuner
    _folder: RunFolder

    def _begin_keeping(self, keep: Any) -> None:
        """Keep runs from now on, as far as ``keep`` and LSAT_RUNS want it."""
        data, runs = self.tuner.run.data, self.tuner.runs
        base = kept_beside(data, keep) if isinstance(data, Data) else None
        self._folder = RunFolder(base, data, this_cell())
        edited = runs.changed
        runs.gave_way = self._folder.forget

        def changed() -> None:
            edited()
            self._keep()

        runs.changed = changed
        if left_behind(self._folder.base, data):
            where = base.name if base is not None else ""
            self.tuner.table.hint = f"Earlier runs are kept in {where}: restore() takes them up."
        self.tuner.trouble = lambda: self._folder.problem or getattr(self.tuner.run, "unsaved", "")

    def _keep(self) -> None:
        """Keep what has changed, and say below the table of runs what could not be kept."""
        worker = self.tuner.worker
        if self.tuner.run.iterates:  # from then on they are another Explorer's
            self.tuner.table.hint = ""
        busy = worker.activity.busy or (worker.activity is Activity.PAUSED and not worker.resting)
        self._folder.follow(self.tuner.runs, self.tuner.recipe, busy)
        self.tuner.complain()

    def restore(self) -> list[KeptRun]:
        """Take up what an Explorer of an earlier kernel has left beside the notebook: its recipe and its runs.

        The runs are those of the same rows that were kept last, first of all by the same cell; those of another
        notebook are left to it. One that was broken off is as its last checkpoint has it, and `start` goes on with it
        as if it had not been. Verdicts are kept by themselves: they are there without this.

        Returns
        -------
        list of KeptRun
            The runs that were found, as in ``runs``.

        Raises
        ------
        ValueError
            When there is nothing to take up, or this Explorer has runs already.

        Examples
        --------
        >>> explorer = Explorer(data)  # doctest: +SKIP
        >>> explorer.restore()  # doctest: +SKIP
        [KeptRun('Run 1', Run(converged, 9 iterations, loss 1.7442))]
        """
        tuner, base = self.tuner, self._folder.base
        if any(kept.run.iterates for kept in tuner.runs) or tuner.worker.alive:
            raise ValueError("This Explorer has runs already: call restore() on a new one, in another cell.")
        if base is None:
            raise ValueError("This Explorer keeps no runs: make it with keep=True, or set LSAT_RUNS to a folder.")
        damaged = []
        for session in sessions(base, tuner.run.data, self._folder.cell):
            try:
                restored, runs, recipe = _read(session, tuner.run.data)
            except ValueError as error:
                damaged.append(str(error))
                continue
            self._folder.take_up(session, runs)
            self._show_restored(restored, recipe)
            return restored
        found = f" {' '.join(damaged)}" if damaged else ""
        raise ValueError(f"There are no runs on {tuner.run.data!r} to take up in {base}.{found}")

    def _show_restored(self, restored: list[KeptRun], recipe: Recipe) -> None:
        tuner = self.tuner
        tuner.runs.put_back(restored)
        tuner._turn_to(restored[-1].run)
        tuner.worker.report()
        if recipe != tuner.recipe:
            tuner.change(recipe)
        self._show_recipe(tuner.recipe)

    def _show_recipe(self, recipe: Recipe) -> None:
        raise NotImplementedError


def _read(session: Session, data: Data) -> tuple[list[KeptRun], dict[str, Run], Recipe]:
    """Return the runs of a session in their order, those by their folders, and the recipe that was assembled."""
    runs: dict[str, Run] = {}
    restored: dict[int, KeptRun] = {}
    origins: dict[KeptRun, tuple[int, int] | None] = {}
    missing = []
    for entry in session.entries():
        try:
            run = Run.resume(session.place / entry["folder"], data)
            kept = KeptRun(run, run.recipe, int(entry["number"]))
            kept.name, kept.note = str(entry["name"]), str(entry["note"])
            origin = entry["origin"]
            origins[kept] = None if origin is None else (int(origin[0]), int(origin[1]))
            restored[kept.number], runs[entry["folder"]] = kept, run
        except (ValueError, KeyError, TypeError, IndexError) as error:
            missing.append(str(error))  # the others are there all the same
    if not restored:
        raise ValueError(" ".join(missing) or f"{session.place} lists no runs.")
    for kept, origin in origins.items():  # the run that one branched from may have been taken up again after it
        if origin is not None and origin[0] in restored:
            kept.origin = restored[origin[0]], origin[1]
    return list(restored.values()), runs, Recipe.from_json(json.dumps(session.about.get("recipe")))
