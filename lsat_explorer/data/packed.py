"""Text of a table that may be compressed: unpacked while it is read, and no further than stands in proportion."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lsat_explorer.data.separators import SPACES, Marked, as_one

__all__ = ["Lines", "lines_of"]

MOST_TEXT = 2**28
MOST_TIMES = 200
"""Text of more than so many bytes, and of more than so many times those of its file, is no table: numbers take a third
to a tenth of their text once they are compressed, a table of zeros a hundredth."""

MOST_COLUMNS = 10**6
"""Names in the first line; a hundred bytes and more are taken for each."""

_Errors = tuple[type[Exception], ...]
_UNREADABLE: _Errors = (OSError, EOFError, zlib.error, lzma.LZMAError)
_UNZIPPED: _Errors = (zipfile.BadZipFile, struct.error, UnicodeDecodeError, RuntimeError)
"""What the libraries raise at damaged files; the RuntimeError is that of a zip file that is encrypted, or packed in a
way of its own."""


_HEAD_LINES, _HEAD_BYTES = 100, 2**24
"""About how much of the beginning of a text is kept, whichever comes first: a pipe cannot be read again."""


class Lines(io.RawIOBase):
    """The text of a file, as bytes, read once from its beginning to its end; ``head`` is what it began with.

    A separator of several bytes is one byte in it, as `as_one` has it.

    Parameters
    ----------
    path : Path
        The file, for errors.
    stream : file
        Its text, unpacked as it is read.
    separator : str
        What stands between two entries.
    size : int
        Bytes that the file takes.
    damaged : tuple of exception types
        What reading ``stream`` raises where the file is damaged.

    Raises
    ------
    ValueError
        In `readinto`, when the file is damaged, its text is out of proportion, or its first line has too many names;
        the sentence names the file.
    """

    def __init__(self, path: Path, stream: Any, separator: str, size: int, damaged: _Errors = _UNREADABLE) -> None:
        super().__init__()
        self.path = path
        self.head = b""
        between = as_one(separator)
        self._stream = stream if between == separator else Marked(stream, separator)
        self._size, self._damaged = size, damaged
        self._separator = b" " if between == SPACES else between.encode()
        self._seen = 0
        self._names: int | None = 1  # None once the first line is over

    def readable(self) -> bool:
        """Whether it can be read, which it can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes, and return how many there were."""
        with _explained(self.path, self._damaged):
            found = self._stream.read(len(buffer))
        self._seen += len(found)
        refuse_bomb(self.path, self._seen, self._size, "unpacks to more than")
        self._count(found)
        if len(self.head) < _HEAD_BYTES and self.head.count(b"\n") < _HEAD_LINES:
            self.head += found
        buffer[: len(found)] = found
        return len(found)

    def _count(self, found: bytes) -> None:
        if self._names is None:
            return
        line, end, _ = found.partition(b"\n")
        self._names += line.count(self._separator) if self._separator else 0
        if self._names > MOST_COLUMNS:
            raise ValueError(f"{self.path} has more than {MOST_COLUMNS:,} names in its first line; look at its lines")
        self._names = None if end else self._names


def refuse_bomb(path: Path, text: int, size: int, word: str) -> None:
    """Refuse so many bytes of text in a file of ``size`` bytes where they are out of proportion.

    Raises
    ------
    ValueError
        When they are; the sentence says that the file ``word`` so many bytes.
    """
    most = max(MOST_TEXT, MOST_TIMES * size)
    if text > most:
        raise ValueError(
            f"{path} takes {size:,} bytes and {word} {most:,}, which no table does; unpack it yourself and give the "
            f"file that comes of it, if you know whose it is"
        )


@contextmanager
def _explained(path: Path, damaged: _Errors) -> Iterator[None]:
    try:
        yield
    except damaged as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise ValueError(f"{path} is cut off or damaged ({reason}); write or fetch it again") from None


@contextmanager
def lines_of(path: Path, file: BinaryIO, separator: str) -> Iterator[Lines]:
    r"""Give the text of a file that is open, unpacked as the end of its name says: .gz, .bz2, .xz, .zip or .zst.

    Raises
    ------
    ValueError
        When it is damaged, or a zip file of several files or of one that is out of proportion.
    ModuleNotFoundError
        For .zst without the package that reads it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "coins.csv.gz"
    >>> with gzip.open(path, "wt") as packed:
    ...     _ = packed.write("side,weight\n")
    >>> with open(path, "rb") as file, lines_of(path, file, ",") as lines:
    ...     lines.read()
    b'side,weight\n'
    """
    size, kind = path.stat().st_size, path.suffix.lower()
    damaged = _UNREADABLE + (_UNZIPPED if kind == ".zip" else ())
    if kind == ".zst":
        zstandard = _zstandard(path)
        stream, damaged = zstandard.open(file, "rb"), (*damaged, zstandard.ZstdError)
    else:
        with _explained(path, damaged):
            stream = _zipped(file, path, size) if kind == ".zip" else _STREAMS.get(kind, lambda file: file)(file)
    try:
        yield Lines(path, stream, separator, size, damaged)
    finally:
        if stream is not file:
            stream.close()


def _zipped(file: BinaryIO, path: Path, size: int) -> Any:
    packed = zipfile.ZipFile(file)
    members = [member for member in packed.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise ValueError(f"{path} holds {len(members):,} files, expected one CSV; give a zip file of one")
    refuse_bomb(path, members[0].file_size, size, "promises more than")
    return packed.open(members[0])


def _zstandard(path: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise ModuleNotFoundError(f"{path} is read by zstandard: pip install zstandard, or unpack it.") from None
    return zstandard


_STREAMS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
