"""The recipe as it is assembled: tabs of cards, sliders, the two editors on demand, and the text of it all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import ipywidgets
import traitlets

from lsat_explorer.data import Data
from lsat_explorer.model.piece import Omega
from lsat_explorer.model.recipe import Recipe
from lsat_explorer.widgets.base import OwnLayout, View, error_words
from lsat_explorer.widgets.cards import TABS, cards
from lsat_explorer.widgets.code_view import CodeView
from lsat_explorer.widgets.fitting_pieces import (
    Dropped,
    editable,
    held_names,
    misfit,
    with_features,
    with_graphs,
    with_tuned,
    with_weight,
)
from lsat_explorer.widgets.hyper_sliders import HyperSliders
from lsat_explorer.widgets.settings import OnlyKnown
from lsat_explorer.widgets.shown import looks, script

if TYPE_CHECKING:  # a tenth of a second that an Explorer without an open editor need not wait for
    from lsat_explorer.widgets.featurizer_builder import FeaturizerBuilder
    from lsat_explorer.widgets.graph_editor import GraphEditor

__all__ = ["RecipePanel", "Tabs"]


class Tabs(View):
    """What is assembled, a card for each piece, one tab at a time.

    Parameters
    ----------
    **settings
        The traits below. ``group`` names the sliders that belong to the tab, and follows ``tab`` in the browser.
        ``editing`` says whether an editor takes the place of the cards.
    """

    _esm = script("tabs.js")
    _css = looks("explorer.css")

    tab = traitlets.Enum(TABS, "Regularizers").tag(sync=True)
    editing = traitlets.Bool(False).tag(sync=True)
    cards = traitlets.Dict().tag(sync=True)
    pictures = traitlets.Dict().tag(sync=True)
    fixed = traitlets.Bool(False).tag(sync=True)  # whether the cards are of another recipe than that assembled
    whose = traitlets.Unicode("").tag(sync=True)  # of which run they then are
    group = traitlets.Unicode("none").tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)  # what does not go together


class RecipePanel(OnlyKnown, OwnLayout, ipywidgets.VBox):
    """A recipe to assemble by hand or as text; every way of changing it ends in one call.

    Parameters
    ----------
    data : Data
        The rows, on which the editors try what they make.
    recipe : Recipe
        What to begin with.
    sliders : HyperSliders
        Those of the recipe.
    change : callable
        Called with each other recipe that the editors or the text make; it may raise to refuse one.

    Attributes
    ----------
    tabs : Tabs
    code : CodeView
        The recipe as text.
    featurizer_builder, graph_editor
        The editors; None until one is opened.

    Examples
    --------
    >>> panel = RecipePanel(data, recipe, HyperSliders(recipe), print)  # doctest: +SKIP
    >>> panel.edit("Features")  # doctest: +SKIP
    """

    data: Data
    recipe: Recipe
    tabs: Tabs
    sliders: HyperSliders
    code: CodeView
    featurizer_builder: FeaturizerBuilder | None
    graph_editor: GraphEditor | None

    def __init__(self, data: Data, recipe: Recipe, sliders: HyperSliders, change: Callable[[Recipe], None]) -> None:
        self.data = data
        self.recipe = self._shown = recipe
        self.tabs, self.sliders, self.code = Tabs(), sliders, CodeView(recipe, change)
        self.featurizer_builder = None
        self.graph_editor = None
        self._change = change
        self._dropped = Dropped()
        self._refused = ""  # why what was asked for last was not done
        # in the browser, so that tabs turn while the kernel is busy
        self._turning = [
            ipywidgets.jslink((self.tabs, "group"), (sliders, "group")),
            ipywidgets.jslink((self.tabs, "tab"), (self.code, "tab")),
        ]
        self.tabs.observe(self._arrange, ["tab", "editing"])
        self.tabs.on_msg(self._obey)
        super().__init__(children=[self.tabs, sliders, self.code])
        self.add_class("lsat-assembly")

    def edit(self, tab: str) -> None:
        """Open the editor of a tab, ``"Features"`` or ``"Regularizers"``."""
        with self.tabs.hold_sync():
            self.tabs.tab, self.tabs.editing = tab, True

    def show(
        self,
        recipe: Recipe,
        omega: Omega | None,
        widths: Mapping[str, int] | None,
        held: Collection[str] = (),
        *,
        text: Recipe | None = None,
        of: str = "",
    ) -> None:
        """Show another recipe, that of a run of this name, to be read, or other present values of ω.

        Parameters
        ----------
        recipe : Recipe
            That of the cards.
        omega, widths, held
            What a run of it knows of them, see `known`.
        text : Recipe, optional
            That which is shown as text to edit, where the cards tell what a run that is over has used.
        of : str
            The name of the run.
        """
        found = cards(recipe, omega, widths, held)
        drawn = [(tab, card) for tab, some in found.items() for card in some if card.picture]
        with self.tabs.hold_sync():
            self._shown, self.tabs.whose = recipe, of
            self.tabs.problem = self._refused or misfit(recipe)
            self._fix()
            self.tabs.pictures = {f"{tab}/{card.name}": card.picture for tab, card in drawn}
            self.tabs.cards = {tab: [_without_picture(card) for card in some] for tab, some in found.items()}
        self.code.show(recipe if text is None else text)

    def _fix(self) -> None:
        self.tabs.fixed = bool(self.tabs.whose) or self._shown.regularizer != self.recipe.regularizer

    def take(self, recipe: Recipe) -> None:
        """Follow the recipe that is assembled; an editor that is open shows what it says."""
        if recipe is not self.recipe:
            self._answer()
        self.recipe = recipe
        self._fix()
        builder, editor = self.featurizer_builder, self.graph_editor
        if builder is not None and not _agrees(builder, recipe):
            self.featurizer_builder = None  # what was held in it belongs to the steps that it had
            self._arrange(None)
            builder.close()
        if editor is not None and editor.regularizer != editable(recipe, self.data):
            editor.regularizer = editable(recipe, self.data)

    def close(self) -> None:
        """Take everything away."""
        for part in (self.tabs, self.code, self.featurizer_builder, self.graph_editor, *self._turning):
            if part is not None:
                part.close()
        super().close()

    def _arrange(self, _change: Any) -> None:
        editor = self._editor() if self.tabs.editing else None
        self.children = (self.tabs, self.sliders, self.code) if editor is None else (self.tabs, editor)

    def _editor(self) -> ipywidgets.DOMWidget | None:
        """Return the editor of the tab that is shown, made when it is first asked for."""
        if self.tabs.tab == "Features":
            if self.featurizer_builder is None:
                from lsat_explorer.widgets.featurizer_builder import FeaturizerBuilder
                from lsat_explorer.widgets.featurizer_draft import kept_held, names_held, step_of

                steps = kept_held(step_of(self.recipe.featurizer), held_names(self.recipe))
                builder = FeaturizerBuilder(self.data, self.recipe.featurizer, held=names_held(steps))
                builder.observe(lambda _change: self._take_features(builder), ["featurizer", "held"])
                self.featurizer_builder = builder
            return self.featurizer_builder
        if self.tabs.tab == "Regularizers":
            if self.graph_editor is None:
                from lsat_explorer.widgets.graph_editor import GraphEditor

                self.graph_editor = GraphEditor(editable(self.recipe, self.data), data=self.data)
                self.graph_editor.observe(self._take_graphs, "regularizer")
            return self.graph_editor
        return None

    def _take_features(self, builder: FeaturizerBuilder) -> None:
        if builder is self.featurizer_builder and not _agrees(builder, self.recipe):
            self._edited(with_features(self.recipe, builder.featurizer, builder.held))

    def _obey(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Let a regularizer start at another weight, or be tuned or not, as its card asks."""
        if not isinstance(content, dict) or not isinstance(path := content.get("path"), str):
            return
        self._answer()
        try:
            if "weight" in content:
                self._offer(with_weight(self.recipe, path, content["weight"]))
            elif isinstance(tuned := content.get("tuned"), bool):
                self._offer(with_tuned(self.recipe, path, tuned))
        except ValueError as error:
            self._answer(error_words(error))

    def _take_graphs(self, change: Any) -> None:
        if change["new"] != editable(self.recipe, self.data):
            self._edited(with_graphs(self.recipe, change["new"]))

    def _edited(self, recipe: Recipe) -> None:
        self._offer(self._dropped.follow(self.recipe, recipe))

    def _offer(self, recipe: Recipe) -> None:
        before, self.recipe = self.recipe, recipe
        self._answer()
        try:
            self._change(recipe)
        except ValueError as error:  # of a trial's thread, where it would reach nobody
            self.recipe = before
            self._answer(error_words(error))

    def _answer(self, refused: str = "") -> None:
        """Say why what was asked for last was refused, or what does not go together."""
        self._refused = refused
        self.tabs.problem = refused or misfit(self._shown)


def _agrees(builder: FeaturizerBuilder, recipe: Recipe) -> bool:
    return builder.featurizer == recipe.featurizer and set(builder.held) == set(held_names(recipe))


def _without_picture(card: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(card).items() if name != "picture"}
