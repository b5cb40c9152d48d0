"""The featurizer builder: what hands assemble, what is tried, what is explained, without a kernel or a browser."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.model.piece import REGISTRY, register
from lsat_explorer.model.prepared import Block, Featurizer
from lsat_explorer.widgets import FeaturizerBuilder
from lsat_explorer.widgets.featurizer_draft import Step, built, leaves, step_of
from lsat_explorer.widgets.featurizer_fields import controls, kinds
from lsat_explorer.widgets.featurizer_look import ACROSS
from lsat_explorer.widgets.featurizer_trial import Trials
from lsat_explorer.widgets.latest import Latest
from pieces import COLUMNS, examples
from test_problem import make_data

SOON = 120.0
FEATURIZERS = examples(Featurizer)
BLOCKS = lsat.Concat(
    bent=lsat.Chain(lsat.Scale(), lsat.PowerTransform(), lsat.LowRank(4)),
    archetypes=lsat.KMeansArchetypes(per_class=2, n_init=1),
    one=lsat.Constant(),
)


def short(piece: object) -> str:
    return repr(piece)[:70]


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    return make_data(d=COLUMNS)


@pytest.fixture
def builder(data: lsat.Data) -> Iterator[FeaturizerBuilder]:
    builder = FeaturizerBuilder(data, BLOCKS)
    yield builder
    builder.wait(SOON)
    builder.close()


def do(builder: FeaturizerBuilder, command: str, path: list[int] | None = None, **more: Any) -> Featurizer:
    """What a control sends; returns the featurizer once it has been tried."""
    send(builder, command, path, **more)
    return builder.wait(SOON)


def send(builder: FeaturizerBuilder, command: str, path: list[int] | None = None, **more: Any) -> None:
    builder._handle_custom_msg({"do": command, "path": path or [], **more}, [])


def shown(builder: FeaturizerBuilder) -> dict[str, Any]:
    """Return what a page shows, as it receives it."""
    state = builder.get_state(["_shown"])["_shown"]
    json.dumps(state, allow_nan=False)
    return state


def node(builder: FeaturizerBuilder, *path: int) -> dict[str, Any]:
    found = shown(builder)["tree"]
    for place in path:
        found = found["members"][place]
    return found


def look(builder: FeaturizerBuilder) -> dict[str, Any]:
    builder.wait(SOON)
    state = builder.get_state(["_look"])["_look"]
    json.dumps(state, allow_nan=False)
    return state


def prepared(featurizer: Featurizer, data: lsat.Data) -> lsat.model.prepared.Prepared:
    return featurizer.prepare(data.train.inputs, data.train.targets, torch.Generator().manual_seed(0))


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
        (lambda data: FeaturizerBuilder(data, held=["scale"]), ValueError, "no step has an entry of ω named 'scale'"),
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


# --- fields -------------------------------------------------------------------------------------------------------


def test_a_piece_that_is_registered_later_appears_with_controls_for_its_fields(data: lsat.Data) -> None:
    @dataclass(frozen=True, repr=False)
    class Doubled(Featurizer):
        """φ(x) = f x + s.

        Parameters
        ----------
        factor : float
            What ``x`` is multiplied by.
        times : int
            How often.
        mode : {"plain", "odd"}
            Which way.
        flip : bool
        """

        factor: float = 2.0
        times: int = 1
        mode: str = "plain"
        flip: bool = False

        def block(self, inputs: torch.Tensor, targets: torch.Tensor, generator: torch.Generator) -> Block:
            return lsat.Scale(tuned=False).block(inputs, targets, generator)

        def restore_block(self, state: dict[str, torch.Tensor]) -> Block:
            raise NotImplementedError

    register(Doubled)
    try:
        builder = FeaturizerBuilder(data, lsat.Scale())
        assert "Doubled" in [kind["name"] for kind in builder.get_state()["_kinds"]]
        assert do(builder, "add", [], kind="Doubled") == lsat.Chain(lsat.Scale(), Doubled())
        found = {control["name"]: control for control in node(builder, 1)["controls"]}
        assert [control["form"] for control in found.values()] == ["number", "whole", "choice", "flag"]
        assert found["factor"]["meaning"] == "What x is multiplied by."
        assert found["mode"]["choices"] == ("plain", "odd")
        assert found["flip"]["meaning"]
        assert do(builder, "set", [1], field="factor", value=3.5) == lsat.Chain(lsat.Scale(), Doubled(factor=3.5))
    finally:
        del REGISTRY["Doubled"]


@pytest.mark.parametrize("kind", [kind.name for kind in kinds()])
def test_every_control_has_a_name_and_a_meaning(kind: str) -> None:
    for control in controls(kind):
        assert control.label
        assert control.meaning.endswith(".")
        assert "`" not in control.meaning
        ours = REGISTRY[kind].__module__.startswith("lsat_explorer.")
        if ours and control.form in ("whole", "number", "list", "knots"):
            assert control.unit or "without unit" in control.meaning, control.name


def test_one_number_for_all_columns_or_one_for_each(builder: FeaturizerBuilder) -> None:
    builder.wait(SOON)
    builder.column = 3

    def exponent() -> Any:
        return builder.wait(SOON).members["bent"].members["power_transform"].exponent

    do(builder, "set", [0, 1], field="exponent", value=0.5)
    do(builder, "each", [0, 1], field="exponent", one=True, column=3)
    assert exponent() == (0.5,) * 12
    do(builder, "set", [0, 1], field="exponent", value=2, column=3)
    assert exponent() == (0.5, 0.5, 0.5, 2, *[0.5] * 8)
    control = next(c for c in node(builder, 0, 1)["controls"] if c["name"] == "exponent")
    assert (control["value"], control["one"]) == (2, True)
    builder.column = 4
    control = next(c for c in node(builder, 0, 1)["controls"] if c["name"] == "exponent")
    assert control["value"] == 0.5
    do(builder, "each", [0, 1], field="exponent", one=False, column=3)
    assert exponent() == 2
    do(builder, "each", [0, 1], field="centre", one=True, column=3)
    do(builder, "set", [0, 1], field="centre", value=0.25, column=0)
    assert builder.wait(SOON).members["bent"].members["power_transform"].centre == (0.25, *[None] * 11)


# --- what a step does ---------------------------------------------------------------------------------------------


def test_the_curve_and_the_histograms_are_those_of_the_transform(digits: lsat.Data) -> None:
    builder = FeaturizerBuilder(digits, lsat.PowerTransform(centre=4.0, exponent=0.5), column=28)
    found = look(builder)
    x, (y,) = np.array(found["grid"]), found["curves"]
    assert np.allclose(y, np.sign(x - 4) * np.abs(x - 4) ** 0.5, atol=1e-4)
    values = digits.train.inputs[:, 28].numpy()
    bins = len(found["before"]["counts"])
    assert found["before"]["counts"] == np.histogram(values, bins=bins)[0].tolist()
    after = np.sign(values - 4) * np.abs(values - 4) ** 0.5
    assert found["after"]["counts"] == np.histogram(after, bins=len(found["after"]["counts"]))[0].tolist()
    assert found["before_name"] == digits.feature_names[28]
    builder.column = 10**6  # the last one stands for those beyond
    assert look(builder)["column"] == 63


def test_only_what_depends_on_a_column_alone_has_a_curve(builder: FeaturizerBuilder) -> None:
    drawn = {}
    for path in ([0, 0], [0, 1], [0, 2], [2]):
        builder.set_state({"_chosen": path})
        drawn[tuple(path)] = (len(look(builder)["curves"]), "after" in look(builder))
    assert drawn == {(0, 0): (1, True), (0, 1): (1, True), (0, 2): (0, True), (2,): (0, True)}


def test_b_splines_are_drawn_with_their_knots_and_knots_are_moved(data: lsat.Data) -> None:
    builder = FeaturizerBuilder(data, lsat.Spline(knots=3, degree=2, basis="bspline"), column=2)
    found = look(builder)
    assert len(found["curves"]) == found["features"] == 6  # 3 knots and degree 2: 3 + 2 + 1 B-splines
    assert np.allclose(np.sum(found["curves"], axis=0), 1.0, atol=1e-4)
    values = data.train.inputs[:, 2].double().numpy()
    assert found["knots"]["shares"] == [0.25, 0.5, 0.75]
    assert found["knots"]["at"] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]))
    assert found["knots"]["table"] == pytest.approx(np.quantile(values, np.linspace(0, 1, 101)))
    moved = do(builder, "set", [], field="knots", value=[0.1, 0.5, 0.75])
    assert moved == lsat.Spline(knots=(0.1, 0.5, 0.75), degree=2, basis="bspline")
    assert look(builder)["knots"]["at"][0] == pytest.approx(np.quantile(values, 0.1))


def test_archetypes_are_images_with_the_closeness_of_a_row(digits: lsat.Data) -> None:
    featurizer = lsat.KMeansArchetypes(per_class=2, n_init=1)
    builder = FeaturizerBuilder(digits, featurizer, row=5)
    found = look(builder)
    made = prepared(featurizer, digits)
    closeness = made.blocks(made.init(), digits.train.inputs[5:6])[""][0]
    assert found["closeness"] == pytest.approx(closeness.tolist(), abs=1e-4)
    assert found["images"]["captions"] == [str(c) for c in range(10) for _ in range(2)]
    assert (found["row"]["position"], found["row"]["label"]) == (5, str(digits.train.labels[5]))
    with Image.open(io.BytesIO(bytes(builder._sprite))) as image:
        sheet = np.asarray(image)
    assert sheet.shape == (16, 8 * ACROSS)  # the row and 20 archetypes
    np.testing.assert_array_equal(sheet[:8, :8], digits.images("train", [5])[0])
    centre = made.state()["archetypes"][0].numpy()
    assert np.abs(sheet[:8, 8:16].ravel() - centre * 255 / float(digits.train.inputs.max())).max() <= 1.0
    builder.row = 6
    assert look(builder)["row"]["position"] == 6
    assert look(builder)["closeness"] != found["closeness"]


def test_archetypes_of_other_features_are_drawn_as_the_rows_nearest_to_them(digits: lsat.Data) -> None:
    chain = lsat.Chain(lsat.LowRank(5), lsat.KMeansArchetypes(total=4, n_init=1))
    builder = FeaturizerBuilder(digits, chain)
    builder.set_state({"_chosen": [1]})
    assert "mean of the training rows" in look(builder)["note"]
    made = prepared(chain, digits)
    nearest = made.blocks(made.init(), digits.train.inputs)[""].argmax(1)
    mean = digits.train.inputs[nearest == 2].double().mean(0).numpy()
    with Image.open(io.BytesIO(bytes(builder._sprite))) as image:
        drawn = np.asarray(image)[:8, 24:32]
    assert np.abs(drawn.ravel() - mean * 255 / float(digits.train.inputs.max())).max() <= 1.0


def test_rows_that_are_no_images_are_small_graphs(data: lsat.Data) -> None:
    found = look(FeaturizerBuilder(data, lsat.KMeansArchetypes(per_class=2, n_init=1)))
    assert len(found["images"]["graphs"]) == 7  # the row and six archetypes
    assert len(found["images"]["graphs"][0]) == 12
    targets = np.arange(60) / 7 + np.random.default_rng(0).normal(size=60)
    regression = lsat.Data.from_arrays(np.random.default_rng(1).normal(size=(60, 3)), targets, task="regression")
    captions = look(FeaturizerBuilder(regression, lsat.KMeansArchetypes(per_class=2, n_init=1)))["images"]["captions"]
    assert all(caption.endswith(("row", "rows")) for caption in captions)


def test_where_sigma_starts_needs_no_new_archetypes(data: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = FeaturizerBuilder(data, lsat.KMeansArchetypes(per_class=2, n_init=1))
    builder.wait(SOON)
    monkeypatch.setattr(lsat.KMeansArchetypes, "_centres", lambda *_: pytest.fail("k-means ran again"))
    featurizer = lsat.KMeansArchetypes(per_class=2, n_init=1, log_scale=0.25)
    assert do(builder, "set", [], field="log_scale", value=0.25) == featurizer
    monkeypatch.undo()
    made = prepared(featurizer, data)
    assert look(builder)["closeness"] == pytest.approx(
        made.blocks(made.init(), data.train.inputs[:1])[""][0].tolist(), abs=1e-4
    )


def test_hostile_names_are_sent_as_they_are_and_drawn() -> None:
    names = ["<img src=x onerror=alert(1)>", "🎉 $x$", "n" * 300]
    labels = [["<b>", "b"][i % 2] for i in range(40)]
    data = lsat.Data.from_arrays(np.random.default_rng(0).normal(size=(40, 3)), labels, feature_names=names)
    builder = FeaturizerBuilder(data, lsat.Chain(lsat.Scale(), lsat.KMeansArchetypes(per_class=1, n_init=1)), column=0)
    assert builder.get_state()["_names"][0] == names[0]
    assert look(builder)["before_name"] == names[0]
    assert builder.picture()[:4] == b"\x89PNG"
    builder.set_state({"_chosen": [1]})
    assert sorted(look(builder)["images"]["captions"]) == ["<b>", "b"]
    assert builder.picture()[:4] == b"\x89PNG"


# --- in the background --------------------------------------------------------------------------------------------


def test_a_change_returns_at_once_and_the_newest_one_wins(data: lsat.Data) -> None:
    gate, begun, made = threading.Event(), threading.Event(), []

    def slow(d: int) -> torch.nn.Module:
        begun.set()
        assert gate.wait(SOON)
        made.append(d)
        return torch.nn.Linear(d, 2)

    lsat.register_module("slow", slow)
    builder = FeaturizerBuilder(data, lsat.Scale())
    builder.wait(SOON)
    builder.featurizer = lsat.Chain(lsat.FromModule("slow"), lsat.Scale())
    assert begun.wait(SOON)
    for rank in range(1, 6):  # while the module is being made
        send(builder, "add", [], kind="LowRank") if rank == 1 else None
        send(builder, "set", [2], field="rank", value=2 if rank == 5 else rank + 100)
        assert shown(builder)["tone"] == "busy"
    with pytest.raises(TimeoutError):
        builder.wait(0.01)
    gate.set()
    assert builder.wait(SOON) == lsat.Chain(lsat.FromModule("slow"), lsat.Scale(), lsat.LowRank(2))
    assert made == [12]  # what did not change was made once
    assert shown(builder)["tone"] == "good"


def test_whoever_observes_the_featurizer_sees_only_what_fits(builder: FeaturizerBuilder) -> None:
    builder.wait(SOON)
    seen: list[Featurizer] = []
    builder.observe(lambda change: seen.append(change["new"]), "featurizer")
    do(builder, "set", [0, 2], field="rank", value=2)
    do(builder, "set", [0, 2], field="rank", value=500)
    do(builder, "set", [0, 2], field="rank", value=3)
    assert [found.members["bent"].members["low_rank"].rank for found in seen] == [2, 3]


def test_latest_works_on_the_newest_wish_alone() -> None:
    gate, done, stale_at = threading.Event(), [], []

    def work(wish: int, stale: Any) -> None:
        assert gate.wait(SOON)
        stale_at.append(stale())
        done.append(wish)
        assert latest.wait(0.0)  # whoever works does not wait for himself

    latest: Latest[int] = Latest(work)
    latest.ask(1)
    for wish in (2, 3, 4):
        latest.ask(wish)
    assert latest.busy
    assert not latest.wait(0.01)
    gate.set()
    assert latest.wait(SOON)
    assert (done[-1], len(done) <= 2, stale_at[-1]) == (4, True, False)
    latest.close()
    latest.ask(5)
    assert latest.wait(SOON)
    assert done[-1] == 4


def test_latest_goes_on_after_work_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, done, raised = threading.Event(), [], []
    monkeypatch.setattr(threading, "excepthook", lambda found: raised.append(found.exc_type))

    def work(wish: int, stale: Any) -> None:
        assert gate.wait(SOON)
        done.append(1 // wish)

    latest: Latest[int] = Latest(work, "failing")
    latest.ask(0)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "failing")
    gate.set()
    thread.join(SOON)
    assert latest.wait(SOON)
    assert raised == [ZeroDivisionError]
    latest.ask(1)
    assert latest.wait(SOON)
    assert done == [1]


def test_of_many_rows_some_are_tried_and_it_is_said() -> None:
    draw = np.random.default_rng(0).normal(size=(24_000, 2))
    data = lsat.Data.from_arrays(draw, draw[:, 0], task="regression", validation=0.3, test=0.2)
    assert len(data.train) == 12_000
    builder = FeaturizerBuilder(data, lsat.Scale())
    builder.wait(SOON)
    assert shown(builder)["sentence"] == "Fits the 12,000 training rows, tried on 10,000 of them."
    trials = Trials(data)
    assert trials.places.unique().numel() == 10_000
    assert torch.equal(trials.inputs, data.train.inputs[trials.places])


# --- as a view ----------------------------------------------------------------------------------------------------


def test_the_state_of_a_page_is_in_traits(builder: FeaturizerBuilder) -> None:
    do(builder, "set", [0, 1], field="exponent", value=0.5)
    state = builder.get_state()
    assert built(Step.from_text(state["_draft"]))[0] == builder.featurizer
    assert state["_chosen"] == [0, 1] or state["_chosen"] == [0, 0]
    public = {name for name in FeaturizerBuilder.class_own_traits() if not name.startswith("_")}
    assert public == {"featurizer", "held", "column", "row"}
    builder.set_state({"_chosen": [7, 7]})  # a page that is behind
    builder.wait(SOON)
    assert builder._chosen == [0, 0]


def test_a_saved_notebook_keeps_a_picture_and_constant_words(builder: FeaturizerBuilder) -> None:
    first, metadata = builder._repr_mimebundle_()
    assert base64.b64decode(first["image/png"])[:4] == b"\x89PNG"
    assert "text/html" not in first
    assert metadata["image/png"]["width"] <= 1000
    do(builder, "set", [0, 2], field="rank", value=2)
    second, _ = builder._repr_mimebundle_()
    assert second["text/plain"] == first["text/plain"]
    assert second["image/png"] != first["image/png"]


def test_the_saved_picture_follows_the_state(builder: FeaturizerBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, *_, **more: published.append(data))
    builder._ipython_display_()
    before = published[-1]["image/png"]
    do(builder, "set", [0, 2], field="rank", value=1)
    assert "image/png" in published[-1]
    assert published[-1]["image/png"] != before


def test_nothing_is_tried_before_the_page_knows_of_the_view(digits: lsat.Data, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = []
    real = FeaturizerBuilder.open

    def opened(self: FeaturizerBuilder) -> None:
        opening.append(self._latest)
        real(self)

    monkeypatch.setattr(FeaturizerBuilder, "open", opened)
    builder = FeaturizerBuilder(digits, lsat.Scale())
    assert builder.wait() == lsat.Scale()
    assert opening == [None]
    builder.close()
