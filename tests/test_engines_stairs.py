"""Rows ordered so that products leave out their zeros: the same sums, from less."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer.engines.row_sums import Interrupted
from lsat_explorer.engines.side import Side
from lsat_explorer.engines.stairs import Stairs, _heights
from lsat_explorer.solve.gram import READ, rows_at_a_time


def discs(k: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return images (k, 144) that are filled inside a disc of random size, zero around it."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(torch.arange(12) - 5.5, torch.arange(12) - 5.5, indexing="ij")
    radius = 1 + 6 * torch.rand(k, 1, generator=generator)
    inside = (x.square() + y.square()).sqrt().flatten() < radius
    return torch.rand(k, 144, generator=generator, dtype=dtype) * inside


def nothing() -> None:
    """Interrupt nothing."""


@pytest.fixture(params=[300, 2500, 9000])
def case(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor, Tensor, Stairs]:
    k = request.param
    generator = torch.Generator().manual_seed(1)
    X = discs(k)
    X[3], X[:, 7] = 0.0, 0.0  # a row and a column of zeros
    one, Y = torch.ones(k, 1, dtype=torch.float64), torch.randn(k, 3, generator=generator, dtype=torch.float64)
    weight = torch.randn(k, generator=generator, dtype=torch.float64)
    stairs = Stairs.of(Side([X, one, Y]), nothing)
    assert stairs is not None
    return torch.cat([X, one, Y], 1), weight, torch.randn(k, 5, generator=generator, dtype=torch.float64), stairs


def test_the_gram_matrix_is_that_of_the_rows(case: tuple[Tensor, Tensor, Tensor, Stairs]) -> None:
    X, weight, _, stairs = case
    expected = X.mT @ (weight[:, None] * X)
    torch.testing.assert_close(stairs.gram(weight, True, nothing), expected, rtol=1e-12, atol=1e-12 * len(X))


@pytest.mark.parametrize("weighted", [True, False])
def test_the_product_with_few_columns_is_that_of_the_rows(
    case: tuple[Tensor, Tensor, Tensor, Stairs], weighted: bool
) -> None:
    X, weight, left, stairs = case
    scale = weight if weighted else torch.ones_like(weight)
    got = stairs.product(Side([left[:, :2], left[:, 2:]]), weight if weighted else None, True, nothing)
    torch.testing.assert_close(got, left.mT @ (scale[:, None] * X), rtol=1e-12, atol=1e-12 * len(X))


def test_products_in_float64_convert_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stairs = Stairs.of(Side([discs(9000, dtype=torch.float32)]), nothing)
    assert stairs is not None
    heights = []

    def watched(total: Tensor, *rows: Any) -> None:
        heights.append(len(rows[0]))

    monkeypatch.setattr("lsat_explorer.engines.stairs.add_upper", watched)
    monkeypatch.setattr("lsat_explorer.engines.stairs.add_product", watched)
    weight = torch.ones(9000)
    for precise in (True, False):
        heights.clear()
        stairs.gram(weight, precise, nothing)
        stairs.product(Side([torch.ones(9000, 2)]), weight, precise, nothing)
        assert max(heights) <= rows_at_a_time(precise)
        assert sum(heights) == 2 * 9000


def test_products_with_the_rows_stand_as_the_rows_stood(case: tuple[Tensor, Tensor, Tensor, Stairs]) -> None:
    X, *_, stairs = case
    matrix = torch.randn(X.shape[1], 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.testing.assert_close(stairs.times(matrix), X @ matrix, rtol=1e-12, atol=1e-12)


def test_every_row_stands_once_and_what_is_left_out_is_zero(case: tuple[Tensor, Tensor, Tensor, Stairs]) -> None:
    X, *_, stairs = case
    assert sorted(stairs.rows.tolist()) == list(range(len(X)))
    order = stairs.place.argsort()
    start = 0
    for step in stairs.steps:
        rows = X[stairs.rows[start : (start := start + len(step))]][:, order]
        assert torch.equal(rows[:, : step.shape[1]], step)
        assert not rows[:, step.shape[1] :].any()


def test_the_copy_is_smaller_than_the_rows_and_the_work_smaller_still() -> None:
    X = discs(5000)
    stairs = Stairs.of(Side([X]), nothing)
    assert stairs is not None
    assert sum(step.numel() for step in stairs.steps) < 0.7 * X.numel()
    assert sum(len(step) * step.shape[1] ** 2 for step in stairs.steps) < 0.55 * len(X) * X.shape[1] ** 2


def test_rows_without_zeros_are_left_as_they_are() -> None:
    assert Stairs.of(Side([torch.rand(1000, 20) + 0.1]), nothing) is None


def test_rows_of_zeros_give_zero() -> None:
    stairs = Stairs.of(Side([torch.zeros(600, 4)]), nothing)
    assert stairs is not None
    assert not stairs.gram(torch.ones(600), False, nothing).any()


def test_float32_products_are_summed_in_float64() -> None:
    X, weight = discs(9000, dtype=torch.float32), torch.rand(9000, generator=torch.Generator().manual_seed(2))
    stairs = Stairs.of(Side([X]), nothing)
    assert stairs is not None
    exact = X.double().mT @ (weight.double()[:, None] * X.double())
    error = (stairs.gram(weight, False, nothing) - exact).abs().max() / exact.abs().max()
    assert error < 3e-7
    assert (stairs.gram(weight, True, nothing) - exact).abs().max() / exact.abs().max() < 1e-13


def test_the_work_can_be_ended_between_steps() -> None:
    stairs = Stairs.of(Side([discs(3000)]), nothing)
    assert stairs is not None
    calls = []

    def check() -> None:
        calls.append(None)
        if len(calls) == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        stairs.gram(torch.ones(3000, dtype=torch.float64), True, check)
    assert len(calls) == 2


def test_training_rows_are_predicted_alike_with_and_without_their_zeros() -> None:
    X = discs(1200)
    data = lsat.Data.from_arrays(X.numpy(), X[:, :2].sum(1).numpy(), validation=0.2, test=0.1)
    recipe = lsat.Recipe(
        featurizer=lsat.Identity(), regularizer=lsat.Ridge(), data_weights=lsat.LogWeights(), dtype="float32"
    )
    problem = lsat.Problem(recipe, data)
    rows, theta = problem.parts[0].rows, torch.randn(144, 1, generator=torch.Generator().manual_seed(3))
    moving = rows.moving({})
    plain, first = rows.predict(moving, theta), rows.fitted(moving, theta, True)
    assert isinstance(rows._stairs, Stairs)
    torch.testing.assert_close(first, plain, rtol=1e-5, atol=1e-4)
    problem.evaluate(problem.init())
    assert rows.predict(moving, theta).equal(plain)  # the same bits whatever was asked before
    assert rows.fitted(moving, theta, True).equal(first)


@pytest.mark.parametrize("k", [1, 2, 511, 1023, 1024, 3500, 35000, 60001])
def test_steps_take_all_rows_grow_shorter_and_are_even(k: int) -> None:
    heights = _heights(k)
    assert sum(heights) == k
    assert all(height % 2 == 0 for height in heights[:-1])
    assert heights[:-1] == sorted(heights[:-1], reverse=True)
    assert max(heights) < READ + 512


def test_a_column_that_the_sample_misses_stands_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lsat_explorer.engines.stairs._SAMPLE", 10)
    X = discs(1200)
    X[:, 140:] = 0.0
    X[7, 143] = 5.0
    stairs = Stairs.of(Side([X]), nothing)
    assert stairs is not None
    torch.testing.assert_close(stairs.gram(None, True, nothing), X.mT @ X, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("weighed", [True, False])
def test_the_sums_that_are_formed_once_leave_the_zeros_out_where_sums_that_repeat_do(weighed: bool) -> None:
    X = discs(1200)
    data = lsat.Data.from_arrays(X.numpy(), X[:, :2].sum(1).numpy(), validation=0.2, test=0.1)
    recipe = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(), dtype="float32")
    rows = lsat.Problem(recipe, data).parts[0].rows
    found = rows.still_sum(weighed)
    beside = rows._beside_targets()[slice(0, len(rows))].double()
    torch.testing.assert_close(found, beside.mT @ beside, rtol=1e-12, atol=1e-9)
    assert (rows._stairs is not None) is weighed  # a copy that only one sum would read is not made


@pytest.mark.parametrize("chunks", [0, 3, 5])
def test_the_order_is_interrupted_between_chunks_and_found_anew_after(chunks: int) -> None:
    X, left = discs(1200), chunks

    def check() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted

    with pytest.raises(Interrupted):
        Stairs.of(Side([X]), check)
    assert Stairs.of(Side([X]), nothing) is not None
