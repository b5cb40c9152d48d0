"""The buttons, counts and sentence of a run: a view that sends commands and shows what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from lsat_explorer.model.cluster import page_of
from lsat_explorer.model.engines import Dask
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.facts import SHORT_OF_GOAL, TONES, iterate_words, seconds_to_go, standing
from lsat_explorer.widgets.settings import SettingError
from lsat_explorer.widgets.shown import looks, script
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = ["COMMANDS", "Controls"]

COMMANDS = ("start", "pause", "stop", "step", "restart", "branch", "go_on", "back")


class Controls(View):
    """Start, pause, stop, step and restart, with the state of the run in numbers and in words.

    Parameters
    ----------
    **settings
        The traits below.

    Examples
    --------
    >>> Controls(sentence="Ready.").activity
    'ready'
    """

    _esm = script("controls.js")
    _css = looks("controls.css")

    activity = traitlets.Enum([a.value for a in Activity], "ready").tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    tone = traitlets.Enum(["", "good", "busy", "warn", "bad"], "").tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    accepted = traitlets.Int(0).tag(sync=True)
    rejected = traitlets.Int(0).tag(sync=True)
    seconds = traitlets.Float(0.0).tag(sync=True)
    device = traitlets.Unicode("cpu").tag(sync=True)
    devices = traitlets.Dict().tag(sync=True)
    with_device = traitlets.Bool(True).tag(sync=True)
    expected = traitlets.Float(None, allow_none=True).tag(sync=True)  # seconds until the run has ended at the latest
    last = traitlets.Int(-1).tag(sync=True)  # number of the newest iterate that is shown
    marked = traitlets.Int(None, min=0, allow_none=True).tag(sync=True)
    marking = traitlets.Unicode("").tag(sync=True)  # the marked iterate in words
    looking: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)  # at another run than that of the buttons
    with_omega = traitlets.Bool(False).tag(sync=True)
    dashboard = traitlets.Unicode("").tag(sync=True)  # link of the page of a cluster that works on the run
    can_go_on = traitlets.Bool(True).tag(sync=True)  # whether a run that has ended stopped short of its goal

    @traitlets.validate("marked")
    def _is_there(self, proposal: Any) -> int | None:
        number: int | None = proposal.value
        if number is not None and number > self.last:
            there = f"a number from 0 to {self.last}" if self.last >= 0 else "None, as there is no iterate yet"
            raise SettingError(f"marked is {number}, expected {there}.")
        return number

    def tell(self, worker: Worker, recipe: Recipe, shown: Any, looking: dict[str, Any]) -> Activity:
        """Show where a run stands, in numbers and in words; return what its worker is doing.

        Parameters
        ----------
        worker : Worker
            Of the run.
        recipe : Recipe
            The recipe as it is now, with what the run has yet to take up.
        shown : Run
            The run whose curves are shown.
        looking : dict
            What `looked_at` says of it where the worker has another, nothing where it is that of the worker.
        """
        activity = worker.activity
        run: Any = worker.run
        with self.hold_sync():
            self.accepted, self.rejected = run.iterates.counts
            self.seconds = worker.seconds
            self.expected = seconds_to_go(run, worker.seconds) if worker.alive else None
            self.last = shown.iterates[-1].number if shown.iterates else -1
            self.marking = "" if self.marked is None else iterate_words(shown, self.marked)
            self.can_go_on = activity is not Activity.FAILED and run.status in SHORT_OF_GOAL
            self.looking = looking
            self.tone = TONES.get(run.status, "")
            engine = run.recipe.engine
            self.dashboard = page_of(engine.address) if isinstance(engine, Dask) else ""
            self.sentence = standing(worker, activity, recipe)
            error = worker.error
            self.problem = self._refused or ("" if error is None else f"{type(error).__name__}: {error}")
            self.activity = activity.value
        return activity

    _obeyed: Callable[[Any, Any, Any], None] | None = None
    _refused = ""  # what the last command of the page raised

    def obey(self, commands: dict[str, Callable[[], Any]]) -> None:
        """Say what each button does, in place of what it did. What a command raises is shown under the buttons.

        Parameters
        ----------
        commands : dict of str to callable
            One for each of `COMMANDS`.
        """

        def act(_widget: Any, content: Any, _buffers: Any) -> None:
            command = commands.get(str(content.get("command"))) if isinstance(content, dict) else None
            if command is None:
                return
            self.problem = self._refused = ""
            try:
                command()
            except Exception as error:  # a callback's error would end in a log that nobody reads
                self.problem = self._refused = f"{type(error).__name__}: {error}"

        if self._obeyed is not None:  # a press is one command, not one for each who ever said what it does
            self.on_msg(self._obeyed, remove=True)
        self._obeyed = act
        self.on_msg(act)
