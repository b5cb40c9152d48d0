"""The steps of the featurizer builder: their fields as controls, and what they do to columns and rows."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import lsat_explorer as lsat
from building import SOON, do, look, node, prepared
from lsat_explorer.model.piece import REGISTRY, register
from lsat_explorer.model.prepared import Block, Featurizer
from lsat_explorer.widgets import FeaturizerBuilder
from lsat_explorer.widgets.featurizer_draft import Step, built
from lsat_explorer.widgets.featurizer_fields import controls, kinds
from lsat_explorer.widgets.featurizer_look import ACROSS
from pieces import COLUMNS
from test_problem import make_data


@pytest.fixture(scope="module")
def data() -> lsat.Data:
    return make_data(d=COLUMNS)


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


@pytest.mark.parametrize(
    ("knots", "said"),
    [
        ([0.25, 1.2, 0.75], "Spline: knot 2 is at 120 %: expected a percentage from 0.1 to 99.9."),
        ([0.25, "half", 0.75], "Spline: knot 2 is 'half': expected a percentage from 0.1 to 99.9."),
        ([0.25, 0.5, 0.4], "Spline: knot 3 is at 40 % and knot 2 at 50 %: expected each at least 0.1 % above"),
        ([0.25, 0.5], "Spline: degree is 0: expected a whole number"),
    ],
)
def test_a_wrong_knot_is_told_in_the_unit_of_its_field(knots: list[Any], said: str) -> None:
    degree = 0 if len(knots) == 2 else 2
    _, problems = built(Step("Spline", {"knots": knots, "degree": degree}))
    assert problems[()].startswith(said)


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
