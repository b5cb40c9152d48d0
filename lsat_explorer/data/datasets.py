"""Real data sets: scikit-learn's digits, MNIST from its files, tables and images of the user, tables of OpenML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from lsat_explorer.data.calls import call_of
from lsat_explorer.data.data import Data
from lsat_explorer.data.from_files import from_csv, from_parquet
from lsat_explorer.data.from_folder import from_folder
from lsat_explorer.data.from_openml import from_openml
from lsat_explorer.data.idx import read_idx
from lsat_explorer.data.images import PixelScale
from lsat_explorer.data.images import deskew as straighten
from lsat_explorer.data.partition import check_seed
from lsat_explorer.data.split import make_splits
from lsat_explorer.data.tables import Column, Table, default_names, shown

__all__ = [
    "MNIST_FILES",
    "digits",
    "from_csv",
    "from_folder",
    "from_openml",
    "from_parquet",
    "mnist",
    "mnist_path",
]

Scale = Literal["raw", "unit", "standard"]

MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
"""Names of the four files of MNIST, which may also end in ``.gz``."""

_CHUNK = 4096


def digits(*, validation: float = 0.25, test: float = 0.25, final: float = 0.0, seed: int = 0) -> Data:
    """1,797 handwritten digits of 8 x 8 pixels, 0..16, float64; they come with scikit-learn.

    Parameters
    ----------
    validation, test, final
        Share of all rows, or number of rows; ``final=0`` keeps none.
    seed
        Seed of the division, which is stratified by digit.

    Returns
    -------
    Data
        Classes 0..9; `rows` counts in scikit-learn's order.

    Examples
    --------
    >>> digits()
    Data(digits: 898 training, 449 validation, 450 test rows, 64 features, 10 classes)
    """
    from sklearn.datasets import load_digits

    source = call_of(digits, validation=validation, test=test, final=final, seed=seed)
    pixels, labels = load_digits(return_X_y=True)
    data = Data.from_arrays(
        pixels,
        labels,
        validation=validation,
        test=test,
        final=final,
        seed=seed,
        task="classification",
        image_shape=(8, 8),
        name="digits",
    )
    return replace(data, source=source)


def mnist(
    folder: str | os.PathLike[str] | None = None,
    *,
    size: int = 50_000,
    validation: float = 0.3,
    final: int = 0,
    seed: int = 0,
    deskew: bool = False,
    scale: Scale = "raw",
) -> Data:
    """MNIST from its four IDX files (gzipped or not), divided as in the paper's program.

    ``rs = RandomState(seed)``; the first `size` of the 60,000 shuffled with rs; of these `validation` by
    ``train_test_split`` with the same rs. The 10,000 test images are the test. ``size=5_000`` is the paper's small set.

    Parameters
    ----------
    folder
        Folder of the files; the environment variable ``LSAT_MNIST`` where None.
    size
        Number of training and validation rows together.
    validation
        Share of these rows that validates, between 0 and 1.
    final
        Number of test images, the last of the file, that make the final split instead. The second half of the file is
        easier (3 nearest neighbours of 7,000 images: 7 % errors, 12 % in the first half): do not compare the splits.
    seed
        Seed of the division.
    deskew
        Whether images are set upright first, see :func:`lsat_explorer.data.deskew`.
    scale
        ``"raw"``: 0..255; ``"unit"``: divided by 255; ``"standard"``: mean 0 and deviation 1 over the training rows,
        pixels that never change divided by 1.

    Returns
    -------
    Data
        Inputs float32 (N, 784), classes 0..9. `rows` is the place in the file: of 60,000 for training and validation,
        of 10,000 for test and final.

    Raises
    ------
    FileNotFoundError
        When a file is missing; the sentence names it and the command that fetches it.
    ValueError
        When no folder is known, a file is damaged, or an argument is out of range.
    """
    if scale not in get_args(Scale):
        raise ValueError(
            f"scale is {scale!r}, expected one of {', '.join(map(repr, get_args(Scale)))}; pass one of these"
        )
    if not isinstance(deskew, bool):
        raise ValueError(f"deskew is {shown(deskew)}, expected True or False; pass True to set images upright")
    check_seed(seed)
    images, labels, test_images, test_labels = _mnist_files(_mnist_folder(folder))
    train, valid = _paper_division(len(images), size, validation, seed)
    tested, kept = _end_cut_off(len(test_images), final)
    parts = {"train": (images, labels, train), "validation": (images, labels, valid)}
    parts["test"] = test_images, test_labels, tested
    if final:
        parts["final"] = test_images, test_labels, kept
    where = None if folder is None else os.fspath(folder)
    choices = {"size": size, "validation": validation, "final": final, "seed": seed, "deskew": deskew, "scale": scale}
    return replace(_mnist_data(parts, scale, deskew), source=call_of(mnist, folder=where, **choices))


def mnist_path(folder: str | os.PathLike[str], name: str) -> Path:
    """Path of one of the `MNIST_FILES`, plain or gzipped.

    Raises
    ------
    FileNotFoundError
        When the folder has neither; the sentence names both and the command that fetches them.
    """
    folder = Path(folder)
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    trouble = f"has no file {name} or {name}.gz" if folder.is_dir() else f"is no folder, so {name} is missing"
    raise FileNotFoundError(f"{folder} {trouble}; `lsat-explorer data mnist {folder}` fetches the four files of MNIST")


def _mnist_folder(folder: str | os.PathLike[str] | None) -> Path:
    folder = folder if folder is not None else os.environ.get("LSAT_MNIST")
    if not folder:
        raise ValueError(
            "no folder of MNIST files was given, and the environment variable LSAT_MNIST is not set; pass mnist(DIR), "
            "where `lsat-explorer data mnist DIR` fetches the files"
        )
    return Path(folder).expanduser()


def _mnist_files(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images and labels of the training part, images and labels of the test part."""
    paths = [mnist_path(folder, name) for name in MNIST_FILES]
    images, labels = _labelled_images(paths[0], paths[1])
    test_images, test_labels = _labelled_images(paths[2], paths[3])
    if test_images.shape[1:] != images.shape[1:]:
        raise ValueError(
            f"{paths[2]} has images of {test_images.shape[1:]} and {paths[0]} of {images.shape[1:]}, expected one "
            f"shape; fetch them again with `lsat-explorer data mnist {folder}`"
        )
    return images, labels, test_images, test_labels


