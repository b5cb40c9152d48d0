"""Tables in files: CSV, Parquet and OpenML, their categories and missing entries, and the cache."""

from __future__ import annotations

import gzip
import os
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.data import cache, datasets, from_files

RANDOM = np.random.default_rng(0)
N = 40
FRAME = pd.DataFrame(
    {
        "name": [f"coin {i}" for i in range(N)],
        "weight": RANDOM.normal(size=N),
        "metal": ["zinc", "iron"] * (N // 2),
        "old": [True, False, False, True] * (N // 4),
        "side": ["tail", "head", "head", "edge"] * (N // 4),
    }
)


@pytest.fixture(autouse=True)
def cache_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "coins.csv"
    FRAME.to_csv(path, index=False)
    return path


def read_csv(path, target="side", **options):
    return datasets.from_csv(path, target, progress=False, **{"index": "name", **options})


def parts(data):
    return [data.train, data.validation, data.test]


def check_coins(data):
    assert data.feature_names == ("weight", "metal=iron", "metal=zinc", "old")
    assert data.classes == ("edge", "head", "tail")
    indexed = FRAME.set_index("name")
    assert sorted(name for split in parts(data) for name in split.rows) == sorted(FRAME["name"])
    for split in parts(data):
        rows = indexed.loc[list(split.rows)]
        expected = np.stack([rows.weight, rows.metal == "iron", rows.metal == "zinc", rows.old], 1).astype(float)
        np.testing.assert_allclose(split.inputs.numpy(), expected, rtol=1e-15)
        assert split.labels.tolist() == rows.side.tolist()


def test_a_csv_becomes_numbers_labels_and_names(csv):
    data = read_csv(csv)
    check_coins(data)
    assert repr(data) == "Data(coins: 20 training, 12 validation, 8 test rows, 4 features, 3 classes)"
    # the division is that of the arrays
    same = lsat.Data.from_arrays(FRAME[["weight"]], FRAME.side, rows=FRAME.name)
    assert data.train.rows.tolist() == same.train.rows.tolist()
    again = eval(data.source, {"lsat": lsat})
    assert torch.equal(again.train.inputs, data.train.inputs)
    other = read_csv(csv, validation=10, test=0, seed=3, name="my coins", drop=["old"])
    assert other.describe() == "my coins · 30 training, 10 validation rows"
    assert "old" not in other.feature_names


@pytest.mark.parametrize("kind", ["pandas", "nullable", "categorical", "index"])
def test_a_parquet_keeps_the_types_that_it_has(kind, tmp_path):
    frame = FRAME.copy()
    if kind == "nullable":
        frame = frame.convert_dtypes()
    if kind == "categorical":
        frame = frame.astype({"metal": pd.CategoricalDtype(["iron", "zinc", "gold"]), "side": "category"})
    index = None if kind == "index" else "name"
    (frame.set_index("name") if kind == "index" else frame).to_parquet(tmp_path / "coins.parquet")
    check_coins(datasets.from_parquet(tmp_path / "coins.parquet", "side", index=index, progress=False))


def test_parquet_in_parts_and_in_single_precision(tmp_path):
    frame = FRAME[["weight"]].astype(np.float32).assign(heavy=[0.5, 1.5] * (N // 2))
    frame.iloc[:25].to_parquet(tmp_path / "a.parquet", index=False)
    frame.iloc[25:].to_parquet(tmp_path / "b.parquet", index=False)
    data = datasets.from_parquet(tmp_path, "heavy", test=0, progress=False)
    assert (data.task, data.train.inputs.dtype) == ("regression", torch.float32)
    np.testing.assert_array_equal(data.train.inputs[:, 0].numpy(), frame.weight.iloc[data.train.rows])
    frame[["heavy"]].to_parquet(tmp_path / "c.parquet", index=False)
    with pytest.raises(ValueError, match="have other columns"):
        datasets.from_parquet(tmp_path, "heavy", progress=False)


def test_several_columns_of_numbers_are_outputs(csv):
    data = read_csv(csv, ["weight", "old"], drop=["side"])
    assert (data.task, data.train.targets.shape[1]) == ("regression", 2)
    assert data.feature_names == ("metal=iron", "metal=zinc")


def test_a_compressed_csv_with_another_separator(tmp_path):
    path = tmp_path / "coins.tsv.gz"
    with gzip.open(path, "wt") as file:
        file.write(FRAME.to_csv(index=False, sep="\t"))
    data = read_csv(path, separator="\t")
    check_coins(data)
    assert data.name == "coins"
    assert "separator='\\t'" in data.source


def test_missing_entries_are_refused_or_filled_by_the_training_rows(tmp_path):
    frame = FRAME.copy()
    frame.loc[::5, "weight"] = np.nan
    frame.loc[3, "metal"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    with pytest.raises(ValueError, match=r"X has nan at row 'coin \d+', column [01]"):
        read_csv(tmp_path / "holes.csv")
    for missing in ("mean", "median"):
        data = read_csv(tmp_path / "holes.csv", missing=missing)
        whole = frame.set_index("name")
        kept = whole.loc[list(data.train.rows)].weight.dropna()
        fill = getattr(kept, missing)()
        assert data.fill[0] == pytest.approx(fill)
        for split in parts(data):
            expected = whole.loc[list(split.rows)].weight.fillna(fill)
            np.testing.assert_allclose(split.inputs[:, 0].numpy(), expected)
    with pytest.raises(ValueError, match="missing is 'zero', expected one of 'refuse', 'mean', 'median'"):
        read_csv(tmp_path / "holes.csv", missing="zero")
    frame.assign(weight=np.nan).to_csv(tmp_path / "holes.csv", index=False)
    with pytest.raises(ValueError, match=r"training X has no number in column 0 \('weight'\)"):
        read_csv(tmp_path / "holes.csv", missing="mean")


def test_a_missing_label_is_refused_by_its_row(tmp_path):
    FRAME.assign(side=FRAME.side.where(FRAME.name != "coin 7")).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="y has nan at row 'coin 7', expected a label"):
        read_csv(tmp_path / "a.csv")


# --- the cache ------------------------------------------------------------------------------------------------------


def test_a_file_is_read_once_until_it_changes(csv, cache_of_this_test, monkeypatch):
    first = read_csv(csv)
    (kept,) = cache_of_this_test.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(from_files, "_read_csv", lambda *_: pytest.fail("read again"))
        second = read_csv(csv, seed=0)
    check_coins(second)
    assert torch.equal(first.train.inputs, second.train.inputs)
    assert second.train.labels.dtype == first.train.labels.dtype
    FRAME.assign(weight=1.0).to_csv(csv, index=False)
    os.utime(csv, ns=(1, 1))
    assert (read_csv(csv).train.inputs[:, 0] == 1).all()
    assert list(cache_of_this_test.iterdir()) == [kept]  # in the place of the old rows
    read_csv(csv, drop=["old"])
    assert len(list(cache_of_this_test.iterdir())) == 2


def test_a_cache_that_is_damaged_closed_or_not_wanted_does_not_matter(csv, cache_of_this_test, monkeypatch):
    read_csv(csv, cache=False)
    assert not cache_of_this_test.exists()
    read_csv(csv)
    (kept,) = cache_of_this_test.iterdir()
    kept.write_bytes(b"damaged")
    check_coins(read_csv(csv))
    monkeypatch.setenv("LSAT_CACHE", str(csv / "no folder"))
    check_coins(read_csv(csv))
    monkeypatch.delenv("LSAT_CACHE")
    assert "lsat_explorer" in str(cache.cache_folder())


def test_progress_is_shown_where_it_is_wanted(csv, tmp_path, capsys):
    read_csv(csv)
    assert capsys.readouterr().err == ""
    datasets.from_csv(csv, "side", index="name", cache=False)
    assert "reading coins.csv: 100%" in capsys.readouterr().err
    FRAME.to_parquet(tmp_path / "coins.parquet")
    datasets.from_parquet(tmp_path / "coins.parquet", "side", index="name")
    assert "reading coins.parquet: 100%" in capsys.readouterr().err


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "sides"}, "has no column 'sides' for target=, it has name, weight, metal, old, side; name one"),
        ({"index": "nme"}, "coins.csv has no column 'nme' for index="),
        ({"drop": ["lod"]}, "coins.csv has no column 'lod' for drop="),
        ({"drop": ["weight", "metal", "old"]}, "has no column beside the target"),
        ({"separator": ";"}, "has no column 'side'"),
        ({"separator": ""}, "separator is '', expected what stands between two entries; pass ',' or ';'"),
        ({"separator": 3}, "separator is 3, expected what stands between two entries"),
        ({"drop": "lod"}, "coins.csv has no column 'lod' for drop="),
        ({"index": "side"}, "column 'side' of coins.csv is named by target= and by index=, expected by one of them"),
        ({"drop": ["old", "side"]}, "column 'side' of coins.csv is named by target= and by drop="),
        ({"target": ["weight", "metal"]}, "no number in column 'metal', and several .* name it alone, target='metal'"),
    ],
)
def test_a_wrong_column_is_named(options, message, csv):
    with pytest.raises(ValueError, match=message):
        read_csv(csv, **options)


def test_one_name_may_be_dropped_without_a_list(csv):
    assert read_csv(csv, drop="metal").feature_names == ("weight", "old")


def test_a_table_without_rows_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n")
    pd.DataFrame({"a": [], "y": []}).to_parquet(tmp_path / "a.parquet")
    for name, read in (("a.csv", datasets.from_csv), ("a.parquet", datasets.from_parquet)):
        with pytest.raises(ValueError, match=f"{name} has no rows; give at least two"):
            read(tmp_path / name, "y", progress=False)


@pytest.mark.parametrize(
    ("column", "kind", "remedy"),
    [("many", "ndarray", r"leave it out: drop=\['many'\]"), ("side", "dict", "name another target")],
)
def test_lists_and_the_like_are_refused_by_their_column(column, kind, remedy, tmp_path):
    entry = [1.0, 2.0] if kind == "ndarray" else {"up": 1}
    FRAME.assign(**{column: [None, *[entry] * (N - 1)]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=f"a.parquet has entries of type {kind} in column '{column}'.*; {remedy}"):
        datasets.from_parquet(tmp_path / "a.parquet", "side", index="name", progress=False)


def test_a_folder_and_another_encoding_are_no_csv(csv):
    with pytest.raises(ValueError, match="is a folder, expected a CSV file"):
        read_csv(csv.parent)
    csv.write_text(FRAME.replace("zinc", "étain").to_csv(index=False), encoding="latin-1")
    with pytest.raises(ValueError, match=r"coins\.csv is not encoded as UTF-8; save it so first") as refused:
        read_csv(csv)
    # what it says to do is Python that works
    code = str(refused.value).partition("by ")[2].removesuffix(" where it is Latin-1")
    code = code.replace("old.csv", str(csv)).replace("new.csv", str(csv))
    eval(code, {"Path": type(csv)})
    assert "metal=étain" in read_csv(csv).feature_names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "side,a,b\n1.5,101,3,4\n2.5,102,3,4\n",
            r"Expected 3 fields in line 2, saw 4\); look .* give each column a name",
        ),
        ("side,a,b\n\n0,101,3,4\n1,102,3\n", r"Expected 3 fields in line 3, saw 4\)"),  # 0 and 1 count the rows, too
        ("side,a,b\n1.5,1,3,4,5\n", r"Expected 3 fields in line 2, saw 5\)"),
        ("side,a,b\n1,2,3,\n4,5,6,\n", r"line 2, saw 4, the last one empty\); remove the ',' at the end of the lines"),
        ("side;a\n1,5;2\n2,5;3\n", r"line 2, saw 2\); if ';' stands between columns, pass separator=';', or else"),
    ],
    ids=["one more", "counting", "two more", "trailing", "separator"],
)
def test_a_first_line_of_more_entries_than_names_shifts_no_column(text, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    for read in (read_csv, from_files.frame_in):
        with pytest.raises(ValueError, match=rf"a\.csv is no CSV that can be read \(.*{message}"):
            read(path)
    path.write_text("side,a,b\n1.5,2,3\n\n2.5,2,3,4\n")
    with pytest.raises(ValueError, match="Expected 3 fields in line 4, saw 4"):
        read_csv(path)


def test_text_that_is_no_category_and_dates_are_refused(tmp_path):
    long = pd.DataFrame({"text": [f"word {i}" for i in range(150)], "side": ["head", "tail"] * 75})
    long.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"150 different texts in column 'text'.*drop=\['text'\]"):
        datasets.from_csv(tmp_path / "a.csv", "side", progress=False)
    long.assign(text=pd.date_range("2020", periods=150)).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"datetime64.* in column 'text', expected numbers or text"):
        datasets.from_parquet(tmp_path / "a.parquet", "side", progress=False)


