"""Files that promise more than they are, or unpack to more than a table is: refused by name before they take memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.data import packed, parquet, rows

pyarrow = pytest.importorskip("pyarrow")
TABLE = "a,b,y\n" + "".join(f"{i},{i % 5},{i % 7}.5\n" for i in range(40))
PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(autouse=True)
def not_much_memory() -> Any:
    """Fail where a small file takes more than 128 MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 128 * 2**10  # KiB


def read(path: Path) -> lsat.Data:
    return lsat.datasets.from_csv(path, "y", progress=False, cache=False)


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 32 MB, of which next to nothing is left in each form of compression."""
    folder, text = tmp_path_factory.mktemp("bombs"), b"a,b,y\n" + b"0,0,0\n" * (2**25 // 6)
    for kind, pack in PACK.items():
        (folder / f"t.csv.{kind}").write_bytes(pack(text))
    with zipfile.ZipFile(folder / "t.csv.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.csv", text)
    return folder


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_a_compressed_table_out_of_proportion_is_refused_by_name(
    kind: str, bombs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    monkeypatch.setattr(packed, "MOST_TEXT", 2**20)
    monkeypatch.setattr(packed, "MOST_TIMES", 20)
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    path = bombs / f"t.csv.{kind}"
    word = "promises" if kind == "zip" else "unpacks to"
    with pytest.raises(ValueError, match=rf"t\.csv\.{kind} takes [\d,]+ bytes and {word} more than [\d,]+, which no"):
        read(path)
    (tmp_path / "recipe.json").write_text(lsat.Recipe().to_json())
    words = ("--data", str(path), "--target", "y", "--out", str(tmp_path / "run"))
    code, _, error = command("tune", str(tmp_path / "recipe.json"), *words)
    assert code == 2
    assert f"t.csv.{kind} takes" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", PACK)
def test_a_table_that_compresses_well_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MOST_TEXT", 2**10)
    lines = [f"{i % 3},{i % 2},{i}" for i in range(2000)]
    (tmp_path / f"t.csv.{kind}").write_bytes(PACK[kind]("\n".join(["a,b,y", *lines]).encode()))
    assert len(read(tmp_path / f"t.csv.{kind}").train) == 1000


def test_the_header_of_a_zip_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("t.csv", TABLE + "1,1,1\n" * 10**6)
    size = (len(TABLE) + 6 * 10**6).to_bytes(4, "little")
    assert path.read_bytes().count(size) == 2
    path.write_bytes(path.read_bytes().replace(size, (300).to_bytes(4, "little")))
    monkeypatch.setattr(packed, "MOST_TEXT", 2**20)
    with pytest.raises(ValueError, match=r"t\.csv\.zip is cut off or damaged \(Bad CRC-32"):
        read(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.csv", TABLE)
        file.writestr("b.csv", TABLE)
    with pytest.raises(ValueError, match=r"t\.csv\.zip holds 2 files, expected one CSV"):
        read(path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_first_line_of_more_names_than_a_table_has_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_COLUMNS", 1000)
    text = ",".join(["a"] * 200_000).encode()
    (tmp_path / f"t.{ending}").write_bytes(text if ending == "csv" else gzip.compress(text))
    with pytest.raises(ValueError, match=rf"t\.{ending} has more than 1,000 names in its first line"):
        read(tmp_path / f"t.{ending}")
    (tmp_path / f"t.{ending}").write_bytes(TABLE.encode() if ending == "csv" else gzip.compress(TABLE.encode()))
    assert read(tmp_path / f"t.{ending}").feature_names == ("a", "b")


def test_lines_of_more_entries_than_names_are_not_taken_for_names_of_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i},{i % 3},{i % 5},{i % 7}.5\n" for i in range(40)))
    with pytest.raises(ValueError, match=r"t\.csv is no CSV .*Expected 2 fields in line 2, saw 4"):
        read(tmp_path / "t.csv")


def test_a_package_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "t.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(ModuleNotFoundError, match=r"t\.csv\.zst is read by zstandard: pip install zstandard"):
        read(path)
    (tmp_path / "recipe.json").write_text(lsat.Recipe().to_json())
    words = ("--data", str(path), "--target", "y", "--out", str(tmp_path / "run"))
    code, _, error = command("tune", str(tmp_path / "recipe.json"), *words)
    assert code == 1
    assert error.splitlines()[-1].startswith("lsat-explorer: ")
    assert "pip install zstandard" in error


def test_text_packed_by_zstandard_is_read_or_refused(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path, whole = tmp_path / "t.csv.zst", zstandard.compress(TABLE.encode())
    path.write_bytes(whole)
    assert read(path).feature_names == ("a", "b")
    path.write_bytes(whole[:20] + bytes([whole[20] ^ 255]) + whole[21:])
    with pytest.raises(ValueError, match=r"t\.csv\.zst"):
        read(path)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A Parquet file of a few kilobytes with two million equal rows."""
    path = tmp_path / "many.parquet"
    constant = np.zeros(2_000_000, dtype=np.float32)
    pd.DataFrame({"a": constant, "y": constant}).to_parquet(path)
    assert path.stat().st_size < 20_000
    return path


