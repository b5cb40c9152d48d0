"""What the tests of the weight browser share: a run with given weights, tables, and what a page receives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

import lsat_explorer as lsat
from lsat_explorer.widgets import WeightBrowser

HOSTILE = ["<img src=x onerror=alert(1)>", "🎉 $x$", "n" * 300, "plain"]


class FakeRun:
    """What a browser needs of a run: data, and weights that a test sets."""

    def __init__(self, data: lsat.Data, weights: np.ndarray | None = None) -> None:
        self.data = data
        self.now = np.ones(len(data.train)) if weights is None else weights
        self.iterates: list[lsat.Iterate] = []

    def weights(self) -> np.ndarray:
        return self.now


def weighed(data: lsat.Data) -> FakeRun:
    """Return a run whose weights lie around one."""
    return FakeRun(data, np.exp(0.3 * np.random.default_rng(0).standard_normal(len(data.train))))


def table(classes: list[Any], rows: int = 60, features: int = 5, **settings: Any) -> lsat.Data:
    inputs = np.random.default_rng(1).standard_normal((rows, features))
    labels = pd.Series([classes[i % len(classes)] for i in range(rows)], dtype=object)
    return lsat.Data.from_arrays(inputs, labels, task="classification", **settings)


def sent(browser: WeightBrowser, *names: str) -> dict[str, Any]:
    """Return traits as a page receives them."""
    state = browser.get_state(list(names))
    json.dumps({name: value for name, value in state.items() if not isinstance(value, bytes | memoryview)})
    return state


def shown(browser: WeightBrowser) -> dict[str, Any]:
    described: dict[str, Any] = sent(browser, "_shown")["_shown"]
    return described
