"""Images in a folder for each class."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

import lsat_explorer as lsat
from lsat_explorer.data import datasets, from_folder

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def cache_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def pictures(tmp_path):
    """Twelve grey images of 5 x 4 for each of two classes, as an array by file."""
    made = {}
    for name in ("cat", "dog"):
        for number in range(12):
            file = f"{name}/{'young/' if number == 3 else ''}{number:02}.png"
            made[file] = RANDOM.integers(0, 256, (4, 5), dtype=np.uint8)
            (tmp_path / "pets" / file).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(made[file]).save(tmp_path / "pets" / file)
    (tmp_path / "pets/cat/.hidden.png").write_bytes(b"no image")
    (tmp_path / "pets/read me.txt").write_text("pets")
    return tmp_path / "pets", made


def test_every_image_is_a_row_of_its_class(pictures):
    root, made = pictures
    data = datasets.from_folder(root, progress=False)
    assert repr(data) == "Data(pets: 12 training, 7 validation, 5 test rows, 20 features, 2 classes)"
    assert (data.classes, data.image_shape, data.train.inputs.dtype) == (("cat", "dog"), (4, 5), torch.float32)
    names = []
    for part in ("train", "validation", "test"):
        split = getattr(data, part)
        for row, name in enumerate(split.rows):
            np.testing.assert_array_equal(data.images(part, [row])[0], made[name])
            np.testing.assert_array_equal(split.inputs[row].numpy(), made[name].ravel())
            assert split.labels[row] == name.split("/")[0]
        names += split.rows.tolist()
    assert sorted(names) == sorted(made)
    assert torch.equal(eval(data.source, {"lsat": lsat}).train.inputs, data.train.inputs)


def test_images_are_read_once_until_one_changes(pictures, monkeypatch):
    root, _ = pictures
    first = datasets.from_folder(root, progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(from_folder, "_read", lambda *_: pytest.fail("read again"))
        again = datasets.from_folder(root, progress=False)
    assert torch.equal(first.train.inputs, again.train.inputs)
    Image.fromarray(np.zeros((4, 5), np.uint8)).save(root / "cat/new.png")
    assert "cat/new.png" in datasets.from_folder(root, test=0, validation=2, progress=False).train.rows


def test_one_image_in_colour_makes_all_of_them_so_unless_grey_is_asked_for(pictures):
    root, made = pictures
    colours = RANDOM.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    Image.fromarray(colours).save(root / "dog/colour.png")
    data = datasets.from_folder(root, progress=False)
    assert data.image_shape == (4, 5, 3)
    parts = {name: split for split in ("train", "validation", "test") for name in getattr(data, split).rows}
    split = getattr(data, parts["dog/colour.png"])
    row = split.rows.tolist().index("dog/colour.png")
    np.testing.assert_array_equal(data.images(parts["dog/colour.png"], [row])[0], colours)
    row = data.train.rows.tolist().index(name := next(n for n in data.train.rows if n != "dog/colour.png"))
    np.testing.assert_array_equal(data.images("train", [row])[0], np.repeat(made[name][..., None], 3, 2))
    assert datasets.from_folder(root, colour=False, progress=False).image_shape == (4, 5)
    assert datasets.from_folder(root, colour=True, progress=False, cache=False).image_shape == (4, 5, 3)


def test_progress_is_shown(pictures, capsys):
    datasets.from_folder(pictures[0])
    assert "reading pets: 100%" in capsys.readouterr().err


def test_images_that_do_not_fit_are_named(pictures, tmp_path):
    root, _ = pictures
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(root / "dog/square.png")
    with pytest.raises(ValueError, match=r"square\.png is 5 x 5 pixels and .*00\.png is 5 x 4, expected images of one"):
        datasets.from_folder(root, progress=False)
    Image.fromarray(np.zeros((4, 5), np.uint16)).save(root / "dog/square.png")
    with pytest.raises(ValueError, match=r"square\.png has pixels of kind 'I;16', expected grey or colour of 8 bits"):
        datasets.from_folder(root, progress=False)
    (root / "dog/square.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"square\.png is no whole image"):
        datasets.from_folder(root, progress=False)
    with pytest.raises(FileNotFoundError, match="nowhere is no folder"):
        datasets.from_folder(tmp_path / "nowhere")
    (tmp_path / "dog").mkdir()
    with pytest.raises(ValueError, match="dog has no folder of images"):
        datasets.from_folder(tmp_path / "dog")
    (tmp_path / "one/a").mkdir(parents=True)
    Image.fromarray(np.zeros((4, 5), np.uint8)).save(tmp_path / "one/a/0.png")
    with pytest.raises(ValueError, match="one has images in the folder 'a' alone"):
        datasets.from_folder(tmp_path / "one")


@pytest.mark.parametrize("colour", ["grey", 1, np.True_], ids=repr)
def test_what_is_no_choice_between_grey_and_colour_is_refused(colour, pictures):
    with pytest.raises(ValueError, match=r"colour is .*, expected True, False or None; pass False for grey levels"):
        datasets.from_folder(pictures[0], colour=colour, progress=False)