def test_files_that_are_absent_or_damaged_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nowhere\.csv"):
        datasets.from_csv(tmp_path / "nowhere.csv", "y")
    for name, read in (("a.csv", datasets.from_csv), ("a.parquet", datasets.from_parquet)):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=name):
            read(tmp_path / name, "y", progress=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="there is no Parquet in"):
        datasets.from_parquet(tmp_path / "empty", "y")


# --- OpenML ---------------------------------------------------------------------------------------------------------


def test_openml_takes_the_target_that_the_data_set_names(monkeypatch, cache_of_this_test):
    asked = []

    def fetch(**options):
        asked.append(options)
        return SimpleNamespace(frame=FRAME.astype({"metal": "category", "side": "category"}), target_names=["side"])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = datasets.from_openml("coins", index="name", progress=False, validation=0.3)
    check_coins(data)
    assert data.source == "lsat.datasets.from_openml('coins', index='name', validation=0.3)"
    datasets.from_openml(61, target="old", drop=["name"], progress=False)
    home = str(cache_of_this_test / "openml")
    assert asked[0] == {"name": "coins", "version": "active", "as_frame": True, "data_home": home}
    assert asked[1] == {"data_id": 61, "as_frame": True, "data_home": home}
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(frame=FRAME, target_names=[]))
    with pytest.raises(ValueError, match="coins of OpenML names no target"):
        datasets.from_openml("coins", progress=False)


def test_openml_without_a_network_says_so_in_one_sentence(monkeypatch):
    def refuse(*args, **kwargs):
        raise urllib.error.URLError("Temporary failure in name resolution")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(ConnectionError, match=r"iris could not be fetched, for OpenML does not answer \(Temporary"):
        datasets.from_openml("iris", version=1, progress=False)


@pytest.mark.parametrize("more", ["", ",7"])
def test_a_pipe_is_read_once(tmp_path, more):
    pipe, text = tmp_path / "pipe", "y,a\n" + "".join(f"{2 * i}.5,{i}{more}\n" for i in range(60))
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_text, text)
        if more:
            with pytest.raises(ValueError, match="Expected 2 fields in line 2, saw 3"):
                datasets.from_csv(pipe, "y", progress=False, cache=False)
        else:
            data = datasets.from_csv(pipe, "y", progress=False, cache=False)
            assert data.feature_names == ("a",)
        written.result()
