"""What stands between two entries of a line in a file of text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SPACES", "TABLES", "Marked", "as_one", "separator_of", "table_ending", "unmarked"]

SPACES = r"\s+"
"""The separator of pandas for one or more spaces or tabs."""

TABLES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
"""The separator, by the ending of files that hold a table in text."""

_MARK = "\x1f"
"""The unit separator of ASCII, which no text has."""

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
    return separator.replace(r"\t", "\t")


def as_one(separator: str) -> str:
    r"""Return the separator that pandas is given: a mark of one byte where the file's takes more, ``\s+`` as it is.

    Of several bytes pandas makes a pattern, which splits inside quotes and strips the ends of lines.

    Examples
    --------
    >>> as_one(";"), as_one("::")
    (';', '\x1f')
    """
    return separator if len(separator.encode()) == 1 or separator == SPACES else _MARK


class Marked:
    r"""Bytes in which a mark stands in place of each separator.

    Parameters
    ----------
    stream : file
        What is read.
    separator : str
        Of several bytes.

    Examples
    --------
    >>> import io
    >>> Marked(io.BytesIO(b"a::b:c"), "::").read(100)
    b'a\x1fb:c'
    """

    def __init__(self, stream: Any, separator: str) -> None:
        self._stream, self._separator, self._held = stream, separator.encode(), b""

    def read(self, size: int) -> bytes:
        """Return at most about ``size`` bytes, none at the end."""
        while found := self._stream.read(max(size - len(self._held), 1)):
            text = (self._held + found).replace(self._separator, _MARK.encode())
            self._held = self._begun(text)
            if len(text) > len(self._held):
                return text[: len(text) - len(self._held)]
        rest, self._held = self._held, b""
        return rest

    def _begun(self, text: bytes) -> bytes:
        """Return the end of a text that may be the beginning of a separator."""
        longest = min(len(self._separator) - 1, len(text))
        return next((text[-k:] for k in range(longest, 0, -1) if self._separator.startswith(text[-k:])), b"")


def unmarked(frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """Return a table with the separator again where quotes hold it, in names and in entries."""
    from pandas.api.types import is_numeric_dtype

    def again(text: Any) -> Any:
        return text.replace(_MARK, separator) if isinstance(text, str) else text

    texts = {name: frame[name].map(again) for name in frame.columns if not is_numeric_dtype(frame[name].dtype)}
    return frame.assign(**texts).rename(columns=again)
