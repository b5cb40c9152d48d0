"""Random rows of any number in files, never all in memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

__all__ = ["CLASSES", "divided", "forget", "paths", "write_rows"]

CLASSES = 3


def write_rows(folder: str, rows: int, columns: int) -> int:
    """Write float32 inputs and labels of three classes, which depend smoothly on the columns; return their bytes."""
    random = np.random.default_rng(0)
    smooth = np.cumsum(random.standard_normal((columns, CLASSES)), 0).astype(np.float32) / columns
    size = 0
    for split, count in divided(rows).items():
        inputs, outcome = paths(folder, split)
        labels = np.empty(count, dtype=np.int64)
        with inputs.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (count, columns)}
            np.lib.format.write_array_header_1_0(file, header)
            step = max(1, 2**24 // (4 * columns))
            for start in range(0, count, step):
                X = random.standard_normal((min(step, count - start), columns), dtype=np.float32)
                noise = random.gumbel(size=(len(X), CLASSES))
                labels[start : start + len(X)] = (X @ smooth + noise).argmax(1)
                X.tofile(file)
            file.flush()
            os.fsync(file.fileno())  # nothing is to be written back while something is timed
        np.save(outcome, labels)
        size += inputs.stat().st_size
    return size


def divided(rows: int) -> dict[str, int]:
    """Return the numbers of training and validation rows, one in five."""
    return {"train": rows - rows // 5, "validation": rows // 5}


def paths(folder: str, split: str) -> tuple[Path, Path]:
    """Return the files of a split's inputs and labels."""
    return Path(folder, f"{split}_X.npy"), Path(folder, f"{split}_y.npy")


def forget(folder: str) -> None:
    """Have the system drop what it holds of the inputs, where it heeds that, so that they are read from the disk."""
    for split in divided(0) if hasattr(os, "posix_fadvise") else ():
        with paths(folder, split)[0].open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
