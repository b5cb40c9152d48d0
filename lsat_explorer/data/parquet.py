"""Parquet files: what they promise is compared with what they are, and what is wrong with one is said with its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsat_explorer.data.file_kinds import PARQUET, TEXT, kind_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["batches", "frame_of", "open_parquet", "parquet_files", "refuse_bomb"]

MOST_BYTES = 2**30
MOST_TIMES = 1000
"""Rows of more than so many bytes in memory, and of more than so many times those of their file, are not read into
memory: numbers that differ take about what they take in the file, and equal ones next to nothing there."""

_DAMAGED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OSError,
    NotImplementedError,
    MemoryError,
    OverflowError,
)
"""What Arrow raises at damaged pages, and it and pandas at damaged words on the types of columns, and at a page
that promises too much."""


def parquet_files(path: Path) -> list[tuple[Path, Any]]:
    """Return the Parquet file at a path, or those of a folder in the order of their names, opened.

    Raises
    ------
    ValueError
        When the folder has none, or one is damaged.
    """
    paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not paths:
        raise ValueError(f"there is no Parquet in {path}; give a file, or a folder of *.parquet")
    return [(part, open_parquet(part)) for part in paths]


def open_parquet(path: Path) -> Any:
    """Return a file as pyarrow reads it, after a look at its names and types.

    Raises
    ------
    ValueError
        When it is CSV, cut off or damaged.
    ModuleNotFoundError
        Without the package of ``lsat_explorer[scale]``.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ModuleNotFoundError("Parquet is read by pyarrow: pip install 'lsat_explorer[scale]'.") from None
    kind = kind_of(path) if path.is_file() else ""
    if kind == TEXT or (".csv" in path.suffixes[-2:] and kind != PARQUET):
        raise ValueError(
            f"{path} is CSV, as it seems, expected a Parquet file; read it by datasets.from_csv, or with a command "
            f"under a name that ends in .csv"
        )
    with _whole(path):
        opened = parquet.ParquetFile(path)
        # Names that are no text show here. What it says of its columns is left alone: where that is damaged, asking
        # pyarrow for it ends the process.
        _ = opened.schema_arrow.names, opened.schema_arrow.types
    return opened


def refuse_bomb(parts: Sequence[tuple[Path, Any]]) -> None:
    """Refuse files whose rows would take memory out of proportion.

    Raises
    ------
    ValueError
        When one's would; the sentence says what it promises.
    """
    for path, part in parts:
        about, size = part.metadata, path.stat().st_size
        promised = 8 * about.num_rows * about.num_columns
        if promised > max(MOST_BYTES, MOST_TIMES * size):
            raise ValueError(
                f"{path} takes {size:,} bytes and promises {about.num_rows:,} rows of {about.num_columns:,} columns, "
                f"{promised:,} bytes in memory; give so many rows to Data.from_rows, if you know whose they are"
            )


def batches(path: Path, part: Any, rows: int | None = None, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the record batches of a file, of at most so many rows.

    Raises
    ------
    ValueError
        When the file is damaged there.
    """
    how = {} if rows is None else {"batch_size": rows}
    found = part.iter_batches(columns=None if columns is None else list(columns), **how)
    while True:
        with _whole(path):
            batch = next(found, None)
        if batch is None:
            return
        yield batch


def frame_of(table: Any, path: Path, *, index: bool = True) -> pd.DataFrame:
    """Return a batch or a table of Arrow as a data frame, without ``index`` all of it as columns.

    Raises
    ------
    ValueError
        When what the file says of its types, or a text in it, is damaged.
    """
    with _whole(path):
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=not index)
    return frame


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(
            f"{path} is no whole Parquet file ({reason}); it may be cut off: write or fetch it again"
        ) from None
