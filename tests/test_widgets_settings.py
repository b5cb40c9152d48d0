"""What may be set on a view: names that it declares, values of their kinds; all else is refused in a sentence."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import ipywidgets
import pytest
import traitlets

import lsat_explorer as lsat
from lsat_explorer import widgets
from lsat_explorer.widgets.settings import OnlyKnown

RECIPE = lsat.Recipe(method=lsat.LBFGS(max_iterations=1))


def views() -> list[type]:
    """Return every class of the package that is a widget."""
    found = []
    for module in pkgutil.iter_modules(widgets.__path__, widgets.__name__ + "."):
        members = vars(importlib.import_module(module.name)).values()
        found += [each for each in members if isinstance(each, type) and each.__module__ == module.name]
    return [each for each in found if issubclass(each, ipywidgets.Widget)]


@pytest.fixture(scope="module")
def run() -> lsat.Run:
    return lsat.tune(RECIPE, lsat.datasets.digits(), progress=False)


MAKE: dict[str, Callable[[lsat.Run], Any]] = {
    "Explorer": lambda run: widgets.Explorer(run, keep=False),
    "FeaturizerBuilder": lambda run: widgets.FeaturizerBuilder(run.data, lsat.Scale()),
    "GraphEditor": lambda run: widgets.GraphEditor(lsat.graphs.path(6)),
    "HyperSliders": lambda run: widgets.HyperSliders(run),
    "LiveTuner": lambda run: widgets.LiveTuner(run),
    "WeightBrowser": lambda run: widgets.WeightBrowser(run, verdicts=lsat.Verdicts()),
}


@pytest.fixture(params=widgets.__all__)
def view(request: pytest.FixtureRequest, run: lsat.Run) -> Iterator[Any]:
    made = MAKE[request.param](run)
    yield made
    made.close()


def test_every_view_has_only_what_it_declares() -> None:
    assert {each.__name__ for each in views()} > set(widgets.__all__)
    assert [each.__name__ for each in views() if not issubclass(each, OnlyKnown)] == []


def test_what_nobody_declared_is_refused_and_not_there(view: Any) -> None:
    before = set(vars(view))
    with pytest.raises(TypeError, match=f"^{type(view).__name__} has no setting 'nobodys': it takes .*layout"):
        view.nobodys = 1
    assert set(vars(view)) == before


def test_what_every_widget_has_can_be_set_and_so_can_private_names(view: Any) -> None:
    view.layout = ipywidgets.Layout(width="50%")
    view.layout.width = "40%"
    view.tabbable = True
    view.add_traits(height=traitlets.Int(3))
    view.height = 4
    view._of_the_user = 5
    assert (view.tabbable, view.height, view._of_the_user) == (True, 4, 5)


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [
        ("FeaturizerBuilder", "featuriser", "featurizer"),
        ("FeaturizerBuilder", "colum", "column"),
        ("GraphEditor", "grph", "graph"),
        ("GraphEditor", "graphes", "graphs"),
        ("HyperSliders", "value", "values"),
        ("LiveTuner", "truoble", "trouble"),
        ("Explorer", "featuriser", "featurizer"),
        ("Explorer", "recepe", "recipe"),
        ("WeightBrowser", "page_sise", "page_size"),
        ("WeightBrowser", "selcted", "selected"),
    ],
)
def test_a_misspelt_name_is_refused_by_the_one_that_was_meant(name: str, wrong: str, meant: str, run: lsat.Run) -> None:
    view = MAKE[name](run)
    with pytest.raises(TypeError, match=f"^{name} has no setting '{wrong}': did you mean '{meant}'"):
        setattr(view, wrong, None)
    view.close()


def test_a_subclass_of_a_users_has_what_it_declares_too(run: lsat.Run) -> None:
    class Mine(widgets.WeightBrowser):
        rating = traitlets.Int(1)
        colour = "red"
        note: str

        def __init__(self, run: lsat.Run) -> None:
            super().__init__(run, verdicts=lsat.Verdicts())
            self.note = "first"

    mine = Mine(run)
    mine.rating, mine.colour, mine.note = 2, "blue", "second"
    assert (mine.rating, mine.colour, mine.note) == (2, "blue", "second")
    with pytest.raises(TypeError, match="Mine has no setting 'ratng': did you mean 'rating'"):
        mine.ratng = 3
    mine.close()


@pytest.mark.parametrize(
    ("name", "trait", "value", "said"),
    [
        ("WeightBrowser", "part", "train", r"part is 'train': did you mean 'training'\?"),
        ("WeightBrowser", "part", 3, "part is 3: expected one of training, validation, test"),
        ("WeightBrowser", "verdict", "kept", r"verdict is 'kept': did you mean 'keep'\?"),
        ("WeightBrowser", "page", "x", "page is 'x', expected a whole number; give its number from 1"),
        ("WeightBrowser", "order", 3, "order is 3, expected text; give a name such as 'lightest' or '-loss'"),
        ("WeightBrowser", "layout", 3, "layout is 3, expected a Layout; give one"),
        (
            "FeaturizerBuilder",
            "column",
            "ash",
            r"column is 'ash', expected a whole number; give its place .*index\(name\)",
        ),
        (
            "FeaturizerBuilder",
            "row",
            list(range(99)),
            "row is a list of 99, expected a whole number; give its place from 0",
        ),
        ("GraphEditor", "graph", None, "graph is None, expected a Graph; give one"),
        ("HyperSliders", "recipe", "mine", "recipe is 'mine', expected a Recipe; give one"),
        ("HyperSliders", "group", "methods", r"group is 'methods': did you mean 'method'\?"),
        ("LiveTuner", "layout", "wide", "layout is 'wide', expected a Layout; give one"),
    ],
)
def test_a_value_of_another_kind_is_refused_in_our_words(
    name: str, trait: str, value: Any, said: str, run: lsat.Run
) -> None:
    view = MAKE[name](run)
    before = getattr(view, trait)
    with pytest.raises(ValueError, match=f"^{said}"):
        setattr(view, trait, value)
    assert getattr(view, trait) is before
    view.close()


def test_a_view_that_is_made_with_a_value_of_another_kind_says_the_same(run: lsat.Run) -> None:
    with pytest.raises(ValueError, match=r"^part is 'train': did you mean 'training'"):
        widgets.WeightBrowser(run, part="train", verdicts=lsat.Verdicts())
    with pytest.raises(ValueError, match=r"^column is 'ash', expected a whole number"):
        widgets.FeaturizerBuilder(run.data, column="ash")
    with pytest.raises(ValueError, match=r"^group is 'methods': did you mean 'method'"):
        widgets.HyperSliders(run, group="methods")


def test_what_follows_a_trait_keeps_the_words_of_its_own(run: lsat.Run) -> None:
    class Follower(OnlyKnown, traitlets.HasTraits):
        led = traitlets.Int(0)
        follows = traitlets.Int(0)

        @traitlets.observe("led")
        def _follow(self, change: Any) -> None:
            raise traitlets.TraitError("the follower is stuck")

    with pytest.raises(traitlets.TraitError, match=r"^the follower is stuck$"):
        Follower().led = 3
