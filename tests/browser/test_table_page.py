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

# Of the list: what is beyond its right end, what ends elsewhere than the rule below the head, which words are cut off.
EDGES = """() => {
    const list = document.querySelector('.jp-OutputArea-output .lsat-browser-list');
    list.scrollLeft = list.scrollWidth;
    const right = (node) => Math.round(node.getBoundingClientRect().right);
    const lines = [...list.querySelectorAll('.lsat-browser-tile')], head = list.querySelector('.lsat-browser-head');
    const cells = [head, ...lines].flatMap((line) => [...line.children]).filter((cell) => cell.checkVisibility());
    return {
        width: list.clientWidth, hidden: list.scrollWidth - list.clientWidth,
        beyond: cells.filter((cell) => right(cell) > right(list)).map((cell) => cell.textContent),
        uneven: lines.filter((line) => right(line) !== right(head)).length,
        cut: cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
    };
}"""

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


def test_beside_the_file_browser_each_column_can_be_read(notebook: Open) -> None:
    show = (
        "browser = lsat.widgets.WeightBrowser(run, order='effect', verdicts=lsat.Verdicts())\nbrowser.wait()\nbrowser"
    )
    run = "run = lsat.tune(recipe, explorer.data, progress=False)"
    page = notebook("table-beside.ipynb", TABLE, run, show, size=(1400, 1200))
    page.page.evaluate("() => window.jupyterapp.shell.expandLeft()")
    page.page.locator(".lsat-browser-tile").first.wait_for()
    for width, room in ((1400, (500, 700)), (800, (250, 450)), (700, (250, 450))):
        page.resize(width, 1200)
        page.wait_for(f"([low, high]) => low < ({EDGES})().width && ({EDGES})().width < high", list(room))
        found = page.page.evaluate(EDGES)
        assert found | {"width": 0, "hidden": 0} == {"width": 0, "hidden": 0, "beyond": [], "uneven": 0, "cut": []}
        assert found["hidden"] <= 0 or width < 1400
    clean(page)


def test_a_table_of_regression_speaks_of_targets(notebook: Open) -> None:
    run = "run = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(X, 900 + 300 * X[:, 0] + X[:, 1]), progress=False)"
    show = "browser = lsat.widgets.WeightBrowser(run, verdicts=lsat.Verdicts())\nbrowser.wait()\nbrowser"
    page = notebook("table-target.ipynb", TABLE, run, show)
    page.page.locator(".lsat-browser-tile").first.wait_for()
    heads = page.page.locator(".lsat-browser-head button")
    page.wait_for("() => document.querySelectorAll('.lsat-browser-head button').length >= 4")
    assert heads.all_text_contents()[:4] == ["row", "target", "suggested", "doubt ▾"]
    assert "label" not in (heads.nth(3).get_attribute("title") or "")
    options = page.page.locator(".lsat-browser select[title^='What the rows are sorted by'] option")
    assert options.all_text_contents()[:7] == [
        "doubt",
        "effect",
        "weight",
        "row number",
        "target",
        "predicted target",
        "loss",
    ]
    assert page.page.locator(".lsat-browser-tile").first.get_attribute("title").startswith("target ")
    clean(page)
