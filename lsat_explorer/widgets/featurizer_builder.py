"""FeaturizerBuilder: a chain of steps or blocks of them, assembled by hand while one sees what each step does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
import traitlets

from lsat_explorer.data import Data
from lsat_explorer.model.hyper_penalties import Frozen
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.featurizer_assembly import Assembly
from lsat_explorer.widgets.featurizer_draft import Path, Step, built, kept_held, names_held, step_of, with_held
from lsat_explorer.widgets.featurizer_fields import kinds
from lsat_explorer.widgets.featurizer_look import look, telling_column
from lsat_explorer.widgets.featurizer_trial import Trial, Trials, Tried
from lsat_explorer.widgets.featurizer_words import as_code, check_names, held_by, page, width_at
from lsat_explorer.widgets.latest import Latest
from lsat_explorer.widgets.rows import name_of
from lsat_explorer.widgets.settings import NotNone, SettingError
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["FeaturizerBuilder"]

_Wish = tuple[Step, Path, int, int]
"""A tree to try, and the step, the column and the row to look at."""


class FeaturizerBuilder(Shown, View):
    """A feature map assembled by hand: steps one after another, blocks side by side, and what each of them does.

    Every change is tried on the training rows in the background. A step that its piece refuses says why where it
    stands, and `featurizer` stays what it was. A piece that is registered elsewhere has controls for its fields too.

    Parameters
    ----------
    data : Data
        The rows on which steps are tried.
    featurizer : Featurizer, optional
        What to begin with; left out, what `Recipe` begins with.
    **settings
        The attributes below, and ``layout``, ``tooltip``, ``tabbable``.

    Attributes
    ----------
    featurizer : Featurizer
        The last description that fits the rows. Assigning one shows it.
    held : dict of str to Frozen
        What is not tuned, by names of ω: add it to the ``hyper_penalties`` of a `Recipe`. Any iterable of names may be
        assigned.
    column : int
        Which column of what comes into the chosen step is looked at, from 0; past the last one, the last.
    row : int
        Which training row is compared with archetypes, its position from 0.

    Raises
    ------
    ValueError
        If `data` is no `Data`, `featurizer` no featurizer, for a negative column, or for a row or held name that does
        not exist.
    TypeError
        For an unknown setting.

    Examples
    --------
    >>> builder = FeaturizerBuilder(lsat.datasets.digits(), lsat.Scale())  # doctest: +SKIP
    >>> recipe = lsat.Recipe(featurizer=builder.featurizer, hyper_penalties=builder.held)  # doctest: +SKIP
    """

    _esm = script("featurizer_plots.js", "featurizer_controls.js", "featurizer_tree.js", "featurizer_builder.js")
    _css = looks("featurizer_builder.css")

    featurizer = NotNone()
    held = NotNone()
    column = traitlets.Int(0, help="give its place from 0, such as data.feature_names.index(name)").tag(sync=True)
    row = traitlets.Int(0, help="give its place from 0").tag(sync=True)

    _draft = traitlets.Unicode("").tag(sync=True)  # the tree as text, which may be wrong where the featurizer is not
    _chosen: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)
    _kinds: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _names: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _shown = traitlets.Dict().tag(sync=True)
    _look = traitlets.Dict().tag(sync=True)
    _sprite = traitlets.Bytes(b"").tag(sync=True)
    _problem = traitlets.Unicode("").tag(sync=True)

    _latest: Latest[_Wish] | None = None  # a view that could not be made is closed too

    def __init__(self, data: Data, featurizer: Featurizer | None = None, **settings: Any) -> None:
        if not isinstance(data, Data):
            raise ValueError(f"FeaturizerBuilder got a {type(data).__name__}, expected a Data: make one of your rows.")
        self._data = data
        self._lock = threading.RLock()  # trials end in a thread of their own
        self._threads = torch.get_num_threads()
        self._trials = Trials(data)
        self._trial: Trial | None = None
        # What a trial found, as opposed to what somebody assigned: it changes no step.
        self._found: Featurizer | None = None
        self._told: list[str] | None = None
        first = Recipe().featurizer if featurizer is None else self._featurizer_of(featurizer)
        self._assembly = Assembly(step_of(first), self._width_at, data.image_shape)
        super().__init__(**{"column": telling_column(data.train.inputs), "held": (), "featurizer": first} | settings)
        # Not before the page knows of the view: what a trial finds while it is told would reach it neither way.
        self._latest = Latest(self._try, "lsat-featurizer")
        self.add_class("lsat-live")
        self._kinds = [asdict(kind) for kind in kinds(data.image_shape is not None)]
        self._names = [name_of(name, 40) for name in data.feature_names]
        self.on_msg(self._obey)
        self._change()

    @property
    def data(self) -> Data:
        """The rows on which the steps are tried."""
        return self._data

    @staticmethod
    def _featurizer_of(value: Any) -> Featurizer:
        if not isinstance(value, Featurizer):
            raise SettingError(f"featurizer is {value!r}, expected a featurizer such as Scale(); give one")
        return value

    @traitlets.validate("featurizer")
    def _check_featurizer(self, proposal: Any) -> Featurizer:
        return self._featurizer_of(proposal["value"])

    @traitlets.validate("held")
    def _check_held(self, proposal: Any) -> dict[str, Frozen]:
        try:
            names = list(proposal["value"])
        except TypeError:
            raise SettingError(f"held is {proposal['value']!r}, expected names of ω; give a list of them") from None
        if names == self._told:
            return {name: Frozen() for name in names}
        try:
            root = with_held(self._assembly.root, names)
            check_names(root, self._trial, names)
        except ValueError as error:
            raise SettingError(str(error)) from None
        return {name: Frozen() for name in names_held(root)}

    @traitlets.validate("column")
    def _check_column(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise SettingError(f"column is {proposal['value']}, expected 0 or more; give the place of a column")
        return int(proposal["value"])

    @traitlets.validate("row")
    def _check_row(self, proposal: Any) -> int:
        last = len(self.data.train) - 1
        if not 0 <= proposal["value"] <= last:
            raise SettingError(f"row is {proposal['value']}, expected 0 to {last:,}; give the place of a training row")
        return int(proposal["value"])

    @traitlets.observe("featurizer")
    def _take_featurizer(self, change: Any) -> None:
        with self._lock:
            if change["new"] is not self._found and change["new"] != built(self._assembly.root)[0]:
                self._assembly.change(kept_held(step_of(change["new"]), names_held(self._assembly.root)), ())
                self._change()

    @traitlets.observe("held")
    def _take_held(self, change: Any) -> None:
        with self._lock:
            if list(change["new"]) != self._told:
                self._assembly.change(with_held(self._assembly.root, change["new"]))
                self._change()

    @traitlets.observe("column", "row")
    def _look_elsewhere(self, change: Any) -> None:
        self._change()

    @traitlets.observe("_chosen")
    def _follow_chosen(self, change: Any) -> None:
        if tuple(change["new"]) != self._assembly.chosen:
            self._assembly.choose(tuple(change["new"]))
            self._change()

    def wait(self, timeout: float | None = 60.0) -> Featurizer:
        """Wait until every change has been tried, save the picture, and return the featurizer.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None for no limit.

        Raises
        ------
        TimeoutError
            If it took longer.
        """
        if self._latest is not None and not self._latest.wait(timeout):
            raise TimeoutError(
                f"The steps were still being tried after {timeout:g} s: wait longer, or make them smaller."
            )
        self.save_picture()
        return self.featurizer

    def close(self) -> None:
        """Take the view away and end its trials."""
        if self._latest is not None:
            self._latest.close()
        super().close()

    def sentence(self) -> str:
        """Return what the view is, the same for every state."""
        return "FeaturizerBuilder: the steps that make features of the columns"

    def picture(self) -> bytes:
        """Return the steps, and what the chosen one does, as a PNG."""
        from lsat_explorer.widgets.featurizer_still import builder_picture

        with self._lock:
            shown, facts, sheet = self._shown, self._look, self._sprite
        return builder_picture(shown, facts, bytes(sheet), list(self._chosen))

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        with self._lock:
            self._problem = ""
            try:
                self._assembly.obey(content)
            except (ValueError, TypeError) as error:  # of a page that is behind, or of a name that is taken
                self._problem = str(error)
            self._change()

    def _change(self) -> None:
        """Show the tree as it is now and have it tried."""
        with self._lock, self.hold_sync():
            self._draft = self._assembly.root.to_text()
            self._chosen = list(self._assembly.chosen)
            self._shown = self._page(busy=True)
        if self._latest is not None:
            self._latest.ask((self._assembly.root, self._assembly.chosen, self.column, self.row))

    def _try(self, wish: _Wish, stale: Callable[[], bool]) -> None:
        torch.set_num_threads(self._threads)  # a new thread does not inherit it
        root, chosen, column, row = wish

        def seen(path: Path, tried: Tried) -> None:
            if path == chosen:
                self._show_look(tried, chosen, column, row)

        trial = self._trials.run(root, stale, seen)
        if trial is None:
            return
        with self._lock:
            if root is not self._assembly.root:
                return
            self._trial, self._found, self._told = trial, trial.featurizer, held_by(root, trial)
            with self.hold_sync():
                self._shown = self._page(busy=False)
                if chosen not in trial.tried:
                    self._look, self._sprite = {}, b""
        if trial.featurizer is not None:  # not with the lock: an observer may wait for somebody who waits for it
            with self.hold_trait_notifications():  # who observes one of them finds the other in step
                self.held = {name: Frozen() for name in self._told}
                self.featurizer = trial.featurizer
        self.save_soon()

    def _show_look(self, tried: Tried, chosen: Path, column: int, row: int) -> None:
        try:
            facts, sheet = look(tried, self._trials, self.data, column, row)
        except Exception as error:  # a step without its picture is worth more than neither
            facts, sheet = {"note": f"What it does could not be drawn: {error}"}, b""
        columns = tried.rows.shape[1]
        facts |= {"path": list(chosen), "named": tried.inputs.named, "rows": len(self.data.train), "columns": columns}
        facts["column"] = min(column, columns - 1)
        with self._lock, self.hold_sync():
            if sheet != self._sprite:
                self._sprite = sheet
            self._look = facts

    def _page(self, *, busy: bool) -> dict[str, Any]:
        """Return what the page shows of the present tree."""
        tried = len(self._trials.inputs)
        shown = page(self._assembly.root, self._trial, self.column, tried, len(self.data.train), busy=busy)
        if shown["counts"] is None:  # those of the featurizer, which stays as it was
            shown["counts"] = self._shown.get("counts")
        good = (self._found, self._told) if not busy and self._found is not None else (self.featurizer, list(self.held))
        return shown | {"undo": self._assembly.undoes, "redo": self._assembly.redoes, "code": as_code(*good)}

    def _width_at(self, path: Path, after: bool) -> int:
        return width_at(self._assembly.root, self._trial, path, after) or len(self.data.feature_names)