def _paper_division(count: int, size: int, validation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation rows as the paper's program draws them: both draws from one random state."""
    from sklearn.model_selection import train_test_split
    from sklearn.utils import shuffle

    if not isinstance(validation, float) or not 0 < validation < 1:
        raise ValueError(f"validation is {validation!r}, expected a share between 0 and 1; give for instance 0.3")
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 10 <= size <= count:
        raise ValueError(
            f"size is {size!r}, expected a whole number from 10 to {count:,}, the images in the files; give for "
            f"instance {min(5_000, count)}"
        )
    random = np.random.RandomState(seed)
    chosen = shuffle(np.arange(count), random_state=random)[:size]
    train, valid = train_test_split(chosen, test_size=validation, random_state=random)
    return train, valid


def _end_cut_off(count: int, final: int) -> tuple[np.ndarray, np.ndarray]:
    """Test rows and final rows of the test images: the last `final` of them are final."""
    if isinstance(final, bool) or not isinstance(final, int | np.integer) or not 0 <= final < count:
        raise ValueError(
            f"final is {final!r}, expected a number of rows from 0 to {count - 1:,}, taken from the {count:,} test "
            f"images; give for instance {count // 2}"
        )
    return np.arange(count - final), np.arange(count - final, count)


def _labelled_images(images_path: Path, labels_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images (N, h, w) uint8 and labels (N,) int64 that belong together."""
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or images.dtype != np.uint8:
        raise ValueError(
            f"{images_path} holds {images.dtype} {images.shape}, expected uint8 images (N, h, w); fetch it again"
        )
    if labels.ndim != 1 or labels.dtype != np.uint8:
        raise ValueError(
            f"{labels_path} holds {labels.dtype} {labels.shape}, expected uint8 labels (N,); fetch it again"
        )
    if len(images) != len(labels):
        raise ValueError(
            f"{images_path} has {len(images):,} images and {labels_path} has {len(labels):,} labels, expected as many; "
            f"fetch both again"
        )
    return images, labels.astype(np.int64)


def _mnist_data(parts: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]], scale: Scale, deskew: bool) -> Data:
    """Make the splits out of the images, their labels and the rows to take of both."""
    pixels = {split: images[rows] for split, (images, _, rows) in parts.items()}
    if deskew:
        pixels = {split: straighten(stack) for split, stack in pixels.items()}
    shape = pixels["train"].shape[1:]
    flat = {split: stack.reshape(len(stack), -1) for split, stack in pixels.items()}
    mean, deviation, pixel_scale = _scaling(flat["train"], scale)
    tables = {
        split: Table(_scaled(flat[split], mean, deviation), Column(labels[rows]), rows, None)
        for split, (_, labels, rows) in parts.items()
    }
    splits, classes = make_splits(tables, "classification")
    return Data(
        splits["train"],
        splits["validation"],
        splits["test"],
        final=splits.get("final"),
        task="classification",
        classes=classes,
        feature_names=default_names(flat["train"].shape[1], shape),
        image_shape=shape,
        name="MNIST, deskewed" if deskew else "MNIST",
        pixel_scale=pixel_scale,
    )


def _scaling(train: np.ndarray, scale: Scale) -> tuple[np.ndarray, np.ndarray, PixelScale]:
    """Mean and deviation (d,) to scale pixels (N, d) by, and how the result is shown."""
    features = train.shape[1]
    if scale == "raw":
        return np.zeros(features), np.ones(features), PixelScale(0, 255)
    if scale == "unit":
        return np.zeros(features), np.full(features, 255.0), PixelScale(0, 1)
    from sklearn.preprocessing import StandardScaler

    # in chunks: at once, scikit-learn would hold the training images as float64 twice
    scaler = StandardScaler()
    for chunk in _chunks(train):
        scaler.partial_fit(chunk)
    return scaler.mean_, scaler.scale_, PixelScale(0, 255, mean=scaler.mean_, deviation=scaler.scale_)


def _scaled(pixels: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Scale pixels (N, d) to float32, each rounded once."""
    scaled = np.empty(pixels.shape, dtype=np.float32)
    for target, chunk in zip(_chunks(scaled), _chunks(pixels), strict=True):
        target[...] = (chunk - mean) / deviation
    return scaled


def _chunks(values: np.ndarray) -> Iterator[np.ndarray]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))
