"""Read and write IDX files, the format in which MNIST is handed round.

A file is a header and the array after it, row by row, all numbers big-endian::

    0  0  type  ndim | size of each dimension, uint32 | values
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from lsat_explorer.data.whole_file import whole_file

__all__ = ["read_idx", "write_idx"]

_DTYPES: dict[int, np.dtype[Any]] = {
    0x08: np.dtype("u1"),
    0x09: np.dtype("i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}
_CODES = {dtype.newbyteorder("="): code for code, dtype in _DTYPES.items()}
_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20
_MOST = 1 << 32
"""Bytes of an array: the largest data sets of images in this format take a tenth of them."""


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Array stored in an IDX file, gzipped or not (told by its first bytes, not by its name).

    Parameters
    ----------
    path
        File to read.

    Returns
    -------
    numpy.ndarray
        Array of the shape and type in the header, in native byte order.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        When the file is no IDX file, ends early, or goes on after its last value; the sentence names the file.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small-idx2-ubyte"
    >>> write_idx(path, np.eye(2, dtype=np.uint8))
    >>> read_idx(path)
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as raw:
        zipped = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        if not zipped:
            return _read(raw, path)
        try:
            with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
                return _read(cast(BinaryIO, stream), path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is a damaged gzip file ({str(error).rstrip('.')}); delete it and fetch it again"
            ) from error


def _read(stream: BinaryIO, path: Path) -> np.ndarray:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _DTYPES:
        raise ValueError(
            f"{path} is not an IDX file: it starts with the bytes {magic.hex(' ') or '(none)'}, "
            f"expected 00 00, a type 08 to 0e and the number of dimensions; fetch it again"
        )
    dtype, ndim = _DTYPES[magic[2]], magic[3]
    header = stream.read(4 * ndim)
    if len(header) < 4 * ndim:
        raise ValueError(f"{path} ends inside its IDX header, which announces {ndim} dimensions; fetch it again")
    shape = struct.unpack(f">{ndim}I", header)
    expected = math.prod(shape) * dtype.itemsize
    body = _read_at_most(stream, min(expected, _MOST) + 1)
    if len(body) > _MOST:
        raise ValueError(
            f"{path} holds more than {_MOST:,} bytes; delete it and fetch it again, or give so many rows to "
            f"Data.from_rows"
        )
    if len(body) != expected:
        came = f"only {len(body):,}" if len(body) < expected else "more"
        raise ValueError(
            f"{path} announces an array of shape {shape}, which is {expected:,} bytes, and holds {came}; "
            f"delete it and fetch it again"
        )
    return np.frombuffer(body, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _read_at_most(stream: BinaryIO, count: int) -> bytearray:
    """Read `count` bytes or up to the end; memory follows what is there, not what a false header announces."""
    body = bytearray()
    while len(body) < count and (chunk := stream.read(min(_CHUNK, count - len(body)))):
        body += chunk
    return body


def write_idx(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Write an array as an IDX file, gzipped when the name ends in ``.gz``.

    The file appears whole or not at all: it is written beside its place and moved there when complete, so an
    interrupted download leaves no half file. The same array gives the same bytes.

    Parameters
    ----------
    path
        File to write; an existing one is replaced. Its folder must exist.
    array
        At most 255 dimensions, of type uint8, int8, int16, int32, float32 or float64.

    Raises
    ------
    ValueError
        When IDX has no code for the array's type or shape.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_idx(folder / "labels-idx1-ubyte.gz", np.array([5, 0, 4], dtype=np.uint8))
    >>> read_idx(folder / "labels-idx1-ubyte.gz").tolist()
    [5, 0, 4]
    """
    path, array = Path(path), np.asarray(array)
    code = _CODES.get(array.dtype.newbyteorder("="))
    if code is None:
        raise ValueError(
            f"an array of type {array.dtype} cannot be written as IDX, which holds uint8, int8, int16, int32, float32 "
            f"and float64; convert it first, for instance with .astype('uint8')"
        )
    if any(size >= 1 << 32 for size in array.shape):
        raise ValueError(
            f"an array of shape {array.shape} cannot be written as IDX, whose sizes are below 2**32; split it"
        )
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    body = np.ascontiguousarray(array, dtype=_DTYPES[code]).tobytes()
    with whole_file(path) as file, open(file, "wb") as raw:
        if path.suffix == ".gz":
            # no name and no time in the header: equal arrays give equal files
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
                stream.write(header + body)
        else:
            raw.write(header + body)
        raw.flush()
        os.fsync(raw.fileno())
