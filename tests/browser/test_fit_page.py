"""The Explorer in windows of every width: nothing leaves its card, no word is cut off, in no tab and no editor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_assembly_page import OUTPUT, button, turn, until
from test_explorer import DIGITS, SHOW, clean, press, until_activity

pytestmark = pytest.mark.browser

VIEW = f"{OUTPUT} .lsat-explorer"
# What leaves the card, table or column that it is in; and words that are cut off where nothing scrolls or says so.
OUTSIDE = """(view) => {
    const root = document.querySelector(view), found = [];
    const name = (one) => `${one.tagName}.${one.getAttribute('class') ?? ''} ${one.textContent.trim().slice(0, 40)}`;
    const seen = (one) => one.checkVisibility() && !one.closest('.lsat-sr, .lsat-plot, .lsat-draw, pre, textarea');
    const scrolls = (one, within) => {
        for (let node = one.parentElement; node && node !== within.parentElement; node = node.parentElement) {
            if (/auto|scroll|hidden/.test(getComputedStyle(node).overflowX)) return true;
        }
        return false;
    };
    for (const card of root.querySelectorAll('.lsat-card, .lsat-left, .lsat-right, .lsat-browser, .lsat-heading')) {
        if (!card.checkVisibility()) continue;
        const frame = card.getBoundingClientRect();
        for (const one of card.querySelectorAll('*')) {
            if (!seen(one) || scrolls(one, card)) continue;
            const box = one.getBoundingClientRect();
            if (box.width && (box.right > frame.right + 4 || box.left < frame.left - 4)) {
                found.push(`outside ${name(card).slice(0, 30)}: ${name(one)}`);
            }
        }
    }
    const whole = 'button, th, td, label, select, .lsat-scroll, .lsat-tabs, .lsat-tab-body';
    for (const one of root.querySelectorAll(whole)) {
        const over = one.clientWidth ? one.scrollWidth - one.clientWidth : 0;
        if (seen(one) && over > 1) found.push(`cut off by ${over} px: ${name(one)}`);
    }
    for (const one of root.querySelectorAll('input[placeholder]')) {
        if (!seen(one) || one.value) continue;
        const pen = document.createElement('canvas').getContext('2d'), style = getComputedStyle(one);
        pen.font = style.font;
        const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (pen.measureText(one.placeholder).width > room + 1) found.push(`cut off: ${one.placeholder} (${room})`);
    }
    return [...new Set(found)];
}"""

Open = Callable[..., Notebook]


@pytest.mark.parametrize("width", [1400, 1100, 900, 700])
def test_nothing_leaves_its_place_in_any_tab(notebook: Open, width: int) -> None:
    page = notebook(f"fit-{width}.ipynb", DIGITS.replace("100_000", "12"), SHOW, size=(width, 1600))
    found: dict[str, list[str]] = {"before the start": page.page.evaluate(OUTSIDE, VIEW)}
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for("() => !document.querySelector('.lsat-last-look button').disabled")
    for tab in ("Features", "Regularizers", "Weights", "Loss", "Method", "Code"):
        turn(page, tab)
        page.page.locator(f"{OUTPUT} [role=tab][aria-selected=true]", has_text=tab).wait_for()
        found[tab] = page.page.evaluate(OUTSIDE, VIEW)
    button(page, "Show ω").click()
    page.page.locator(f"{OUTPUT} [role=option]").first.click()
    field = page.page.get_by_label("Iteration", exact=True)
    field.fill("5")
    field.press("Tab")
    page.page.locator(".lsat-marking", has_text="loss ").wait_for()
    found["a row and an iterate"] = page.page.evaluate(OUTSIDE, VIEW)
    turn(page, "Regularizers")
    button(page, "Edit graphs").click()
    page.page.locator(f"{OUTPUT} .lsat-editor [aria-busy=false] canvas").first.wait_for()
    page.page.locator(f"{OUTPUT} .lsat-editor").get_by_text("Edge list and code").click()
    found["graphs"] = page.page.evaluate(OUTSIDE, VIEW)
    turn(page, "Features")
    button(page, "Edit features").click()
    page.page.locator(f"{OUTPUT} .lsat-features").first.wait_for()
    until(page, "print(explorer.panel.featurizer_builder.wait() == explorer.recipe.featurizer)", "True")
    page.page.locator(".lsat-features-choose", has_text="K-means").click()
    page.page.locator(".lsat-features-tile").first.wait_for()
    found["features"] = page.page.evaluate(OUTSIDE, VIEW)
    assert {place: what for place, what in found.items() if what} == {}
    clean(page)
