"""Images in a folder for each class, read once and then kept in the cache."""

from __future__ import annotations

import os
import struct
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from tqdm import tqdm

from lsat_explorer.data.cache import cached, stamp
from lsat_explorer.data.calls import call_of
from lsat_explorer.data.data import Data
from lsat_explorer.data.division import Division
from lsat_explorer.data.frames import Rows
from lsat_explorer.data.images import PixelScale
from lsat_explorer.data.tables import shown

__all__ = ["from_folder"]

_IMAGES = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
_UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, TypeError, LookupError, ArithmeticError, struct.error)
"""What Pillow raises at damaged files."""

_GREY, _COLOUR = {"1", "L", "LA"}, {"P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}


def from_folder(
    path: str | os.PathLike[str],
    *,
    colour: bool | None = None,
    progress: bool = True,
    cache: bool = True,
    **division: Unpack[Division],
) -> Data:
    """Read images of one size from a folder that has a folder for each class, and divide them.

    Parameters
    ----------
    path
        The folder; the images of a class may lie in folders of its folder. Files and folders whose names begin with a
        dot are left out.
    colour
        Whether a pixel is red, green and blue, or one grey level; None: grey where every file is.
    progress
        Whether to show a progress bar.
    cache
        Whether to keep what was read in the user's cache folder, or in that of the environment variable
        ``LSAT_CACHE``, and to read it there while the files are the same.
    **division
        ``validation``, ``test``, ``final``, ``seed`` and ``name``, as in `Data.from_arrays`; the name is by default
        that of the folder.

    Returns
    -------
    Data
        Inputs float32 (N, h w) or (N, h w 3), 0..255; the classes are the names of the folders, in order. `rows` are
        the files, such as ``"cat/001.png"``.

    Raises
    ------
    FileNotFoundError
        When there is no such folder.
    ValueError
        For another ``colour``, fewer than two folders of images, a file that is no image, and images of different
        sizes; the sentence names the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> root = Path(tempfile.mkdtemp())
    >>> for place, name in enumerate(["dark", "light"]):
    ...     (root / name).mkdir()
    ...     for number in range(10):
    ...         pixels = np.full((3, 4), 100 * place + number, dtype=np.uint8)
    ...         Image.fromarray(pixels).save(root / name / f"{number}.png")
    >>> from_folder(root, name="squares", progress=False, cache=False)
    Data(squares: 10 training, 6 validation, 4 test rows, 12 features, 2 classes)
    """
    if not isinstance(colour, bool | None):
        raise ValueError(
            f"colour is {shown(colour)}, expected True, False or None; pass False for grey levels, True for colours"
        )
    root = Path(path).expanduser()
    files = _files(root)

    def read() -> Rows:
        return _read(root, files, colour, progress)

    table = cached(root, stamp(files), {"folder": colour}, read) if cache else read()
    images = table.X
    named: Any = {"name": root.resolve().name, **division}
    data = Data.from_arrays(
        images.astype(np.float32), table.outcome(), image_shape=images.shape[1:], rows=table.rows, **named
    )
    source = call_of(from_folder, path=os.fspath(path), colour=colour, **division)
    return replace(data, pixel_scale=PixelScale(0, 255), source=source)


def _files(root: Path) -> list[Path]:
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is no folder; give the folder that has a folder of images for each class")
    files = [
        path
        for path in sorted(root.glob("*/**/*"))
        if path.suffix.lower() in _IMAGES and not any(part.startswith(".") for part in path.relative_to(root).parts)
    ]
    classes = {path.relative_to(root).parts[0] for path in files}
    if len(classes) < 2:
        found = f"images in the folder {next(iter(classes))!r} alone" if classes else "no folder of images"
        raise ValueError(f"{root} has {found}, expected a folder of images for each of two classes at least; add them")
    return files


def _read(root: Path, files: Sequence[Path], colour: bool | None, progress: bool) -> Rows:
    shown = tqdm(files, desc=f"reading {root.resolve().name}", unit="image", disable=not progress)
    images = [_image(path, colour) for path in shown]
    for path, image in zip(files, images, strict=True):
        if image.shape[:2] != images[0].shape[:2]:
            raise ValueError(
                f"{path} is {_size(image)} pixels and {files[0]} is {_size(images[0])}, expected images of one size; "
                f"crop or scale them first"
            )
    if len({image.ndim for image in images}) > 1:  # colour was left open, and some are grey
        images = [image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2) for image in images]
    folders = [path.relative_to(root).parts[0] for path in files]
    classes, places = np.unique(folders, return_inverse=True)
    rows: list[Any] = [path.relative_to(root).as_posix() for path in files]
    return Rows(np.stack(images), places.astype(np.int64), classes.tolist(), None, rows)


def _size(image: np.ndarray) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"


def _image(path: Path, colour: bool | None) -> np.ndarray:
    """Return pixels (h, w) or (h, w, 3), uint8."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                mode = image.mode
                wanted = colour if colour is not None else mode in _COLOUR
                pixels = np.asarray(image.convert("RGB" if wanted else "L")) if mode in _GREY | _COLOUR else None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ValueError(f"{path} promises more pixels than a picture has; write it again, or take it away") from None
    except _UNREADABLE as error:
        raise ValueError(f"{path} is no whole image ({error}); write it again, or take it away") from None
    if pixels is None:
        raise ValueError(f"{path} has pixels of kind {mode!r}, expected grey or colour of 8 bits; convert it first")
    return pixels
