"""A run, live: its curves, its buttons, its state in words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets

from lsat_explorer.engines import available_devices
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.plots.live import run_plotly, update_run
from lsat_explorer.widgets.base import refuse_unknown
from lsat_explorer.widgets.cells import end_stale, this_cell, worker_of
from lsat_explorer.widgets.controls import Controls
from lsat_explorer.widgets.facts import SHORT_OF_GOAL, TONES, standing, tolerance
from lsat_explorer.widgets.figure import figure_widget
from lsat_explorer.widgets.history import Columns
from lsat_explorer.widgets.shown import Shown
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = ["LiveTuner"]


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
        self._wording = threading.Lock()
        self.listeners: list[Callable[[Activity], None]] = []
        self._cell = this_cell()
        self.plot = figure_widget(run_plotly({}))
        self.controls = Controls(devices=available_devices(), device=run.recipe.device)
        self.controls.obey({name: getattr(self, name) for name in ("start", "pause", "stop", "step", "restart")})
        self.controls.observe(self._choose_device, "device")
        self._attach(run, end_stale(self._cell))
        with self.worker.reporting:
            self._draw()
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

    def restart(self, recipe: Recipe | None = None) -> None:
        """Begin a new run from the start.

        Parameters
        ----------
        recipe : Recipe, optional
            Another recipe; the present one, with the chosen device, by default.
        """
        run = type(self.run)(recipe or self.recipe.replace(device=self.controls.device), self.run.data)
        ended = self._serving().over
        self.worker.stop()
        self._detach()
        self._attach(run, [ended])
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
        if not self.worker.activity.busy:  # a run that goes on reports by itself
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
        self._detach(5.0)
        self.plot.close()
        self.controls.close()
        super().close()

    def picture(self) -> bytes:
        """Return curves and numbers as a PNG."""
        from lsat_explorer.plots import explorer_picture

        history = Columns().of(self.run.iterates) if self.run.iterates else {}
        return explorer_picture(history, tolerance(self.recipe), None, [], self.controls.sentence, self._title())

    def sentence(self) -> str:
        """Return what the view is."""
        return "LiveTuner: a run of least squares auto-tuning"

    def _title(self) -> str:
        return f"Live tuner · {self.run.data.name}"

    def _attach(self, run: Any, after: Iterable[threading.Event] = ()) -> None:
        """Take up a run, which is not pulled before all of ``after`` has ended; it is drawn at the next report."""
        worker = worker_of(run, self._cell, after)
        with worker.reporting:
            self._columns, self._shown = Columns(), None
            self._taken = self._wanted = run.recipe
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

    def _draw(self) -> None:
        """Show the run as it is. Called by the worker's thread, and by the buttons, never by both at once."""
        columns = self._columns.of(self.run.iterates)
        activity = self._say()  # words first: the page shows them while the curves are still on their way
        if activity is Activity.STOPPING:
            return  # it has to end now, and its end is reported
        seen = self._shown
        curves = columns if seen is None else Columns().of(seen.iterates)
        level = tolerance(self.recipe if seen is None else seen.recipe)
        update_run(self.plot, curves if len(curves["number"]) else {}, level)
        for listener in list(self.listeners):
            listener(activity)
        if not self.worker.closed:
            self.save_at_rest(activity)

    def _say(self) -> Activity:
        """Show counts and words alone, which is quick, and return what the worker is doing."""
        with self._wording, self.controls.hold_sync():  # a button never waits for the curves of a report under way
            activity, run = self.worker.activity, self.run
            self.controls.accepted, self.controls.rejected = self._columns.accepted, self._columns.rejected
            self.controls.seconds = self.worker.seconds
            self.controls.can_go_on = activity is not Activity.FAILED and run.status in SHORT_OF_GOAL
            self.controls.tone = TONES.get(run.status, "")
            self.controls.sentence = standing(self.worker, activity, self.recipe)
            self.controls.problem = "" if self.worker.error is None else _words(self.worker.error)
            self.controls.activity = activity.value
        return activity

    def _choose_device(self, change: Any) -> None:
        if self.worker.activity is Activity.READY and not self.run.iterates:
            run = type(self.run)(self.run.recipe.replace(device=change.new), self.run.data)
            self._detach()
            self._attach(run)
            self.worker.report()
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
