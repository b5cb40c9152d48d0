"""What stands between two entries of a file of text: by the name of the file, or as it is told."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from lsat_explorer.data import datasets
from lsat_explorer.data.from_files import frame_in

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


@pytest.mark.parametrize("between", ["::", "||", " . ", "\t\t", "a+"])
def test_a_separator_of_several_characters_stands_as_it_is(between, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(f"u{between}y\n" + "".join(f"{row}.5{between}{row % 5}\n" for row in range(20)))
    data = read(path, separator=between)
    assert data.feature_names == ("u",)
    found = [row for part in (data.train, data.validation, data.test) for row in part.inputs[:, 0].tolist()]
    assert sorted(found) == [row + 0.5 for row in range(20)]


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
