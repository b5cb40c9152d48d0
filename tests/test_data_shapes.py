"""Images of any shape (case 25), and shapes that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from arrays import X, Y, of, sentence

RANDOM = np.random.RandomState(1)


@pytest.mark.parametrize("shape", [(8, 8), (4, 6), (5, 4, 1), (4, 5, 3)])
@pytest.mark.parametrize("top", [1.0, 16.0, 255.0])
def test_images_of_any_shape_and_range_are_shown_right(shape, top):
    pictures = RANDOM.randint(0, 256, (30, *shape))
    pictures.ravel()[:2] = 0, 255
    pictures[1:] = np.maximum(pictures[0], pictures[1:])
    data = of(pictures * (top / 255), np.arange(30) % 3, image_shape=shape, rows=np.arange(100, 130), final=4)
    assert data.image_shape == shape
    # the range is that of the training rows
    train = pictures[data.train.rows - 100]
    expected = (train - train.min()) / (train.max() - train.min()) * 255
    shown = data.images("train", [3, 1])
    assert shown.dtype == np.uint8
    assert shown.shape == (2, *(shape[:2] if shape[2:] == (1,) else shape))
    np.testing.assert_allclose(shown.reshape(2, -1), expected[[3, 1]].reshape(2, -1), atol=0.5 + 1e-9)
    assert len(data.images("validation")) == len(data.validation)
    assert data.images("test", []).shape[0] == 0
    np.testing.assert_allclose(
        data.images("final").reshape(len(data.final), -1),
        # the range is that of the training rows, which others may leave
        np.clip((pictures[data.final.rows - 100] - train.min()) / (train.max() - train.min()), 0, 1).reshape(
            len(data.final), -1
        )
        * 255,
        atol=0.5 + 1e-9,
    )


def test_images_may_come_flat_or_not():
    pictures = RANDOM.rand(20, 4, 4)
    flat, stack = (of(table, np.arange(20) % 2, image_shape=(4, 4)) for table in (pictures.reshape(20, 16), pictures))
    assert torch.equal(flat.train.inputs, stack.train.inputs)
    assert flat.feature_names[:5] == ("pixel_0_0", "pixel_0_1", "pixel_0_2", "pixel_0_3", "pixel_1_0")


def test_constant_images_are_black():
    assert not of(np.ones((10, 4)), np.arange(10) % 2, image_shape=(2, 2)).images().any()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((28, 28), r"image_shape \(28, 28\) has 784 values and a row of X has 64"),
        ((4, 8, 2), r"image_shape is \(4, 8, 2\), expected \(h, w\)"),
        ((64,), r"image_shape is \(64,\)"),
        (64, "image_shape is 64"),
        ((8.0, 8.0), r"image_shape is \(8.0, 8.0\)"),
        ((-8, -8), r"image_shape is \(-8, -8\)"),
    ],
)
def test_an_image_shape_that_does_not_fit_is_refused_by_name(shape, message):
    with pytest.raises(ValueError, match=message) as error:
        of(np.zeros((20, 64)), np.arange(20) % 2, image_shape=shape)
    sentence(error)


def test_images_refuse_what_is_not_there():
    data = of(RANDOM.rand(20, 16), np.arange(20) % 2, image_shape=(4, 4), test=None)
    for split, indices, message in [
        ("test", [0], "no split 'test', expected one of train, validation"),
        ("final", [0], "no split 'final', expected one of train, validation"),
        ("train", [14], "position 14 is outside the train split, which has 14 rows"),
        ("train", [-1], "position -1 is outside"),
        ("train", [0.5], "indices have shape"),
        ("train", [[0]], "indices have shape"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            data.images(split, indices)
        sentence(error)
    with pytest.raises(ValueError, match="the rows of data are not images"):
        of(X, Y).images()
