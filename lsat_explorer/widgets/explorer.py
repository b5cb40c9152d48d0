"""Everything at once: what is assembled, its sliders, the run live, every run so far, and the weights of the rows."""

from __future__ import annotations

import time
from typing import Any

import ipywidgets
import traitlets

from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.model.regularizers import Regularizer
from lsat_explorer.widgets.cells import namespace
from lsat_explorer.widgets.code_view import cell_source
from lsat_explorer.widgets.controls import COMMANDS
from lsat_explorer.widgets.facts import facts, known
from lsat_explorer.widgets.hyper_sliders import HyperSliders
from lsat_explorer.widgets.last_look import LastLook
from lsat_explorer.widgets.live_tuner import LiveTuner
from lsat_explorer.widgets.panels import Heading
from lsat_explorer.widgets.recipe_panel import RecipePanel
from lsat_explorer.widgets.restoring import Restoring
from lsat_explorer.widgets.run_list import RunList
from lsat_explorer.widgets.run_table import RunTable
from lsat_explorer.widgets.settings import OnlyKnown, refuse_unknown
from lsat_explorer.widgets.shown import Shown
from lsat_explorer.widgets.steered import run_of
from lsat_explorer.widgets.weight_browser import WeightBrowser
from lsat_explorer.widgets.worker import Activity

__all__ = ["Explorer"]

_PERIOD = 1.0  # seconds between two looks at the rows' weights while the run goes on


