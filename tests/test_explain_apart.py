"""Rows on disk and with dask are explained and shown as rows in memory are: only those that are shown are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from cluster import cluster, distributed, on_disk
from lsat_explorer.data.on_workers import RowsOnWorkers
from lsat_explorer.engines import DaskRows
from lsat_explorer.model.cluster import connected
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.row_tiles import RowTiles

array = pytest.importorskip("dask.array")

RECIPE = lsat.Recipe(data_weights=lsat.LogWeights(), dtype="float64", method=lsat.LineSearch(max_iterations=2))
WHERE = ["chunks of a file", "workers and a file", "workers and dask"]


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    """Two workers in this process, and a client of the user's."""
    with cluster() as workers, distributed.Client(workers):
        engine = lsat.Dask(workers, weights="workers")
        yield engine
        connected(engine.address).close()


def of_dask(data: lsat.Data, **options: Any) -> lsat.Data:
    parts = {}
    for split in ("train", "validation"):
        rows = getattr(data, split)
        parts[split] = (array.from_array(rows.inputs.numpy(), chunks=(200, -1)), rows.labels)
    return lsat.Data.from_rows(**parts, **options)


@pytest.fixture(params=WHERE)
def pair(request, digits: lsat.Data, engine: lsat.Dask, tmp_path) -> tuple[lsat.Run, lsat.Run]:
    """A run on rows that are elsewhere, and the same in memory, whose rows go by the same names."""
    given = {name: (getattr(digits, name).inputs, getattr(digits, name).labels) for name in ("train", "validation")}
    same = lsat.Data.from_splits(**given)
    data = of_dask(digits) if request.param == WHERE[2] else on_disk(digits, tmp_path)
    how = lsat.Chunks(memory="100 kB") if request.param == WHERE[0] else engine
    runs = [
        lsat.tune(RECIPE.replace(engine=each), rows, progress=False) for each, rows in ((how, data), ("memory", same))
    ]
    return runs[0], runs[1]


def test_what_if_and_attribution_are_those_of_rows_in_memory(pair, monkeypatch) -> None:
    ours, theirs = pair
    monkeypatch.setattr(DaskRows, "chunks", None)  # features stay where they are
    row = ours.data.validation.rows[7]
    tables = [lsat.explain.attribution(run.model, row) for run in (ours, theirs)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-6, atol=1e-9)
    for change in ({"drop": [3, 14]}, {"relabel": {5: 8}}, {"drop": [3], "relabel": {5: 8}}):
        found, expected = (lsat.explain.what_if(run.model, **change) for run in (ours, theirs))
        assert found.after.loss == pytest.approx(expected.after.loss, rel=1e-8)
        assert found.before.error == pytest.approx(expected.before.error)
    effects = [lsat.explain.effect_on_validation(run.model) for run in (ours, theirs)]
    np.testing.assert_allclose(*effects, rtol=1e-4, atol=1e-9)  # standard errors are products in float32
    doubts = [lsat.explain.label_doubt(run.model) for run in (ours, theirs)]
    np.testing.assert_allclose(doubts[0].doubt, doubts[1].doubt, rtol=1e-6)


def test_only_the_rows_that_are_shown_are_fetched(digits: lsat.Data, engine: lsat.Dask, monkeypatch) -> None:
    monkeypatch.setattr("lsat_explorer.widgets.row_tiles._SOME", 10)
    fetched: list[int] = []
    chosen = RowsOnWorkers._chosen

    def noted(self: RowsOnWorkers, numbers: np.ndarray, *more: Any) -> torch.Tensor:
        fetched.append(len(numbers))
        return chosen(self, numbers, *more)

    pictures, table = of_dask(digits, image_shape=(8, 8)), of_dask(digits)
    monkeypatch.setattr(RowsOnWorkers, "_chosen", noted)
    scale, inputs = pictures._grey_levels, digits.train.inputs
    assert (scale.low, scale.high) == (float(inputs.min()), float(inputs.max()))
    fetched.clear()
    assert RowTiles(pictures, "training").sprite(np.array([5, 3, 300]))
    assert sum(fetched) == 3
    fetched.clear()
    values = RowTiles(table, "training").values
    assert 5 <= sum(fetched) <= 10
    fetched.clear()
    values.graphs(np.array([4, 250]))
    values.unusual(np.array([4, 250]))
    assert fetched == [2, 2]
    np.testing.assert_array_equal(values.column(20), digits.train.inputs[:, 20])


def test_the_lowest_and_highest_weights_are_found_where_they_lie(digits, engine, tmp_path) -> None:
    problem = lsat.Problem(RECIPE.replace(engine=engine), on_disk(digits, tmp_path))
    rows: Any = problem.parts[0].rows
    values = torch.sin(torch.arange(len(rows)).double().square())
    lying = rows.spread(values)
    for largest in (True, False):
        found, places = lying.topk(7, largest=largest)
        expected = values.topk(7, largest=largest)
        assert torch.equal(found, expected.values)
        assert torch.equal(values[places], found)
    assert lying._whole is None
    with pytest.raises(TypeError, match="__setitem__ changes numbers in place"):
        lying[3] = 0.0


def test_the_rows_are_judged_where_they_lie_once_somebody_asks(pair) -> None:
    ours, theirs = (WeightBrowser(run, order="lightest", verdicts=lsat.Verdicts()) for run in pair)
    place = 7
    for browser in (ours, theirs):
        browser.selected = [browser.run.data.train.rows[place]]
        browser.wait()
    assert ours._zoom["said"]["words"] == theirs._zoom["said"]["words"]
    assert "sort training rows by doubt" in ours._zoom["reasons"]["words"]  # a look takes no pass over them
    assert "doubt" not in ours._zoom
    assert WeightBrowser(pair[0], verdicts=lsat.Verdicts()).order == "lightest"
    for order in ("-doubt", "effect"):
        for browser in (ours, theirs):
            browser.order = order
            browser.wait()
        assert ours._shown["positions"][:10] == theirs._shown["positions"][:10]
    assert ours._zoom["doubt"] == theirs._zoom["doubt"]
    assert ours._zoom["effect"] == theirs._zoom["effect"]
    assert ours._zoom["reasons"]["words"] == theirs._zoom["reasons"]["words"]
    for browser in (ours, theirs):
        browser.close()


def test_a_page_of_a_browser_fetches_its_own_training_rows_alone(
    digits: lsat.Data, engine: lsat.Dask, monkeypatch
) -> None:
    run = lsat.tune(RECIPE.replace(engine=engine), of_dask(digits, image_shape=(8, 8)), progress=False)
    run.data._grey_levels  # noqa: B018
    fetched: list[int] = []
    chosen = RowsOnWorkers._chosen

    def noted(self: RowsOnWorkers, numbers: np.ndarray, *more: Any) -> torch.Tensor:
        if len(self) == len(run.data.train):
            fetched.append(len(numbers))
        return chosen(self, numbers, *more)

    monkeypatch.setattr(RowsOnWorkers, "_chosen", noted)
    browser = WeightBrowser(run, page_size=30, verdicts=lsat.Verdicts())
    assert fetched == [30]
    browser.page = 2
    assert fetched == [30, 30]  # none for the page after it
    browser.order = "-doubt"
    browser.wait()
    assert fetched == [30] * 4  # the lightest until doubt is known, then the doubtful
    browser.close()
