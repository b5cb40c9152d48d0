"""Rows that differ from one row in few entries: the products of the whole rows, from those entries alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer.engines import memory
from lsat_explorer.engines.thin import Thin
from lsat_explorer.tune import Problem

mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch has no MKL here, so rows stay dense")


def thin_rows(count: int, width: int, share: float = 0.2) -> Tensor:
    """Rows of which a share of the entries differs from a value of the column."""
    draws = torch.Generator().manual_seed(0)
    rows = torch.randn(count, width, generator=draws, dtype=torch.float64)
    common = torch.randn(width, generator=draws, dtype=torch.float64).float().double()
    return torch.where(torch.rand(count, width, generator=draws) < share, rows.float().double(), common)


@mkl
@pytest.mark.parametrize("count", [1, 511, 9000])
def test_thin_rows_are_the_rows_and_multiply_as_they_do(count: int) -> None:
    rows = thin_rows(count, 40) if count > 1 else torch.full((1, 40), 3.5, dtype=torch.float64)
    thin = Thin.of(rows)
    assert thin is not None
    assert thin.shape == rows.shape
    assert torch.equal(thin[: count // 2 + 1], rows[: count // 2 + 1])
    some = torch.tensor([count - 1, 0])
    assert torch.equal(thin[some], rows[some])
    left, right = torch.randn(40, 10, dtype=torch.float64), torch.randn(count, 3, dtype=torch.float64)
    torch.testing.assert_close(thin.times(left), rows @ left, rtol=1e-13, atol=1e-12)
    torch.testing.assert_close(thin.transposed_times(right), rows.mT @ right, rtol=1e-13, atol=1e-12)


@mkl
def test_rows_stay_dense_where_sparse_ones_would_be_slower_or_lose_digits() -> None:
    assert Thin.of(thin_rows(600, 40, share=0.5)) is None
    rows = torch.full((600, 40), 1e8, dtype=torch.float64)
    rows[7, 3] = 0.1  # 0.1 − 1e8 + 1e8 is another number
    assert Thin.of(rows) is None
    assert Thin.of(rows[:0]) is None


def problem(monkeypatch: pytest.MonkeyPatch, wide: int, dtype: str, criterion: lsat.model.Criterion) -> Problem:
    """Ridge and a graph, rows thin where they may be from `wide` columns on."""
    monkeypatch.setattr(memory, "_WIDE", wide)
    labels = torch.arange(900) % 3
    inputs = thin_rows(900, 16) + 5 * torch.nn.functional.one_hot(labels, 16)
    data = lsat.Data.from_arrays(inputs.numpy().astype(dtype), labels.numpy(), validation=0.5)
    parts = {"x": lsat.Identity(), "one": lsat.Constant()}
    regularizer = lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(lsat.graphs.path(16), block="x"))
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(**parts), regularizer=regularizer, loss=lsat.CrossEntropy(), criterion=criterion
    )
    return Problem(recipe, data)


@mkl
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.KFold(folds=3), lsat.LeaveOneOut()], ids=repr)
def test_an_evaluation_of_thin_rows_is_that_of_dense_ones(
    monkeypatch: pytest.MonkeyPatch, dtype: str, criterion: lsat.model.Criterion
) -> None:
    thin, dense = (problem(monkeypatch, wide, dtype, criterion) for wide in (8, 1000))
    kinds = {type(part.rows._still["x"]) for part in thin.parts if not part.rows._seldom}
    assert kinds == {Thin}, "the rows were to be thin"
    one, other = (p.evaluate(p.init()) for p in (thin, dense))
    assert one.loss == pytest.approx(other.loss, rel=1e-13)
    gradients = thin.gradient(one), dense.gradient(other)
    for name, value in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], value, rtol=1e-9, atol=1e-13)
