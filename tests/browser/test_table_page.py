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


@pytest.mark.parametrize("outputs", [1, 3])
def test_numbers_with_powers_of_ten_are_read_whole(outputs: int, notebook: Open) -> None:
    run = (
        f"y = (X @ np.random.default_rng(1).normal(size=(6, {outputs})) + X[:, :1] ** 2) * 1e-6\n"
        "run = lsat.tune(lsat.Recipe(data_weights=lsat.LogWeights()), lsat.Data.from_arrays(X, y), progress=False)"
    )
    show = "browser = lsat.widgets.WeightBrowser(run, order='-loss', verdicts=lsat.Verdicts())\nbrowser.wait()\nbrowser"
    page = notebook(f"table-powers-{outputs}.ipynb", TABLE, run, show, size=(1400, 1200))
    page.wait_for(f"() => ({CELLS})(1).filter((one) => one.textContent.includes('e−')).length === 20")
    if outputs == 1:
        page.wait_for(f"() => ({CELLS})(3).filter((one) => one.textContent.includes('e−')).length === 20")
        cut = page.page.evaluate(EDGES)["cut"]
        assert [text for text in cut if "·" not in text] == []  # but of the features far from the mean
    said = page.page.locator(".lsat-browser-detail, .lsat-browser-tile").all_inner_texts()
    assert not any("e-" in text or "(" in text for text in said)
    titles = page.page.evaluate(f"() => ({CELLS})(1).map((one) => [one.title, one.textContent])")
    assert all(title and text.startswith(title) for title, text in titles)
    page.page.locator(".lsat-browser-tile").nth(3).click()
    page.wait_for("() => document.querySelector('.lsat-browser-detail dd') !== null")
    suggest = page.page.locator(".lsat-browser-judge button").nth(1)
    page.wait_for("() => document.querySelectorAll('.lsat-browser-judge button')[1].textContent.includes('e−')")
    suggest.click()
    page.wait_for("() => document.querySelectorAll('.lsat-browser-judge button')[1].ariaPressed === 'true'")
    card = page.page.locator(".lsat-browser-detail").bounding_box()
    box = suggest.bounding_box()
    assert box is not None
    assert card is not None
    assert box["x"] + box["width"] <= card["x"] + card["width"]
    clean(page)


def test_names_that_begin_alike_show_their_ends_and_many_have_no_confusion_table(notebook: Open) -> None:
    run = (
        "names = [f'a class of things with the number {i % 40}' for i in range(300)]\n"
        "run = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(X, names, task='classification'), progress=False)"
    )
    show = "browser = lsat.widgets.WeightBrowser(run, order='row', verdicts=lsat.Verdicts())\nbrowser.wait()\nbrowser"
    page = notebook("table-names.ipynb", TABLE, run, show, size=(1400, 1200))
    page.wait_for(f"() => ({CELLS})(1).filter((one) => one.textContent.includes('number')).length === 20")
    ends = f"""() => ({CELLS})(1).map((one) => {{
        const end = one.children[1], box = one.getBoundingClientRect();
        return [end.textContent, end.getBoundingClientRect().right <= box.right + 1, one.title];
    }})"""
    for end, inside, title in page.page.evaluate(ends):
        assert inside
        assert title.startswith("a class of things with the number ")
        assert title.endswith(end)
    confusion = page.page.get_by_role("button", name="Confusion")
    assert confusion.is_disabled()
    assert confusion.get_attribute("title").startswith("40 classes are too many for a table")
    weight = page.page.locator(".lsat-browser-bar option[value=weight]")
    assert weight.is_disabled()
    assert weight.get_attribute("title") == "The recipe tunes no row weights."
    clean(page)


def test_the_number_of_the_page_follows_another_order_while_its_field_has_the_focus(notebook: Open) -> None:
    run = "run = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(X, X[:, 0]), progress=False)"
    show = "browser = lsat.widgets.WeightBrowser(run, order='row', verdicts=lsat.Verdicts())\nbrowser.wait()\nbrowser"
    page = notebook("table-page.ipynb", TABLE, run, show, size=(1400, 1200))
    page.page.locator(".lsat-browser-tile").first.wait_for()
    field = page.page.locator(".lsat-browser-pager input")
    field.fill("3")
    field.press("Enter")
    page.wait_for(
        f"() => ({CELLS})(0)[0].textContent !== '' && document.querySelector('.lsat-browser-pager input').value === '3'"
    )
    assert page.run_code("print(browser.page)") == "3"
    assert field.evaluate("(node) => node === document.activeElement")
    field.fill("")
    field.press("Enter")
    assert field.input_value() == "3"  # no number is no other page
    assert page.run_code("print(browser.page)") == "3"
    page.run_code("browser.order = 'loss'; browser.wait()")
    page.wait_for("() => document.querySelector('.lsat-browser-pager input').value === '1'")
    field.focus()
    page.page.keyboard.type("2")  # not sent yet
    page.run_code("browser.order = '-loss'; browser.wait()")
    assert field.input_value() in ("12", "21")
    field.press("Tab")
    clean(page)
