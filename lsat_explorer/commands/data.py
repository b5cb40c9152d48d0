"""Fetch MNIST and write it as the four IDX files that `lsat.datasets.mnist` reads."""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

import numpy as np
from tqdm import tqdm

from lsat_explorer.commands.errors import FAILURE, CommandError, user_input
from lsat_explorer.commands.folders import new_folder, path_of
from lsat_explorer.commands.output import say, shows_progress
from lsat_explorer.data import write_idx
from lsat_explorer.data.arriving import arriving
from lsat_explorer.data.datasets import MNIST_FILES, mnist_path

SUMMARY = "fetch a data set"
TRAINING_ROWS = 60_000
# SHA-256 of the values in each of `MNIST_FILES`: what is fetched is MNIST, in its canonical order, or it is refused.
DIGESTS = (
    "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
    "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
    "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
    "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lsat-explorer data`."""
    parser.add_argument("name", choices=["mnist"], help="the data set")
    parser.add_argument("folder", type=path_of, metavar="DIR", help="where the files go")


def run(args: argparse.Namespace) -> int:
    """Fetch the data set unless its files are there already."""
    folder: Path = args.folder
    missing = [name for name in MNIST_FILES if not present(folder, name)]
    if not missing:
        say(f"The four files of MNIST are already in {folder}.")
        return 0
    with new_folder(folder), user_input():
        arrays = divide(*fetch_mnist(folder))
        check_digests(arrays)
        for name in tqdm(missing, desc="Writing", unit="file", disable=not shows_progress()):
            write_idx(folder / f"{name}.gz", arrays[name])
    say(f"MNIST is in {folder}: use `--data {folder}`, or set LSAT_MNIST to it for the notebooks.")
    return 0


def present(folder: Path, name: str) -> bool:
    """Say whether the folder has a file of MNIST, compressed or not."""
    try:
        return mnist_path(folder, name).is_file()
    except FileNotFoundError:
        return False


def fetch_mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Fetch MNIST from OpenML by scikit-learn, with a progress bar.

    Parameters
    ----------
    folder : Path
        Where the download lies while it lasts; nothing of it stays.

    Returns
    -------
    tuple of ndarray
        Images (70000, 784) and labels (70000,), both unsigned bytes, the 60,000 training rows first.

    Raises
    ------
    CommandError
        When there is no network, or the download breaks.
    """
    from sklearn.datasets import fetch_openml

    try:
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as cache,
            arriving(Path(cache), "Fetching MNIST", progress=shows_progress()),
        ):
            bunch = fetch_openml("mnist_784", version=1, as_frame=False, data_home=cache)
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        reason = str(getattr(error, "reason", None) or error).rstrip(".")
        sentence = (
            f"MNIST could not be fetched, for OpenML does not answer ({reason}): try again where there is a "
            f"network, or put its four IDX files into {folder}."
        )
        raise CommandError(sentence, FAILURE) from error
    return np.asarray(bunch.data).astype(np.uint8), np.asarray(bunch.target).astype(np.uint8)


def divide(images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of `MNIST_FILES`: images (N, 28, 28) and labels (N,), training and test.

    Parameters
    ----------
    images : ndarray (70000, 784)
        Pixels, unsigned bytes, the training rows first.
    labels : ndarray (70000,)
        Digits, unsigned bytes.
    """
    pixels = images.reshape(-1, 28, 28)
    parts = (slice(TRAINING_ROWS), slice(TRAINING_ROWS, None))
    arrays = (array[part] for part in parts for array in (pixels, labels))
    return dict(zip(MNIST_FILES, arrays, strict=True))


def check_digests(arrays: dict[str, np.ndarray]) -> None:
    """Refuse anything but MNIST in its canonical order.

    Raises
    ------
    CommandError
        When the values of a file are not those of MNIST; it is named.
    """
    for (name, array), digest in zip(arrays.items(), DIGESTS, strict=True):
        if hashlib.sha256(array.tobytes()).hexdigest() != digest:
            sentence = f"What OpenML sent is not MNIST in its canonical order ({name} differs); nothing was written."
            raise CommandError(sentence, FAILURE)
