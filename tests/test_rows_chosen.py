"""Some of other rows, such as the folds of a file, are read where they are, and are those that indexing gives."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from cluster import elsewhere, on_disk
from lsat_explorer.bench.machine import held_memory, peak_memory
from lsat_explorer.data.chosen import RowsChosen
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.engines import ChunkRows
from lsat_explorer.engines.loaded import chosen_rows
from lsat_explorer.engines.share import Stretch

X = np.random.default_rng(0).normal(size=(97, 3))
NUMBERS = torch.tensor([0, 1, 5, 6, 40, 41, 70, 96])


def of_memory(folder: Path) -> torch.Tensor:
    return torch.from_numpy(X)


def of_a_file(folder: Path) -> RowsOnDisk:
    X.tofile(folder / "X.bin")
    return RowsOnDisk(folder / "X.bin", (97, 3), X.dtype)


@pytest.mark.parametrize("make", [of_memory, of_a_file], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("step", [24, 240, 2**22])
def test_chosen_rows_are_those_that_indexing_gives(make: Callable[[Path], Any], step: int, tmp_path, monkeypatch):
    monkeypatch.setattr("lsat_explorer.data.chosen.PASS_BYTES", step)
    rows, expected = RowsChosen(make(tmp_path), NUMBERS), torch.from_numpy(X)[NUMBERS]
    assert (len(rows), rows.shape, rows.dtype) == (8, (8, 3), torch.float64)
    assert repr(rows) == "RowsChosen(8 of 97 rows)"
    for cut in (slice(None), slice(2, 7), slice(7, 8), slice(3, 3)):
        assert torch.equal(rows.read(cut), expected[cut])
    buffer = torch.full((20, 3), torch.nan, dtype=torch.float64)
    found = rows.read(slice(1, 6), buffer)
    assert torch.equal(found, expected[1:6])
    assert found.data_ptr() == buffer.data_ptr()
    for index in (3, slice(1, 5), [4, 0], torch.tensor([[1, -1]]), (slice(None), 1), ...):
        assert torch.equal(rows[index], expected[index])
    assert torch.equal(rows.take(torch.tensor([2, 7])), expected[[2, 7]])
    assert torch.equal(torch.cat([part.clone() for _, part in rows.passes()]), expected)
    assert torch.equal(rows + 0, expected)


def test_a_worker_is_told_the_numbers_of_chosen_rows_of_a_file(tmp_path):
    rows = RowsChosen(of_a_file(tmp_path), NUMBERS)
    stretch = Stretch.of(rows, slice(2, 6))
    assert stretch.shape == (37, 3)
    assert torch.equal(stretch.rows().read(slice(None)), torch.from_numpy(X)[NUMBERS[2:6]])


def test_an_engine_that_holds_rows_has_a_copy_of_those_that_are_chosen(tmp_path):
    whole = of_a_file(tmp_path)
    assert type(chosen_rows(lsat.Memory(), whole, NUMBERS)) is torch.Tensor
    assert isinstance(chosen_rows(lsat.Chunks(), whole, NUMBERS), RowsChosen)


@pytest.mark.parametrize("where", ["memory", "a file"])
def test_folds_by_chunks_give_what_memory_gives(digits: lsat.Data, tmp_path, where: str):
    recipe = lsat.Recipe(criterion=lsat.KFold(4), data_weights=lsat.LogWeights(), dtype="float64")
    data = digits if where == "memory" else on_disk(digits, tmp_path)
    ours = lsat.Problem(recipe.replace(engine=lsat.Chunks(rows=60)), data)
    theirs = lsat.Problem(recipe, digits)
    for part in ours.parts:
        assert isinstance(part.rows, ChunkRows)
        assert isinstance(part.rows._inputs, RowsChosen)
        assert part.rows._inputs.source is data.train.inputs
    omega = elsewhere(theirs)
    here, there = ours.evaluate(omega), theirs.evaluate(omega)
    assert here.objective == pytest.approx(there.objective, rel=1e-10)
    expected = theirs.gradient(there)
    for name, value in ours.gradient(here).items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-10)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is Linux's")
def test_folds_of_rows_on_disk_take_no_memory_of_their_size(tmp_path: Path):
    k, d = 160_000, 200
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (k, d))
    X[:] = np.random.default_rng(0).random((k, d), np.float32)
    # In a process of its own: a peak is that of all that a process has ever done.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        taken = process.submit(taken_by_folds, tmp_path / "X.npy").result()
    assert taken < 0.75 * X.nbytes


def taken_by_folds(file: Path) -> int:
    """Return the bytes that tuning over folds of the rows in a file takes beyond what a small tune has left."""
    recipe = lsat.Recipe(
        criterion=lsat.KFold(4),
        engine=lsat.Chunks(memory="8 MB"),
        method=lsat.ProximalGradient(max_iterations=1),
    )
    generator = np.random.default_rng(0)
    small = [(generator.normal(size=(500, 200)).astype(np.float32), generator.normal(size=500))]
    lsat.tune(recipe, lsat.Data.from_rows(small, small), progress=False)  # what is imported on the way
    before = held_memory()
    lsat.tune(recipe, lsat.Data.from_rows((file, generator.normal(size=160_000)), small), progress=False)
    return peak_memory() - before
