"""Matrices that stay where they are, such as in a file: tensors to look into, read in order by those who need all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["PASS_BYTES", "RowsApart", "RowsOnDisk"]

PASS_BYTES = 2**22
"""Bytes read at a time in a pass over a file."""


_ADVISED = 2**19
"""Bytes that are asked of the disk at a time: of more, Linux heeds the first part only."""


class RowsApart(Tensor):
    """Rows (N, d) of float32 or float64 that this process does not hold; indexing reads what is asked for."""

    def read(self, rows: slice, out: Tensor | None = None) -> Tensor:
        """Return some rows (r, d) in memory of their own, the first rows of ``out`` where it is given."""
        raise NotImplementedError

    def passes(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the number of the first of some rows, and the rows (r, d), each until the next, in order."""
        step = max(1, PASS_BYTES // max(self.shape[1] * self.element_size(), 1))
        buffer = torch.empty(min(step, len(self)), self.shape[1], dtype=self.dtype, device="cpu")
        for start in range(0, len(self), step):
            yield start, self.read(slice(start, start + step), buffer)

    def take(self, chosen: Tensor) -> Tensor:
        """Return the rows with these ascending numbers (r,), in one pass."""
        result = torch.empty(len(chosen), self.shape[1], dtype=self.dtype, device="cpu")
        for start, rows in self.passes():
            first, last = torch.searchsorted(chosen, torch.tensor([start, start + len(rows)], device="cpu")).tolist()
            result[first:last] = rows[chosen[first:last] - start]
        return result

    def bounds(self) -> tuple[float, float]:
        """Return the least and the largest entry, in one pass."""
        found = [rows.aminmax() for _, rows in self.passes()]
        return min(float(pair.min) for pair in found), max(float(pair.max) for pair in found)


class RowsOnDisk(RowsApart):
    """Rows (N, d) of float32 or float64 in a file, row after row from byte ``offset``; no memory is taken for them.

    It is a tensor mapped from the file, not to be written to: indexing reads what is asked for, and results are plain
    tensors. Pages that were looked at count as memory of the process until the system needs them, so that a pass over
    all rows takes `read`, a number of rows at a time, or `passes`.

    Parameters
    ----------
    path : Path
        The file.
    shape : (int, int)
        Of the rows.
    dtype : numpy.dtype
        Of the numbers, in the machine's order of bytes.
    offset : int
        Where the first row begins.

    Raises
    ------
    ValueError
        When the file is shorter than its rows.
    """

    # As of a Parameter: what is computed from it is a plain tensor.
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    path: Path
    offset: int

    @staticmethod
    def __new__(cls, path: Path, shape: tuple[int, int], dtype: Any, offset: int = 0) -> RowsOnDisk:
        """Map the file."""
        needed, found = offset + int(np.prod(shape)) * np.dtype(dtype).itemsize, Path(path).stat().st_size
        if found < needed:
            raise ValueError(
                f"{path} has {found:,} bytes, expected {needed:,} for its {shape[0]:,} rows: it is cut off; write or "
                f"fetch it again."
            )
        mapped = np.memmap(path, dtype, "r", offset, shape)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            rows = torch.from_numpy(mapped).as_subclass(cls)
        rows.path, rows.offset = Path(path), offset
        return rows

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., RowsOnDisk], tuple[Any, ...]]:
        return RowsOnDisk, (self.path, tuple(self.shape), self.numpy().dtype, self.offset)

    def opened(self) -> FileIO:
        """Return the file, opened for passes that read it many times."""
        return open(self.path, "rb", buffering=0)

    def foresee(self, rows: slice, file: FileIO) -> None:
        """Have the system fetch rows from the disk that are to be read soon, which is not waited for.

        Nothing is done where the system takes no such advice.
        """
        row = self.shape[1] * self.element_size()
        first, last = self.offset + rows.start * row, self.offset + rows.stop * row
        for start in range(first, last, _ADVISED) if hasattr(os, "posix_fadvise") else ():
            os.posix_fadvise(file.fileno(), start, min(_ADVISED, last - start), os.POSIX_FADV_WILLNEED)

    def read(self, rows: slice, out: Tensor | None = None, file: FileIO | None = None) -> Tensor:
        """Return some rows (r, d) in memory of their own, the first rows of ``out`` where it is given.

        Those who read many times pass the ``file`` that they `opened`.

        Raises
        ------
        ValueError
            When the file has lost them.
        """
        start, stop, _ = rows.indices(len(self))
        result = (
            torch.empty(max(stop - start, 0), self.shape[1], dtype=self.dtype, device="cpu")
            if out is None
            else out[: stop - start]
        )
        into, row = result.numpy().data.cast("B"), self.shape[1] * self.element_size()
        with self.opened() if file is None else nullcontext(file) as there:
            there.seek(self.offset + start * row)
            done = 0
            while done < len(into):
                found = there.readinto(into[done:])
                if not found:
                    raise ValueError(
                        f"{self.path} now ends within row {start + done // row:,} of {len(self):,}: it was cut off "
                        f"while it was in use; write or fetch it again."
                    )
                done += found
        return result
