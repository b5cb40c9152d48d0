"""What stands between two entries of a file of text: by the name of the file, or as it is told."""

from __future__ import annotations

import io
import os

import numpy as np
import pandas as pd
import pytest

from lsat_explorer.data import datasets
from lsat_explorer.data.from_files import frame_in
from lsat_explorer.data.separators import Marked

FRAME = pd.DataFrame({"a": np.arange(30.0), "b c": ["x", "y"] * 15, "y": np.arange(30.0) % 7})


@pytest.fixture(autouse=True)
def cache_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))


def read(path, **how):
    return datasets.from_csv(path, "y", progress=False, **how)


def written(path, between):
    path.write_text(FRAME.to_csv(index=False, sep="\x1f").replace("\x1f", between))
    return path


@pytest.mark.parametrize("name", ["t.tsv", "t.TAB", "t.tsv.gz"])
def test_a_tab_separates_what_the_name_of_the_file_says(name, tmp_path):
    FRAME.to_csv(tmp_path / name, index=False, sep="\t")
    data = read(tmp_path / name)
    assert data.feature_names == ("a", "b c=x", "b c=y")
    assert "separator" not in data.source
    pd.testing.assert_frame_equal(frame_in(tmp_path / name, progress=False), FRAME)


def test_a_separator_that_is_given_comes_before_the_name(tmp_path):
    FRAME.to_csv(tmp_path / "t.tsv", index=False)
    assert read(tmp_path / "t.tsv", separator=",").feature_names[0] == "a"
    with pytest.raises(ValueError, match="if ',' stands between columns, pass separator=','"):
        read(tmp_path / "t.tsv")


@pytest.mark.parametrize("between", ["::", "||", " . ", "\t\t", "a+", "§", ":::", "  "])
def test_a_separator_of_several_characters_stands_as_it_is(between, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(f"u{between}y\n" + "".join(f"{row}.5{between}{row % 5}\n" for row in range(20)))
    data = read(path, separator=between)
    assert data.feature_names == ("u",)
    found = [row for part in (data.train, data.validation, data.test) for row in part.inputs[:, 0].tolist()]
    assert sorted(found) == [row + 0.5 for row in range(20)]


@pytest.mark.parametrize("between", ["\t\t", "  ", " | ", "::"])
def test_entries_at_the_ends_of_lines_may_be_empty(between, tmp_path):
    rows = [("b", "a", "c"), ("", "1.5", "x"), ("2", "1.5", ""), ("", "", "")]
    path = tmp_path / "t.txt"
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    frame = frame_in(path, separator=between, progress=False)
    expected = pd.DataFrame({"b": [None, 2.0, None], "a": [1.5, 1.5, None], "c": ["x", None, None]})
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)


def test_quotes_hold_a_separator_of_several_characters(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text('"a"::"c::d"::"y"\n' + "".join(f'{row}::"x::{row % 2}"::"{row % 5}"\n' for row in range(30)))
    data = read(path, separator="::")
    assert data.feature_names == ("a", "c::d=x::0", "c::d=x::1")
    assert data.train.inputs[:, 1:].sum(1).tolist() == [1.0] * len(data.train)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_a_separator_is_found_across_the_pieces_that_are_read(size):
    text, found = b"a::b:c:::d::::e:", b""
    marked = Marked(io.BytesIO(text), "::")
    while piece := marked.read(size):
        found += piece
    assert found == text.replace(b"::", b"\x1f")


def test_spaces_between_columns_are_advised(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a y\n" + "".join(f"{row}.5 {row % 5}\n" for row in range(20)))
    with pytest.raises(ValueError, match=r"pass separator='\\\\s\+'"):
        read(path)


def test_a_tab_may_be_written_as_two_characters(tmp_path):
    path = written(tmp_path / "t.txt", "\t")
    assert read(path, separator=r"\t").feature_names == ("a", "b c=x", "b c=y")


def test_any_spaces_may_separate(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("u   v\ty\n" + "".join(f"{row}.5  {row}\t\t{row % 5}\n" for row in range(20)))
    assert read(path, separator=r"\s+").feature_names == ("u", "v")


@pytest.mark.parametrize("separator", ["", "\n", "a\rb", 3])
def test_what_can_stand_between_no_entries_is_refused(separator, tmp_path):
    with pytest.raises(ValueError, match="expected what stands between two entries"):
        read(written(tmp_path / "t.csv", ","), separator=separator)


def test_a_file_put_in_the_place_of_another_of_its_size_and_time_is_read(tmp_path):
    path = written(tmp_path / "t.csv", ",")
    before, about = read(path), path.stat()
    other = tmp_path / "other.csv"
    other.write_text(path.read_text().replace(",x,", ",z,"))
    os.utime(other, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert other.stat().st_size == about.st_size
    other.replace(path)
    assert before.feature_names == ("a", "b c=x", "b c=y")
    assert read(path).feature_names == ("a", "b c=y", "b c=z")
