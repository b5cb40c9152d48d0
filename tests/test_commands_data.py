"""`lsat-explorer data mnist`: the four files whole, the real ones, or one sentence."""

from __future__ import annotations

import errno
import gzip
import types
import urllib.error

import numpy as np
import pytest

from lsat_explorer.commands import data
from lsat_explorer.data import read_idx
from lsat_explorer.data.datasets import MNIST_FILES, mnist_path


def test_without_a_network_data_says_so_in_one_sentence(tmp_path, monkeypatch, command):
    def refuse(*args, **kwargs):
        raise urllib.error.URLError("Temporary failure in name resolution")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    code, out, error = command("data", "mnist", str(tmp_path / "mnist"))
    last = error.splitlines()[-1]
    assert (code, out) == (1, "")
    assert last.startswith("lsat-explorer: MNIST could not be fetched, for OpenML does not answer (Temporary failure")
    assert not (tmp_path / "mnist").exists()


def test_anything_but_mnist_is_refused_and_not_written(tmp_path, monkeypatch, command):
    fake = types.SimpleNamespace(data=np.zeros((70_000, 784), np.uint8), target=np.array(["0"] * 70_000, object))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **kwargs: fake)
    code, _, error = command("data", "mnist", str(tmp_path))
    assert code == 1
    assert "train-images-idx3-ubyte differs" in error
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_there_are_left_alone(tmp_path, monkeypatch, command):
    monkeypatch.setattr(data, "fetch_mnist", lambda folder: pytest.fail("fetched again"))
    for name in MNIST_FILES:
        (tmp_path / f"{name}.gz").write_bytes(b"mine")
    code, out, _ = command("data", "mnist", str(tmp_path))
    assert (code, out) == (0, f"The four files of MNIST are already in {tmp_path}.\n")
    assert all(path.read_bytes() == b"mine" for path in tmp_path.iterdir())


def test_a_write_that_fails_gives_one_sentence_and_leaves_no_half_file(tmp_path, monkeypatch, command):
    monkeypatch.setattr(data, "fetch_mnist", lambda folder: (np.zeros((70_000, 784), np.uint8), np.zeros(70_000)))
    monkeypatch.setattr(data, "check_digests", lambda arrays: None)

    def fail(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "file"))

    monkeypatch.setattr(gzip, "GzipFile", fail)
    code, _, error = command("data", "mnist", str(tmp_path))
    assert code == 2
    assert error.splitlines()[-1] == f"lsat-explorer: {tmp_path / 'file'}: No space left on device."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.mnist
@pytest.mark.slow
def test_what_is_fetched_is_written_as_the_files_that_were_missing(mnist_folder, tmp_path, monkeypatch, command):
    real = [read_idx(mnist_path(mnist_folder, name)) for name in MNIST_FILES]
    # OpenML serves the pixels as 64-bit numbers and the labels as strings.
    served = types.SimpleNamespace(
        data=np.concatenate(real[::2]).reshape(-1, 784).astype(np.int64),
        target=np.concatenate(real[1::2]).astype(str).astype(object),
    )
    asked = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *args, **kwargs: asked.append(args) or served)
    # The largest file, which takes long to compress, is there already and is left alone.
    there = tmp_path / MNIST_FILES[0]
    there.write_bytes(b"mine")
    code, out, _ = command("data", "mnist", str(tmp_path))
    assert (code, asked) == (0, [("mnist_784",)])
    assert f"--data {tmp_path}" in out
    assert {path.name for path in tmp_path.iterdir()} == {there.name, *(f"{name}.gz" for name in MNIST_FILES[1:])}
    assert there.read_bytes() == b"mine"
    for name, array in list(zip(MNIST_FILES, real, strict=True))[1:]:
        np.testing.assert_array_equal(read_idx(tmp_path / f"{name}.gz"), array)
