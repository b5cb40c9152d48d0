"""Images as rows: straighten them, turn inputs back into grey levels, paste thumbnails into one picture."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from lsat_explorer.data.on_disk import RowsApart

__all__ = ["PixelScale", "check_image_shape", "deskew", "sprite"]

# 2,048 images of 28 x 28 at a time keep the working memory near 30 MB and inside the caches
_CHUNK_PIXELS = 2048 * 784


def deskew(images: np.ndarray) -> np.ndarray:
    r"""Shear every image so that its main axis stands upright.

    ``dst(y, x) = src(y, x + s (y - h/2))`` with ``s = µ11/µ02``, the central moments of the image, and ``s = 0``
    where ``|µ02| < 0.01`` (a blank image, or ink in one row only). Values between two pixels are interpolated
    linearly, pixels beyond the border are 0, and the result is rounded to integers. This is the preparation of MNIST
    behind the published tables of *Least squares auto-tuning* (Barratt and Boyd, 2019).

    Parameters
    ----------
    images
        Grey images (N, h, w), uint8. Left as it is.

    Returns
    -------
    numpy.ndarray
        Straightened images (N, h, w), uint8.

    Raises
    ------
    ValueError
        When `images` is not a stack of grey uint8 images.

    Examples
    --------
    >>> import numpy as np
    >>> slanted = np.zeros((1, 5, 5), dtype=np.uint8)
    >>> slanted[0, [1, 2, 3], [3, 2, 1]] = 200
    >>> deskew(slanted)[0]
    array([[  0,   0,   0,   0,   0],
           [  0, 100, 100,   0,   0],
           [  0, 100, 100,   0,   0],
           [  0, 100, 100,   0,   0],
           [  0,   0,   0,   0,   0]], dtype=uint8)
    """
    images = np.asarray(images)
    if images.ndim != 3 or images.dtype != np.uint8:
        raise ValueError(
            f"deskew got an array of shape {images.shape} and type {images.dtype}, expected grey images (N, h, w) of "
            f"type uint8; reshape the rows to images and scale them to 0..255 first"
        )
    straight = np.empty(images.shape, dtype=np.uint8)
    chunk = max(1, _CHUNK_PIXELS // max(1, math.prod(images.shape[1:])))
    for start in range(0, len(images), chunk):
        block = images[start : start + chunk]
        straight[start : start + chunk] = _shear(block, _slant(block))
    return straight


def _slant(images: np.ndarray) -> np.ndarray:
    """Slant s = µ11/µ02 of each image (N,)."""
    _, height, width = images.shape
    y, x = np.mgrid[:height, :width].reshape(2, -1).astype(np.float64)
    # float64 sums of integers are exact: float32 would turn the µ02 = 0 of a single row of ink into noise
    monomials = np.stack([np.ones_like(x), x, y, x * y, y * y], axis=1)
    moments = images.reshape(len(images), -1).astype(np.float64) @ monomials
    m00, m10, m01, m11, m02 = moments.T
    ink = np.where(m00 > 0, m00, 1.0)
    mu11, mu02 = m11 - m10 * m01 / ink, m02 - m01 * m01 / ink
    steady = np.abs(mu02) >= 0.01
    return np.where(steady, mu11 / np.where(steady, mu02, 1.0), 0.0)


def _shear(images: np.ndarray, slant: np.ndarray) -> np.ndarray:
    """Images with row y moved by ``slant (y - h/2)`` pixels to the left, linear between pixels, zero beyond."""
    count, height, width = images.shape
    # the move is the same along a row: a whole number of pixels and one fraction that blends neighbours
    move = (slant[:, None] * (np.arange(height) - height / 2)).ravel()
    whole = np.floor(move)
    fraction = (move - whole).astype(np.float32)[:, None]
    first = np.clip(whole, -width - 1, width).astype(np.intp) + width + 1
    padded = np.zeros((count * height, 3 * width + 2), dtype=np.uint8)
    padded[:, width + 1 : 2 * width + 1] = images.reshape(-1, width)
    windows = np.lib.stride_tricks.sliding_window_view(padded, width + 1, axis=1)
    rows = windows[np.arange(count * height), first].astype(np.float32)
    left, right = rows[:, :-1], rows[:, 1:]
    straight: np.ndarray = np.rint(left + fraction * (right - left)).astype(np.uint8)
    return straight.reshape(images.shape)


@dataclass(frozen=True, eq=False)
class PixelScale:
    """How inputs become grey levels: ``grey = 255 (x · deviation + mean - low) / (high - low)``, cut to 0..255.

    Parameters
    ----------
    low, high
        Values shown as black and as white.
    mean, deviation
        Undo a standardisation, one number per feature (d,); None where the inputs are not standardised.
    """

    low: float
    high: float
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None

    @classmethod
    def of(cls, inputs: Tensor) -> PixelScale:
        """Return the scale from the least to the largest of these inputs (N, d), which may be on disk."""
        bounds = inputs.bounds() if isinstance(inputs, RowsApart) else (float(inputs.min()), float(inputs.max()))
        return cls(*bounds)

    def grey(self, values: np.ndarray) -> np.ndarray:
        """Grey levels (N, d), uint8, of inputs (N, d); all black when `low` equals `high`."""
        grey = np.zeros(values.shape, dtype=np.uint8)
        span = self.high - self.low
        if not span > 0:
            return grey
        deviation = 1.0 if self.deviation is None else self.deviation
        mean = 0.0 if self.mean is None else self.mean
        # in chunks: as float64, all images of a large set would take gigabytes
        chunk = max(1, _CHUNK_PIXELS // max(1, values.shape[1]))
        for start in range(0, len(values), chunk):
            shown = values[start : start + chunk] * deviation + (mean - self.low)
            grey[start : start + chunk] = np.rint(np.clip(shown * (255 / span), 0, 255))
        return grey


def check_image_shape(image_shape: Sequence[int], features: int) -> tuple[int, ...]:
    """Image shape as a tuple (h, w), (h, w, 1) or (h, w, 3) whose product is the number of features.

    Raises
    ------
    ValueError
        When it is something else; the sentence names the shape and the number of features.
    """
    shape = tuple(image_shape) if isinstance(image_shape, Sequence) else (image_shape,)
    whole = all(isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0 for size in shape)
    if not whole or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        raise ValueError(
            f"image_shape is {image_shape!r}, expected (h, w), (h, w, 1) or (h, w, 3) in whole pixels, channels last; "
            f"give the height and width of one image"
        )
    if math.prod(shape) != features:
        raise ValueError(
            f"image_shape {shape} has {math.prod(shape):,} values and a row of X has {features:,}; "
            f"give a shape whose product is {features:,}"
        )
    return tuple(int(size) for size in shape)


def sprite(images: np.ndarray, columns: int) -> bytes:
    r"""Paste thumbnails into one PNG, row by row, `columns` of them beside each other.

    Thumbnail i has its upper left corner at ``(w (i mod columns), h (i // columns))``; places without an image are
    black. One picture loads far sooner than one per thumbnail.

    Parameters
    ----------
    images
        Grey (N, h, w) or colour (N, h, w, 3) images, uint8, at least one.
    columns
        Thumbnails in a row, at least one.

    Returns
    -------
    bytes
        PNG file, grey or RGB.

    Raises
    ------
    ValueError
        When there are no images, or they are not uint8 pictures.

    Examples
    --------
    >>> import numpy as np
    >>> sprite(np.zeros((5, 8, 8), dtype=np.uint8), columns=3)[:4]
    b'\x89PNG'
    """
    from PIL import Image

    images = np.asarray(images)
    pictures = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    if not pictures or images.dtype != np.uint8 or images.size == 0:
        raise ValueError(
            f"sprite got an array of shape {images.shape} and type {images.dtype}, expected at least one uint8 image "
            f"in (N, h, w) or (N, h, w, 3); Data.images gives such arrays"
        )
    if columns < 1:
        raise ValueError(f"sprite got columns={columns}, expected at least 1; give the number of thumbnails in a row")
    count, height, width, *channels = images.shape
    rows = -(-count // columns)
    cells = np.zeros((rows * columns, height, width, *channels), dtype=np.uint8)
    cells[:count] = images
    sheet = cells.reshape(rows, columns, height, width, *channels).swapaxes(1, 2)
    buffer = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(sheet.reshape(rows * height, columns * width, *channels)))
    picture.save(buffer, "PNG", compress_level=2, compress_type=zlib.Z_RLE)  # runs alone: sooner done, and no larger
    return buffer.getvalue()
