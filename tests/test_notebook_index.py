"""The index of the notebooks: each is listed once, with its own picture, and no link is dead."""

from __future__ import annotations

import base64
import io
import shutil

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

import notebook_index


def test_index_folder_and_gallery_agree():
    assert notebook_index.faults() == []
    kept = {path.stem for path in notebook_index.GALLERY.glob("*.png")}
    assert kept == {path.stem for path in notebook_index.FOLDER.glob("*.ipynb")}
    assert set(notebook_index.CHOSEN) == kept


def test_the_pictures_are_small_and_of_one_width():
    for path in notebook_index.GALLERY.glob("*.png"):
        assert path.stat().st_size < 60_000, path.name
        with Image.open(path) as picture:
            assert picture.width == notebook_index.WIDTH


def png(level: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((50, 70), level, np.uint8)).save(buffer, format="png")
    return buffer.getvalue()


def notebook(path, *levels: int) -> None:
    data = [{"image/png": base64.b64encode(png(level)).decode("ascii")} for level in levels]
    outputs = [new_output("display_data", data=each) for each in data]
    nbformat.write(new_notebook(cells=[new_code_cell("figure", outputs=outputs)]), path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one notebook, its index and its picture, which agree."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    notebook(folder / "one.ipynb", 200, 10)
    row = '| <img src="../docs/gallery/one.png" alt="grey"> | **[One](one.ipynb)** · A word. |\n'
    (folder / "README.md").write_text(f"# Index\n\n| | |\n|---|---|\n{row}")
    monkeypatch.setattr(notebook_index, "GALLERY", tmp_path / "docs" / "gallery")
    notebook_index.write([folder / "one.ipynb"])
    assert notebook_index.faults(folder) == []
    return folder


def test_a_notebook_that_is_not_listed_or_listed_twice_is_named(folder):
    index = folder / "README.md"
    row = index.read_text().splitlines()[-1]
    index.write_text(f"{index.read_text()}{row}\n")
    assert notebook_index.faults(folder) == ["The index lists one.ipynb 2 times, expected once."]
    shutil.copy(folder / "one.ipynb", folder / "two.ipynb")
    assert "The index lists two.ipynb 0 times, expected once." in notebook_index.faults(folder)
    assert "The index does not show ../docs/gallery/two.png, the picture of two.ipynb." in notebook_index.faults(folder)


def test_a_dead_link_and_a_picture_that_is_missing_are_named(folder):
    index = folder / "README.md"
    index.write_text(f"{index.read_text()}\n[gone](gone.md) [far](https://example.org)\n")
    assert notebook_index.faults(folder) == ["The index leads to gone.md, which is not there."]
    (folder.parent / "docs" / "gallery" / "one.png").unlink()
    assert "The index leads to ../docs/gallery/one.png, which is not there." in notebook_index.faults(folder)


def test_a_picture_that_the_notebook_no_longer_holds_is_named(folder):
    notebook(folder / "one.ipynb", 203)  # as if a time in it were another one
    assert notebook_index.faults(folder) == []
    notebook(folder / "one.ipynb", 100)
    assert "one.png is not the picture that one.ipynb holds now" in notebook_index.faults(folder)[0]
    notebook(folder / "one.ipynb")
    assert "one.ipynb holds 0 pictures and number 0 was chosen" in notebook_index.faults(folder)[0]


def test_an_index_that_takes_longer_than_a_minute_is_too_long(folder):
    index = folder / "README.md"
    index.write_text(index.read_text() + "many words " * 150)
    assert "words, at most" in notebook_index.faults(folder)[0]
