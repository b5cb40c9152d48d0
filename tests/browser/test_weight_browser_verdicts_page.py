"""Verdicts and reasons in the weight browser as a user meets them: in JupyterLab, with a mouse and with keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from rows_page import BROWSER, SETUP, clean, told, until_shown, until_told
from test_accessibility import violations

pytestmark = pytest.mark.browser

SHOW = "browser = lsat.widgets.WeightBrowser(run, verdicts='{}.json')\nbrowser.wait()\nbrowser"
TILES = f"{BROWSER} .lsat-browser-tile"
MARKS = f"() => [...document.querySelectorAll('{TILES}')].map((tile) => tile.lastElementChild.textContent)"
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
VERDICTS = "{str(row): [v.kind, v.to] for row, v in browser.verdicts.items()}"

Open = Callable[..., Notebook]


def until_marked(page: Notebook, *marks: str) -> None:
    """Wait until the first tiles carry these marks."""
    page.wait_for(f"(marks) => marks.every((mark, place) => ({MARKS})()[place] === mark)", list(marks))


def test_verdicts_are_given_with_keys_and_kept(notebook: Open) -> None:
    page = notebook("verdict-keys.ipynb", SETUP, SHOW.format("verdict-keys"))
    until_shown(page)
    first, keys = page.page.locator(BROWSER).first, page.page.keyboard
    rows = told(page, "browser._shown['rows']")
    suggested = told(page, "[int(label) for label in browser._shown['suggested']]")
    page.page.locator(TILES).first.focus()
    for key in ("k", "ArrowRight", "r", "ArrowRight", "d", "ArrowRight", "a"):
        keys.press(key)
    until_marked(page, "✓", f"→ {suggested[1]}", "✕", "?")
    keys.press("u")
    until_marked(page, "✓", f"→ {suggested[1]}", "✕", "")
    keys.press("Shift+U")
    until_marked(page, "✓", f"→ {suggested[1]}", "✕", "?")
    keys.press("ArrowRight")
    first.get_by_text(f"Row {rows[4]}", exact=True).wait_for()
    keys.press("c")
    page.wait_for("() => document.activeElement.getAttribute('aria-label') === 'Another label'")
    keys.type("6")
    keys.press("Enter")
    until_marked(page, "✓", f"→ {suggested[1]}", "✕", "?", "→ 6")
    page.wait_for("() => document.activeElement.classList.contains('lsat-browser-tile')")
    keys.press("Home")
    keys.press("Delete")
    until_marked(page, "", f"→ {suggested[1]}", "✕", "?", "→ 6")
    kept = {
        rows[1]: ["relabel", suggested[1]],
        rows[2]: ["drop", None],
        rows[3]: ["ambiguous", None],
        rows[4]: ["relabel", 6],
    }
    until_told(page, VERDICTS, kept)
    first.get_by_text("4 verdicts: 2 relabel, 1 drop, 1 ambiguous").wait_for()
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 2

    page.page.evaluate(f"() => {KERNEL}.restart()")
    page.run_all()
    until_shown(page)
    until_marked(page, "", f"→ {suggested[1]}", "✕", "?", "→ 6")
    until_told(page, VERDICTS, kept)
    clean(page)


def test_each_key_is_on_the_row_that_has_the_focus_and_the_card_shows_it(notebook: Open) -> None:
    page = notebook("verdict-focus.ipynb", SETUP, SHOW.format("verdict-focus").replace("run,", "run, page=44,"))
    until_shown(page)
    first, keys, tiles = page.page.locator(BROWSER).first, page.page.keyboard, page.page.locator(TILES)
    tiles.nth(19).click()
    keys.press("PageDown")  # to the last page, which has 18 rows
    page.wait_for(f"() => document.activeElement === document.querySelectorAll('{TILES}')[17]")
    row = told(page, "browser._shown['rows']")[17]
    first.get_by_text(f"Row {row}", exact=True).wait_for()
    for key in ("d", "c", "5", "Enter"):
        keys.press(key)
    until_told(page, VERDICTS, {row: ["relabel", 5]})
    tiles.nth(0).click()
    tiles.nth(1).click(modifiers=["Control"])
    tiles.nth(1).click(modifiers=["Control"])  # chosen no more, and looked at still
    let_go = told(page, "browser._shown['rows']")[1]
    first.get_by_text("1 row selected").wait_for()
    first.get_by_text(f"Row {let_go}", exact=True).wait_for()
    for key in ("d", "c", "6", "Enter"):
        keys.press(key)
    until_told(page, VERDICTS, {row: ["relabel", 5], let_go: ["relabel", 6]})
    clean(page)


def test_a_filtered_row_gives_way_to_the_next(notebook: Open) -> None:
    page = notebook("verdict-filter.ipynb", SETUP, SHOW.format("verdict-filter"))
    until_shown(page)
    first, keys = page.page.locator(BROWSER).first, page.page.keyboard
    rows = told(page, "browser._shown['rows']")
    first.get_by_title("Show rows by your verdicts on them").select_option("none")
    until_told(page, "browser.verdict", "none")
    page.page.locator(TILES).first.focus()
    for row in rows[:3]:
        page.wait_for(f"(row) => document.querySelector('{TILES}').title.includes(`row ${{row}}`)", row)
        keys.press("d")
    page.wait_for(f"(row) => document.querySelector('{TILES}').title.includes(`row ${{row}}`)", rows[3])
    until_told(page, "sorted(map(str, browser.verdicts))", sorted(rows[:3]))
    first.get_by_text(f"Row {rows[3]}", exact=True).wait_for()  # the row under the cursor is looked at
    clean(page)


def test_the_way_from_a_mistake_to_a_verdict_and_its_effect(notebook: Open) -> None:
    page = notebook("verdict-way.ipynb", SETUP, SHOW.format("verdict-way"))
    until_shown(page)
    first = page.page.locator(BROWSER).first
    first.get_by_role("button", name="Validation", exact=True).click()
    page.wait_for(f"() => document.querySelector('{TILES}').title.includes('predicted')")
    page.page.locator(TILES).first.click()
    first.get_by_text("Push it wrong, similar rows first").wait_for()
    drop = first.get_by_role("button", name="Drop", exact=True)
    assert drop.is_disabled()
    assert "Verdicts are given on training rows" in str(drop.get_attribute("title"))
    row = told(page, "browser._zoom['reasons']['groups'][0]['rows'][0]['row']")
    first.locator(".lsat-browser-strip button").first.click()
    first.get_by_text(f"Row {row}", exact=True).wait_for()
    first.get_by_role("button", name="Drop", exact=True).click()
    first.get_by_text("Verdict drop.", exact=True).wait_for()
    first.get_by_role("button", name="Re-solve with my verdicts").click()
    first.get_by_text("1 row dropped", exact=True).wait_for()
    answer = "[round(getattr(lsat.explain.what_if(run.model, list(browser.verdicts)), when).loss, 4) for when in W]"
    before, after = told(page, answer.replace("W", "('before', 'after')"))
    assert violations(page, BROWSER) == []
    cells = first.locator(".lsat-browser-answer td").all_inner_texts()
    assert cells[:2] == [f"{before:.4f}", f"{after:.4f}"]
    first.locator(".lsat-browser-back").click()
    first.get_by_text("Push it wrong, similar rows first").wait_for()
    until_told(page, "browser.part", "validation")
    clean(page)
