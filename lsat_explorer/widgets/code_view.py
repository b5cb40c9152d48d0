"""The recipe as text: Python to copy, JSON to copy and to edit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import traitlets

from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import View, error_words
from lsat_explorer.widgets.shown import looks, script

__all__ = ["CodeView", "cell_source", "line_of"]

_EMPTY = "The text is empty, expected a recipe as JSON; write or paste one, or press Revert to have the last one back."


class CodeView(View):
    """A recipe as Python and as JSON. What is typed into the JSON is read as it is typed, and used once it is applied.

    Parameters
    ----------
    recipe : Recipe
        What to show.
    change : callable
        Called with the recipe that an applied text describes; a ValueError refuses it, and is shown in place.
    **settings
        The traits below.

    Examples
    --------
    >>> view = CodeView(Recipe(), print)
    >>> view.draft = '{"format": 1, "sed": 3}'
    >>> view.problem
    "The recipe has no 'sed': did you mean 'seed'?"
    """

    _esm = script("code_view.js")
    _css = looks("code_view.css")

    tab = traitlets.Unicode("Code").tag(sync=True)  # the view is shown in the tab of this name
    language = traitlets.Enum(["Python", "JSON"], "Python").tag(sync=True)
    python = traitlets.Unicode("").tag(sync=True)
    json = traitlets.Unicode("").tag(sync=True)
    draft = traitlets.Unicode("").tag(sync=True)  # the JSON as it is being typed
    problem = traitlets.Unicode("").tag(sync=True)
    line = traitlets.Int(0).tag(sync=True)  # where the problem is, from 1; 0 if that is not known
    behind = traitlets.Bool(False).tag(sync=True)  # whether the recipe has changed since somebody began to type

    def __init__(self, recipe: Recipe, change: Callable[[Recipe], None], **settings: Any) -> None:
        self._change = change
        self._recipe: Recipe | None = None
        super().__init__(**settings)
        self.on_msg(self._obey)
        self.show(recipe)

    def show(self, recipe: Recipe) -> None:
        """Show another recipe; a text that somebody is typing stays."""
        if recipe is self._recipe:
            return
        self._recipe = recipe
        typing = self.draft != self.json
        with self.hold_sync():
            self.python, self.json = recipe.to_source(), recipe.to_json()
            if typing and self.draft != self.json:
                self.behind = True
            else:
                self.draft, self.behind = self.json, False

    def apply(self) -> None:
        """Use the text that was typed, if it describes a recipe."""
        recipe = self._read()
        if recipe is None:
            return
        try:
            self._change(recipe)
        except Exception as error:  # of a piece that somebody wrote, too
            self._complain(error)
            return
        self._recipe = None  # the same recipe may be written otherwise than it was typed
        with self.hold_sync():
            self.json = self.draft
            self.show(recipe)

    def revert(self) -> None:
        """Take back what was typed."""
        with self.hold_sync():
            self.draft, self.behind = self.json, False

    @traitlets.observe("draft")
    def _check(self, _change: Any) -> None:
        self._read()

    def _read(self) -> Recipe | None:
        """Return what the text describes, or None and say what is wrong with it."""
        try:
            if not self.draft.strip():
                raise ValueError(_EMPTY)
            recipe = Recipe.from_json(self.draft)
        except ValueError as error:
            self._complain(error)
            return None
        with self.hold_sync():
            self.problem, self.line = "", 0
        return recipe

    def _complain(self, error: Exception) -> None:
        with self.hold_sync():
            self.problem, self.line = _words_of(error), line_of(error, self.draft)

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if isinstance(content.get("draft"), str):
            self.draft = content["draft"]  # what the page shows when the button is pressed
        if content.get("command") == "apply":
            self.apply()
        elif content.get("command") == "revert":
            self.revert()


def _words_of(error: Exception) -> str:
    """Return an error as the page shows it behind the number of its line, which it then need not say again."""
    words, cause = error_words(error), error.__cause__
    if isinstance(cause, json.JSONDecodeError):
        return words.replace(
            f": line {cause.lineno} column {cause.colno} (char {cause.pos})", f", column {cause.colno}"
        )
    return words


def line_of(error: Exception, text: str) -> int:
    r"""Return the line, from 1, of what an error of `Recipe.from_json` complains about; 0 if that is not clear.

    Examples
    --------
    >>> text = '{"format": 1,\n "sed": 3}'
    >>> try:
    ...     Recipe.from_json(text)
    ... except ValueError as error:
    ...     line_of(error, text)
    2
    """
    cause = error.__cause__
    if isinstance(cause, json.JSONDecodeError):
        return cause.lineno
    words = str(error)
    path = words.split(":")[0].split(".")
    names = [*re.findall(r"'([^']*)'", words), *reversed(path), *re.findall(r"(\w+) is ", words)]
    for name in names:
        lines = [number for number, line in enumerate(text.split("\n"), 1) if f'"{name}"' in line]
        if len(lines) == 1:
            return lines[0]
    return 0


def cell_source(data: Any, recipe: Recipe, namespace: dict[str, Any] | None = None) -> str:
    """Return a cell that makes the same Explorer again.

    Parameters
    ----------
    data : Data
        The rows. Those that were made of somebody's own arrays are called by the name that ``namespace`` has for them.
    recipe : Recipe
        What is fitted and tuned.
    namespace : dict, optional
        Names of the notebook.

    Examples
    --------
    >>> import lsat_explorer as lsat
    >>> print(cell_source(lsat.datasets.digits(seed=1), Recipe(seed=3)))
    import lsat_explorer as lsat
    <BLANKLINE>
    data = lsat.datasets.digits(seed=1)
    recipe = lsat.Recipe(seed=3)
    explorer = lsat.widgets.Explorer(data, recipe)
    explorer
    """
    found = [name for name, value in (namespace or {}).items() if value is data and not name.startswith("_")]
    name = found[0] if found else "data"
    made = (
        f"{name} = {data.source}" if data.source else f"# {name} holds your rows, {' '.join(data.describe().split())}"
    )
    start, _, body = recipe.to_source().partition("\n\n")
    return f"{start}\n\n{made}\n{body}explorer = lsat.widgets.Explorer({name}, recipe)\nexplorer"
