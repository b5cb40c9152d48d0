"""A run that a view steers: its worker, the recipe that is wanted of it, another run in its place."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from lsat_explorer.data import Data
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.tune.branch import takes_up
from lsat_explorer.widgets.cells import Cell, worker_of
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = ["Steered", "run_of"]


class Steered:
    """Mixin of a view with buttons for a run; the view says how the run is drawn.

    Running the cell that made the view again closes its worker; the next button gives the run another.
    """

    worker: Worker
    _cell: Cell | None
    _complete = False  # whether the view is made and not closed
    _taken: Recipe  # of the run when `_wanted` was
    _wanted: Recipe
    _planned = False

    @abstractmethod
    def _draw(self) -> None:
        """Show the run as it is; called by its worker at each report."""

    @abstractmethod
    def _say(self) -> Activity:
        """Show in words what the worker is doing, and return it."""

    @abstractmethod
    def _leave(self) -> None:
        """Forget what was chosen of the run, which another one is to replace."""

    @property
    def run(self) -> Any:
        """The run that is shown, with everything it has found."""
        return self.worker.run

    @property
    def recipe(self) -> Recipe:
        """The recipe as it is now, with changes that the run has yet to take up."""
        return self._wanted if self.planned or self.run.recipe is self._taken else self.run.recipe

    @property
    def planned(self) -> bool:
        """Whether the recipe has other pieces than the run, which a restart takes up."""
        return self._planned

    def start(self) -> None:
        """Tune until the run ends. Starting twice is one run; after a stop it goes on from where it was."""
        self._serving().start()
        self._say()

    resume = start

    def pause(self) -> None:
        """Hold after the iteration that is running."""
        self.worker.pause()
        self._say()

    def step(self) -> None:
        """Advance by one iteration, then hold."""
        self._serving().step()
        self._say()

    def stop(self) -> None:
        """End the run; the last accepted values are kept."""
        self.worker.stop()
        self._say()

    def _take_over(self, run: Any) -> None:
        """Go on with another run, once the present one has ended."""
        self._serving().stop()
        self._turn_to(run)
        self.start()

    def _turn_to(self, run: Any) -> None:
        """Let go of the run for another, which waits until what is under way has ended."""
        ended = self._serving().over
        self._leave()
        self._detach()
        self._attach(run, [ended])

    def change(self, recipe: Recipe) -> None:
        """Take another recipe.

        Other hyper-penalties and another method act at the next iteration of the run. Other pieces are for another
        run: it takes the place of one without an iterate at once, otherwise `restart` begins it.

        Parameters
        ----------
        recipe : Recipe
            What is wanted from now on.

        Raises
        ------
        ValueError
            For what is no recipe, or a name in its hyper-penalties that ω does not have.
        """
        if not isinstance(recipe, Recipe):
            raise ValueError(f"The recipe is {recipe!r}, expected a Recipe: give lsat.Recipe(…).")
        run = self.run
        planned = not takes_up(run.recipe, recipe, run.data.task)
        if planned and not run.iterates and not self._serving().alive:
            self._turn_to(type(run)(recipe, run.data))
        else:
            if not planned:
                run.change(recipe)
            self._taken, self._wanted, self._planned = run.recipe, recipe, planned
        if not self.worker.activity.busy:  # a run that goes on reports by itself
            self.worker.report()

    def _attach(self, run: Any, after: Iterable[threading.Event] = ()) -> None:
        """Take up a run, which is not pulled before all of ``after`` has ended; it is drawn at the next report."""
        worker = worker_of(run, self._cell, after)
        with worker.reporting:
            self._taken = self._wanted = run.recipe
            self._planned = False
            self.worker = worker
            worker.listeners.append(self._draw)

    def _detach(self, timeout: float = 0.0) -> None:
        """Let go of the run, which ends if nobody else looks at it."""
        worker = self.worker
        with worker.reporting:
            worker.listeners.remove(self._draw)
        if not worker.listeners:
            worker.close(timeout)

    def _serving(self) -> Worker:
        """Return the worker; a new one, if running the cell again has ended the one of a view that is still shown."""
        if not self._complete:
            raise ValueError(f"This {type(self).__name__} was closed: make a new one.")
        if self.worker.closed:
            self._detach()
            self._attach(self.run)
        return self.worker


def run_of(source: Any, recipe: Any, view: str) -> Any:
    """Return the run to show: ``source`` itself, or a new one of the recipe on the data; ``view`` got them."""
    if hasattr(source, "steps"):
        if recipe is not None:
            raise ValueError(f"{view} got a run and a recipe: a run has its own, change it with run.change(recipe).")
        if source.data is None:
            raise ValueError(f"{view} got a run without its rows: load it with Run.load(folder, data).")
        return source
    if isinstance(source, Recipe):
        raise ValueError(f"{view} got the recipe first: give {view}(data, recipe), the rows before the recipe.")
    if not isinstance(source, Data):
        came = f"a {type(source).__name__}"
        if not isinstance(recipe, Recipe | None):
            came += f" and a {type(recipe).__name__}"
        raise ValueError(
            f"{view} got {came}, expected Data and a Recipe: make data of your rows first, "
            f"data = lsat.Data.from_arrays(X, y), then {view}(data, lsat.Recipe())."
        )
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{view} got data and {_told(recipe)}: give {view}(data, recipe), or {view}(run).")
    from lsat_explorer.tune.run import Run

    return Run(recipe, source)


def _told(recipe: Any) -> str:
    return "no recipe" if recipe is None else f"a {type(recipe).__name__} as recipe"
