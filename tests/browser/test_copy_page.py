"""What the Explorer gives away as code: each button says what of, and a cell with it makes the same again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_assembly_page import OUTPUT, button, turn, until
from test_explorer import DIGITS, SHOW, clean

pytestmark = pytest.mark.browser

RUN = """async (source) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = 2;
    notebook.activeCell.model.sharedModel.setSource(source);
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""

Open = Callable[..., Notebook]


def copied(page: Notebook, name: str) -> str:
    """Press a button that copies, and return what is in the clipboard."""
    page.page.evaluate("() => navigator.clipboard.writeText('nothing')")
    page.page.locator(f"{OUTPUT} .lsat-explorer").first.get_by_role("button", name=name, exact=True).press("Enter")
    page.wait_for("async () => (await navigator.clipboard.readText()) !== 'nothing'")
    return str(page.page.evaluate("() => navigator.clipboard.readText()"))


def test_a_cell_with_what_was_copied_makes_the_same_explorer(notebook: Open) -> None:
    page = notebook("copy.ipynb", DIGITS, SHOW, "0")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.run_code("explorer.recipe = explorer.recipe.replace(seed=3, dtype='float64')")
    page.run_code("first = explorer")
    source = copied(page, "Copy as code")
    assert source == page.run_code("print(first.heading.source)")
    page.page.evaluate(RUN, source)
    page.wait_for(f"() => document.querySelectorAll('{OUTPUT} .lsat-explorer').length === 2")
    made = "explorer is not first, explorer.recipe == first.recipe, explorer.data.describe() == first.data.describe()"
    assert page.run_code(f"print({made})") == "True True True"
    clean(page)


def test_no_two_buttons_that_copy_have_one_name(notebook: Open) -> None:
    page = notebook("copies.ipynb", DIGITS, SHOW)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    names = f"""() => [...document.querySelectorAll('{OUTPUT} .lsat-explorer button')]
        .filter((one) => one.checkVisibility() && one.textContent.startsWith('Copy')).map((one) => one.textContent)"""
    seen = {}
    for tab, opened in (("Code", None), ("Regularizers", "Edit graphs"), ("Features", "Edit features")):
        turn(page, tab)
        if opened:
            button(page, opened).click()
            page.page.locator(f"{OUTPUT} :is(.lsat-editor, .lsat-features)").first.wait_for()
        if tab == "Regularizers":
            page.page.locator(f"{OUTPUT} .lsat-editor").get_by_text("Edge list and code").click()
            button(page, "Copy list").wait_for()
        seen[tab] = page.page.evaluate(names)
        assert len(seen[tab]) == len(set(seen[tab])), tab
        assert "Copy as code" in seen[tab]
    assert {"Copy features", "Copy list", "Copy code", "Copy"} <= {name for names in seen.values() for name in names}
    until(page, "print(explorer.panel.featurizer_builder.wait() == explorer.recipe.featurizer)", "True")
    same = page.run_code(f"exec({copied(page, 'Copy features')!r}); print(featurizer == explorer.recipe.featurizer)")
    assert same == "True"
    clean(page)
