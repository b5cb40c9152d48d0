"""The buttons, counts and sentence of a run: a view that sends commands and shows what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.shown import looks, script
from lsat_explorer.widgets.worker import Activity

__all__ = ["COMMANDS", "Controls"]

COMMANDS = ("start", "pause", "stop", "step", "restart")


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
    can_go_on = traitlets.Bool(True).tag(sync=True)  # whether a run that has ended stopped short of its goal

    _obeyed: Callable[[Any, Any, Any], None] | None = None

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
            self.problem = ""
            try:
                command()
            except Exception as error:  # a callback's error would end in a log that nobody reads
                self.problem = f"{type(error).__name__}: {error}"

        if self._obeyed is not None:  # a press is one command, not one for each who ever said what it does
            self.on_msg(self._obeyed, remove=True)
        self._obeyed = act
        self.on_msg(act)
