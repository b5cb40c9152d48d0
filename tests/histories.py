"""What the tests of figures share: histories of every kind, texts that try to be code, and what is in a figure."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

HOSTILE = ["<img src=x onerror=alert(1)>", r"$\frac{1}{0}$", "$", "🎉 émoji", "n" * 300, "", "two\nlines", 3]


def history(rows: int, **changes: Any) -> pd.DataFrame:
    """Return a history like a run's: the first residual is NaN, every fifth step is rejected."""
    number = np.arange(rows)
    accepted = (number % 5 != 4) | (number == 0)
    columns: dict[str, Any] = {
        "number": number,
        "loss": 1.5 + 0.1 * np.exp(-number / 9),
        "training_loss": 1.4 + 0.1 * np.exp(-number / 9),
        "step": 1.2**number if rows < 500 else np.ones(rows),
        "residual": np.where(accepted & (number > 0), 0.1 * np.exp(-number / 13), np.nan),
        "accepted": accepted,
        "seconds": 0.1 * number,
    }
    return pd.DataFrame(columns | changes)


CASES = {
    "none": pd.DataFrame(),
    "no rows": history(0),
    "one": history(1),
    "two": history(2),
    "many": history(60),
    "all NaN": history(5, loss=np.full(5, np.nan), residual=np.full(5, np.nan)),
    "infinite": history(5, loss=[1.0, np.inf, 1.0, -np.inf, 1.0]),
    "flat": history(6, loss=np.ones(6), training_loss=np.ones(6), step=np.ones(6)),
    "zero step": history(4, step=np.zeros(4)),
    "large": history(4, loss=[1e9, 1e8, 1e7, -3e6]),
    "without training loss": history(9).drop(columns="training_loss"),
}


def size_of(png: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return image.size


def texts_of(figure: Any) -> list[str]:
    return [text.get_text() for text in (*figure.texts, *(text for axes in figure.axes for text in axes.texts))]
