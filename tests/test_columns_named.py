"""Columns that are named by whatever holds names: text, lists, sets, arrays, columns of a frame."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lsat_explorer.data import datasets

N = 40
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(RANDOM.normal(size=(N, 4)), columns=list("abyz")).assign(code=[1, 2] * (N // 2))
FORMS = [set, frozenset, tuple, np.array, pd.Index, pd.Series, iter, dict.fromkeys]


@pytest.fixture(params=["csv", "parquet", "openml"])
def read(request, tmp_path, monkeypatch):
    """Return a function that reads FRAME, with columns that are named by its options."""
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(frame=FRAME, target_names=["y"]))
    FRAME.to_csv(tmp_path / "c.csv", index=False)
    FRAME.to_parquet(tmp_path / "c.parquet", index=False)
    given = "c" if request.param == "openml" else tmp_path / f"c.{request.param}"
    reader = getattr(datasets, f"from_{request.param}")
    return lambda **columns: reader(given, progress=False, **columns)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_names_in_any_form_are_those_of_a_list(form, read):
    listed = read(target=["y", "z"], drop=["a"], categories=["code"])
    found = read(target=form(["y", "z"]), drop=form(["a"]), categories=form(["code"]))
    assert found.feature_names == listed.feature_names == ("b", "code=1", "code=2")
    assert found.target_names == ("y", "z")
    assert found.source == listed.source


def test_names_in_a_set_are_sorted_and_none_are_not_told(read):
    names = [f"b{i}" for i in range(9)]
    with pytest.raises(ValueError, match=r"no column 'b0' for drop="):
        read(target="y", drop=set(names))
    assert read(target="y", drop=np.array([]), categories=set()).source == read(target="y").source
    assert read(target=np.str_("y")).source == read(target="y").source
