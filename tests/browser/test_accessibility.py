"""What axe-core finds wrong with the views, in both themes: nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import pytest

from lab import Notebook
from test_assembly_page import OUTPUT, button, turn, until
from test_explorer import DIGITS, SHOW, press, until_activity

pytestmark = pytest.mark.browser

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], "resultTypes": ["violations"]}
GRAVE = ("serious", "critical")

Open = Callable[..., Notebook]


def violations(page: Notebook, selector: str) -> list[str]:
    """What axe calls serious or critical below an element, a line each."""
    page.page.evaluate(AXE)
    found = page.page.evaluate("([selector, rules]) => axe.run(selector, rules)", [selector, RULES])
    assert found["testEngine"]["name"] == "axe-core"
    return [
        f"{rule['impact']} {rule['id']}: {node['html'][:160]} ({node['failureSummary'].splitlines()[-1].strip()})"
        for rule in found["violations"]
        if rule["impact"] in GRAVE
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_explorer_has_nothing_serious_in_any_tab(notebook: Open, theme: str) -> None:
    page = notebook(
        f"axe-{theme.split()[-1].lower()}.ipynb", DIGITS.replace("100_000", "12"), SHOW, size=(1400, 1600), theme=theme
    )
    view = f"{OUTPUT} .lsat-explorer"
    found = violations(page, view)
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for("() => !document.querySelector('.lsat-last-look button').disabled")
    page.page.locator(f"{OUTPUT} [role=option]").first.click()
    for tab in ("Features", "Regularizers", "Weights", "Loss", "Method", "Code"):
        turn(page, tab)
        found += violations(page, view)
    button(page, "JSON").click()
    page.page.locator(f"{OUTPUT} .lsat-sheet textarea").fill("{")
    page.page.locator(f"{OUTPUT} .lsat-error", has_text="not readable JSON").wait_for()
    found += violations(page, view)
    turn(page, "Features")
    button(page, "Edit features").click()
    page.page.locator(f"{OUTPUT} .lsat-features").first.wait_for()
    until(page, "print(explorer.panel.featurizer_builder.wait() == explorer.recipe.featurizer)", "True")
    found += violations(page, view)
    turn(page, "Regularizers")
    button(page, "Edit graphs").click()
    page.page.locator(f"{OUTPUT} .lsat-editor [aria-busy=false] canvas").first.wait_for()
    found += violations(page, view)
    assert sorted(set(found)) == []


def test_a_fault_is_found(notebook: Open) -> None:
    page = notebook("axe-fault.ipynb", "import ipywidgets", "ipywidgets.HTML('<button></button>')")
    page.page.locator(f"{OUTPUT} button").first.wait_for()
    assert any("button-name" in line for line in violations(page, OUTPUT))
