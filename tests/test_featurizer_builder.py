"""The featurizer builder: what hands assemble, what is explained, what is held, without a kernel or a browser."""

from __future__ import annotations

from typing import Any

import pytest

import lsat_explorer as lsat
from building import BLOCKS, FEATURIZERS, SOON, do, node, prepared, send, short, shown
from lsat_explorer.model.prepared import Featurizer
from lsat_explorer.widgets import FeaturizerBuilder
from lsat_explorer.widgets.featurizer_draft import Step, built, leaves, step_of
from lsat_explorer.widgets.featurizer_fields import controls, kinds
from pieces import COLUMNS
from test_problem import make_data


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    return make_data(d=COLUMNS)


# --- in and out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("featurizer", FEATURIZERS, ids=short)
def test_a_featurizer_goes_in_and_comes_out_with_the_counts_of_its_preparation(
    featurizer: Featurizer, data: lsat.Data
) -> None:
    builder = FeaturizerBuilder(data, featurizer)
    assert builder.featurizer == featurizer
    assert builder.wait(SOON) == featurizer
    assert eval(builder.featurizer.to_code("lsat."), {"lsat": lsat}) == featurizer
    assert built(Step.from_text(builder.get_state()["_draft"]))[0] == featurizer
    made = prepared(featurizer, data)
    start = made.init()
    hyper = sum(value.numel() for value in start.values())
    width = max(columns.stop for columns in made.columns().values())
    assert shown(builder)["counts"] == {"features": width, "hyper": hyper, "tuned": hyper}
    assert shown(builder)["tone"] == "good"
    builder.held = [f"featurizer.{name}" for name in start]
    assert builder.wait(SOON) == featurizer
    assert list(builder.held) == [f"featurizer.{name}" for name in start]
    assert shown(builder)["counts"] == {"features": width, "hyper": hyper, "tuned": 0}
    assert builder.picture()[:4] == b"\x89PNG"
    builder.close()


def test_what_a_recipe_begins_with_is_the_default(data: lsat.Data) -> None:
    assert FeaturizerBuilder(data).wait(SOON) == lsat.Recipe().featurizer


def test_the_rows_cannot_be_replaced(builder: FeaturizerBuilder, data: lsat.Data) -> None:
    view: Any = builder
    with pytest.raises(AttributeError, match=r"FeaturizerBuilder\.data cannot be replaced: make another"):
        view.data = lsat.datasets.digits()
    assert builder.data is data


def test_patches_are_offered_where_rows_are_images(data: lsat.Data) -> None:
    table = lsat.Data.from_arrays(data.train.inputs.numpy(), data.train.labels)
    for rows, off in ((lsat.datasets.digits(), {}), (table, {"RandomPatches": "Needs rows that are images."})):
        builder = FeaturizerBuilder(rows)
        assert {kind["name"]: kind["off"] for kind in builder.get_state()["_kinds"] if kind["off"]} == off
        builder.close()


def test_a_featurizer_assigned_in_python_is_shown_and_can_be_undone(builder: FeaturizerBuilder) -> None:
    builder.featurizer = lsat.LowRank(3)
    assert builder.featurizer == lsat.LowRank(3)
    assert builder.wait(SOON) == lsat.LowRank(3)
    assert node(builder)["kind"] == "LowRank"
    assert do(builder, "undo") == BLOCKS
    assert do(builder, "redo") == lsat.LowRank(3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda data: FeaturizerBuilder(lsat.Scale()), ValueError, "got a Scale, expected a Data"),
        (lambda data: FeaturizerBuilder(data, "Scale"), ValueError, "featurizer is 'Scale', expected a featurizer"),
        (lambda data: FeaturizerBuilder(data, lsat.Ridge()), ValueError, r"featurizer is Ridge\(\), expected"),
        (lambda data: FeaturizerBuilder(data, column=-1), ValueError, "column is -1, expected 0 or more"),
        (lambda data: FeaturizerBuilder(data, row=10**6), ValueError, "row is 1000000, expected 0 to 44"),
        (lambda data: FeaturizerBuilder(data, colum=1), TypeError, "no setting 'colum': did you mean 'column'"),
        (
            lambda data: FeaturizerBuilder(data, lsat.KMeansArchetypes(), held=["log_scale"]),
            ValueError,
            "no step has an entry of ω named 'log_scale': their names begin with featurizer",
        ),
    ],
)
def test_settings_that_do_not_exist_are_refused(make: Any, error: type, message: str, data: lsat.Data) -> None:
    with pytest.raises(error, match=message):
        make(data)


