"""Columns of CSV without a name: the numbers of rows that pandas writes are refused, others are features."""

from __future__ import annotations

import numpy as np
import pytest

from lsat_explorer.data import datasets
from test_data_files import FRAME, N, read_csv


@pytest.mark.parametrize("order", [np.arange(N), np.arange(N)[::-1] * 3], ids=["in order", "chosen rows"])
def test_the_numbers_of_rows_that_pandas_writes_are_no_feature(order, tmp_path):
    path = tmp_path / "coins.csv"
    FRAME.set_axis(order, axis=0).to_csv(path)
    with pytest.raises(
        ValueError, match=r"^coins\.csv has a first column without a name that numbers the rows"
    ) as told:
        read_csv(path, index=None, cache=False)
    assert "drop=['Unnamed: 0'], or have it name the rows: index='Unnamed: 0'" in str(told.value)
    assert "Unnamed: 0" not in read_csv(path, drop="Unnamed: 0", cache=False).feature_names
    assert set(read_csv(path, index="Unnamed: 0", drop="name", cache=False).train.rows.tolist()) < set(order.tolist())


@pytest.mark.parametrize(
    "nameless", [np.arange(N) % 7, np.linspace(0, 1, N)], ids=["not each once", "no whole numbers"]
)
def test_other_columns_without_a_name_are_features(nameless, tmp_path):
    FRAME.assign(n=nameless)[["n", "weight", "side"]].rename(columns={"n": ""}).to_csv(tmp_path / "c.csv", index=False)
    data = datasets.from_csv(tmp_path / "c.csv", "side", progress=False, cache=False)
    assert data.feature_names == ("Unnamed: 0", "weight")
