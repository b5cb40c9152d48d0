"""What this machine has of what the tests would like: the MNIST files and Chromium."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def mnist_folder() -> Path:
    """Return the folder of MNIST as an absolute path: LSAT_MNIST, or `../shared/data/mnist` beside the repository."""
    return Path(os.environ.get("LSAT_MNIST") or ROOT / "../shared/data/mnist").resolve()


def has_mnist() -> bool:
    """Say whether the four files of MNIST are there, compressed or not."""
    folder = mnist_folder()
    return all((folder / name).exists() or (folder / f"{name}.gz").exists() for name in MNIST_FILES)


def without_mnist() -> str:
    """Return why something was left out for want of MNIST, and what to do."""
    return (
        f"the MNIST files are not in {mnist_folder()}: `lsat-explorer data mnist DIR` fetches them, "
        "LSAT_MNIST names DIR"
    )


def chromium() -> str | None:
    """Return Chromium's program, which LSAT_CHROMIUM may name, or None where there is none."""
    return os.environ.get("LSAT_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def environment() -> dict[str, str]:
    """Return the environment of the tests and of a kernel.

    A kernel starts in its notebook's folder, so that paths are absolute; and with one thread, so that the last digits
    of a result do not depend on the number of cores and two kernels do not fight for them. An Explorer leaves no runs
    beside a notebook of the project. LSAT_MNIST is left unset
    where nobody named a folder and the usual one is absent: a loader then says what to set, not where it looked.
    What is compiled of the project is kept: hundreds of kernels and commands would each compile it anew.
    """
    dropped = ("LSAT_MNIST", "PYTHONDONTWRITEBYTECODE")
    names = {name: value for name, value in os.environ.items() if name not in dropped}
    if os.environ.get("LSAT_MNIST") or mnist_folder().is_dir():
        names["LSAT_MNIST"] = str(mnist_folder())
    return {"OMP_NUM_THREADS": "1", "LSAT_RUNS": "off", **names}