# --- assembling ---------------------------------------------------------------------------------------------------


def test_steps_and_blocks_are_added_moved_renamed_and_removed(data: lsat.Data) -> None:
    builder = FeaturizerBuilder(data, lsat.Scale())
    chain = lsat.Chain(lsat.Scale(), lsat.PowerTransform())
    assert do(builder, "add", [], kind="PowerTransform") == chain
    assert builder._chosen == [1]
    assert do(builder, "add", [], kind="Scale") == lsat.Chain(lsat.Scale(), lsat.PowerTransform(), lsat.Scale())
    assert do(builder, "move", [2], by=-1) == lsat.Chain(lsat.Scale(), lsat.Scale(), lsat.PowerTransform())
    assert builder._chosen == [1]
    assert do(builder, "remove", [0]) == chain
    both = do(builder, "add", [], kind="Constant", beside=True)
    assert both == lsat.Concat(features=chain, constant=lsat.Constant())
    named = lsat.Concat(features=chain, one=lsat.Constant())
    assert do(builder, "rename", [1], name=" one ") == named
    assert do(builder, "move", [0], by=1) == lsat.Concat(one=lsat.Constant(), features=chain)
    assert do(builder, "move", [1], by=-1) == named
    assert do(builder, "remove", [0, 1]) == lsat.Concat(features=lsat.Scale(), one=lsat.Constant())
    assert do(builder, "remove", [1]) == lsat.Concat(features=lsat.Scale())
    for _ in range(2):
        assert do(builder, "add", [], kind="Identity")
    assert list(builder.featurizer.members) == ["features", "identity", "identity_2"]
    assert shown(builder)["undo"] == "add Identity"


def test_names_that_somebody_chose_are_kept(data: lsat.Data) -> None:
    builder = FeaturizerBuilder(data, lsat.Chain(raw=lsat.Scale(), bent=lsat.PowerTransform()))
    grown = do(builder, "add", [], kind="Scale")
    assert grown == lsat.Chain(raw=lsat.Scale(), bent=lsat.PowerTransform(), scale=lsat.Scale())
    do(builder, "remove", [2])
    assert do(builder, "remove", [1]) == lsat.Chain(raw=lsat.Scale())


@pytest.mark.parametrize("kind", [kind.name for kind in kinds()])
def test_every_kind_of_featurizer_can_be_added_to_a_chain_and_beside_it(kind: str, digits: lsat.Data) -> None:
    for beside in (False, True):
        builder = FeaturizerBuilder(digits, lsat.Identity())
        send(builder, "add", [], kind=kind, beside=beside)
        builder.wait(SOON)
        place = builder._chosen
        found = built(builder._assembly.root)
        if kind == "FromModule" or (kind == "Constant" and not beside):
            assert builder.featurizer == lsat.Identity()
            said = node(builder, *place)["problem"]
            assert "No module is registered as ''" in said or "put it beside, in a Concat" in said
        else:
            assert found[1] == {}
            assert kind in repr(builder.featurizer)
        builder.close()


def test_the_last_step_stays_and_says_so(data: lsat.Data) -> None:
    builder = FeaturizerBuilder(data, lsat.Scale())
    assert do(builder, "remove", []) == lsat.Scale()
    assert "needs at least one step" in builder.get_state()["_problem"]
    do(builder, "add", [], kind="LowRank")
    assert builder.get_state()["_problem"] == ""


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"do": "format"}, "There is no command 'format'"),
        ({"do": "add", "path": [], "kind": "Ridge"}, "There is no featurizer 'Ridge'"),
        ({"do": "set", "path": [9], "field": "rank", "value": 1}, "no longer there"),
        ({"do": "set", "path": [0, 2], "field": "rnk", "value": 1}, "LowRank has no 'rnk': did you mean 'rank'"),
        ({"do": "rename", "path": [0], "name": "one"}, "There is a 'one' already"),
        ({"do": "move", "path": None}, "NoneType"),
    ],
)
def test_a_page_that_is_behind_changes_nothing(builder: FeaturizerBuilder, message: dict[str, Any], said: str) -> None:
    builder._handle_custom_msg(message, [])
    assert builder.wait(SOON) == BLOCKS
    assert said in builder.get_state()["_problem"]


