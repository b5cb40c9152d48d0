"""Everything at once: what is assembled, its sliders, the run live, every run so far, and the weights of the rows."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import ipywidgets
import traitlets

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import refuse_unknown
from lsat_explorer.widgets.cards import Card, cards
from lsat_explorer.widgets.facts import difference, extremes, facts, tolerance, widths
from lsat_explorer.widgets.history import Columns
from lsat_explorer.widgets.hyper_sliders import HyperSliders
from lsat_explorer.widgets.live_tuner import LiveTuner
from lsat_explorer.widgets.panels import Heading, Runs, Tabs
from lsat_explorer.widgets.shown import Shown
from lsat_explorer.widgets.weight_browser import WeightBrowser
from lsat_explorer.widgets.worker import Activity

__all__ = ["Explorer"]

_PERIOD = 1.0  # seconds between two looks at the rows' weights while the run goes on


@dataclass
class _Line:
    """A run in the table, the recipe that it began with, and the one that its last iteration used."""

    run: Any
    began: Recipe
    used: Recipe
    iterates: int = 0
    seconds: float = 0.0


class Explorer(Shown, ipywidgets.VBox):
    """Assemble, tune and look: the whole of least squares auto-tuning on one page.

    Parameters
    ----------
    source : Data or Run
        The rows, or a run, new or already begun.
    recipe : Recipe, optional
        What is fitted and tuned; ``Recipe()`` by default.
    **settings
        ``layout``.

    Attributes
    ----------
    tuner : LiveTuner
        Curves and buttons.
    sliders : HyperSliders
        The hyper-hyper-parameters.
    browser : WeightBrowser
        The training rows that weigh least and most.

    Raises
    ------
    TypeError
        For an unknown setting.

    Examples
    --------
    >>> explorer = Explorer(lsat.datasets.digits(), lsat.Recipe())  # doctest: +SKIP
    >>> explorer.start()  # doctest: +SKIP
    >>> explorer.wait(timeout=60)  # doctest: +SKIP
    >>> explorer.model.predict(X)  # doctest: +SKIP
    """

    _complete = False

    def __init__(self, source: Any, recipe: Recipe | None = None, **settings: Any) -> None:
        refuse_unknown(type(self), settings)
        own = hasattr(source, "steps")
        self.tuner = LiveTuner(source, recipe) if own else LiveTuner(source, recipe or Recipe())
        self.sliders = HyperSliders(self.tuner)
        self.heading = Heading(devices=self.tuner.controls.devices, device=self.recipe.device)
        self.tabs = Tabs()
        self.table = Runs(error_name="Validation error" if self.data.task == "classification" else "Validation RMSE")
        self.browser = WeightBrowser(self.run)
        self._lines = [_Line(self.run, self.run.recipe, self.run.recipe)]
        self._looked = 0.0
        self._connect()
        super().__init__(children=self._arranged(), **settings)
        for name in ("lsat", "lsat-live", "lsat-explorer"):
            self.add_class(name)
        self._complete = True
        self._follow(self.tuner.worker.activity)

    def _connect(self) -> None:
        controls = self.tuner.controls
        controls.with_device = False
        commands = {name: getattr(self, name) for name in ("start", "pause", "stop", "step", "restart")}
        controls.obey(commands)
        traitlets.link((self.heading, "device"), (controls, "device"))
        # in the browser, so that tabs turn while the kernel is busy
        self._turning = ipywidgets.jslink((self.tabs, "group"), (self.sliders, "group"))
        self.table.observe(self._choose, "chosen")
        self.tuner.listeners.append(self._follow)

    def _arranged(self) -> list[ipywidgets.Widget]:
        assembly = ipywidgets.VBox([self.tabs, self.sliders])
        left = ipywidgets.VBox([assembly, self.tuner.controls])
        right = ipywidgets.VBox([self.tuner.plot, self.table])
        columns = ipywidgets.Box([left, right])
        names = ((assembly, "lsat-assembly"), (left, "lsat-left"), (right, "lsat-right"), (columns, "lsat-columns"))
        for box, name in names:
            box.add_class(name)
        return [self.heading, columns, self.browser]

    @property
    def data(self) -> Any:
        """The rows."""
        return self.run.data

    @property
    def run(self) -> Any:
        """The run that the buttons steer."""
        return self.tuner.run

    @property
    def recipe(self) -> Recipe:
        """The recipe as the sliders have it now."""
        return self.tuner.recipe

    @property
    def model(self) -> Any:
        """The model fitted at the last accepted hyper-parameters."""
        return self.run.model

    def start(self) -> None:
        """Tune until the run ends. Starting twice is one run; after a stop it goes on from where it was."""
        self.tuner.start()

    def pause(self) -> None:
        """Hold after the iteration that is running."""
        self.tuner.pause()

    def step(self) -> None:
        """Advance by one iteration, then hold."""
        self.tuner.step()

    def stop(self) -> None:
        """End the run; the last accepted values are kept."""
        self.tuner.stop()

    def restart(self, recipe: Recipe | None = None) -> None:
        """Begin a new run. The old one stays in the table if its recipe was another.

        Parameters
        ----------
        recipe : Recipe, optional
            Another recipe; the present one, with the chosen device, by default.
        """
        recipe = recipe or self.recipe.replace(device=self.heading.device)
        self.table.chosen = 0
        self.tuner.restart(recipe)
        self.sliders.recipe = recipe

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
            self.tuner.wait(timeout)
        finally:
            self.save_picture()

    def close(self) -> None:
        """Stop the run and take the view away."""
        if not self._complete:  # called once more at the end, and for an object whose making failed
            return
        self._complete = False
        self.tuner.close()
        for part in (self.heading, self.tabs, self.sliders, self.table, self.browser, self._turning):
            part.close()
        super().close()

    def picture(self) -> bytes:
        """Return curves, numbers and the lightest and heaviest rows as a PNG."""
        from lsat_explorer.plots import explorer_picture

        columns = Columns().of(self.run.iterates)
        images, captions = extremes(self.data, self.run.weights())
        return explorer_picture(
            columns if self.run.iterates else {},
            tolerance(self.recipe),
            images,
            captions,
            self.tuner.controls.sentence,
            " · ".join(["Explorer", *self.heading.facts]),
            groups=("Lightest", "Heaviest") if images is not None else (),
        )

    def sentence(self) -> str:
        """Return what the view is."""
        return "Explorer: least squares auto-tuning, live"

    def _follow(self, activity: Activity) -> None:
        """Show what has changed. Called after each report of the worker, by the thread that reports."""
        run = self.run
        self._note(run, self.recipe)
        self.table.rows = [self._row(index) for index in reversed(range(len(self._lines)))]
        line = self._seen()
        seen, earlier = line.run, line.run is not run
        over = activity in (Activity.ENDED, Activity.FAILED) and bool(seen.iterates)
        recipe = line.used if earlier or over else self.recipe
        source = recipe.to_source()
        self.sliders.look_at(recipe if earlier else None)
        with self.heading.hold_sync(), self.tabs.hold_sync():
            self.heading.facts = facts(self.data, seen.problem)
            self.heading.source = self.tabs.source = source
            found = cards(recipe, seen.omega if seen.iterates else None, widths(seen.problem))
            drawn = [(tab, card) for tab, some in found.items() for card in some if card.picture]
            self.tabs.pictures = {f"{tab}/{card.name}": card.picture for tab, card in drawn}
            self.tabs.cards = {tab: [_without_picture(card) for card in some] for tab, some in found.items()}
        if not activity.busy or time.monotonic() - self._looked > _PERIOD:
            self._looked = time.monotonic()
            self.browser.refresh(seen)
        if not self.tuner.worker.closed:
            self.save_at_rest(activity)

    def _note(self, run: Any, recipe: Recipe) -> None:
        """Give a new run a line; it takes the place of one that never ran or began with the same recipe."""
        last = self._lines[-1]
        if last.run is not run:
            if not last.run.iterates or last.began == last.used == recipe:
                self._lines.pop()
            last = _Line(run, recipe, recipe)
            self._lines.append(last)
        if not run.iterates:
            last.began = last.used = recipe
        elif len(run.iterates) != last.iterates:  # reading a model may change the recipe of a run that has ended
            last.used, last.iterates, last.seconds = run.recipe, len(run.iterates), self.tuner.worker.seconds

    def _seen(self) -> _Line:
        """Return the line that is chosen."""
        return self._lines[max(len(self._lines) - 1 - self.table.chosen, 0)]

    def _row(self, index: int) -> dict[str, Any]:
        line = self._lines[index]
        last = line.run.iterates[-1] if line.run.iterates else None
        return {
            "name": f"Run {index + 1}",
            "differs": difference(self._lines[0].used, line.used) if index else "",
            "loss": _finite(last.loss) if last else None,
            "error": _finite(last.error) if last else None,
            "iterations": last.number if last else 0,
            "seconds": line.seconds,
            "busy": index == len(self._lines) - 1 and self.tuner.worker.activity.busy,
        }

    def _choose(self, _change: Any) -> None:
        self.tuner.look_at(self._seen().run)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON knows no NaN


def _without_picture(card: Card) -> dict[str, Any]:
    return {name: value for name, value in asdict(card).items() if name != "picture"}
