"""Another run is shown than the buttons steer: the page says so, leads back, and goes on with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_explorer import CONTROLS, DIGITS, clean, press, until_activity

pytestmark = pytest.mark.browser

SHOW = "explorer = lsat.widgets.Explorer(data, recipe, keep=False)\nexplorer"
ROWS = ".jp-OutputArea-output .lsat-runs tbody tr"

Open = Callable[..., Notebook]


def place_of_omega(page: Notebook) -> tuple[float, float]:
    """Return where the button is, from the corner of the controls: cards above them may have grown."""
    panel = page.page.locator(CONTROLS)
    corner, button = panel.bounding_box(), panel.get_by_role("button", name="Show ω").bounding_box()
    assert corner is not None
    assert button is not None
    return button["x"] - corner["x"], button["y"] - corner["y"]


def test_the_page_says_which_run_is_shown_and_leads_back_or_on(notebook: Open) -> None:
    page = notebook("shown.ipynb", DIGITS.replace("100_000", "8"), SHOW)
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null")
    panel, rows = page.page.locator(CONTROLS), page.page.locator(ROWS)
    looking = panel.locator(".lsat-looking")
    before = place_of_omega(page)
    press(page, "Start")
    until_activity(page, "ended")
    assert place_of_omega(page) == before
    press(page, "Restart")
    page.wait_for(f"() => document.querySelectorAll('{ROWS}').length === 2")
    until_activity(page, "ended")
    assert looking.is_hidden()

    rows.nth(1).click()
    looking.wait_for()
    assert looking.inner_text().startswith("Shown: Run 1. 8 accepted, 0 rejected, ")
    assert "The buttons steer Run 2:" in panel.inner_text()
    slider = page.page.locator(".lsat-panel .lsat-start input[type=range]").first
    assert slider.is_disabled()
    whose = page.page.locator(".lsat-panel .lsat-whose")
    assert whose.inner_text().startswith("The settings of Run 1, to be read.")
    page.picture("explorer-shown", ".lsat-explorer")
    looking.get_by_role("button", name="Back to Run 2").click()
    looking.wait_for(state="hidden")
    assert slider.is_enabled()
    assert whose.is_hidden()

    rows.nth(1).click()
    looking.get_by_role("button", name="Go on with Run 1").click()
    looking.wait_for(state="hidden")
    until_activity(page, "ended")
    page.wait_for(f"() => document.querySelector('{ROWS} .lsat-run-name').textContent === 'Run 1'")
    assert page.run_code("print(len(explorer.runs), len(explorer.run.iterates) > 9)") == "2 True"
    clean(page)