def test_changes_of_one_drag_are_undone_together(builder: FeaturizerBuilder) -> None:
    for value in (0.9, 0.8, 0.7):
        do(builder, "set", [0, 1], field="exponent", value=value, gesture="a")
    do(builder, "set", [0, 1], field="exponent", value=0.5, gesture="b")
    assert builder.featurizer.members["bent"].members["power_transform"].exponent == 0.5
    assert do(builder, "undo").members["bent"].members["power_transform"].exponent == 0.7
    assert do(builder, "undo") == BLOCKS
    assert shown(builder)["undo"] == ""
    assert do(builder, "redo").members["bent"].members["power_transform"].exponent == 0.7


# --- what is wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "field", "value", "said"),
    [
        ([0, 2], "rank", 500, "LowRank: rank is 500, but 45 rows of 12 columns have at most 12."),
        ([0, 2], "rank", "many", "LowRank: rank is 'many': expected a whole number"),
        ([0, 2], "rank", 2.5, "LowRank: rank is 2.5: expected a whole number"),
        ([0, 1], "exponent", 9, "PowerTransform: exponent is 9: expected a finite number between 0 and 8."),
        ([0, 1], "exponent", [1.0, 2.0], "PowerTransform: exponent holds 2 numbers, but the inputs have 12 columns"),
        ([1], "per_class", 0, "KMeansArchetypes: per_class is 0"),
        ([1], "kernel", "cosine", "KMeansArchetypes: kernel is 'cosine': expected one of softmax, gaussian."),
    ],
)
def test_a_wrong_step_is_explained_where_it_stands_and_the_last_good_featurizer_stays(
    builder: FeaturizerBuilder, path: list[int], field: str, value: Any, said: str
) -> None:
    counts = (builder.wait(SOON), shown(builder)["counts"])[1]
    assert do(builder, "set", path, field=field, value=value) == BLOCKS
    assert node(builder, *path)["problem"].startswith(said)
    others = [other for other, _, _ in leaves(step_of(BLOCKS)) if list(other) != path]
    assert [node(builder, *other)["problem"] for other in others] == [""] * len(others)
    assert (shown(builder)["tone"], shown(builder)["counts"]) == ("bad", counts)
    assert shown(builder)["sentence"] == "1 step is wrong: the featurizer stays as it was before."
    assert builder.picture()[:4] == b"\x89PNG"
    assert do(builder, "undo") == BLOCKS
    assert node(builder, *path)["problem"] == ""
    assert shown(builder)["tone"] == "good"


@pytest.mark.parametrize("kind", [kind.name for kind in kinds() if controls(kind.name)])
def test_whatever_is_typed_into_a_field_is_explained_and_can_be_put_right(kind: str, digits: lsat.Data) -> None:
    builder = FeaturizerBuilder(digits, lsat.Chain(lsat.Scale(tuned=False), lsat.Identity()))
    do(builder, "add", [], kind=kind)
    good, usual = builder.featurizer, builder._assembly.root.members[2][1].fields
    for control in controls(kind):
        for value in ("<b>", "", None, -3, 1e300, [1, "x"], True):
            assert do(builder, "set", [2], field=control.name, value=value)
            tone, said = shown(builder)["tone"], node(builder, 2)["problem"]
            assert (tone == "bad") == bool(said)
            assert builder.picture()[:4] == b"\x89PNG"
        do(builder, "set", [2], field=control.name, value=usual[control.name])
    assert builder.wait(SOON) == good
    assert builder._assembly.root.members[2][1].fields == usual


