"""IDX files: what is written is read back, and no damage goes unnoticed."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from lsat_explorer.data.idx import read_idx, write_idx

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", ">i2", "i4", "f4", "f8", ">f8"])
@pytest.mark.parametrize("name", ["a-idx3", "a-idx3.gz"])
def test_what_is_written_is_read_back(tmp_path, dtype, name):
    array = (IMAGES - np.int64(7)).astype(dtype)
    write_idx(tmp_path / name, array)
    back = read_idx(tmp_path / name)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.flags.writeable
    np.testing.assert_array_equal(back, array)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "array", [np.zeros((0, 28, 28), np.uint8), np.array(3, np.uint8), np.asfortranarray(IMAGES[:, ::-1])]
)
def test_odd_arrays(tmp_path, array):
    write_idx(tmp_path / "odd", array)
    back = read_idx(tmp_path / "odd")
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_the_bytes_are_those_of_the_format(tmp_path):
    write_idx(tmp_path / "labels", np.array([5, 0, 4], np.uint8))
    assert (tmp_path / "labels").read_bytes() == b"\0\0\x08\x01" + struct.pack(">I", 3) + b"\5\0\4"
    write_idx(tmp_path / "shorts", np.array([[258]], np.int16))
    assert (tmp_path / "shorts").read_bytes() == b"\0\0\x0b\x02" + struct.pack(">II", 1, 1) + b"\1\2"


def test_equal_arrays_give_equal_files(tmp_path):
    write_idx(tmp_path / "a.gz", IMAGES)
    write_idx(tmp_path / "b.gz", IMAGES)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_gzip_is_told_by_content(tmp_path):
    write_idx(tmp_path / "a.gz", IMAGES)
    (tmp_path / "renamed").write_bytes((tmp_path / "a.gz").read_bytes())
    np.testing.assert_array_equal(read_idx(tmp_path / "renamed"), IMAGES)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    write_idx(tmp_path / "a", IMAGES)
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_idx(tmp_path / "a", IMAGES + 1)
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), IMAGES)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


WHOLE = b"\0\0\x08\x03" + struct.pack(">III", 2, 3, 4) + IMAGES.tobytes()
DAMAGED = {
    "empty": (b"", r"is not an IDX file: it starts with the bytes \(none\)"),
    "a page of the web": (b"<!DOCTYPE html>", "is not an IDX file: it starts with the bytes 3c 21 44 4f"),
    "unknown type": (b"\0\0\x0a\x01" + WHOLE[4:], "is not an IDX file"),
    "short header": (WHOLE[:10], "ends inside its IDX header, which announces 3 dimensions"),
    "truncated": (WHOLE[:-1], r"shape \(2, 3, 4\), which is 24 bytes, and holds only 23"),
    "too long": (WHOLE + b"\0", "which is 24 bytes, and holds more"),
    "false sizes": (WHOLE[:4] + b"\xff" * 12 + WHOLE[16:], "holds only 24"),
    "gzip cut": (gzip.compress(WHOLE)[:-12], "is a damaged gzip file"),
    "gzip checksum": (gzip.compress(WHOLE)[:-8] + b"\0" * 8, "is a damaged gzip file"),
    "gzip rubbish": (b"\x1f\x8b" + b"rubbish" * 9, "is a damaged gzip file"),
    "gzip of rubbish": (gzip.compress(b"rubbish"), "is not an IDX file"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damage_is_named_with_the_file(tmp_path, case):
    content, message = DAMAGED[case]
    (tmp_path / "train-images").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read_idx(tmp_path / "train-images")
    assert str(tmp_path / "train-images") in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dtype", ["i8", "U3", "bool", "c16", "O"])
def test_types_without_a_code_are_refused(tmp_path, dtype):
    with pytest.raises(ValueError, match="cannot be written as IDX"):
        write_idx(tmp_path / "a", np.zeros(3, dtype))
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_idx(tmp_path / "none")
