"""Deskewing against an independent shear, grey levels, and sprites."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from lsat_explorer.data import deskew, sprite
from lsat_explorer.data.idx import read_idx
from lsat_explorer.data.images import PixelScale

RANDOM = np.random.RandomState(0)


def slant_by_hand(image):
    """µ11/µ02 by its definition, with exact integers."""
    height, width = image.shape
    pixels = [(y, x, int(image[y, x])) for y in range(height) for x in range(width) if image[y, x]]
    ink = sum(value for *_, value in pixels)
    if not ink:
        return 0.0
    y0, x0 = (sum(point[axis] * point[2] for point in pixels) / ink for axis in (0, 1))
    mu02 = sum((y - y0) ** 2 * value for y, _, value in pixels)
    mu11 = sum((y - y0) * (x - x0) * value for y, x, value in pixels)
    return 0.0 if abs(mu02) < 0.01 else mu11 / mu02


def sheared(image):
    """The bilinear shear of scipy, before rounding."""
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(float)
    x = x + slant_by_hand(image) * (y - image.shape[0] / 2)
    return ndimage.map_coordinates(np.pad(image.astype(float), 1), [y + 1, x + 1], order=1, mode="constant", cval=0)


def shapes():
    """Yield images that bring every branch about: blank, one row, one pixel, steep, square, wide, noisy."""
    yield np.zeros((28, 28))
    yield np.full((28, 28), 255)
    for row in (0, 13, 14, 27):
        image = np.zeros((28, 28))
        image[row, 3:20] = RANDOM.randint(1, 256, 17)
        yield image
    for y, x, value in ((0, 0, 255), (27, 27, 1), (14, 14, 9)):
        image = np.zeros((28, 28))
        image[y, x] = value
        yield image
    for slope in (-9, -3, -1, -0.5, 0.4, 1, 2, 8):
        y, x = np.mgrid[:28, :28]
        yield 255 * (np.abs(x - 14 - slope * (y - 14)) < 1.5)
    yield 255 * np.eye(28)
    # nearly all ink in one row, so that the slant is far beyond the picture
    image = np.zeros((28, 28))
    image[14], image[15, 27] = 1, 255
    yield image
    for _ in range(200):
        yield RANDOM.randint(0, 256, (28, 28)) * (RANDOM.rand(28, 28) < RANDOM.rand())


def agree(images):
    images = images.astype(np.uint8)
    before = images.copy()
    straight = deskew(images)
    assert straight.dtype == np.uint8
    assert straight.shape == images.shape
    np.testing.assert_array_equal(images, before)
    expected = np.stack([sheared(image) for image in images])
    # half a level of rounding, and float32 where a value lies half way between two
    assert np.abs(straight - expected).max() <= 0.5 + 1e-4


def test_deskew_is_a_bilinear_shear():
    agree(np.stack(list(shapes())))


@pytest.mark.parametrize("shape", [(8, 8), (9, 5), (5, 30), (1, 7), (7, 1)])
def test_deskew_of_other_sizes(shape):
    agree(RANDOM.randint(0, 256, (30, *shape)))


def test_images_without_height_stay_as_they_are():
    image = np.zeros((1, 28, 28), np.uint8)
    image[0, 5, 2:25] = RANDOM.randint(1, 256, 23)
    np.testing.assert_array_equal(deskew(image), image)
    assert not deskew(np.zeros((3, 28, 28), np.uint8)).any()
    assert deskew(np.zeros((0, 28, 28), np.uint8)).shape == (0, 28, 28)


def test_deskew_does_not_depend_on_the_chunks(monkeypatch):
    images = RANDOM.randint(0, 256, (11, 28, 28)).astype(np.uint8)
    whole = deskew(images)
    monkeypatch.setattr("lsat_explorer.data.images._CHUNK_PIXELS", 3 * 784)
    np.testing.assert_array_equal(deskew(images), whole)
    np.testing.assert_array_equal(deskew(images[::-1])[::-1], whole)


@pytest.mark.mnist
def test_deskew_of_mnist(mnist_folder):
    name = "t10k-images-idx3-ubyte"
    path = next(path for path in (mnist_folder / name, mnist_folder / f"{name}.gz") if path.exists())
    images = read_idx(path)[::25]
    agree(images)
    # what it is for: straightened digits stand upright
    assert np.median([abs(slant_by_hand(image)) for image in deskew(images)]) < 0.02
    assert np.median([abs(slant_by_hand(image)) for image in images]) > 0.1


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((28, 28), np.uint8),
        np.zeros((2, 784), np.uint8),
        np.zeros((2, 28, 28)),
        np.zeros((2, 4, 4, 3), np.uint8),
    ],
)
def test_deskew_refuses_other_arrays(images):
    with pytest.raises(ValueError, match=r"deskew got an array of shape .* expected grey images"):
        deskew(images)


def test_grey_levels():
    values = np.array([[-1.0, 0.0, 0.5, 1.0, 2.0]])
    assert PixelScale(0, 1).grey(values).tolist() == [[0, 0, 128, 255, 255]]
    assert PixelScale(0, 255).grey(values * 100).tolist() == [[0, 0, 50, 100, 200]]
    # (x * 2 + 10 - 9) / 5 * 255 = (2 x + 1) * 51
    scale = PixelScale(9, 14, mean=np.full(5, 10.0), deviation=np.full(5, 2.0))
    assert scale.grey(values).tolist() == [[0, 51, 102, 153, 255]]
    assert PixelScale(3, 3).grey(values).tolist() == [[0] * 5]


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize(("count", "columns"), [(7, 3), (6, 3), (1, 1), (2, 5)])
def test_every_thumbnail_is_in_its_place(count, columns, channels):
    images = RANDOM.randint(1, 256, (count, 4, 6, *channels)).astype(np.uint8)
    sheet = np.asarray(Image.open(io.BytesIO(sprite(images, columns))))
    rows = -(-count // columns)
    assert sheet.shape == (rows * 4, columns * 6, *channels)
    for place in range(rows * columns):
        y, x = 4 * (place // columns), 6 * (place % columns)
        cell = sheet[y : y + 4, x : x + 6]
        np.testing.assert_array_equal(cell, images[place] if place < count else 0)


@pytest.mark.parametrize("images", [np.zeros((0, 8, 8), np.uint8), np.zeros((2, 8, 8)), np.zeros((8, 8), np.uint8)])
def test_sprite_refuses_what_is_no_picture(images):
    with pytest.raises(ValueError, match="sprite got an array of shape"):
        sprite(images, 3)
    with pytest.raises(ValueError, match="columns=0"):
        sprite(np.zeros((2, 8, 8), np.uint8), 0)
