"""The recipe assembled by hand and as text: the panel of the Explorer without a browser."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

import pytest

import lsat_explorer as lsat
from lsat_explorer.widgets.code_view import CodeView, cell_source, line_of
from lsat_explorer.widgets.fitting_pieces import editable, misfit, with_features, with_graphs, with_weight
from lsat_explorer.widgets.hyper_sliders import HyperSliders
from lsat_explorer.widgets.recipe_panel import RecipePanel

RECIPE = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2)
SMOOTH = "regularizer.smooth.log_weight"


@pytest.fixture
def changes() -> list[lsat.Recipe]:
    return []


@pytest.fixture
def panel(digits: lsat.Data, changes: list[lsat.Recipe]) -> Iterator[RecipePanel]:
    panel = RecipePanel(digits, RECIPE, HyperSliders(RECIPE), changes.append)
    yield panel
    panel.close()


def test_the_editors_take_the_place_of_cards_and_change_the_recipe(panel: RecipePanel, changes: list) -> None:
    assert panel.graph_editor is None
    assert panel.featurizer_builder is None
    panel.edit("Regularizers")
    assert panel.children == (panel.tabs, panel.graph_editor)
    panel.graph_editor.graph = lsat.graphs.path(64)
    assert [c.regularizer.members["smooth"].graph for c in changes] == [lsat.graphs.path(64)]
    assert changes[-1] == RECIPE.replace(regularizer=changes[-1].regularizer)

    panel.edit("Features")
    builder = panel.featurizer_builder
    assert panel.children == (panel.tabs, builder)
    builder.featurizer = lsat.Concat(pixels=lsat.Scale(), archetypes=lsat.KMeansArchetypes(per_class=3))
    builder.wait()
    assert changes[-1].featurizer == builder.featurizer
    assert changes[-1].regularizer.members["smooth"].graph == lsat.graphs.path(64)  # the earlier change stays
    panel.tabs.set_state({"editing": False})
    assert panel.children == (panel.tabs, panel.sliders, panel.code)


def test_editors_follow_a_recipe_without_changing_it(panel: RecipePanel, changes: list) -> None:
    panel.edit("Features")
    panel.edit("Regularizers")
    other = RECIPE.replace(
        featurizer=lsat.Concat(pixels=lsat.Identity(), one=lsat.Constant()),
        regularizer=lsat.Stack(smooth=lsat.Smooth(lsat.graphs.ring(64), block="pixels")),
    )
    panel.take(other)
    panel.edit("Features")
    panel.featurizer_builder.wait()
    assert panel.featurizer_builder.featurizer == other.featurizer
    assert panel.graph_editor.graph == lsat.graphs.ring(64)
    assert changes == []
    assert panel.recipe == other


def test_a_card_sets_where_a_weight_starts_and_whether_it_is_tuned(panel: RecipePanel, changes: list) -> None:
    def ask(**content: object) -> None:
        panel.tabs._handle_custom_msg(content, [])

    panel.show(RECIPE, None, None)
    card = panel.tabs.cards["Regularizers"][2]
    assert (card["path"], card["tuned"]) == ("smooth", True)
    assert card["start"] == pytest.approx(math.e**2)
    ask(path="smooth", weight=4.0)
    assert changes[-1].regularizer.members["smooth"].log_weight == pytest.approx(math.log(2))
    ask(path="smooth", tuned=False)
    assert changes[-1].hyper_penalties[SMOOTH] == lsat.Frozen()
    assert changes[-1].regularizer.members["smooth"].log_weight == pytest.approx(math.log(2))
    ask(path="smooth", tuned=True)
    assert changes[-1].hyper_penalties == RECIPE.hyper_penalties
    panel.show(panel.recipe, None, None)
    assert not panel.tabs.fixed
    panel.show(RECIPE, None, None)  # the cards of an earlier run are to be read
    assert panel.tabs.fixed

    count = len(changes)
    for wrong, word in ((0, "positive"), ("x", "'x'"), (float("nan"), "nan"), (True, "True")):
        ask(path="smooth", weight=wrong)
        assert word in panel.tabs.problem
    ask(path="gone", weight=1.0)
    assert "'gone'" in panel.tabs.problem
    ask(path="smooth", tuned="yes")
    ask(weight=1.0)
    assert len(changes) == count


def test_a_regularizer_that_is_alone_or_deep_inside_starts_elsewhere() -> None:
    alone = with_weight(lsat.Recipe(regularizer=lsat.Diagonal()), "", 1.0)
    assert alone.regularizer == lsat.Diagonal(log_weight=0.0)
    deep = lsat.Stack(a=lsat.Stack(b=lsat.Ridge(), c=lsat.Ridge()), d=lsat.Ridge())
    assert with_weight(lsat.Recipe(regularizer=deep), "a.c", 1.0).regularizer == deep
    moved = with_weight(lsat.Recipe(regularizer=deep), "a.c", 4.0).regularizer
    assert [moved.members["a"].members[name].log_weight > 0.6 for name in "bc"] == [False, True]


def test_what_is_held_in_the_builder_is_held_in_the_recipe(panel: RecipePanel, changes: list) -> None:
    panel.edit("Features")
    panel.featurizer_builder.held = ["featurizer.archetypes.log_scale"]
    panel.featurizer_builder.wait()
    held = {n for n, p in changes[-1].hyper_penalties.items() if isinstance(p, lsat.Frozen)}
    assert held == {"featurizer.archetypes.log_scale"}
    assert "data_weights.log_weight" in changes[-1].hyper_penalties
    panel.featurizer_builder.held = ()
    panel.featurizer_builder.wait()
    assert changes[-1] == RECIPE


def test_a_recipe_without_a_graph_gets_one_without_edges_to_draw_on(digits: lsat.Data) -> None:
    recipe = lsat.Recipe(hyper_penalties={"regularizer.log_weight": lsat.Frozen()})
    stack = editable(recipe, digits)
    assert list(stack.members) == ["ridge", "smooth"]
    assert stack.members["ridge"] == recipe.regularizer
    drawn = stack.members["smooth"]
    assert (drawn.graph.n, len(drawn.graph.edges), drawn.block) == (64, 0, "features")
    changed = with_graphs(recipe, stack)
    assert changed.hyper_penalties == {"regularizer.ridge.log_weight": lsat.Frozen()}
    run = lsat.tune(changed.replace(method=lsat.LBFGS(max_iterations=2)), digits, progress=False)
    assert run.status is not lsat.Status.NOT_FINITE


def test_penalties_of_what_is_gone_go_too() -> None:
    penalties = {SMOOTH: lsat.SumSquares(0.1), "regularizer.pixel_ridge.log_weight": lsat.SumSquares(0.2)}
    recipe = RECIPE.replace(hyper_penalties=penalties | {"featurizer.archetypes.log_scale": lsat.Frozen()})
    kept = with_graphs(recipe, lsat.Stack(pixel_ridge=lsat.Ridge(), other=lsat.Smooth(lsat.graphs.path(64))))
    assert set(kept.hyper_penalties) == set(recipe.hyper_penalties) - {SMOOTH}
    assert set(with_features(recipe, lsat.Identity(), {}).hyper_penalties) == set(penalties)


def test_a_block_that_is_renamed_keeps_its_regularizers_and_penalties() -> None:
    recipe = RECIPE.replace(
        hyper_penalties={"featurizer.archetypes.log_scale": lsat.SumSquares(0.1), **RECIPE.hyper_penalties}
    )
    members = {("centres" if n == "archetypes" else n): m for n, m in recipe.featurizer.members.items()}
    changed = with_features(recipe, lsat.Concat(**members), {})
    blocks = [getattr(piece, "block", None) for piece in changed.regularizer.members.values()]
    assert blocks == ["pixels", "centres", "pixels"]
    assert "featurizer.centres.log_scale" in changed.hyper_penalties
    assert "featurizer.archetypes.log_scale" not in changed.hyper_penalties
    assert (misfit(recipe), misfit(changed)) == ("", "")


def test_a_block_that_is_gone_is_missed_where_it_shows(panel: RecipePanel) -> None:
    recipe = RECIPE.replace(featurizer=lsat.Concat(pixels=lsat.Identity(), one=lsat.Constant()))
    panel.show(recipe, None, None)
    with pytest.raises(ValueError, match="There is no block 'archetypes'") as refused:
        lsat.Problem(recipe, lsat.datasets.digits())
    assert panel.tabs.problem == str(refused.value)
    panel.show(RECIPE, None, None)
    assert panel.tabs.problem == ""
    assert "no named blocks" in misfit(lsat.Recipe(featurizer=lsat.Identity()))
    inside = lsat.Concat(outer=lsat.Concat(map=lsat.Identity()), one=lsat.Constant())
    assert misfit(lsat.Recipe(featurizer=inside, regularizer=lsat.Ridge(block="outer.map"))) == ""


def test_an_added_graph_takes_no_name_and_the_block_of_the_columns(digits: lsat.Data) -> None:
    stack = lsat.Stack(smooth=lsat.Ridge(block="one"), b=lsat.Ridge(block="x"))
    recipe = lsat.Recipe(featurizer=lsat.Concat(one=lsat.Constant(), x=lsat.Identity()), regularizer=stack)
    members = editable(recipe, digits).members
    assert members["smooth"] == lsat.Ridge(block="one")
    assert (members["smooth_graph"].block, members["smooth_graph"].graph.n) == ("x", 64)


# --- the text -----------------------------------------------------------------------------------------------------


def test_text_and_recipe_keep_in_step_both_ways(changes: list) -> None:
    view = CodeView(RECIPE, changes.append)
    assert lsat.Recipe.from_json(view.json) == RECIPE
    names: dict = {}
    exec(view.python, names)
    assert names["recipe"] == RECIPE
    other = RECIPE.replace(seed=5)
    view.show(other)
    assert view.draft == view.json == other.to_json()
    view.set_state({"draft": view.json.replace('"seed": 5', '"seed": 7')})
    assert (view.problem, changes) == ("", [])
    view._handle_custom_msg({"command": "apply"}, [])
    assert changes == [RECIPE.replace(seed=7)]
    assert view.draft == view.json == RECIPE.replace(seed=7).to_json()


@pytest.mark.parametrize(
    ("old", "new", "words", "line"),
    [
        ('"seed": 0', '"sed": 0', "no 'sed'", '"sed"'),
        ('"seed": 0', '"seed": -1', "seed is -1", '"seed"'),
        ('"seed": 0,', '"seed": 0', "not readable JSON", '"dtype"'),
        ('"type": "CrossEntropy"', '"type": "CrosEntropy"', "CrossEntropy", "CrosEntropy"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(old, new, words, line, changes: list) -> None:
    view = CodeView(RECIPE, changes.append)
    assert old in view.json
    text = view.json.replace(old, new)
    view.set_state({"draft": text})
    assert (words in view.problem, f"line {view.line}" in view.problem) == (True, False)  # the page says it before
    assert line in text.split("\n")[view.line - 1]
    view.apply()
    assert (view.draft, changes) == (text, [])
    view.revert()
    assert (view.draft, view.problem, view.line) == (view.json, "", 0)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_emptied_text_says_what_to_do_and_comes_back(text: str, changes: list) -> None:
    view = CodeView(RECIPE, changes.append)
    assert view.problem == ""
    view.set_state({"draft": text})
    assert re.search("expected a recipe as JSON; .*Revert", view.problem)
    view._handle_custom_msg({"command": "apply", "draft": text}, [])
    assert (view.draft, changes) == (text, [])
    assert "empty" in view.problem
    view._handle_custom_msg({"command": "revert"}, [])
    assert (view.draft, view.problem) == (view.json, "")
    assert lsat.Recipe.from_json(view.draft) == RECIPE


def test_what_somebody_types_stays_when_the_recipe_changes(changes: list) -> None:
    view = CodeView(RECIPE, changes.append)
    typed = view.json.replace('"seed": 0', '"seed": 3')
    view.set_state({"draft": typed})
    view.show(RECIPE.replace(dtype="float64"))
    assert (view.draft, view.behind) == (typed, True)
    view._handle_custom_msg({"command": "revert"}, [])
    assert (view.draft, view.behind) == (view.json, False)
    assert json.loads(view.json)["dtype"] == "float64"


def test_a_recipe_that_is_refused_leaves_the_text() -> None:
    def refuse(recipe: lsat.Recipe) -> None:
        raise ValueError("seed: not this one")

    view = CodeView(RECIPE, refuse)
    view.draft = view.json.replace('"seed": 0', '"seed": 4')
    view.apply()
    assert view.problem == "seed: not this one"
    assert '"seed": 4' in view.draft.split("\n")[view.line - 1]


def test_a_line_that_cannot_be_known_is_not_guessed() -> None:
    assert line_of(ValueError("type: no such thing"), '{"a": {"type": 1},\n"b": {"type": 2}}') == 0


def test_the_cell_rebuilds_data_recipe_and_explorer(digits: lsat.Data) -> None:
    names: dict = {}
    exec(cell_source(digits, RECIPE).replace("\nexplorer", "\nmade = True  # ", 1).rsplit("\n", 1)[0], names)
    assert names["recipe"] == RECIPE
    assert (names["data"].train.rows == digits.train.rows).all()
    own = lsat.Data.from_arrays(digits.train.inputs, digits.train.labels)
    assert cell_source(own, RECIPE, {"_": own, "mine": own}).count("mine") == 2
    assert "holds your rows" in cell_source(own, RECIPE)


@pytest.mark.parametrize(
    "options", [{}, {"seed": 2, "test": 100}, {"validation": 0.5, "final": 0.1}], ids=["none", "test", "final"]
)
def test_data_know_the_call_that_makes_them(options: dict) -> None:
    data = lsat.datasets.digits(**options)
    again = eval(data.source, {"lsat": lsat})
    for name in ("train", "validation", "test", "final"):
        one, other = getattr(data, name), getattr(again, name)
        assert (one is None and other is None) or (one.rows == other.rows).all()
    assert data.source == f"lsat.datasets.digits({', '.join(f'{k}={v}' for k, v in sorted_like(options))})"


def sorted_like(options: dict) -> list:
    """Options in the order of the function's own."""
    return [(name, options[name]) for name in ("validation", "test", "final", "seed") if name in options]