def test_parquet_that_promises_rows_out_of_proportion_is_refused(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_BYTES", 2**20)
    message = r"many\.parquet takes [\d,]+ bytes and promises 2,000,000 rows of 2 columns, 32,000,000 bytes in memory"
    with pytest.raises(ValueError, match=message):
        lsat.datasets.from_parquet(many, "y", progress=False, cache=False)


def test_rows_that_a_disk_has_no_room_for_are_refused_before_they_are_copied(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    monkeypatch.setattr(rows.shutil, "disk_usage", lambda _path: SimpleNamespace(free=10**6))
    monkeypatch.setattr(parquet, "batches", lambda *_: pytest.fail("it was read"))
    (tmp_path / "copies").mkdir()
    with pytest.raises(rows.NotEnoughDisk, match=r"no room for the training rows: they take 8 MB, and 1 MB are free"):
        lsat.Data.from_rows(many, many, target="y", folder=tmp_path / "copies")
    assert list((tmp_path / "copies").iterdir()) == []
    (tmp_path / "recipe.json").write_text(lsat.Recipe().to_json())
    more = ("--validation", str(many), "--target", "y", "--out", str(tmp_path / "run"))
    code, _, error = command("tune", str(tmp_path / "recipe.json"), "--data", str(many), *more)
    assert code == 2
    assert "no room for the training rows" in error


def test_a_page_of_parquet_that_promises_terabytes_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": np.arange(2000.0), "y": np.arange(2000.0)}).to_parquet(path)
    raw = bytearray(path.read_bytes())
    for place in range(4, 40):  # the header of the first page, a byte at a time
        path.write_bytes(bytes([*raw[:place], 0xFF, *raw[place + 1 :]]))
        for load in (
            lambda: lsat.datasets.from_parquet(path, "y", progress=False, cache=False),
            lambda: lsat.Data.from_rows(path, path, target="y"),
        ):
            try:
                load()
            except ValueError as error:
                assert "t.parquet is no whole Parquet file" in str(error) or "row" in str(error)  # noqa: PT017


def test_a_damaged_array_of_a_store_is_named_by_its_rows(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    X = np.random.default_rng(0).normal(size=(40, 3))
    stored = zarr.create_array(tmp_path / "X.zarr", data=X, chunks=(10, 3))
    (tmp_path / "X.zarr/c/2/0").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"training X: the Array gives no rows 0 to 39 \(.*\); what it is read from"):
        lsat.Data.from_rows((stored, X[:, 0]), (X, X[:, 0]))
    y = zarr.create_array(tmp_path / "y.zarr", data=X[:, 0], chunks=(10,))
    (tmp_path / "y.zarr/c/3").write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"training y: the Array gives no rows 0 to 39"):
        lsat.Data.from_rows((X, y), (X, X[:, 0]))


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zip", "t.parquet"])
def test_the_command_line_names_a_damaged_file_and_begins_nothing(name: str, tmp_path: Path, command: Any) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "y"])
    getattr(frame, "to_parquet" if name.endswith("parquet") else "to_csv")(tmp_path / name, index=False)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2] + b"damaged" + whole[len(whole) // 2 + 7 :])
    (tmp_path / "recipe.json").write_text(lsat.Recipe().to_json())
    words = ["--data", str(tmp_path / name), "--target", "y", "--out", str(tmp_path / "run")]
    words += ["--validation", str(tmp_path / name)] if name.endswith("parquet") else []
    code, _, error = command("tune", str(tmp_path / "recipe.json"), *words)
    assert code == 2
    assert error.splitlines()[-1].startswith("lsat-explorer: ")
    assert name in error.splitlines()[-1]
    assert not (tmp_path / "run").exists()
