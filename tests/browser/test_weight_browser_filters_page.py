"""Rows are filtered, sorted and chosen in the weight browser in JupyterLab: with a mouse and with keys."""

from __future__ import annotations

import pytest

from lab import Notebook
from rows_page import BROWSER, SETUP, SHOW, SHOWN, Open, clean, passing, told, until_says, until_shown, until_told

pytestmark = pytest.mark.browser

AREA = f"{BROWSER} .lsat-browser-area"


def until_brushed(page: Notebook, first: int | None, last: int | None) -> None:
    """Wait until the range of weights is that between two of the 49 edges of the bars, and its rows are shown."""
    edges = "np.geomspace(run.weights().min(), run.weights().max(), 49)"
    ends = ", ".join("None" if end is None else f"float(f'{{{edges}[{end}]:.3g}}')" for end in (first, last))
    until_told(page, "[end and float(f'{end:.3g}') for end in browser.weights or ()]", told(page, f"[{ends}]"))
    low, high = told(page, "browser.weights")
    until_says(page, passing(page, f"(w >= {low or 0}) & (w <= {high or 1e99})"))


def at(page: Notebook, share: float) -> tuple[float, float]:
    """Where on the page a share of the histogram's width is."""
    area = page.page.locator(AREA).first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + 0.6 * box["height"]


def test_rows_are_filtered_and_sorted_by_mouse(notebook: Open) -> None:
    page = notebook("rows-mouse.ipynb", SETUP, SHOW, "browser")
    until_shown(page, 40)
    first = page.page.locator(BROWSER).first
    page.page.mouse.move(*at(page, 0.1))
    page.page.mouse.down()
    page.page.mouse.move(*at(page, 0.2), steps=4)
    page.page.mouse.move(*at(page, 0.4), steps=4)
    page.page.mouse.up()
    page.wait_for(f"() => !document.querySelector('{BROWSER} .lsat-browser-band').hidden")
    first.get_by_role("button", name="All weights").wait_for()
    until_brushed(page, 5, 19)  # the edges nearest to a tenth and four tenths of 48 bars
    page.page.mouse.dblclick(*at(page, 0.3))
    until_says(page, "898 rows")
    assert told(page, "browser.weights") is None

    first.get_by_role("button", name="Confusion").click()
    right = first.get_by_role("gridcell", name="given 3, predicted 3", exact=False)
    right.click()
    until_says(page, passing(page, "(g == 3) & (p == 3)"))
    assert told(page, "browser.confusion") == [3, 3]
    first.get_by_label("Sort by").select_option("loss")
    first.get_by_role("button", name="Largest").wait_for()
    page.wait_for(f"() => ({SHOWN})()[0].includes('label 3, predicted 3, loss ')")
    until_told(page, "browser.order", "-loss")
    page.page.locator(f"{BROWSER} .lsat-browser-tile").nth(1).click()
    first.get_by_text("Probability by class").wait_for()
    first.get_by_text(f"Row {told(page, 'str(browser.selected[-1])')}", exact=True).wait_for()

    page.save()
    page.page.reload()  # no state is the page's alone
    until_shown(page, 40)
    page.wait_for(
        f"() => [...document.querySelectorAll('{BROWSER}')].every((view) => view.textContent.includes('3 → 3 ×')"
        " && view.textContent.includes('1 row selected') && !view.querySelector('.lsat-browser-confusion').hidden)"
    )
    first.get_by_role("button", name="Show all", exact=True).click()
    until_says(page, "898 rows")


def test_class_confusion_cell_and_brush_filter_together_and_say_where_no_row_is_left(notebook: Open) -> None:
    page = notebook("rows-together.ipynb", SETUP, SHOW)
    until_shown(page, 20)
    view = page.page.locator(BROWSER).first
    card = view.get_by_role("group", name="Row that is looked at")
    view.get_by_role("button", name="Confusion").click()
    view.get_by_role("gridcell", name="given 3, predicted 3", exact=False).click()
    until_says(page, passing(page, "(g == 3) & (p == 3)"))
    page.page.mouse.move(*at(page, 0.2))
    page.page.mouse.down()
    page.page.mouse.move(*at(page, 0.5), steps=4)
    page.page.mouse.up()
    view.get_by_role("button", name="All weights").wait_for()
    low, high = told(page, "browser.weights")
    together = passing(page, f"(g == 3) & (p == 3) & (w >= {low or 0}) & (w <= {high or 1e99})")
    until_says(page, together)
    classes = view.locator("label", has_text="Class").locator("select")
    classes.select_option("3")
    until_told(page, "browser.label", 3)
    until_says(page, together)
    assert card.is_visible()
    classes.select_option("5")
    view.get_by_text("No row passes these filters.").wait_for()
    assert not card.is_visible()  # there is nothing to choose, and nothing chosen
    view.get_by_role("button", name="Show all rows").click()
    until_says(page, "898 rows")
    assert card.is_visible()
    assert told(page, "[browser.label, browser.confusion, browser.weights]") == [None, None, None]
    assert page.complaints == []


def test_everything_is_done_with_keys(notebook: Open) -> None:
    page = notebook("rows-keys.ipynb", SETUP, SHOW)
    until_shown(page)
    first, keys = page.page.locator(BROWSER).first, page.page.keyboard
    first.get_by_role("slider", name="Largest weight shown").focus()
    for _ in range(2):
        keys.press("PageDown")
    until_brushed(page, None, 32)
    keys.press("ArrowLeft")
    first.get_by_role("slider", name="Least weight shown").press("ArrowRight")
    until_brushed(page, 1, 31)
    keys.press("Escape")
    until_says(page, "898 rows")

    first.get_by_role("button", name="Confusion").press("Enter")
    first.get_by_role("gridcell").first.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        keys.press(key)
    until_says(page, passing(page, "(g == 1) & (p == 1)"))
    keys.press("Enter")
    until_says(page, "898 rows")

    page.page.locator(f"{BROWSER} .lsat-browser-tile").first.focus()
    for key in ("ArrowRight", " ", "End", "Control+ ", "PageDown"):
        keys.press(key)
    page.wait_for(f"() => document.querySelector('{BROWSER} input[type=number]').value === '2'")
    order = told(page, "[int(i) for i in run.weights().argsort(kind='stable')[:20]]")
    rows = told(page, "[int(row) for row in run.data.train.rows]")
    until_told(page, "browser.selected", [rows[order[1]], rows[order[19]]])
    first.get_by_text("2 rows selected").wait_for()
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 2
    clean(page)
