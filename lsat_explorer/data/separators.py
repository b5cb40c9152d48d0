r"""What stands between two entries of a line in a file of text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["SPACES", "TABLES", "as_pandas_takes", "separator_of", "table_ending"]

SPACES = r"\s+"
"""The separator of pandas for one or more spaces or tabs."""

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
"""The separator, by the ending of files that hold a table in text."""

_PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def table_ending(path: Path) -> str:
    """Return the ending of a file's name in lower case, without that of a compression.

    Examples
    --------
    >>> table_ending(Path("coins.TSV.gz"))
    '.tsv'
    """
    return (Path(path.stem) if path.suffix.lower() in _PACKED else path).suffix.lower()


def separator_of(path: Path, separator: str | None) -> str:
    r"""Return what separates entries of a file: ``separator``, or what the end of its name tells, else a comma.

    ``\t`` written as two characters, as in a shell, is a tab.

    Raises
    ------
    ValueError
        For what is no text, empty, or holds the end of a line.

    Examples
    --------
    >>> separator_of(Path("coins.tsv"), None), separator_of(Path("coins.csv"), "::")
    ('\t', '::')
    """
    if separator is None:
        return TABLES.get(table_ending(path), ",")
    if not isinstance(separator, str) or not separator or "\n" in separator or "\r" in separator:
        raise ValueError(f"separator is {separator!r}, expected what stands between two entries; pass ',' or ';'")
    return "\t" if separator == r"\t" else separator


def as_pandas_takes(separator: str) -> dict[str, Any]:
    r"""Return the arguments of `pandas.read_csv` for entries between which this text stands as it is.

    Only ``\s+`` is a pattern, as everybody writes it: pandas takes any text of several characters for one.

    Examples
    --------
    >>> as_pandas_takes(";"), as_pandas_takes("||")
    ({'sep': ';'}, {'sep': '\\|\\|', 'engine': 'python'})
    """
    if len(separator) == 1 or separator == SPACES:
        return {"sep": separator}
    return {"sep": re.escape(separator), "engine": "python"}
