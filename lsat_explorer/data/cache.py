"""What was read from files once, kept in the user's cache folder: one safetensors file for each way of reading one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from lsat_explorer.data.frames import Rows

__all__ = ["cache_folder", "cached", "stamp"]


def cache_folder() -> Path:
    """Return the folder of the cache: ``LSAT_CACHE`` where that is set, else the system's for this user."""
    chosen = os.environ.get("LSAT_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("lsat_explorer", appauthor=False)


def stamp(paths: Iterable[Path]) -> str:
    """Return what changes when one of the files does: a digest of their names, sizes, times and places on the disk.

    The time of the last change to a file's entry cannot be set back, as `cp -p`, `touch -r` and `tar` set the other.
    """
    digest = hashlib.sha256()
    for path in paths:
        found = path.stat()
        digest.update(repr((str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)).encode())
    return digest.hexdigest()


def cached(path: Path, stamped: str, options: dict[str, Any], read: Callable[[], Rows]) -> Rows:
    """Return what ``read`` gives, from the cache where it holds that of the same files and options.

    A file that changed takes the place of what was kept of it. Where the cache cannot be read or written, it is as if
    there were none.

    Parameters
    ----------
    path : Path
        What is read.
    stamped : str
        The `stamp` of its files.
    options : dict
        How it is read, as JSON has it.
    """
    asked = json.dumps([str(path.resolve()), options], sort_keys=True)
    kept = cache_folder() / f"{hashlib.sha256(asked.encode()).hexdigest()[:32]}.safetensors"
    with suppress(OSError, SafetensorError, KeyError, TypeError, ValueError), safe_open(kept, "numpy") as file:
        header = json.loads(file.metadata()["rows"])
        if header.pop("stamp") == stamped:
            return Rows(file.get_tensor("X"), file.get_tensor("y"), **header)
    rows = read()
    header = {"stamp": stamped, "labels": rows.labels, "names": rows.names, "rows": rows.rows}
    with suppress(OSError, SafetensorError, TypeError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f"{kept.name}.{os.getpid()}")
        try:
            arrays = {"X": np.ascontiguousarray(rows.X), "y": np.ascontiguousarray(rows.y)}
            save_file(arrays, partial, metadata={"rows": json.dumps(header)})
            os.replace(partial, kept)
        finally:
            partial.unlink(missing_ok=True)
    return rows
