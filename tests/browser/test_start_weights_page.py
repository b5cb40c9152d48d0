"""Where the weights of the regularizers start, set on their cards in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_assembly_page import OUTPUT, until
from test_explorer import DIGITS, SHOW, clean, press, until_activity

pytestmark = pytest.mark.browser

Open = Callable[..., Notebook]


def test_a_weight_starts_elsewhere_by_keys(notebook: Open) -> None:
    page = notebook("starts.ipynb", DIGITS, SHOW)
    view = page.page.locator(f"{OUTPUT} .lsat-explorer")
    field = view.get_by_role("textbox", name="pixel_ridge weight at the start, value")
    field.fill("20")
    field.press("Enter")
    until(page, "print(round(explorer.recipe.regularizer.members['pixel_ridge'].log_weight, 4))", "1.4979")
    slider = view.get_by_role("slider", name="smooth weight at the start")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    until(page, "print(explorer.recipe.regularizer.members['smooth'].log_weight > 1)", "True")
    assert slider.evaluate("el => el === document.activeElement")  # the card that is filled anew keeps the hand's place
    box = view.get_by_role("checkbox", name="archetype_ridge tuned")
    box.press(" ")
    held = "print(explorer.recipe.hyper_penalties.get('regularizer.archetype_ridge.log_weight'))"
    until(page, held, "Frozen()")
    box.press(" ")
    until(page, held, "None")
    field.fill("-1")
    field.press("Enter")
    view.locator(".lsat-error", has_text="The weight is '-1', expected a positive number").wait_for()
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    clean(page)


# tops and heights of the cards, and the top of what lies below them
PLACES = f"""() => ['.lsat-tab-body .lsat-card', '.lsat-controls'].map((part) =>
    [...document.querySelectorAll(`{OUTPUT} ${{part}}`)].map((one) => one.getBoundingClientRect())
        .map(({{ top, height }}) => part === '.lsat-controls' ? [top] : [top, height]))"""
NOW = f"() => [...document.querySelectorAll('{OUTPUT} .lsat-now .lsat-number')].map((one) => one.textContent).join()"


@pytest.mark.parametrize("width", [1400, 800])
def test_cards_have_room_for_the_weights_of_the_run(notebook: Open, width: int) -> None:
    page = notebook(f"room-{width}.ipynb", DIGITS.replace("100_000", "12"), SHOW, size=(width, 1600))
    page.page.locator(f"{OUTPUT} .lsat-plot .main-svg").first.wait_for()
    places, weights = page.page.evaluate(PLACES), page.page.evaluate(NOW)
    assert weights == "7.389,7.389,7.389"
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for(f"(before) => ({NOW})() !== before", weights)
    assert page.page.evaluate(PLACES) == places
    clean(page)