class Explorer(OnlyKnown, Restoring, Shown, ipywidgets.VBox):
    """Assemble, tune and look: the whole of least squares auto-tuning on one page.

    Parameters
    ----------
    source : Data or Run
        The rows, or a run, new or already begun.
    recipe : Recipe, optional
        What is fitted and tuned; ``Recipe()`` by default.
    keep : bool or path, optional
        Where the runs are kept, for `restore`: in ``lsat-runs-…`` beside the notebook, in a folder of this name, or
        (False) nowhere. By default as the environment's LSAT_RUNS says, a folder or ``off``; beside the notebook where
        it is unset. Where nothing can be written a message says so below the runs, and all else goes on.
    **settings
        ``layout``.

    Attributes
    ----------
    tuner : LiveTuner
        Curves and buttons.
    sliders : HyperSliders
        The hyper-hyper-parameters.
    runs : RunList
        Every run so far, with its name and note; see `RunList`.
    browser : WeightBrowser
        The training rows that weigh least and most.
    panel : RecipePanel
        What is assembled, with the editors of features and graphs, and the recipe as text.

    Raises
    ------
    TypeError
        For an unknown setting.
    ValueError
        If ``source`` is neither Data nor a run, such as the rows themselves, or ``recipe`` is no Recipe.

    Examples
    --------
    >>> explorer = Explorer(lsat.datasets.digits(), lsat.Recipe())  # doctest: +SKIP
    >>> explorer.start()  # doctest: +SKIP
    >>> explorer.wait(timeout=60)  # doctest: +SKIP
    >>> explorer.model.predict(X)  # doctest: +SKIP
    """

    sliders: HyperSliders
    heading: Heading
    panel: RecipePanel
    last_look: LastLook
    runs: RunList
    table: RunTable
    browser: WeightBrowser

    _complete = False

    def __init__(self, source: Any, recipe: Recipe | None = None, *, keep: Any = None, **settings: Any) -> None:
        refuse_unknown(type(self), settings)
        usual = None if hasattr(source, "steps") else Recipe()
        self.tuner = LiveTuner(run_of(source, usual if recipe is None else recipe, type(self).__name__))
        self.sliders = HyperSliders(self.tuner)
        self.heading = Heading(devices=self.tuner.controls.devices, device=self.recipe.device)
        self.panel = RecipePanel(self.data, self.recipe, self.sliders, self._take)
        self.last_look = LastLook()
        self.runs, self.table = self.tuner.runs, self.tuner.table
        self.browser = WeightBrowser(self.run)
        self._looked = 0.0
        self._told: Recipe | None = None  # that of the heading's cell
        self._begin_keeping(keep)
        self._connect()
        super().__init__(children=self._arranged(), **settings)
        for name in ("lsat", "lsat-live", "lsat-explorer"):
            self.add_class(name)
        self._complete = True
        self._follow(self.tuner.worker.activity)

    def _connect(self) -> None:
        controls = self.tuner.controls
        controls.with_device = False
        commands = {name: getattr(self, name) for name in COMMANDS if name != "back"} | {"back": self.tuner.back}
        controls.obey(commands)
        traitlets.link((self.heading, "device"), (controls, "device"))
        self.tuner.listeners.append(self._follow)
        self.last_look.observe(lambda _change: self._keep(), "count")
        self.tuner.look_of = self.last_look.of
        self.last_look.looked = lambda: self.tuner.worker.report()

    def _arranged(self) -> list[ipywidgets.Widget]:
        left = ipywidgets.VBox([self.panel, self.tuner.controls])
        right = ipywidgets.VBox([self.tuner.plot, self.table, self.last_look])
        columns = ipywidgets.Box([left, right])
        for box, name in ((left, "lsat-left"), (right, "lsat-right"), (columns, "lsat-columns")):
            box.add_class(name)
        self._boxes = (columns, left, right)
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
        """The recipe as the panels have it now.

        Assign another one: other hyper-penalties and another method act at the next iteration of the run, other pieces
        once it is started again.
        """
        return self.tuner.recipe

    @recipe.setter
    def recipe(self, recipe: Recipe) -> None:
        self._take(recipe)

    @property
    def featurizer(self) -> Featurizer:
        """The feature map of `recipe`; assign another one to change it."""
        return self.recipe.featurizer

    @featurizer.setter
    def featurizer(self, featurizer: Featurizer) -> None:
        self._take(self.recipe.replace(featurizer=featurizer))

    @property
    def regularizer(self) -> Regularizer:
        """The penalties on θ of `recipe`; assign others to change them."""
        return self.recipe.regularizer

    @regularizer.setter
    def regularizer(self, regularizer: Regularizer) -> None:
        self._take(self.recipe.replace(regularizer=regularizer))

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
        """Begin a new run. The old one is stopped where it is and stays in the table, `start` can go on with it there.

        Parameters
        ----------
        recipe : Recipe, optional
            Another recipe; the present one, with the chosen device, by default.
        """
        recipe = recipe or self.recipe.replace(device=self.heading.device)
        self.tuner.restart(recipe)
        self._show_recipe(recipe)

    def branch(self, number: int | None = None) -> None:
        """Begin a new run from the hyper-parameters of an iterate of the shown run, with the settings that it shows.

        Parameters
        ----------
        number : int, optional
            Of the iterate; the marked one by default.
        """
        self.tuner.branch(number)
        self._show_recipe(self.recipe)

    def go_on(self) -> None:
        """Go on with the run that is shown; the one that the buttons steered is stopped and stays in the table."""
        self.tuner.go_on()
        self._show_recipe(self.recipe)

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
        self._folder.release()
        for part in (self.heading, self.panel, self.sliders, self.last_look, self.browser, *self._boxes):
            part.close()
        super().close()

    def picture(self) -> bytes:
        """Return curves, numbers and the lightest and heaviest rows as a PNG."""
        from lsat_explorer.widgets.stills import run_picture

        title = " · ".join(["Explorer", *self.heading.facts])
        return run_picture(self.run, self.tuner.used(self.run), self.tuner.controls.sentence, title)

    def sentence(self) -> str:
        """Return what the view is."""
        return "Explorer: least squares auto-tuning, live"

    def _follow(self, activity: Activity) -> None:
        """Show what has changed. Called after each report of the worker, by the thread that reports."""
        self._keep()
        run = self.run
        line = self.table.shown
        seen, earlier = line.run, line.run is not run
        planned = self.tuner.planned and not earlier
        text = line.used if earlier else self.recipe
        recipe = text if planned else self.tuner.used(seen)
        self.sliders.look_at(recipe if earlier else None)
        self.sliders.hold(activity not in (Activity.READY, Activity.ENDED, Activity.FAILED))
        with self.heading.hold_sync():
            self.heading.facts = facts(self.data, seen.problem)
            if text is not self._told:
                self._told, self.heading.source = text, cell_source(self.data, text, namespace())
        self.panel.show(recipe, *known(seen, recipe), text=text, of=line.name if earlier else "")
        if self.recipe is not self.panel.recipe:
            self._show_recipe(self.recipe)
        self.last_look.follow(seen, activity)
        if not activity.busy or time.monotonic() - self._looked > _PERIOD:
            self._looked = time.monotonic()
            self.browser.refresh(seen)
        self.save_at_rest(self.tuner.worker)

    def _take(self, recipe: Recipe) -> None:
        """Make another recipe the one that is assembled."""
        if not self._complete:
            raise ValueError("This Explorer was closed: make a new one.")
        self.tuner.change(recipe)
        self._show_recipe(recipe)

    def _show_recipe(self, recipe: Recipe) -> None:
        if recipe.device != self.panel.recipe.device:  # one that is chosen for the next run stays
            self.heading.device = recipe.device
        self.sliders.recipe = recipe
        self.panel.take(recipe)
