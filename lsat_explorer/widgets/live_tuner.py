"""A run, live: its curves, its buttons, its state in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from lsat_explorer.engines import available_devices
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.live import run_plotly, update_run
from lsat_explorer.tune.iterate import Status
from lsat_explorer.widgets.base import refuse_unknown
from lsat_explorer.widgets.cells import this_cell, worker_of
from lsat_explorer.widgets.controls import Controls
from lsat_explorer.widgets.facts import tolerance
from lsat_explorer.widgets.figure import figure_widget
from lsat_explorer.widgets.history import Columns
from lsat_explorer.widgets.shown import Shown
from lsat_explorer.widgets.worker import Activity

__all__ = ["LiveTuner"]

_TONES = {
    Status.CONVERGED: "good",
    Status.MAX_ITERATIONS: "warn",
    Status.STALLED: "warn",
    Status.NOT_FINITE: "bad",
}

_SHORT_OF_GOAL = (Status.READY, Status.MAX_ITERATIONS, Status.STOPPED_BY_USER)
"""Ends after which more iterations may help."""


class LiveTuner(Shown, ipywidgets.VBox):
    """Watch a run and steer it: validation loss, step size and stopping residual, start, pause, step, stop, restart.

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
        The three panels.
    controls : Controls
        The buttons, counts and the sentence.
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

    _complete = False

    def __init__(self, source: Any, recipe: Recipe | None = None, **settings: Any) -> None:
        refuse_unknown(type(self), settings)
        run = _run_of(source, recipe)
        self._shown: Any = None
        self.listeners: list[Callable[[Activity], None]] = []
        self._cell = this_cell()
        self.plot = figure_widget(run_plotly({}))
        self.controls = Controls(devices=available_devices(), device=run.recipe.device)
        self.controls.obey({name: getattr(self, name) for name in ("start", "pause", "stop", "step", "restart")})
        self.controls.observe(self._choose_device, "device")
        self._attach(run)
        super().__init__(children=[self.plot, self.controls], **settings)
        for name in ("lsat", "lsat-live", "lsat-tuner"):
            self.add_class(name)
        self._complete = True

    @property
    def run(self) -> Any:
        """The run that is shown, with everything it has found."""
        return self.worker.run

    @property
    def recipe(self) -> Recipe:
        """The recipe as it is now, with changes that the run has yet to take up."""
        return self._wanted if self.run.recipe is self._taken else self.run.recipe

    def start(self) -> None:
        """Tune until the run ends. Starting twice is one run; after a stop it goes on from where it was."""
        self.worker.start()

    resume = start

    def pause(self) -> None:
        """Hold after the iteration that is running."""
        self.worker.pause()
        self._say()

    def step(self) -> None:
        """Advance by one iteration, then hold."""
        self.worker.step()

    def stop(self) -> None:
        """End the run; the last accepted values are kept."""
        self.worker.stop()
        self._say()

    def restart(self, recipe: Recipe | None = None) -> None:
        """Begin a new run from the start.

        Parameters
        ----------
        recipe : Recipe, optional
            Another recipe; the present one, with the chosen device, by default.
        """
        run = self.run
        self.worker.listeners.remove(self._draw)
        self.worker.close()
        self._attach(type(run)(recipe or self.recipe.replace(device=self.controls.device), run.data))
        self.start()

    def change(self, recipe: Recipe) -> None:
        """Give the run other hyper-hyper-parameters; it takes them up at its next iteration.

        Parameters
        ----------
        recipe : Recipe
            The same pieces with other numbers in its hyper-penalties or its method.
        """
        self._taken = self.run.recipe
        self.run.change(recipe)
        self._wanted = recipe
        self.worker.report()

    def look_at(self, run: Any | None) -> None:
        """Show the curves of another run, while the buttons go on steering this one.

        Parameters
        ----------
        run : Run or None
            The run to show; None shows this one again.
        """
        self._shown = None if run is self.run else run
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
        self.worker.listeners.remove(self._draw)
        if not self.worker.listeners:
            self.worker.close()
        self.plot.close()
        self.controls.close()
        super().close()

    def picture(self) -> bytes:
        """Return curves and numbers as a PNG."""
        from lsat_explorer.plots import explorer_picture

        history = self._columns.of(self.run.iterates) if self.run.iterates else {}
        return explorer_picture(history, tolerance(self.recipe), None, [], self.controls.sentence, self._title())

    def sentence(self) -> str:
        """Return what the view is."""
        return "LiveTuner: a run of least squares auto-tuning"

    def _title(self) -> str:
        return f"Live tuner · {self.run.data.name}"

    def _attach(self, run: Any) -> None:
        self._columns = Columns()
        self._shown = None
        self._taken = self._wanted = run.recipe
        self.worker = worker_of(run, self._cell)
        self.worker.listeners.append(self._draw)
        self._draw()

    def _draw(self) -> None:
        """Show the run as it is. Called by the worker's thread, and by the buttons, never by both at once."""
        columns = self._columns.of(self.run.iterates)
        activity = self._say()  # words first: the page shows them while the curves are still on their way
        seen = self._shown
        curves = columns if seen is None else Columns().of(seen.iterates)
        level = tolerance(self.recipe if seen is None else seen.recipe)
        update_run(self.plot, curves if len(curves["number"]) else {}, level)
        for listener in list(self.listeners):
            listener(activity)
        self.save_at_rest(activity)

    def _say(self) -> Activity:
        """Show counts and words alone, which is quick, and return what the worker is doing."""
        with self.worker.reporting, self.controls.hold_sync():
            activity, run = self.worker.activity, self.run
            self.controls.accepted, self.controls.rejected = self._columns.accepted, self._columns.rejected
            self.controls.seconds = self.worker.seconds
            self.controls.can_go_on = activity is not Activity.FAILED and run.status in _SHORT_OF_GOAL
            self.controls.tone = _TONES.get(run.status, "")
            self.controls.sentence = self._sentence(activity)
            self.controls.problem = "" if self.worker.error is None else _words(self.worker.error)
            self.controls.activity = activity.value
        return activity

    def _sentence(self, activity: Activity) -> str:
        if activity is Activity.PREPARING:
            return "Preparing features…"
        if activity is Activity.STOPPING:
            return "Stopping…"
        if activity is Activity.FAILED:
            return "The run failed."
        if activity is Activity.PAUSED:
            last = self.run.iterates[-1].number if self.run.iterates else 0
            return f"Paused after iteration {last}."
        if activity is Activity.READY and not self.run.iterates:
            return "Not started: press Start, or Step for a single iteration."
        changed = activity is Activity.ENDED and self.recipe != self.run.recipe
        return f"{self.run.message} Restart to use the changed settings." if changed else self.run.message

    def _choose_device(self, change: Any) -> None:
        if self.worker.activity is Activity.READY and not self.run.iterates:
            run = self.run
            self.worker.listeners.remove(self._draw)
            self._attach(type(run)(run.recipe.replace(device=change.new), run.data))
        elif change.new != self.recipe.device:
            self.controls.sentence = f"Restart to go on with {self.controls.devices.get(change.new, change.new)}."


def _run_of(source: Any, recipe: Recipe | None) -> Any:
    """Return the run to show: ``source`` itself, or a new one of the recipe on the data."""
    if hasattr(source, "steps"):
        if recipe is not None:
            raise ValueError("LiveTuner got a run and a recipe: a run has its own, change it with run.change(recipe).")
        return source
    if not isinstance(recipe, Recipe):
        raise ValueError(f"LiveTuner got data and {recipe!r}: give LiveTuner(data, recipe), or LiveTuner(run).")
    from lsat_explorer.tune.run import Run

    return Run(recipe, source)


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
