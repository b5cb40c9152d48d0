"""The benchmark of rows on disk prints what it measured, and leaves nothing behind unless it is asked to."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lsat_explorer.bench import scale
from lsat_explorer.bench.rows_file import write_rows
from lsat_explorer.data.on_disk import RowsOnDisk


@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_bench_scale_prints_memory_ratio_and_slope(command, tmp_path, cache):
    file, folder = tmp_path / "figures.json", tmp_path / "rows"
    folder.mkdir()
    words = ("--rows", "400", "--columns", "6", "--repeat", "1", "--cases", "weighted", "--memory", "10 kB")
    code, out, _ = command("bench", "scale", *words, "--folder", str(folder), "--json", str(file), "--cache", cache)
    assert code == 0
    assert "Goal: an iteration within 1.5 times the larger of reading and product. In this run: weighted " in out
    assert f"rows in a {cache} cache" in out
    assert list(folder.iterdir()) == []
    figures = json.loads(file.read_text())
    assert figures["cache"] == cache
    assert [(row["case"], row["rows"], row["columns"]) for row in figures["rows"]] == [
        ("weighted", 200, 6),
        ("weighted", 400, 6),
    ]
    for row in figures["rows"]:
        assert row["ratio"] == pytest.approx(row["iteration"] / max(row["reading"], row["product"]))
    # of two points the slope is the ratio of the logarithms
    first, second = (row["iteration"] for row in figures["rows"])
    assert figures["slopes"]["weighted"] == pytest.approx(np.log2(second / first))


def test_the_rows_of_bench_scale_are_written_to_be_used_in_place(tmp_path):
    size = write_rows(str(tmp_path), 300, 8)
    case = scale.Case("still", str(tmp_path), 150, "1 MB", 1)
    data = case.data()
    assert (len(data.train), len(data.validation), data.classes) == (120, 30, (0, 1, 2))
    assert isinstance(data.train.inputs, RowsOnDisk)
    assert data.train.inputs.path.parent == tmp_path
    assert size == sum(path.stat().st_size for path in tmp_path.glob("*_X.npy"))
    assert case.recipe(8).data_weights is None


def test_sizes_are_halves_down_to_125_000():
    assert scale._sizes(2_000_000) == [125_000, 250_000, 500_000, 1_000_000, 2_000_000]
    assert scale._sizes(250_000) == [125_000, 250_000]
    assert scale._sizes(900) == [450, 900]


def test_bench_scale_tells_what_it_cannot_use(command, tmp_path):
    code, _, error = command("bench", "scale", "--rows", "9")
    assert code == 2
    assert "--rows is 9" in error
    code, _, error = command("bench", "scale", "--memory", "much")
    assert code == 2
    assert "memory is 'much'" in error
    code, _, error = command("bench", "scale", "--folder", str(tmp_path / "none"))
    assert code == 2
    assert "none" in error
