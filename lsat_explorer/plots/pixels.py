"""Arrays as pictures, before anything draws them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lsat_explorer.plots.curves import floats

__all__ = ["as_picture", "theta_images"]


def theta_images(
    theta: ArrayLike, image_shape: Sequence[int], classes: Sequence[object] | None = None
) -> tuple[NDArray[np.float64], list[object], float]:
    """Return θ as one image per output, a name for each, and the limit of a colour scale symmetric around zero.

    Parameters
    ----------
    theta, image_shape, classes
        As in `theta_figure`: (n, m) coefficients, the shape of an image, and m names.

    Returns
    -------
    images : (m, h, w) float64
    names : list of m
    limit : float
        The 99.5 % quantile of |θ|, so that a few border pixels do not bleach the rest; positive.

    Raises
    ------
    ValueError
        If the shapes do not fit each other, or θ is no array of numbers.
    """
    values = floats(theta, "theta", "model.theta.cpu()")
    values = values[:, None] if values.ndim == 1 else values
    if image_shape is None:
        raise ValueError("image_shape is None, expected (h, w) or (h, w, c): θ of rows that are no images is no image.")
    pixels = prod(image_shape)
    if values.ndim != 2 or len(image_shape) not in (2, 3) or values.shape[0] != pixels or values.shape[1] == 0:
        raise ValueError(
            f"theta has shape {np.shape(theta)} and image_shape {tuple(image_shape)} needs ({pixels}, m): "
            "pass the rows of the pixels alone, such as model.theta[model.blocks['pixels']]."
        )
    names: list[object] = list(range(values.shape[1]) if classes is None else classes)
    if len(names) != values.shape[1]:
        raise ValueError(f"theta has {values.shape[1]} columns and classes {len(names)} names: give one for each.")
    images: NDArray[np.float64] = values.T.reshape(-1, *image_shape)
    images = images.mean(axis=3) if images.ndim == 4 else images
    finite = np.abs(images[np.isfinite(images)])
    limit = float(np.quantile(finite, 0.995)) if finite.size else 0.0
    return images, names, limit or float(finite.max(initial=0.0)) or 1.0


def as_picture(image: ArrayLike) -> NDArray[np.uint8]:
    """Return one image as uint8 (h, w, 3).

    Parameters
    ----------
    image : (h, w), (h, w, 1), (h, w, 3) or (h, w, 4) array
        uint8, or numbers that are scaled so that the least is black and the largest white, unless they lie in 0..1.

    Raises
    ------
    ValueError
        For another shape.
    """
    pixels = np.asarray(image)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or 0 in pixels.shape:
        raise ValueError(f"An image has shape {np.shape(image)}: expected (h, w), (h, w, 1), (h, w, 3) or (h, w, 4).")
    if pixels.dtype != np.uint8:
        numbers = np.nan_to_num(pixels.astype(np.float64), posinf=0.0, neginf=0.0)
        low, high = min(float(numbers.min()), 0.0), max(float(numbers.max()), 1.0)
        pixels = np.rint(255 * (numbers - low) / (high - low)).astype(np.uint8)
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels[:, :, :3]
