"""The data sets: digits, and MNIST divided to the row as its reference says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from lsat_explorer.data import Data, datasets, deskew, read_idx, write_idx

RANDOM = np.random.RandomState(0)


def test_digits():
    data = datasets.digits()
    assert repr(data) == "Data(digits: 898 training, 449 validation, 450 test rows, 64 features, 10 classes)"
    assert data.train.inputs.dtype == torch.float64
    assert data.classes == tuple(range(10))
    assert data.image_shape == (8, 8)
    pixels, labels = load_digits(return_X_y=True)
    for name in ("train", "validation", "test"):
        split = getattr(data, name)
        np.testing.assert_array_equal(split.inputs.numpy(), pixels[split.rows])
        np.testing.assert_array_equal(split.labels, labels[split.rows])
        shown = data.images(name).reshape(len(split), -1)
        np.testing.assert_allclose(shown, pixels[split.rows] * 255 / 16, atol=0.5)
    assert datasets.digits(seed=1).train.rows.tolist() != data.train.rows.tolist()
    assert len(datasets.digits(test=0, validation=100).train) == 1697
    assert data.final is None
    kept = datasets.digits(final=0.1)
    assert kept.describe() == "digits · 718 training, 449 validation, 450 test, 180 final rows"
    np.testing.assert_array_equal(kept.final.inputs.numpy(), pixels[kept.final.rows])
    assert (kept.final.targets.sum(0) >= 17).all()


@pytest.mark.parametrize("seed", ["x", 1.5, -1, 2**32, True])
def test_a_seed_is_a_whole_number_wherever_rows_are_divided(seed, small, tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n" + "1,2.5\n" * 20)
    X = RANDOM.normal(size=(20, 2))
    for read in (
        lambda: datasets.digits(seed=seed),
        lambda: datasets.mnist(small, size=100, seed=seed),
        lambda: datasets.from_csv(tmp_path / "a.csv", "y", seed=seed, progress=False, cache=False),
        lambda: Data.from_arrays(X, X[:, 0], seed=seed),
    ):
        with pytest.raises(ValueError, match=rf"^seed is {seed!r}, expected a whole number from 0 to 2³² − 1; give"):
            read()


# --- a small MNIST of our own, for machines without the files -------------------------------------------------------

SMALL = {
    "train-images-idx3-ubyte": RANDOM.randint(0, 256, (600, 6, 5)).astype(np.uint8),
    "train-labels-idx1-ubyte": (np.arange(600) % 10).astype(np.uint8),
    "t10k-images-idx3-ubyte": RANDOM.randint(0, 256, (90, 6, 5)).astype(np.uint8),
    "t10k-labels-idx1-ubyte": (np.arange(90) % 10).astype(np.uint8),
}
# a pixel that never changes: its deviation is taken as 1
SMALL["train-images-idx3-ubyte"][:, 0, 0] = 7


@pytest.fixture
def small(tmp_path):
    for place, (name, array) in enumerate(SMALL.items()):
        write_idx(tmp_path / (name if place % 2 else f"{name}.gz"), array)
    return tmp_path


def the_division(count, size, seed):
    """The sentence of the reference, word for word."""
    rs = np.random.RandomState(seed)
    i = shuffle(np.arange(count), random_state=rs)[:size]
    return train_test_split(i, test_size=0.3, random_state=rs)


@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("scale", ["raw", "unit", "standard"])
def test_mnist_pixels_rows_and_pictures(small, scale, upright):
    data = datasets.mnist(small, size=400, seed=2, scale=scale, deskew=upright)
    images, test_images = (SMALL[f"{part}-images-idx3-ubyte"] for part in ("train", "t10k"))
    if upright:
        images, test_images = deskew(images), deskew(test_images)
    train, validation = the_division(600, 400, 2)
    scaler = StandardScaler().fit(images[train].reshape(len(train), -1).astype(np.float64))
    for name, source, rows in (
        ("train", images, train),
        ("validation", images, validation),
        ("test", test_images, np.arange(90)),
    ):
        split = getattr(data, name)
        np.testing.assert_array_equal(split.rows, rows)
        np.testing.assert_array_equal(split.labels, rows % 10)
        assert split.inputs.dtype == torch.float32
        pixels = source[rows].reshape(len(rows), -1).astype(np.float64)
        expected = {"raw": pixels, "unit": pixels / 255, "standard": scaler.transform(pixels)}[scale]
        np.testing.assert_allclose(split.inputs.numpy(), expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(data.images(name), source[rows])
    assert data.image_shape == (6, 5)
    assert data.name == ("MNIST, deskewed" if upright else "MNIST")


@pytest.mark.parametrize("upright", [False, True])
def test_mnist_keeps_the_last_test_rows_for_the_end(small, upright):
    whole = datasets.mnist(small, size=400, scale="standard", deskew=upright)
    data = datasets.mnist(small, size=400, scale="standard", deskew=upright, final=25)
    assert data.describe().endswith(" · 280 training, 120 validation, 65 test, 25 final rows")
    assert whole.final is None
    np.testing.assert_array_equal(data.test.rows, np.arange(65))
    np.testing.assert_array_equal(data.final.rows, np.arange(65, 90))
    np.testing.assert_array_equal(data.final.labels, np.arange(65, 90) % 10)
    assert torch.equal(torch.cat([data.test.inputs, data.final.inputs]), whole.test.inputs)
    assert torch.equal(data.train.inputs, whole.train.inputs)
    assert torch.equal(data.validation.inputs, whole.validation.inputs)
    np.testing.assert_array_equal(data.images("final"), whole.images("test")[65:])
    # a single final row lacks nine classes
    assert datasets.mnist(small, size=400, final=np.int64(1)).final.labels.tolist() == [9]


def test_mnist_reads_the_folder_from_the_environment(small, monkeypatch):
    monkeypatch.setenv("LSAT_MNIST", str(small))
    assert len(datasets.mnist(size=100).train) == 70
    monkeypatch.delenv("LSAT_MNIST")
    with pytest.raises(ValueError, match=r"LSAT_MNIST is not set; pass mnist\(DIR\)"):
        datasets.mnist()


@pytest.mark.parametrize("name", datasets.MNIST_FILES)
def test_a_missing_file_is_named_with_the_command_that_fetches_it(small, name):
    next(small.glob(f"{name}*")).unlink()
    with pytest.raises(FileNotFoundError) as error:
        datasets.mnist(small, size=100)
    text = str(error.value)
    assert str(small) in text
    assert name in text
    assert f"`lsat-explorer data mnist {small}`" in text
    with pytest.raises(FileNotFoundError, match=r"nowhere is no folder.*lsat-explorer data mnist"):
        datasets.mnist(small / "nowhere")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "size is 50000, expected a whole number from 10 to 600"),
        ({"size": 5}, "size is 5,"),
        ({"size": 100.0}, "size is 100.0"),
        ({"size": True}, "size is True"),
        ({"size": 100, "validation": 1.0}, "validation is 1.0, expected a share"),
        ({"size": 100, "validation": 3}, "validation is 3"),
        ({"size": 100, "final": 90}, "final is 90, expected a number of rows from 0 to 89, taken from the 90 test"),
        ({"size": 100, "final": -1}, "final is -1,"),
        ({"size": 100, "final": 0.5}, "final is 0.5,"),
        ({"size": 100, "final": True}, "final is True,"),
        ({"size": 100, "final": None}, "final is None,"),
        ({"size": 100, "scale": "std"}, "scale is 'std', expected one of 'raw', 'unit', 'standard'"),
        ({"size": 100, "deskew": "no"}, "deskew is 'no', expected True or False"),
    ],
)
def test_mnist_refuses_wrong_options(small, options, message):
    with pytest.raises(ValueError, match=message):
        datasets.mnist(small, **options)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("train-labels-idx1-ubyte", np.zeros(9, np.uint8), "has 600 images and .* has 9 labels"),
        ("train-labels-idx1-ubyte", np.zeros((600, 1), np.uint8), r"holds uint8 \(600, 1\), expected uint8 labels"),
        ("train-images-idx3-ubyte", np.zeros((600, 30), np.uint8), r"holds uint8 \(600, 30\), expected uint8 images"),
        ("t10k-images-idx3-ubyte", np.zeros((90, 6, 5), np.float32), r"holds float32 \(90, 6, 5\)"),
        ("t10k-images-idx3-ubyte", np.zeros((90, 5, 6), np.uint8), r"images of \(5, 6\) and .* of \(6, 5\)"),
    ],
)
def test_mnist_refuses_files_that_do_not_fit(small, name, array, message):
    next(small.glob(f"{name}*")).unlink()
    write_idx(small / name, array)
    with pytest.raises(ValueError, match=message) as error:
        datasets.mnist(small, size=100)
    assert name in str(error.value)


def test_a_truncated_file_is_named(small):
    path = next(small.glob("train-images*"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz is a damaged gzip file"):
        datasets.mnist(small, size=100)


# --- the real one ---------------------------------------------------------------------------------------------------


@pytest.mark.mnist
def test_the_small_set_is_that_of_the_reference(mnist_folder):
    data = datasets.mnist(mnist_folder, size=5_000, seed=0, deskew=True)
    assert data.describe() == "MNIST, deskewed · 3,500 training, 1,500 validation, 10,000 test rows"
    train, validation = the_division(60_000, 5_000, 0)
    np.testing.assert_array_equal(data.train.rows, train)
    np.testing.assert_array_equal(data.validation.rows, validation)
    np.testing.assert_array_equal(data.test.rows, np.arange(10_000))
    images, labels, _, test_labels = (
        read_idx(datasets.mnist_path(mnist_folder, name)) for name in datasets.MNIST_FILES
    )
    np.testing.assert_array_equal(data.train.labels, labels[train])
    np.testing.assert_array_equal(data.test.labels, test_labels)
    np.testing.assert_array_equal(data.images("validation"), deskew(images[validation]))
    # the reference counts 134 pixels that are zero on these training rows, and 66 on those of the full set
    assert (data.train.inputs == 0).all(0).sum() == 134


@pytest.mark.mnist
def test_the_full_set_is_that_of_the_reference(mnist_folder):
    data = datasets.mnist(mnist_folder, deskew=True, scale="standard")
    assert repr(data) == (
        "Data(MNIST, deskewed: 35,000 training, 15,000 validation, 10,000 test rows, 784 features, 10 classes)"
    )
    constant = (data.train.inputs == data.train.inputs[0]).all(0)
    assert constant.sum() == 66
    deviations = data.train.inputs.double().std(0, correction=0)
    torch.testing.assert_close(deviations, (~constant).double(), atol=1e-5, rtol=0)
    torch.testing.assert_close(data.train.inputs.double().mean(0), torch.zeros(784).double(), atol=1e-6, rtol=0)