def test_what_a_container_refuses_is_said_at_the_member(builder: FeaturizerBuilder) -> None:
    do(builder, "rename", [1], name="my block")
    assert "'my block' cannot name a featurizer" in node(builder, 1)["problem"]
    do(builder, "add", [0], kind="Constant")
    assert "forgets its inputs" in node(builder, 0, 3)["problem"]
    assert shown(builder)["sentence"].startswith("2 steps are wrong")
    assert builder.featurizer == BLOCKS


def test_steps_after_a_wrong_one_wait_and_other_blocks_do_not(builder: FeaturizerBuilder) -> None:
    builder.wait(SOON)
    do(builder, "set", [0, 0], field="tuned", value="no")
    assert node(builder, 0, 1)["in"] is None
    assert node(builder, 1)["out"] == 6
    assert do(builder, "set", [0, 0], field="tuned", value=False) != BLOCKS
    assert node(builder, 0, 1)["in"] == 12


# --- what is tuned and what is held -------------------------------------------------------------------------------


def test_what_is_held_is_not_tuned_by_a_recipe(builder: FeaturizerBuilder, data: lsat.Data) -> None:
    do(builder, "hold", [0, 1], name="centre", held=True)
    do(builder, "hold", [1], name="log_scale", held=True)
    names = ["featurizer.bent.power_transform.centre", "featurizer.archetypes.log_scale"]
    assert builder.held == dict.fromkeys(names, lsat.Frozen())
    recipe = lsat.Recipe(featurizer=builder.featurizer, regularizer=lsat.Ridge(), hyper_penalties=builder.held)
    problem = lsat.Problem(recipe, data)
    start = problem.init()
    assert set(start) - set(problem.tuned) == set(names)
    tuned = sum(start[name].numel() for name in problem.tuned if name.startswith("featurizer."))
    assert shown(builder)["counts"]["tuned"] == tuned
    scope: dict[str, Any] = {}
    exec(shown(builder)["code"], scope)
    assert (scope["featurizer"], scope["hyper_penalties"]) == (builder.featurizer, builder.held)
    do(builder, "hold", [1], name="log_scale", held=False)
    assert list(builder.held) == names[:1]


def test_a_hold_moves_with_its_step(builder: FeaturizerBuilder) -> None:
    do(builder, "hold", [0, 1], name="exponent", held=True)
    do(builder, "move", [0, 1], by=-1)
    assert list(builder.held) == ["featurizer.bent.power_transform.exponent"]
    do(builder, "rename", [0], name="curved")
    assert list(builder.held) == ["featurizer.curved.power_transform.exponent"]
    do(builder, "remove", [0, 2])
    do(builder, "remove", [0, 1])
    assert list(builder.held) == ["featurizer.curved.exponent"]
    do(builder, "remove", [0])
    assert builder.held == {}


def test_names_to_hold_can_be_assigned_and_are_checked(builder: FeaturizerBuilder) -> None:
    builder.wait(SOON)
    builder.held = {"featurizer.archetypes.log_scale": lsat.Frozen()}
    builder.wait(SOON)
    assert node(builder, 1)["parameters"][0]["held"] is True
    assert "log scale σ held" in node(builder, 1)["summary"]
    with pytest.raises(ValueError, match=r"no entry 'featurizer.archetypes.log_scal': did you mean"):
        builder.held = ["featurizer.archetypes.log_scal"]
    with pytest.raises(ValueError, match=r"named 'archetypes.log_scale'"):
        builder.held = ["archetypes.log_scale"]
    assert list(builder.held) == ["featurizer.archetypes.log_scale"]
    builder.held = ()
    assert builder.wait(SOON) == BLOCKS
    assert node(builder, 1)["parameters"][0]["held"] is False


def test_a_hold_of_what_is_not_there_is_no_hold_until_it_is(data: lsat.Data) -> None:
    builder = FeaturizerBuilder(data, lsat.Scale(), held=["featurizer.shift"])
    builder.wait(SOON)
    do(builder, "set", [], field="tuned", value=False)
    assert builder.held == {}
    do(builder, "set", [], field="tuned", value=True)
    assert list(builder.held) == ["featurizer.shift"]
