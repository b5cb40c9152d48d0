"""A run, live: its curves, its buttons, its state in words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ipywidgets

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.cells import end_stale, this_cell
from lsat_explorer.widgets.controls import COMMANDS, Controls
from lsat_explorer.widgets.facts import devices, tolerance
from lsat_explorer.widgets.history import history
from lsat_explorer.widgets.live_curves import LiveCurves
from lsat_explorer.widgets.run_list import RunList, looked_at
from lsat_explorer.widgets.run_table import RunTable
from lsat_explorer.widgets.settings import OnlyKnown, refuse_unknown
from lsat_explorer.widgets.shown import Shown
from lsat_explorer.widgets.steered import Steered, run_of
from lsat_explorer.widgets.threads import release_team
from lsat_explorer.widgets.worker import Activity

__all__ = ["LiveTuner"]


class LiveTuner(OnlyKnown, Steered, Shown, ipywidgets.VBox):
    """Watch a run and steer it: validation loss, step size, stopping residual, every run so far.

    A click on a point of the curve marks an iterate: `branch` goes on from there as another run.

    The run goes on in a thread of the kernel, so other cells may be run meanwhile. Running the cell that made a tuner
    again ends the run that the cell began before.

    Parameters
    ----------
    source : Run or Data
        A run, new or already begun, or the data for a new one.
    recipe : Recipe, optional
        The recipe of a new run; taken from the run when ``source`` is one.
    **settings
        ``layout``.

    Attributes
    ----------
    plot : plotly.graph_objects.FigureWidget
        The three panels, and two more for the hyper-parameters on demand.
    controls : Controls
        The buttons, counts and the sentence.
    runs : RunList
        Every run so far: name them, note something, draw them beside each other, delete them.
    table : RunTable
        The runs on the page.
    trouble : callable
        Returns what is said below the table of runs: by default why the run could not be kept.
    look_of : callable
        Returns at which iterate a run was last tested, and the loss there, which is drawn; None for none.
    listeners : list of callable
        Each is called after every report with the present `Activity`, from the thread that reports.

    Raises
    ------
    TypeError
        For an unknown setting.
    ValueError
        If ``source`` is data and the recipe is missing.

    Examples
    --------
    >>> tuner = LiveTuner(data, recipe)  # doctest: +SKIP
    >>> tuner.start()  # doctest: +SKIP
    >>> tuner.wait(timeout=60)  # doctest: +SKIP
    """

    plot: Any
    controls: Controls
    runs: RunList
    table: RunTable
    trouble: Callable[[], str]
    look_of: Callable[[Any], tuple[int, float] | None]
    listeners: list[Callable[[Activity], None]]

    _shown: Any = None  # another run than the one that is steered
    _complained = ""

    def __init__(self, source: Any, recipe: Recipe | None = None, **settings: Any) -> None:
        refuse_unknown(type(self), settings)
        run = run_of(source, recipe, type(self).__name__)
        self._wording = threading.Lock()
        self.listeners = []
        self.trouble = lambda: getattr(self.run, "unsaved", "")
        self.look_of = lambda _run: None
        self._cell = this_cell()
        self._curves = LiveCurves(self._click)
        self.plot = self._curves.figure
        self.controls = Controls(devices=devices(), device=run.recipe.device)
        self.controls.obey({name: getattr(self, name) for name in COMMANDS})
        self.controls.observe(self._choose_device, "device")
        self.controls.observe(self._redraw, ["marked", "with_omega"])
        self.runs = RunList()
        self.table = RunTable(self.runs, numbers=getattr(run.data, "task", "classification") == "regression")
        self.runs.changed = self._edited
        self.table.observe(lambda _change: self.look_at(self.table.shown.run), "chosen")
        self._attach(run, end_stale(self._cell))
        with self.worker.reporting:
            self._draw()
        super().__init__(children=[self.plot, self.controls, self.table], **settings)
        for name in ("lsat", "lsat-live", "lsat-tuner"):
            self.add_class(name)
        self._complete = True
        release_team()  # made in a cell, started by a button in another thread

    def start(self) -> None:
        """Tune until the run ends, and show it; after a stop it goes on from where it was."""
        self.back()
        super().start()

    resume = start

    def step(self) -> None:
        """Advance by one iteration, then hold, and show it."""
        self.back()
        super().step()

    def back(self) -> None:
        """Show the run that the buttons steer."""
        self.table.chosen = 0

    def go_on(self) -> None:
        """Go on with the run that is shown; the one that the buttons steered is stopped and stays in the table."""
        kept, later = self.table.shown, self.recipe if self.planned else None
        if kept.run is not self.run:
            self._take_over(kept.run)
            if later is not None:  # pieces that were assembled meanwhile still wait for a restart
                self.change(later)
        else:
            self.start()

    def restart(self, recipe: Recipe | None = None) -> None:
        """Begin a new run from the start. The old one is stopped where it is and stays in the table.

        Parameters
        ----------
        recipe : Recipe, optional
            Another recipe; the present one, with the chosen device, by default.
        """
        run = type(self.run)(recipe or self.recipe.replace(device=self.controls.device), self.run.data)
        self._take_over(run)

    def branch(self, number: int | None = None) -> None:
        """Begin a new run from the hyper-parameters of an iterate of the shown run, with the settings that it shows.

        Parameters
        ----------
        number : int, optional
            Of the iterate; the marked one by default. Where its row weights are no longer kept, the branch begins at
            the nearest one that has them.
        """
        number = self.controls.marked if number is None else number
        if number is None:
            raise ValueError("No iteration is marked: click a point of the curve, or give its number.")
        kept, wanted = self.table.shown, self.recipe
        if number in range(len(kept.run.iterates)):
            number = kept.run.iterates.whole(number).number
        recipe = kept.used if self.planned or kept.run is not self.run else wanted
        run, later = kept.run.branch(number, recipe), wanted if self.planned else None
        self.runs.branching(kept, number)
        self._take_over(run)
        if later is not None:  # pieces that were assembled meanwhile still wait for a restart
            self.change(later)

    def _leave(self) -> None:
        self._shown, self.table.chosen, self.controls.marked = None, 0, None

    def look_at(self, run: Any | None) -> None:
        """Show the curves of another run, while the buttons go on steering this one, which the panel then says.

        Parameters
        ----------
        run : Run or None
            The run to show; None shows this one again.
        """
        before, self._shown = self._shown, None if run is self.run else run
        if self._shown is not before:
            self.controls.marked = None
        self.worker.report()

    def wait(self, timeout: float | None = None) -> None:
        """Block until the run has ended, and save its picture in the notebook.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most; no limit by default.

        Raises
        ------
        TimeoutError
            If the run still goes on.
        BaseException
            The error that ended the run, if one did.
        """
        try:
            self.worker.wait(timeout)
        finally:
            self.save_picture()

    def close(self) -> None:
        """Stop the run and take the view away."""
        if not self._complete:  # called once more at the end, and for an object whose making failed
            return
        self._complete = False
        self._detach(5.0)
        for part in (self._curves, self.controls, self.table):
            part.close()
        super().close()

    def picture(self) -> bytes:
        """Return curves and numbers as a PNG."""
        from lsat_explorer.plots import explorer_picture

        curves = history(self.run.iterates)
        line = tolerance(self.used(self.run))
        return explorer_picture(
            curves, line, None, [], self.controls.sentence, self._title(), judging=self.run.recipe.criterion.judging
        )

    def sentence(self) -> str:
        """Return what the view is."""
        return "LiveTuner: a run of least squares auto-tuning"

    def _title(self) -> str:
        return f"Live tuner · {self.run.data.name}"

    def _draw(self) -> None:
        """Show the run as it is. Called by the worker's thread, and by the buttons, never by both at once."""
        activity = self._say()  # words first: the page shows them while the curves are still on their way
        if activity is Activity.STOPPING:
            return  # it has to end now, and its end is reported
        self.runs.follow(self.run, self.recipe, self.worker.seconds)
        self.table.refresh(activity.busy)
        self._draw_curves()
        for listener in list(self.listeners):
            listener(activity)
        self.complain()
        self.save_at_rest(self.worker)

    def complain(self) -> None:
        """Say what `trouble` there is, as long as no command has said something else there."""
        problem = self.trouble()
        if problem != self._complained:
            if self.table.problem in ("", self._complained):
                self.table.problem = problem
            self._complained = problem

    def used(self, run: Any) -> Recipe:
        """Return the recipe that ends a run: the one it used where it is over, or where another is steered."""
        kept = self.runs.of(run)
        over = self.worker.activity in (Activity.ENDED, Activity.FAILED) and bool(run.iterates)
        if run is self.run and not over:
            return self.recipe
        return run.recipe if kept is None else kept.used

    def _draw_curves(self) -> None:
        run = self._shown or self.run
        self._curves.draw(run, self.used(run), self.runs.overlaid, self.controls.marked, self.look_of(run))

    def _say(self) -> Activity:
        """Show counts and words alone, which is quick, and return what the worker is doing."""
        with self._wording:  # a button never waits for the curves of a report under way
            kept = None if self._shown is None else self.runs.of(self._shown)
            looking = {} if kept is None else looked_at(kept, self.runs[-1])
            return self.controls.tell(self.worker, self.recipe, self._shown or self.run, looking)

    def _redraw(self, _change: Any) -> None:
        """Draw the curves with another mark, or with more panels, or fewer."""
        self._say()
        with self.worker.reporting:
            self._curves.with_omega(self.controls.with_omega)
            self._draw_curves()

    def _click(self, number: int) -> None:
        self.controls.marked = None if number == self.controls.marked else number

    def _edited(self) -> None:
        self.table.edited()
        with self.worker.reporting:
            self._draw_curves()

    def _choose_device(self, change: Any) -> None:
        if change.new == self.recipe.device:
            return
        if self.worker.activity is Activity.READY and not self.run.iterates:
            self.change(self.recipe.replace(device=change.new))
        else:
            self.controls.sentence = f"Restart to go on with {self.controls.devices.get(change.new, change.new)}."
