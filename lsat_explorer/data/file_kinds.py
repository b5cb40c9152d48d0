"""What a file is that was given in place of another, told by how it begins."""

from __future__ import annotations

import codecs
from pathlib import Path

__all__ = ["PARQUET", "TEXT", "kind_of"]

PARQUET = "a Parquet table"
TEXT = "text, as a table is"

_SAMPLE = 512
_STARTS = (
    (b"PK\x03\x04", "a zip file, as torch.save writes"),
    (b"PAR1", PARQUET),
    (b"\x93NUMPY", "an array of numpy"),
    (b"\x89PNG", "a picture"),
)
_TEXTS = (
    ("<", "a page of HTML, as a report is"),
    ("{", "JSON, as a recipe is"),
)


def kind_of(path: Path) -> str:
    """Return in words what a file is, empty where its beginning does not tell.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     Path(file.name).write_text("<!doctype html>")
    ...     kind_of(Path(file.name))
    15
    'a page of HTML, as a report is'
    """
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    if not sample:
        return "empty"
    for start, kind in _STARTS:
        if sample.startswith(start):
            return kind
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(sample)  # which may end within a letter
    except UnicodeDecodeError:
        return ""
    if "\0" in text:
        return ""
    return next((kind for start, kind in _TEXTS if text.lstrip().startswith(start)), TEXT)
