"""How a view appears in a notebook: live where a kernel runs, as a picture where none does."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from lsat_explorer.widgets.base import OwnLayout, Pictured, static, styles
from lsat_explorer.widgets.cells import after_cells
from lsat_explorer.widgets.worker import Activity, Worker

__all__ = ["Shown", "looks", "script"]

_AT_REST = (Activity.PAUSED, Activity.ENDED, Activity.FAILED)
_REST = 1.0  # seconds of rest before its picture is worth drawing
_SELDOM, _SHARE = 10.0, 0.01  # seconds between pictures of a run that goes on, and the most of the time they take
_VIEW = "application/vnd.jupyter.widget-view+json"


def script(*names: str) -> str:
    """Return the ES module of a view, behind what all modules share: a module is served alone and cannot import.

    Parameters
    ----------
    *names : str
        File names in ``widgets/static``; the last one exports the view.
    """
    return "\n".join(static(name) for name in ("dom.js", *names))


def looks(*names: str) -> str:
    """Return the style sheets of a view that may be displayed by itself.

    Parameters
    ----------
    *names : str
        File names in ``widgets/static``.
    """
    return styles("shown.css", *names)


class Shown(Pictured, OwnLayout):
    """Mixin of a view whose saved picture follows its state.

    Displaying it writes two outputs: the live view, and its picture, which a style sheet hides below a view that lives.
    The picture has a display id of its own, so that `save_picture` replaces it without drawing the live view anew. A
    notebook that is opened without a kernel shows the picture: where a run goes on at the end of the notebook, that
    of the end of a cell.
    """

    _display_id: str | None = None
    _resting: threading.Timer | None = None
    _worker: Worker | None = None  # whose run is on show
    _last: tuple[Any, float] = None, 0.0  # how far a run was when it was drawn going on, and when that is due again
    _hears_no_more: Callable[[], None] | None = None
    _drawing = threading.Lock()  # one picture at a time, so that the last one published is the newest

    def _ipython_display_(self, **kwargs: Any) -> None:
        from IPython.display import publish_display_data

        publish_display_data(self._live(**kwargs)[0])  # first: a picture takes longer to draw than a view to appear
        self._appearing()
        data, metadata = self._repr_mimebundle_(**kwargs)
        self._display_id = self._display_id or uuid.uuid4().hex
        still = {kind: value for kind, value in data.items() if kind != _VIEW}
        publish_display_data(still, metadata, transient={"display_id": self._display_id})
        self._hears_no_more = self._hears_no_more or after_cells(self._save_under_way)

    def _appearing(self) -> None:
        """Do what a page can use while the view is drawn on it, before the picture."""

    def save_at_rest(self, worker: Worker) -> None:
        """Replace the saved picture when a run has ended, or has been paused, for a second.

        While it goes on the end of a cell does so, for the kernel may end with the notebook's last.

        Parameters
        ----------
        worker : Worker
            Who pulls the run; one that was closed leaves the picture as it is.
        """
        if worker.closed:
            return
        self._worker = worker
        if worker.activity in _AT_REST:  # not at once: whoever goes on, or steps, must not wait for a picture
            self.save_soon()
        elif self._resting is not None:
            self._resting.cancel()

    def _save_under_way(self) -> None:
        """Replace the saved picture of a run that goes on: seldom, but always once it has begun, and has iterates."""
        worker = self._worker
        if worker is None or not worker.activity.busy:
            return
        began, so_far = time.monotonic(), (worker, bool(worker.run.iterates))
        if so_far != self._last[0] or began >= self._last[1]:
            self.save_picture()
            now = time.monotonic()
            self._last = so_far, now + max(_SELDOM, (now - began) / _SHARE)

    def save_soon(self) -> None:
        """Replace the saved picture of a displayed view once nothing has asked for it again for a second."""
        if self._resting is not None:
            self._resting.cancel()
        if self._display_id is not None:
            self._resting = threading.Timer(_REST, self.save_picture)
            self._resting.daemon = True
            self._resting.start()

    def close(self) -> None:
        """Take the view away; a picture that was to be drawn after a rest is not."""
        if self._resting is not None:
            self._resting.cancel()
        if self._hears_no_more is not None:
            self._hears_no_more()
        super().close()

    def save_picture(self) -> None:
        """Replace the saved picture by the present state, if the view has been displayed."""
        if self._resting is not None:  # what was to be drawn after a rest is drawn now
            self._resting.cancel()
        if self._display_id is None:
            return
        from IPython.display import publish_display_data

        with self._drawing:
            still, metadata = self._still()
            publish_display_data(still, metadata, transient={"display_id": self._display_id}, update=True)
