"""Workers of a dask cluster give the numbers of one process, also of rows on disk that they read themselves."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lsat_explorer as lsat
from cluster import GRAPH, RECIPES, on_disk, same, two_workers
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.engines.dask import even_cuts
from lsat_explorer.engines.share import Stretch
from lsat_explorer.model.cluster import connected


@pytest.fixture(scope="module")
def engine() -> Iterator[lsat.Dask]:
    yield from two_workers()


@pytest.mark.parametrize("name", RECIPES)
def test_workers_give_what_memory_gives(digits: lsat.Data, engine: lsat.Dask, name: str) -> None:
    same(RECIPES[name], engine, digits, 1e-10)


@pytest.mark.parametrize("name", [name for name in RECIPES if "cross-validation" in name or "leave-one-out" in name])
def test_rows_that_are_left_out_by_chunks_give_what_memory_gives(digits: lsat.Data, name: str) -> None:
    same(RECIPES[name], lsat.Chunks(rows=300), digits, 1e-10)


@pytest.mark.parametrize("memory", [None, "100 kB"])
def test_folds_of_a_file_are_read_by_the_workers(digits, engine, tmp_path, monkeypatch, memory) -> None:
    data = on_disk(digits, tmp_path)
    monkeypatch.setattr(connected(engine.address), "scatter", None)
    monkeypatch.setattr(RowsOnDisk, "__reduce_ex__", None)
    same(RECIPES["k-fold"], replace(engine, memory=memory), data, 1e-10)


def test_what_needs_all_predictions_here_is_refused_where_none_is_to_travel(digits: lsat.Data) -> None:
    lsat.model.register_loss("largest", lambda predictions, targets: (predictions - targets).abs().amax())
    apart = lsat.Dask("tcp://10.0.0.1:8786", weights="workers")
    with pytest.raises(ValueError, match=r"CustomLoss needs the predictions of all scored rows .* weights='here'"):
        lsat.Problem(GRAPH.replace(engine=apart, loss=lsat.CustomLoss("largest")), digits)
    counts = tuple(1.0 + i % 2 for i in range(len(digits.validation)))
    with pytest.raises(ValueError, match="Counted needs the predictions of all scored rows"):
        lsat.Problem(GRAPH.replace(engine=apart, criterion=lsat.Counted(lsat.HeldOut(), counts)), digits)


def test_workers_may_hold_a_chunk_at_a_time(digits: lsat.Data, engine: lsat.Dask) -> None:
    same(RECIPES["row weights and features"], replace(engine, memory="200 kB"), digits, 1e-10)


@pytest.mark.mnist
@pytest.mark.parametrize("recipe", ["paper_ls", "paper_reg2", "paper_feat", "paper_weighting"])
@pytest.mark.parametrize("chunks", [None, lsat.Chunks(rows=300)], ids=repr)
def test_the_papers_recipes_on_small_mnist(mnist_folder, engine: lsat.Dask, recipe: str, chunks: Any) -> None:
    data = lsat.datasets.mnist(mnist_folder, size=1000, scale="unit")
    same(getattr(lsat.model.recipes, recipe)().replace(dtype="float64"), chunks or engine, data, 1e-6)


def test_a_run_ends_with_the_weights_and_predictions_of_one_in_memory(digits: lsat.Data, engine: lsat.Dask) -> None:
    recipe = RECIPES["row weights"].replace(method=lsat.LineSearch(max_iterations=4))
    ours, theirs = (lsat.tune(recipe.replace(engine=each), digits, progress=False) for each in (engine, "memory"))
    np.testing.assert_allclose(ours.weights(), theirs.weights(), rtol=1e-10)
    rows = digits.test.inputs
    np.testing.assert_allclose(ours.model.decision_function(rows), theirs.model.decision_function(rows), atol=1e-10)


@pytest.mark.parametrize("memory", [None, "100 kB"])
def test_workers_read_rows_on_disk_and_are_told_where_only(digits, engine, tmp_path, monkeypatch, memory) -> None:
    data = on_disk(digits, tmp_path)
    expected = lsat.Problem(GRAPH, data)
    monkeypatch.setattr(RowsOnDisk, "__reduce_ex__", None)
    client = connected(engine.address)
    monkeypatch.setattr(client, "scatter", None)
    problem = lsat.Problem(GRAPH.replace(engine=replace(engine, memory=memory)), data)
    assert isinstance(data.train.inputs, RowsOnDisk)
    at = problem.evaluate(problem.init())
    assert at.objective == pytest.approx(expected.evaluate(expected.init()).objective, rel=1e-10)
    assert len(pickle.dumps(Stretch.of(data.train.inputs, slice(5, 500)))) < 1000


def test_a_file_that_a_worker_does_not_see_is_named(digits, engine, tmp_path) -> None:
    data = on_disk(digits, tmp_path)
    (tmp_path / "train.npy").rename(tmp_path / "elsewhere.npy")
    with pytest.raises(ValueError, match=r"sees no file .*train.npy, which holds rows: put .* where every worker"):
        lsat.Problem(GRAPH.replace(engine=engine), data)
    inputs: Any = data.train.inputs
    rows = RowsOnDisk(tmp_path / "elsewhere.npy", tuple(inputs.shape), np.float64, inputs.offset)
    (tmp_path / "elsewhere.npy").write_bytes((tmp_path / "elsewhere.npy").read_bytes()[:9999])
    with pytest.raises(ValueError, match="it is cut off"):
        lsat.Problem(GRAPH.replace(engine=engine), replace(data, train=replace(data.train, inputs=rows)))


def test_the_engine_is_its_address(engine: lsat.Dask) -> None:
    client = connected(engine.address)
    assert lsat.Dask(client) == engine
    recipe = lsat.Recipe(engine=lsat.Dask(client, memory="1 MB"))
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe
    assert lsat.Recipe(engine="dask").engine == lsat.Dask()
    assert engine.dashboard.startswith("http")
    for wrong in (3, "", lsat):
        with pytest.raises(ValueError, match="expected that of a scheduler"):
            lsat.Dask(wrong)
    with pytest.raises(ValueError, match="expected a size"):
        lsat.Dask("tcp://10.0.0.1:8786", memory="much")
    with pytest.raises(ValueError, match="workers is 0"):
        lsat.Dask.local(workers=0)


@pytest.mark.parametrize("rows", [1, 7, 1000, 2**24 + 1, 2**24 + 3, 20_000_003, 2**53 + 1])
@pytest.mark.parametrize("parts", [1, 2, 7, 8])
def test_parts_hold_every_row_once(rows: int, parts: int) -> None:
    parts = min(parts, rows)
    cuts = even_cuts(rows, parts)
    assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
    assert cuts[-1].stop == rows
    assert {cut.stop - cut.start for cut in cuts} <= {rows // parts, rows // parts + 1}
