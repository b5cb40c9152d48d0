"""Where the power transform and the knots of a spline start, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lsat_explorer as lsat

ROWS = torch.tensor(
    [[0.0, 10.0], [1.0, 10.0], [2.0, 40.0], [3.0, 10.0], [4.0, 30.0]], dtype=torch.float64
)  # means 2, 20
TARGETS = torch.zeros(5, 1, dtype=torch.float64)


def features(featurizer: lsat.model.prepared.Featurizer) -> torch.Tensor:
    prepared = featurizer.prepare(ROWS, TARGETS, torch.Generator().manual_seed(0))
    return prepared.blocks(prepared.init(), ROWS)[""]


def test_power_transform_starts_where_it_is_told():
    found = features(lsat.PowerTransform(centre=(1.0, None), exponent=(2.0, 0.5)))
    assert found[:, 0].tolist() == [-1.0, 0.0, 1.0, 4.0, 9.0]
    root = 10**0.5
    assert found[:, 1].tolist() == pytest.approx([-root, -root, 20**0.5, -root, root])


def test_one_number_stands_for_every_column_and_shared_is_one_entry():
    assert features(lsat.PowerTransform(centre=0.0, exponent=1.0)).tolist() == ROWS.tolist()
    prepared = lsat.PowerTransform(shared=True, centre=3.0, exponent=2).prepare(ROWS, TARGETS, torch.Generator())
    assert {name: value.shape for name, value in prepared.init().items()} == {"centre": (), "exponent": ()}
    assert prepared.init()["exponent"] == 2.0
    assert prepared.blocks(prepared.init(), ROWS)[""][:2].tolist() == [[-9.0, 49.0], [-4.0, 49.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsat.PowerTransform(exponent=8.5), "exponent is 8.5: expected a finite number between 0 and 8"),
        (lambda: lsat.PowerTransform(exponent=(1.0, -1.0)), "exponent is -1.0"),
        (lambda: lsat.PowerTransform(exponent=None), "exponent is None: expected a number"),
        (lambda: lsat.PowerTransform(centre="mean"), "centre is 'mean'"),
        (lambda: lsat.PowerTransform(shared=True, centre=(1.0, 2.0)), r"centre is \(1.0, 2.0\), but shared has one"),
        (lambda: features(lsat.PowerTransform(centre=(1.0, 2.0, 3.0))), "centre holds 3 numbers, but .* 2 columns"),
        (lambda: lsat.Spline(knots=()), r"knots is \(\), expected a number of knots or increasing shares"),
        (lambda: lsat.Spline(knots=(0.5, 0.4)), r"knots is \(0.5, 0.4\), expected"),
        (lambda: lsat.Spline(knots=(0.0, 0.4)), "at least 0.001 apart"),
        (lambda: lsat.Spline(knots=(0.3, "x")), "a knot is 'x'"),
        (lambda: lsat.Spline(knots=(0.3, 1.2)), "a knot is 1.2: expected a finite number between 0 and 1"),
        (lambda: lsat.Spline(knots=0), "knots is 0"),
    ],
)
def test_what_cannot_start_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("basis", lsat.Spline.bases)
def test_knots_stand_at_their_shares_of_the_rows_and_of_the_range_where_rows_repeat(basis):
    prepared = lsat.Spline(knots=(0.125, 0.75), basis=basis).prepare(ROWS, TARGETS, torch.Generator())
    knots = prepared.state()["knots"]
    # Of five rows the quantile 0.125 is half a step above the least, 0.75 the fourth.
    assert knots[0].tolist() == [0.0, 0.5, 3.0, 4.0]
    # Three of the second column are 10: its quantiles 0 and 0.125 coincide, so that shares of 10 … 40 stand for them.
    assert knots[1].tolist() == [10.0, 13.75, 32.5, 40.0]


def test_a_number_of_knots_is_that_many_even_shares():
    draw = torch.from_numpy(np.random.default_rng(0).normal(size=(40, 3)))
    a, b = (
        lsat.Spline(knots=knots).prepare(draw, draw[:, :1], torch.Generator()).state()["knots"]
        for knots in (3, (0.25, 0.5, 0.75))
    )
    assert torch.equal(a, b)
