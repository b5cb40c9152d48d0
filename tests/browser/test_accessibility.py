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


# every control that is seen: what of it has no name that is seen, no name for a screen reader, or no tooltip
NAMELESS = """(root) => {
    const controls = 'button, select, input, textarea, summary, [role=slider], [role=option], [role=gridcell]';
    const named = (one) => one.getAttribute('aria-label') || one.getAttribute('aria-labelledby')
        || [...one.labels ?? []].some((label) => label.textContent.trim()) || one.textContent.trim() || one.placeholder;
    const explained = (one) => one.title || one.closest('[title]') || one.querySelector('[title]')
        || [...one.labels ?? []].some((label) => label.title);
    return [...document.querySelectorAll(root)].flatMap((view) => [...view.querySelectorAll(controls)])
        .filter((one) => one.checkVisibility() && one.type !== 'hidden' && !one.closest('[aria-hidden=true]'))
        .flatMap((one) => [[named, 'no name'], [explained, 'no tooltip']]
            .filter(([has]) => !has(one)).map(([, what]) => `${what}: ${one.outerHTML.slice(0, 160)}`));
}"""


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
    nameless: list[str] = []

    def look() -> list[str]:
        nameless.extend(page.page.evaluate(NAMELESS, view))
        return violations(page, view)

    found = look()
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for("() => !document.querySelector('.lsat-last-look button').disabled")
    page.page.locator(f"{OUTPUT} [role=option]").first.click()
    for tab in ("Features", "Regularizers", "Weights", "Loss", "Method", "Code"):
        turn(page, tab)
        found += look()
    button(page, "JSON").click()
    page.page.locator(f"{OUTPUT} .lsat-sheet textarea").fill("{")
    page.page.locator(f"{OUTPUT} .lsat-error", has_text="not readable JSON").wait_for()
    found += look()
    turn(page, "Features")
    button(page, "Edit features").click()
    page.page.locator(f"{OUTPUT} .lsat-features").first.wait_for()
    until(page, "print(explorer.panel.featurizer_builder.wait() == explorer.recipe.featurizer)", "True")
    found += look()
    turn(page, "Regularizers")
    button(page, "Edit graphs").click()
    page.page.locator(f"{OUTPUT} .lsat-editor [aria-busy=false] canvas").first.wait_for()
    found += look()
    assert sorted(set(found)) == []
    assert sorted(set(nameless)) == []


def test_a_fault_is_found(notebook: Open) -> None:
    page = notebook("axe-fault.ipynb", "import ipywidgets", "ipywidgets.HTML('<button></button>')")
    page.page.locator(f"{OUTPUT} button").first.wait_for()
    assert any("button-name" in line for line in violations(page, OUTPUT))
