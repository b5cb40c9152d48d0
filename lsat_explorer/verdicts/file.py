"""Verdicts as a file that a person can read: one row a line, whole or not there at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data.whole_file import settle
from ..model.piece import nearest
from .names import Row, in_order, read_name, written
from .verdict import Verdict

__all__ = ["Known", "Stamp", "alone", "decode", "encode", "read", "stamp", "write"]

FORMAT = 1
_MOST_BYTES = 2**26
_PATIENCE = 1.0  # seconds to wait for another process that writes

Known = dict[Row, Verdict]
Stamp = tuple[int, ...] | None
"""What tells one state of a file from another; None where there is no file."""


def encode(verdicts: Mapping[Row, Verdict]) -> str:
    """Return verdicts as JSON text, in the order of the rows' names."""

    def line(row: Row) -> str:
        verdict = verdicts[row]
        entry = {"row": written(row), "kind": verdict.kind} | ({} if verdict.to is None else {"to": verdict.to})
        return "    " + json.dumps(entry, ensure_ascii=False, allow_nan=False)

    lines = ",\n".join(map(line, in_order(verdicts)))
    return f'{{\n  "format": {FORMAT},\n  "verdicts": [' + (f"\n{lines}\n  " if lines else "") + "]\n}\n"


def decode(text: str) -> Known:
    """Rebuild verdicts from JSON text: a pure function of the text, which imports and evaluates nothing.

    Raises
    ------
    ValueError
        For text that is no JSON, other JSON, another format number, or an entry that is no verdict on a row.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply.") from error
    if not isinstance(value, dict) or "verdicts" not in value:
        raise ValueError("it holds other things than verdicts.")
    number = value.get("format")
    if number != FORMAT or isinstance(number, bool):
        raise ValueError(f"its format is {number!r}, and this version reads format {FORMAT}.")
    _refuse_unknown(value, ("format", "verdicts"), "it holds other things than a list of verdicts")
    if not isinstance(value["verdicts"], list):
        raise ValueError("it holds other things than a list of verdicts.")
    found: Known = {}
    for place, entry in enumerate(value["verdicts"], start=1):
        row, verdict = _entry(entry, place)
        if row in found:
            raise ValueError(f"entry {place:,} is a second verdict on row {row!r}.")
        found[row] = verdict
    return found


def _entry(entry: Any, place: int) -> tuple[Row, Verdict]:
    if isinstance(entry, dict):
        _refuse_unknown(entry, ("row", "kind", "to"), f"entry {place:,} is no verdict")
    if not isinstance(entry, dict) or not {"row", "kind"} <= set(entry):
        raise ValueError(f'entry {place:,} is no verdict, such as {{"row": 5, "kind": "drop"}}.')
    try:
        return read_name(entry["row"]), Verdict(entry["kind"], entry.get("to"))
    except ValueError as error:
        raise ValueError(f"entry {place:,} is wrong: {error}") from error


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{what}: it has no {key[:60]!r}{nearest(key[:60], known)}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it holds {name}, expected finite numbers.")


def stamp(path: Path) -> Stamp:
    """Return the stamp of a file as it is now."""
    try:
        return _stamp(path.stat())
    except FileNotFoundError:
        return None


def _stamp(about: os.stat_result) -> Stamp:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def read(path: Path) -> tuple[Known, Stamp]:
    """Return what a file holds, nothing where there is none, with its stamp.

    Raises
    ------
    ValueError
        When it is not a whole file of verdicts; it stays as it is.
    OSError
        When it cannot be read.
    """
    try:
        about = path.stat()
    except FileNotFoundError:
        return {}, None
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
        wanted = f"a file of at most {_MOST_BYTES >> 20} MiB"
        raise ValueError(f"{path} holds no verdicts, which come in {wanted}: give another path.")
    with path.open("rb") as file:
        mark, content = _stamp(os.fstat(file.fileno())), file.read()
    try:
        return decode(content.decode("utf-8")), mark
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged, or is no file of verdicts: {str(error).rstrip('.')}. It was left as it is: move it "
            "away, or give another path."
        ) from error


def write(path: Path, verdicts: Mapping[Row, Verdict]) -> Stamp:
    """Put a file in the place of the one before, in one step, and return its stamp.

    Raises
    ------
    OSError
        When it cannot be written; the file before stays.
    """
    with contextlib.suppress(FileNotFoundError):
        path.open("r+b").close()  # a file that may not be written is not replaced either
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            # A half of a surrogate pair, as a name may hold, is written as the escape that JSON has for it.
            file.write(encode(verdicts).encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            shutil.copymode(path, temporary)  # a file that others may write stays one
        mark = stamp(temporary)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # not every system can do so with a folder
        settle(path.parent)
    return mark


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes from writing verdicts into a folder meanwhile, where the system can do so.

    The folder itself is locked: no file is left behind, and a process that ends lets go. One that holds it for longer
    than a second is not waited for.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    break
                time.sleep(0.005)
            except OSError:  # not on every network folder
                break
        yield
    finally:
        os.close(handle)
