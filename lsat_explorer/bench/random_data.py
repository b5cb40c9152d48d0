"""Random rows in the shape of real ones, for benchmarks that need no files."""

from __future__ import annotations

import numpy as np

from lsat_explorer.data import Data

__all__ = ["random_images", "random_table"]

_CLASSES = 10
_KINDS = 10
"""Clusters in a class, as many as the paper's archetypes."""


def random_images(rows: int, shape: tuple[int, int] = (28, 28), seed: int = 0) -> Data:
    """Return grey images of ten classes, each class in clusters, 30 % of them validation rows.

    Parameters
    ----------
    rows : int
        Training and validation images together.
    shape : tuple of int
        Height and width; pixels from 0 to 255, float32.
    seed : int
        Of the numbers and of the division.
    """
    random = np.random.default_rng(seed)
    pixels = shape[0] * shape[1]
    centres = random.uniform(0, 255, (_CLASSES, _KINDS, pixels)).astype(np.float32)
    y = np.arange(rows) % _CLASSES
    X = random.standard_normal((rows, pixels), dtype=np.float32)
    X *= 120
    X += centres[y, random.integers(_KINDS, size=rows)]
    np.clip(X, 0, 255, out=X)
    return Data.from_arrays(X, y, validation=0.3, test=None, seed=seed, image_shape=shape, name="random images")


def random_table(rows: int, columns: int, seed: int = 0) -> Data:
    """Return float32 inputs and a number that they explain but for noise, 30 % of them validation rows."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, columns), dtype=np.float32)
    y = X @ random.standard_normal(columns, dtype=np.float32) + random.standard_normal(rows, dtype=np.float32)
    return Data.from_arrays(X, y, validation=0.3, test=None, seed=seed, name="random numbers")
