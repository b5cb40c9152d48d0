"""Sliders for the numbers of a recipe that shape the tuning itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import asdict
from numbers import Number
from typing import Any

import traitlets

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import View
from lsat_explorer.widgets.knobs import knobs, set_knob
from lsat_explorer.widgets.settings import SettingError
from lsat_explorer.widgets.shown import Shown, looks, script

__all__ = ["HyperSliders"]

_of_a_page = ContextVar("_of_a_page", default=False)
"""Whether what is assigned now comes from a page, which is answered in words, and not by an error."""


class HyperSliders(Shown, View):
    """A slider for each hyper-hyper-parameter of a recipe: strengths of penalties, bounds, first step, stopping.

    Moving one replaces `recipe`, which is frozen, and tells the run, if there is one: it takes the change up at its
    next iteration, with a fresh step size, from where ω is now. What no run can take up is held, and says why.

    Parameters
    ----------
    source : Recipe or Run
        The recipe to change, or a run whose recipe to change while it goes on.
    **settings
        ``group``: show only ``"penalties"``, ``"loss"`` or ``"method"``; ``layout``.

    Attributes
    ----------
    recipe : Recipe
        The recipe with the present values. Assigning another one shows its numbers.
    values : dict of str to float
        The present values by path, such as ``"method/step"``. Assigning a dict moves the sliders.
    run : Run or None
        What is told of a change.

    Raises
    ------
    ValueError
        If ``source`` is neither a recipe nor a run. Where ``values`` gets a path that the recipe does not have, or a
        number that its piece refuses or the run cannot take up; all values then stay what they were.

    Examples
    --------
    >>> sliders = HyperSliders(Recipe())
    >>> sliders.values = {**sliders.values, "method/max_iterations": 50}
    >>> sliders.recipe.method.max_iterations
    50
    """

    _esm = script("hyper_sliders.js")
    _css = looks("hyper_sliders.css")

    run: Any

    recipe = traitlets.Instance(Recipe)
    values = traitlets.Dict().tag(sync=True)
    group = traitlets.Enum(["", "penalties", "loss", "method", "none"], "").tag(sync=True)
    _knobs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _problem = traitlets.Unicode("").tag(sync=True)
    _fixed = traitlets.Any(None, allow_none=True).tag(sync=True)  # knobs to look at alone
    _begun = traitlets.Bool(False).tag(sync=True)  # whether a run goes on that cannot take every number up

    def __init__(self, source: Any, **settings: Any) -> None:
        recipe = source if isinstance(source, Recipe) else getattr(source, "recipe", None)
        if not isinstance(recipe, Recipe):
            raise ValueError(f"HyperSliders got {type(source).__name__}: give a Recipe or a Run.")
        self.run = None if isinstance(source, Recipe) else source
        self._start: dict[str, float] = {}
        self._settled: dict[str, float] = {}
        super().__init__(recipe=recipe, **settings)
        self._begun = self.run is not None
        self.add_class("lsat-live")

    @traitlets.observe("recipe")
    def _show(self, change: Any) -> None:
        found = knobs(change.new)
        self._start = {knob.path: self._start.get(knob.path, knob.value) for knob in found}
        self._settled = {knob.path: knob.value for knob in found}
        self._knobs = [asdict(knob) | {"start": self._start[knob.path]} for knob in found]
        self.values = dict(self._settled)

    @traitlets.observe("values")
    def _take(self, change: Any) -> None:
        moved = {
            path: value
            for path, value in change.new.items()
            if not isinstance(value, Number) or self._settled.get(path) != value  # an array equals nothing
        }
        self._problem = ""
        if not moved and len(change.new) == len(self._settled):
            return
        try:
            recipe = getattr(self.run, "wanted", self.recipe)  # with what others changed of the run meanwhile
            for path, value in moved.items():
                recipe = set_knob(recipe, path, value)
            if self.run is not None:
                self.run.change(recipe)
        except ValueError as error:
            self.values = dict(self._settled)
            if not _of_a_page.get():
                raise SettingError(str(error)) from error
            self._problem = str(error)  # after the values, whose return to what they were ends a complaint
            return
        self.recipe = recipe
        self.values = dict(self._settled)  # as the piece took it, and with every number that was left out

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what a page says. A number that cannot be is answered there, and leaves all as it was."""
        token = _of_a_page.set(True)
        try:
            super().set_state(sync_data)
        finally:
            _of_a_page.reset(token)

    def hold(self, begun: bool) -> None:
        """Hold the numbers that no run takes up, or let them be moved.

        Parameters
        ----------
        begun : bool
            Whether a run goes on.
        """
        self._begun = begun

    def look_at(self, recipe: Recipe | None) -> None:
        """Show the numbers of another recipe, not to be moved.

        Parameters
        ----------
        recipe : Recipe or None
            The recipe to show; None shows `recipe` again.
        """
        self._fixed = None if recipe is None else [asdict(knob) | {"start": knob.value} for knob in knobs(recipe)]

    def picture(self) -> bytes:
        """Return the sliders as a PNG."""
        from lsat_explorer.widgets.stills import sliders_picture

        return sliders_picture(knobs(self.recipe))

    def sentence(self) -> str:
        """Return what the view is."""
        return "HyperSliders: the hyper-hyper-parameters of a recipe"
