"""Where rows come from, a chunk at a time: files of numpy, Parquet, sliceable arrays, or any iterable of chunks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from lsat_explorer.data.foreign import in_memory
from lsat_explorer.data.frames import target_names
from lsat_explorer.data.on_disk import PASS_BYTES, RowsOnDisk
from lsat_explorer.data.on_workers import Partitions, is_dask
from lsat_explorer.data.parquet import batches, frame_of, open_parquet
from lsat_explorer.data.tables import shown

__all__ = ["Source", "as_source"]

_IN_PLACE = (np.dtype(np.float32), np.dtype(np.float64))
_UNREADABLE = (ValueError, TypeError, EOFError, SyntaxError, TokenError, RecursionError, OverflowError)
"""What numpy raises at damaged headers."""
_EXPECTED = "a pair (X, y), the path of Parquet, a data frame of dask, or an iterable of pairs (X, y)"


@dataclass(frozen=True)
class Source:
    """Rows of one split: ``chunks`` makes an iterator of pairs (X, y).

    Where the file of the inputs can be used as it is, it is ``file``, and ``outcome`` holds all of y. ``dtype`` is that
    of the inputs, where it is known before they are read, and ``promised`` the bytes that they will take, or 0.
    """

    chunks: Callable[[], Iterator[tuple[Any, Any]]]
    dtype: np.dtype | None = None
    file: RowsOnDisk | None = None
    outcome: Any = field(default=None, repr=False)
    promised: int = 0


def as_source(given: Any, target: str | Sequence[str] | None, word: str) -> Source | Partitions:
    """Say what the user's rows are; ``word`` names the split in errors.

    Raises
    ------
    ValueError
        When they are none of the kinds that there are, or a file of them is not whole.
    """
    if isinstance(given, str | Path):
        return _parquet(Path(given).expanduser(), target, word)
    if is_dask(given):
        return Partitions.of_table(given, target, word)
    if target is not None:
        raise ValueError(f"target is {shown(target)} and the {word} rows are no Parquet; leave target out")
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ValueError(f"{word} rows are a tuple of {len(given)}, expected a pair (X, y); pass (X, y)")
        return Partitions.of(*given, word) if is_dask(given[0]) else _pair(*given, word)
    if callable(given):
        given = given()
    if not isinstance(given, Iterable) or isinstance(given, dict):
        raise ValueError(f"{word} rows are a {type(given).__name__}, expected {_EXPECTED}; pass one of these")
    return Source(lambda: _pairs(given, word))


def _pairs(given: Iterable[Any], word: str) -> Iterator[tuple[Any, Any]]:
    for number, chunk in enumerate(given):
        if not isinstance(chunk, tuple | list) or len(chunk) != 2:
            raise ValueError(
                f"chunk {number} of the {word} rows is a {type(chunk).__name__}, expected a pair (X, y); yield pairs"
            )
        yield chunk[0], chunk[1]


def _pair(X: Any, y: Any, word: str) -> Source:
    X, y = (
        _npy(values, f"{word} {name}") if isinstance(values, str | Path) else values for name, values in _named(X, y)
    )
    if not getattr(X, "shape", ()) or not hasattr(X, "__getitem__"):
        raise ValueError(
            f"{word} X is a {_kind_of(X)}, expected the path of an .npy file or an array of rows; pass one"
        )
    if not getattr(y, "shape", ()) and not isinstance(y, Sequence):
        raise ValueError(f"{word} y is a {_kind_of(y)}, expected one label or target for each row of X; pass these")
    if hasattr(y, "shape") and not hasattr(y, "iloc"):
        y = y if isinstance(y, np.ndarray) else in_memory(_sliced(y, slice(0, y.shape[0]), f"{word} y"))
    if len(y) != X.shape[0]:
        raise ValueError(f"{word} X has {X.shape[0]:,} rows and {word} y has {len(y):,}; give one for each row of X")
    if not len(y):
        raise ValueError(f"{word} X has no rows; give at least two")
    file = _file_of(X) if isinstance(X, np.memmap) else None
    step = max(1, PASS_BYTES // max(8 * int(np.prod(X.shape[1:])), 1))

    def chunks() -> Iterator[tuple[Any, Any]]:
        rows = X.iloc if hasattr(X, "iloc") else X
        outcome = y.iloc if hasattr(y, "iloc") else y
        for start in range(0, X.shape[0], step):
            some = slice(start, min(start + step, X.shape[0]))
            yield _sliced(rows, some, f"{word} X"), outcome[some]

    return Source(chunks, file=file, outcome=y)


def _kind_of(values: Any) -> str:
    """Return what something is called that holds no rows."""
    return f"{type(values).__name__}{' of no dimension' if hasattr(values, 'shape') else ''}"


def _sliced(X: Any, some: slice, what: str) -> Any:
    """Return some rows of an array that reads them from a store, such as one of zarr or h5py."""
    try:
        return X[some]
    except (RuntimeError, OSError, ValueError, TypeError, LookupError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{what}: the {type(X).__name__} gives no rows {some.start:,} to {some.stop - 1:,} ({reason}); what it is "
            f"read from may be damaged: write or fetch it again"
        ) from error


def _named(X: Any, y: Any) -> tuple[tuple[str, Any], tuple[str, Any]]:
    return ("X", X), ("y", y)


def _npy(path: str | Path, what: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Reading `.np", UserWarning)  # of Python 2, whose header takes longer
            return np.load(Path(path).expanduser(), mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{what}: there is no file {path}; give the path of an .npy file") from None
    except _UNREADABLE as error:
        raise ValueError(f"{what}: {path} is no whole .npy file ({error}); write it again with numpy.save") from None


def _file_of(X: np.memmap) -> RowsOnDisk | None:
    """Return the mapped file as it is, where its numbers lie in it as they are needed."""
    rows = X.reshape(len(X), -1) if X.flags.c_contiguous else X
    if X.dtype not in _IN_PLACE or X.mode == "c" or X.filename is None or not rows.flags.c_contiguous or rows.ndim != 2:
        return None
    whole: Any = X
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    offset = whole.offset + X.ctypes.data - whole.ctypes.data
    return RowsOnDisk(Path(X.filename), (rows.shape[0], rows.shape[1]), X.dtype, offset)


def _parquet(path: Path, target: str | Sequence[str] | None, word: str) -> Source:
    """Read a Parquet file, or the files of a folder in the order of their names."""
    if path.suffix == ".npy":
        raise ValueError(f"{word} rows are {path}, which says nothing of y; pass (X, y)")
    if target is None:
        raise ValueError(f"{word} rows are {path} and no target is given; name the column of y: target='label'")
    targets = target_names(target)
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not parts or not parts[0].exists():
        raise ValueError(f"there is no Parquet at {path} for the {word} rows; give a file, or a folder of *.parquet")
    opened = [open_parquet(part) for part in parts]
    kinds = [{field.name: str(field.type) for field in part.schema_arrow} for part in opened]
    names = [[name for name in its if not name.startswith("__index_level_")] for its in kinds]
    for part, its in zip(parts, names, strict=True):
        absent = next((name for name in [*targets, *names[0]] if name not in its), None)
        if absent is not None:
            other = f", which {parts[0].name} has" if absent in names[0] else f"; it has {', '.join(its[:10])}"
            raise ValueError(f"{part} lacks the column {shown(absent)}{other}; write that part again, or drop it")
    columns = [name for name in names[0] if name not in targets]
    single = all(its[name] == "float" for its in kinds for name in columns)

    def chunks() -> Iterator[tuple[Any, Any]]:
        step = max(1, PASS_BYTES // (8 * max(len(columns), 1)))
        for part in parts:
            for batch in batches(part, open_parquet(part), step, [*columns, *targets]):
                frame = frame_of(batch, part, index=False)
                yield frame[columns], frame[targets]

    rows = sum(part.metadata.num_rows for part in opened)
    dtype = np.dtype(np.float32 if single else np.float64)
    return Source(chunks, dtype, promised=rows * len(columns) * dtype.itemsize)
