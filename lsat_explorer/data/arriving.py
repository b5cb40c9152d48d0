"""A download that goes on, shown by the bytes that have arrived."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

__all__ = ["arriving", "size_of"]


@contextmanager
def arriving(folder: Path, what: str, *, progress: bool = True) -> Iterator[None]:
    """Show how many bytes have arrived in a folder; scikit-learn's download has no hook to ask.

    Its warnings at each retry are kept back: the error at the end says it when all have failed.
    """
    done = threading.Event()
    there = size_of(folder)
    with warnings.catch_warnings(), tqdm(desc=what, unit="B", unit_scale=True, disable=not progress) as bar:
        warnings.simplefilter("ignore")

        def follow() -> None:
            while not done.wait(0.2):
                bar.update(size_of(folder) - there - bar.n)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def size_of(folder: Path) -> int:
    """Bytes in a folder whose files may vanish while they are counted."""
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return size
