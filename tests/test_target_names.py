"""Outputs in regression keep the names of their columns: in the data, by whatever way they came."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.parquet
import pytest

import lsat_explorer as lsat
from lsat_explorer.data import datasets, safe_file
from lsat_explorer.tune.fingerprint import fingerprint

NAMES = ("height", "weight")
X = np.random.default_rng(0).normal(size=(40, 3))
Y = pd.DataFrame(X[:, :2] * 2.0 + 1, columns=NAMES)
TABLE = pd.DataFrame(X, columns=list("abc")).join(Y)
WAYS = {
    "from_arrays": lambda X, y, **more: lsat.Data.from_arrays(X, y, **more),
    "from_splits": lambda X, y, **more: lsat.Data.from_splits((X, y), (X, y), (X, y), **more),
    "from_rows of arrays": lambda X, y, **more: lsat.Data.from_rows((X, y), (X, y), **more),
    "from_rows of chunks": lambda X, y, **more: lsat.Data.from_rows([(X, y), (X, y)], (X, y), **more),
}
OUTCOMES = {
    "a frame": (Y, NAMES),
    "a frame of polars": (polars.from_pandas(Y), NAMES),
    "a table of pyarrow": (pyarrow.Table.from_pandas(Y), NAMES),
    "a frame of one column": (Y[["weight"]], ("weight",)),
    "a series": (Y["weight"], ("weight",)),
    "a series of polars": (polars.Series("weight", Y["weight"].tolist()), ("weight",)),
    "a series of whole numbers": (pd.Series(range(100, 140), name="weight"), ("weight",)),
    "columns that are numbers": (Y.set_axis([5, 7], axis=1), ("5", "7")),
    "an array": (Y.to_numpy(), ()),
    "a list": (Y["weight"].tolist(), ()),
    "a frame that pandas numbered": (pd.DataFrame(Y.to_numpy()), ()),
    "a series without a name": (Y["weight"].rename(None), ()),
    "a series of polars without a name": (polars.Series(Y["weight"].tolist()), ()),
    "columns of one name": (Y.set_axis(["a", "a"], axis=1), ()),
}


@pytest.fixture(autouse=True)
def cache_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("y", "names"), OUTCOMES.values(), ids=OUTCOMES)
def test_outputs_are_called_as_the_columns_of_y(y, names, way):
    data = way(X, y)
    assert data.target_names == names
    expected = np.asarray(y, dtype=float).reshape(len(X), -1)
    np.testing.assert_array_equal(data.train.targets.numpy()[:5], expected[data.train.rows[:5] % 40])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_names_that_are_given_go_before_those_of_y(way):
    for y in (Y, Y.to_numpy()):
        assert way(X, y, target_names=["long", 2]).target_names == ("long", "2")
    assert way(X, Y["weight"], target_names=["long"]).target_names == ("long",)
    assert way(X, Y["weight"], target_names="long").target_names == ("long",)


def test_a_lazy_frame_has_names_too():
    assert lsat.Data.from_arrays(X, polars.from_pandas(Y).lazy()).target_names == NAMES


LABELS = pd.Series(["a", "b"] * 20, name="side")


@pytest.mark.parametrize("y", [LABELS, LABELS.to_frame(), LABELS.astype("category"), LABELS == "a"], ids=str)
def test_classes_name_the_outputs_in_classification(y):
    for way in WAYS.values():
        data = way(X, y)
        assert (len(data.classes), data.target_names) == (2, ())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("y", "given", "sentence"),
    [
        (Y, ["a"], "target_names has 1 name for 2 outputs; give one per column of y, or leave it out"),
        (Y["weight"], NAMES, "target_names has 2 names for 1 output; give one"),
        (Y, ["a", "a"], "target_names has 'a' twice, expected a name of its own for each column of y"),
        (Y, 3, "target_names is 3, expected the name of a column, or several; pass names"),
        (LABELS, ["a", "b"], r"target_names is \['a', 'b'\] for classification, expected None, .* leave it out"),
    ],
)
def test_names_that_do_not_fit_are_refused(y, given, sentence, way):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        way(X, y, target_names=given)


def test_columns_of_y_in_another_order_are_refused():
    other = Y[["weight", "height"]]
    sentence = r"y has the columns \['weight', 'height'\] and {} has \['height', 'weight'\]; give both the same columns"
    with pytest.raises(ValueError, match="^validation " + sentence.format("training y")):
        lsat.Data.from_splits((X, Y), (X, other))
    with pytest.raises(ValueError, match="^part 1 of training " + sentence.format("part 0 of training y")):
        lsat.Data.from_rows([(X, Y), (X, other)], (X, Y))
    assert lsat.Data.from_splits((X, Y), (X, other.to_numpy())).target_names == NAMES


def test_one_output_that_each_split_calls_otherwise_has_no_name():
    first, second = Y["weight"], Y["weight"].rename("y_validation")
    assert lsat.Data.from_splits((X, first), (X, second)).target_names == ()
    assert lsat.Data.from_rows([(X, first), (X, second)], (X, first.to_numpy())).target_names == ()


def test_an_entry_of_y_that_is_missing_is_told_with_its_column():
    for y in (Y.mask(Y.iloc[3, 1] == Y), Y.to_numpy() * np.where(Y.iloc[3, 1] == Y, np.nan, 1)):
        with pytest.raises(ValueError, match=r"y has nan at row 3, column 1 \('weight'\), expected finite"):
            lsat.Data.from_arrays(X, y, target_names=NAMES)


def written(path):
    TABLE.to_csv(path.with_suffix(".csv"), index=False)
    TABLE.to_parquet(path.with_suffix(".parquet"))
    return path


READ = {
    "csv": lambda path, target: datasets.from_csv(path.with_suffix(".csv"), target, progress=False),
    "parquet": lambda path, target: datasets.from_parquet(path.with_suffix(".parquet"), target, progress=False),
    "rows of parquet": lambda path, target: lsat.Data.from_rows(*[path.with_suffix(".parquet")] * 2, target=target),
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
@pytest.mark.parametrize("target", [["height", "weight"], ["weight", "height"], ["weight"], "weight"], ids=str)
def test_a_table_in_a_file_names_its_targets_also_from_the_cache(read, target, tmp_path):
    path = written(tmp_path / "table")
    expected = (target,) if isinstance(target, str) else tuple(target)
    first, again = read(path, target), read(path, target)
    for data in (first, again):
        assert data.target_names == expected
        rows = TABLE.loc[data.train.rows, list(expected)].to_numpy()
        np.testing.assert_array_equal(data.train.targets.numpy(), rows)
    assert fingerprint(first) == fingerprint(again)


def test_a_cache_is_written_as_before_so_that_older_ones_are_read(tmp_path, cache_of_this_test, monkeypatch):
    path = written(tmp_path / "table")
    READ["csv"](path, list(NAMES))
    (kept,) = cache_of_this_test.iterdir()
    header, _ = safe_file.read_tensors(kept)
    assert set(safe_file.json_in(header["rows"], "rows")) == {"stamp", "labels", "names", "rows"}
    monkeypatch.setattr("lsat_explorer.data.from_files._read_csv", None)  # it is not read again
    assert READ["csv"](path, list(NAMES)).target_names == NAMES


def test_openml_and_classes_of_a_file(tmp_path, monkeypatch):
    bunch = SimpleNamespace(frame=TABLE, target_names=list(NAMES))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: bunch)
    assert datasets.from_openml("people", progress=False).target_names == NAMES
    assert datasets.from_openml("people", target="height", drop="weight", progress=False).target_names == ("height",)
    TABLE.assign(side=LABELS, year=[1, 2] * 20).to_csv(tmp_path / "table.csv", index=False)
    for target, other in (("side", "year"), ("year", "side")):
        data = datasets.from_csv(tmp_path / "table.csv", target, drop=other, progress=False)
        assert (len(data.classes), data.target_names) == (2, ())


def test_dask_names_its_targets():
    frame = pytest.importorskip("dask.dataframe")
    array = pytest.importorskip("dask.array")
    table = frame.from_pandas(TABLE, npartitions=2)
    assert lsat.Data.from_rows(table, table, target=list(NAMES)).target_names == NAMES
    assert lsat.Data.from_rows(table, table, target="weight").target_names == ("weight",)
    rows = array.from_array(X, chunks=(20, 3))
    for y in (frame.from_pandas(Y, npartitions=2), Y, polars.from_pandas(Y)):
        assert lsat.Data.from_rows((rows, y), (rows, y)).target_names == NAMES
    assert lsat.Data.from_rows((rows, Y.to_numpy()), (rows, Y.to_numpy())).target_names == ()


def test_names_leave_the_fingerprint_of_the_rows_as_it_was():
    plain, named = lsat.Data.from_arrays(X, Y.to_numpy()), lsat.Data.from_arrays(X, Y)
    assert fingerprint(named) == fingerprint(plain)
    assert repr(named) == repr(plain)
