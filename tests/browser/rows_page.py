"""What the tests of the weight browser in JupyterLab share: a run, its rows in a page, and waiting for either."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from lab import PATIENCE, Notebook

SETUP = """
import torch
torch.set_num_threads(1)
import numpy as np, pandas as pd
import lsat_explorer as lsat
recipe = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    hyper_penalties={"data_weights.log_weight": lsat.SumSquares(1e-6) + lsat.ZeroSum()},
    loss=lsat.CrossEntropy(temperature=True),
    method=lsat.ProximalGradient(step=100.0, max_iterations=20),
)
run = lsat.tune(recipe, lsat.datasets.digits(), progress=False)
"""
SHOW = "browser = lsat.widgets.WeightBrowser(run, order='lightest')\nbrowser"
BROWSER = ".jp-OutputArea-output .lsat-browser"
SHOWN = f"""() => [...document.querySelectorAll('{BROWSER} .lsat-browser-tile')].map((tile) => tile.title)"""

Open = Callable[..., Notebook]


def until_shown(page: Notebook, count: int = 20) -> None:
    page.wait_for(f"(count) => ({SHOWN})().length >= count", count)


def until_says(page: Notebook, text: str) -> None:
    """Wait until the first browser shows how many rows pass."""
    page.page.locator(BROWSER).first.get_by_text(text, exact=True).wait_for()


def told(page: Notebook, expression: str) -> Any:
    """Return the value of an expression in the kernel."""
    return json.loads(page.run_code(f"import json; browser.wait(); print(json.dumps({expression}))"))


def until_told(page: Notebook, expression: str, value: Any) -> None:
    """Wait until an expression has a value in the kernel: the page shows at once what it has yet to tell."""
    end = time.monotonic() + PATIENCE / 1000
    while (found := told(page, expression)) != value:
        assert time.monotonic() < end, f"{expression} is {found}, not {value}"


def passing(page: Notebook, condition: str) -> str:
    """Return the words for how many rows meet a condition on their weights w, labels g and predictions p."""
    arrays = "w, g, p = run.weights(), run.data.train.labels, run.model.predict(run.data.train.inputs)"
    return page.run_code(f"{arrays}; print(f'{{int(({condition}).sum()):,}} of {{len(w):,}} rows')")


def clean(page: Notebook) -> None:
    """Fail if the page complained, or asked anybody but its own server."""
    assert page.complaints == []
    assert page.strangers == []
