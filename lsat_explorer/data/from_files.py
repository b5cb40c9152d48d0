"""Tables in files: CSV and Parquet, read once and then kept in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack, cast

from tqdm import tqdm

from lsat_explorer.data.cache import cached, stamp
from lsat_explorer.data.calls import call_of
from lsat_explorer.data.data import Data
from lsat_explorer.data.division import Division
from lsat_explorer.data.file_kinds import PARQUET, kind_of
from lsat_explorer.data.frames import check_columns, names_in, plain_names, rows_of_frame
from lsat_explorer.data.long_lines import refuse_long_lines
from lsat_explorer.data.packed import lines_of
from lsat_explorer.data.parquet import batches, frame_of, parquet_files, refuse_bomb
from lsat_explorer.data.separators import as_one, separator_of, unmarked

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_in", "from_csv", "from_parquet"]

_READING = 4
"""The version of how CSV is read: what an older one left in the cache is not taken."""


def from_csv(
    path: str | os.PathLike[str],
    target: str | Sequence[str],
    *,
    index: str | None = None,
    drop: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    separator: str | None = None,
    decimal: str = ".",
    progress: bool = True,
    cache: bool = True,
    **division: Unpack[Division],
) -> Data:
    r"""Read a CSV file with a line of names, plain or compressed, and divide its rows.

    A column of text becomes a column of 0 and 1 for each of its values, ``colour=red``. Entries that are empty, NA,
    None or null, or other words that pandas knows, are missing. A model of these data predicts from frames with the
    column ``colour``, too, and refuses other colours. Text is refused where it seems to be something else: where half
    of the entries or more are numbers, there are more than 100 different texts, more than 20 that begin with a number
    (quantities, dates), or on average less than two rows for each.

    Parameters
    ----------
    path
        The file.
    target
        Column of the labels or numbers to predict, or several columns of numbers.
    index
        Column that names the rows.
    drop
        Column to leave out, or several.
    categories
        Column of categories, or several, whatever they hold: text that would be refused, or numbers such as codes,
        whose text is kept as it stands, ``01`` beside ``1``.
    separator
        What stands between two entries, as it is, or ``\s+`` for any spaces; None is a tab where the name of the file
        ends in .tsv or .tab, compressed or not, else a comma.
    decimal
        What stands before the decimals of a number, ``"."`` or ``","``.
    progress
        Whether to show a progress bar.
    cache
        Whether to keep what was read in the user's cache folder, or in that of the environment variable
        ``LSAT_CACHE``, and to read it there while the file is the same.
    **division
        ``validation``, ``test``, ``final``, ``seed``, ``task``, ``missing`` and ``name``, as in `Data.from_arrays`; the
        name is by default that of the file.

    Returns
    -------
    Data

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        For a column that is not there or named for two purposes, one with neither a name nor an entry, a first one
        without a name that numbers the rows, as pandas writes its index, text that is no category, what is Parquet or
        else no CSV in UTF-8, is damaged or unpacks to far more than its file, and as in `Data.from_arrays`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "coins.csv"
    >>> _ = path.write_text("metal,weight,side\n" + "zinc,1.5,head\niron,2.5,tail\n" * 10)
    >>> data = from_csv(path, "side", progress=False, cache=False)
    >>> data, data.feature_names
    (Data(coins: 10 training, 6 validation, 4 test rows, 3 features, 2 classes), ('metal=iron', 'metal=zinc', 'weight'))
    """
    file = _existing(path)
    if file.is_dir():
        raise ValueError(f"{file} is a folder, expected a CSV file; give the path of one file in it")

    between = separator_of(file, separator)
    options = _columns(target, index, drop, categories)

    def read() -> pd.DataFrame:
        return _read_csv(file, between, decimal, progress, names_in(options["categories"], "categories"))

    source = call_of(from_csv, path=os.fspath(path), **options, separator=separator, decimal=decimal, **division)
    return _divided(file, [file], read, {"csv": [between, decimal, _READING], **options}, cache, division, source)


def from_parquet(
    path: str | os.PathLike[str],
    target: str | Sequence[str],
    *,
    index: str | None = None,
    drop: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    progress: bool = True,
    cache: bool = True,
    **division: Unpack[Division],
) -> Data:
    """Read a Parquet file, or a folder of them in the order of their names, into memory, and divide its rows.

    Text and categories become columns as in `from_csv`; for rows that memory has no room for see `Data.from_rows`.

    Parameters
    ----------
    path
        The file, or the folder of ``*.parquet``.
    target, index, drop, categories, progress, cache, **division
        As in `from_csv`; an index that pandas saved names the rows.

    Returns
    -------
    Data

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        As in `from_csv`, and for a file that is CSV, is damaged or promises far more than it can hold.
    ModuleNotFoundError
        Without the package of ``lsat_explorer[scale]``.
    """
    file = _existing(path)
    parts = parquet_files(file)

    def read() -> pd.DataFrame:
        return _read_parquet(parts, progress)

    options = _columns(target, index, drop, categories)
    source = call_of(from_parquet, path=os.fspath(path), **options, **division)
    return _divided(file, [path for path, _ in parts], read, {"parquet": True, **options}, cache, division, source)


def frame_in(
    path: str | os.PathLike[str],
    *,
    index: str | None = None,
    drop: str | Sequence[str] = (),
    separator: str | None = None,
    decimal: str = ".",
    texts: Sequence[str] = (),
    progress: bool = True,
) -> pd.DataFrame:
    """Read the table of a CSV or Parquet file as `from_csv` and `from_parquet` do, but leave it as it is.

    Parameters
    ----------
    path
        A file ``.parquet``, or a folder of them; any other is CSV.
    index, drop, separator, decimal, progress
        As in `from_csv`.
    texts
        Columns of CSV to leave as text, where they are there.

    Returns
    -------
    DataFrame

    Raises
    ------
    FileNotFoundError, ValueError, ModuleNotFoundError
        As they do.
    """
    file = _existing(path)
    parquet = file.suffix.lower() == ".parquet" or file.is_dir()
    if parquet:
        frame = _read_parquet(parquet_files(file), progress)
    else:
        frame = _read_csv(file, separator_of(file, separator), decimal, progress, texts)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    dropped = names_in(drop, "drop")
    for option, named in (("drop", dropped), ("index", [] if index is None else [index])):
        check_columns(named, list(frame.columns), file.name, option)
    frame = frame.drop(columns=dropped)
    return frame if index is None else frame.set_index(index)


def _columns(target: Any, index: str | None, drop: Any, categories: Any) -> dict[str, Any]:
    named = {"drop": plain_names(drop, "drop"), "categories": plain_names(categories, "categories")}
    return {"target": plain_names(target, "target"), "index": index, **named}


def _existing(path: str | os.PathLike[str]) -> Path:
    found = Path(path).expanduser()
    if not found.exists():
        raise FileNotFoundError(f"there is no file {os.fspath(path)}; give the path of one that is there")
    return found


def _divided(
    path: Path,
    files: Sequence[Path],
    read: Callable[[], pd.DataFrame],
    options: dict[str, Any],
    cache: bool,
    division: Division,
    source: str,
) -> Data:
    """Read a table, or take it from the cache, and divide it."""
    how = {name: options[name] for name in ("target", "index", "drop", "categories")}

    def rows() -> Any:
        return rows_of_frame(read(), path.name, **how, separator=options["csv"][0] if "csv" in options else "")

    table = cached(path, stamp(files), options, rows) if cache else rows()
    named: Any = {"name": path.name.split(".")[0], **division}
    y = table.outcome(how["target"])
    return replace(Data.from_arrays(table.X, y, feature_names=table.names, rows=table.rows, **named), source=source)


def _read_csv(path: Path, separator: str, decimal: str, progress: bool, texts: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    if decimal not in (".", ","):
        raise ValueError(f"decimal is {decimal!r}, expected what stands before decimals; pass '.' or ','")
    if path.is_file() and kind_of(path) == PARQUET:  # a pipe cannot be read twice
        raise ValueError(
            f"{path} is {PARQUET}, expected CSV; read it by datasets.from_parquet, or with a command under a name that "
            f"ends in .parquet"
        )

    shown: dict[str, Any] = {"desc": f"reading {path.name}", "unit": "B", "unit_scale": True, "disable": not progress}
    # Without a buffer there is `read` alone: some versions of pandas would take `read1`, past the bar.
    with (
        open(path, "rb", buffering=0) as file,
        tqdm.wrapattr(file, "read", total=path.stat().st_size, **shown) as followed,
        lines_of(path, cast(BinaryIO, followed), separator) as lines,
    ):
        try:
            frame: pd.DataFrame = pd.read_csv(
                lines,
                sep=as_one(separator),
                decimal=decimal,
                compression=None,
                dtype=dict.fromkeys(texts, str),
            )
        except UnicodeDecodeError:
            raise ValueError(
                f"{path} is not encoded as UTF-8; save it so first, for instance by Path('new.csv').write_text("
                f"Path('old.csv').read_text(encoding='latin-1'), encoding='utf-8') where it is Latin-1"
            ) from None
        except ValueError as error:
            if str(path) in str(error):  # of ours
                raise
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"{path} is no CSV that can be read ({reason}); look at its lines and separator") from None
    refuse_long_lines(path, lines.head, separator, frame)
    return frame if as_one(separator) == separator else unmarked(frame, separator)


def _read_parquet(parts: Sequence[tuple[Path, Any]], progress: bool) -> pd.DataFrame:
    import pyarrow as arrow

    refuse_bomb(parts)
    total = sum(part.metadata.num_rows for _, part in parts)
    read: list[Any] = []
    with tqdm(
        total=total, disable=not progress, desc=f"reading {parts[0][0].name}", unit="row", unit_scale=True
    ) as bar:
        for path, part in parts:
            for batch in batches(path, part):
                read.append(batch)
                bar.update(batch.num_rows)
    try:
        table = arrow.Table.from_batches(read, parts[0][1].schema_arrow)
    except arrow.ArrowInvalid as error:
        raise ValueError(
            f"the files beside {parts[0][0]} have other columns ({error}); give files of one kind"
        ) from None
    return frame_of(table, parts[0][0])