# --- what was refused, or broke, once -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["class", "None", "self", "__debug__", "type", "ﬁ", "a b", ""])
def test_a_member_is_named_as_python_can_name_it(name: str) -> None:
    for kind, member in ((lsat.Stack, lsat.Ridge()), (lsat.Concat, lsat.Identity())):
        with pytest.raises((ValueError, TypeError), match=r"name|multiple values"):
            kind(**{name: member})


def test_a_name_with_line_breaks_stays_a_comment(digits: lsat.Data) -> None:
    own = lsat.Data.from_arrays(digits.train.inputs, digits.train.labels, name="x\nimport os\nraise SystemExit")
    text = cell_source(own, RECIPE)
    assert [line for line in text.split("\n") if "import" in line] == [
        "import lsat_explorer as lsat",
        next(line for line in text.split("\n") if line.startswith("# data holds your rows")),
    ]


def test_a_piece_that_fails_otherwise_is_shown_in_place() -> None:
    def fail(recipe: lsat.Recipe) -> None:
        raise RuntimeError("out of cheese")

    view = CodeView(RECIPE, fail)
    view.draft = view.json.replace('"seed": 0', '"seed": 4')
    view._handle_custom_msg({"command": "apply"}, [])
    assert view.problem == "RuntimeError: out of cheese"


def test_none_is_refused_and_leaves_the_view_as_it_was(digits: lsat.Data) -> None:
    builder = lsat.widgets.FeaturizerBuilder(digits, lsat.Scale())
    editor = lsat.widgets.GraphEditor(digits)
    browser = lsat.widgets.WeightBrowser(lsat.Run(RECIPE, digits))
    places = [(builder, "featurizer"), (builder, "held"), (editor, "regularizer"), (browser, "run")]
    for view, name in [*places, (browser, "selected")]:
        before = getattr(view, name)
        with pytest.raises(ValueError, match=r".+"):
            setattr(view, name, None)
        assert getattr(view, name) is before or getattr(view, name) == before
    for view in (builder, editor, browser):
        view.close()
