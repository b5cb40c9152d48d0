"""Rows that are no images, as lines of a table: what is said of them is read whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_explorer import CONTROLS, clean, press, until_activity

pytestmark = pytest.mark.browser

TABLE = """
import numpy as np, torch
torch.set_num_threads(1)
import lsat_explorer as lsat
X = np.random.default_rng(0).normal(size=(300, 6))
ages = [["young", "middle", "older"][int(x)] for x in np.digitize(X[:, 0], [-0.5, 0.5])]
recipe = lsat.Recipe(data_weights=lsat.LogWeights(), loss=lsat.CrossEntropy())
explorer = lsat.widgets.Explorer(lsat.Data.from_arrays(X, ages), recipe, keep=False)
"""
CELLS = """(place) => [...document.querySelectorAll('.jp-OutputArea-output .lsat-browser-table .lsat-browser-tile')]
    .map((line) => line.querySelectorAll(':scope > span')[place])"""

Open = Callable[..., Notebook]


def test_predictions_come_with_the_end_of_the_run_and_suggestions_are_not_cut(notebook: Open) -> None:
    page = notebook("table.ipynb", TABLE, "explorer", size=(1400, 1800))
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null")
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for(f"() => ({CELLS})(3).filter((one) => one.textContent !== '–').length === 20")
    page.run_code("explorer.browser.order = '-doubt'; explorer.browser.wait()")
    page.wait_for(f"() => ({CELLS})(2).filter((one) => one.textContent.includes(' · ')).length === 20")
    assert page.page.evaluate(f"() => ({CELLS})(2).filter((one) => one.scrollWidth > one.clientWidth).length") == 0
    clean(page)
