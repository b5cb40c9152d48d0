"""The recipe assembled in the Explorer: editors in its tabs, its text, and a look at the test rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_explorer import DIGITS, SHOW, clean, press, until_activity

pytestmark = pytest.mark.browser

QUICK = DIGITS.replace("100_000", "10")
OUTPUT = ".jp-OutputArea-output"
AREA = f"{OUTPUT} .lsat-sheet textarea"

Open = Callable[..., Notebook]


def turn(page: Notebook, tab: str) -> None:
    """Choose a tab."""
    page.page.locator(f"{OUTPUT} .lsat-tabs").get_by_role("tab", name=tab, exact=True).click()


def button(page: Notebook, name: str):
    return page.page.locator(OUTPUT).get_by_role("button", name=name, exact=True)


def until(page: Notebook, code: str, value: str) -> None:
    """Wait until Python prints a value."""
    for _ in range(200):
        if page.run_code(code) == value:
            return
        page.page.wait_for_timeout(100)
    raise AssertionError(f"{code} never gave {value}: {page.run_code(code)}")


def type_json(page: Notebook, old: str, new: str) -> None:
    """Change the JSON as somebody who types does."""
    area = page.page.locator(AREA)
    text = area.input_value()
    assert old in text
    area.fill(text.replace(old, new))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_both_editors_take_the_whole_width_and_change_the_recipe(notebook: Open, theme: str, width: int) -> None:
    name = f"assembly-{theme.split()[-1].lower()}-{width}"
    page = notebook(f"{name}.ipynb", QUICK, SHOW, size=(width, 1700), theme=theme)
    turn(page, "Regularizers")
    button(page, "Edit graphs").click()
    page.page.locator(f"{OUTPUT} .lsat-editor .lsat-draw svg").first.wait_for()
    boxes = [page.page.locator(f"{OUTPUT} {part}").first.bounding_box() for part in (".lsat-editor", ".lsat-columns")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert abs(boxes[0]["width"] - boxes[1]["width"]) < 12
    page.page.locator(f"{OUTPUT} .lsat-editor [aria-busy=false] canvas").first.wait_for()
    page.picture(f"{name}-graphs", ".lsat-explorer")
    button(page, "Done").click()
    page.page.locator(f"{OUTPUT} .lsat-editor").wait_for(state="detached")

    turn(page, "Features")
    button(page, "Edit features").click()
    page.page.locator(f"{OUTPUT} .lsat-features").first.wait_for()
    until(page, "print(explorer.panel.featurizer_builder.wait() == explorer.recipe.featurizer)", "True")
    page.picture(f"{name}-features", ".lsat-explorer")
    steps = "lsat.Concat(pixels=lsat.Scale(), one=lsat.Constant())"
    page.run_code(f"explorer.panel.featurizer_builder.featurizer = {steps}")
    until(page, "print(list(explorer.recipe.featurizer.members))", "['pixels', 'one']")
    turn(page, "Code")  # another tab ends the editing
    page.page.locator(f"{OUTPUT} .lsat-features").wait_for(state="detached")
    page.page.locator(f"{OUTPUT} pre.lsat-code", has_text="pixels=lsat.Scale()").wait_for()
    page.picture(f"{name}-code", ".lsat-explorer")
    assert page.page.locator(f"{OUTPUT} .lsat-explorer").evaluate("el => el.scrollWidth - el.clientWidth") <= 1
    clean(page)


def test_the_text_is_edited_and_the_panels_follow(notebook: Open) -> None:
    page = notebook("code.ipynb", QUICK, SHOW, size=(1400, 1500))
    turn(page, "Code")
    button(page, "JSON").click()
    type_json(page, '"seed": 0', '"sede": 0')
    problem = page.page.locator(f"{OUTPUT} .lsat-code-view .lsat-error")
    page.picture("code-wrong", ".lsat-explorer")
    page.page.locator(f"{OUTPUT} .lsat-error", has_text="did you mean").wait_for(timeout=8000)
    marked = page.page.locator(f"{OUTPUT} .lsat-gutter .lsat-wrong")
    line = page.page.locator(AREA).input_value().split("\n")[int(marked.inner_text()) - 1]
    assert "sede" in line
    page.picture("code-wrong", ".lsat-explorer")
    assert page.run_code("print(explorer.recipe.seed)") == "0"
    type_json(page, '"sede": 0', '"seed": 6')
    problem.wait_for(state="hidden")
    page.page.locator(AREA).focus()
    page.page.keyboard.press("Control+Enter")
    until(page, "print(explorer.recipe.seed, explorer.run.recipe.seed)", "6 6")
    assert button(page, "Apply").is_disabled()
    turn(page, "Method")
    page.page.locator(f"{OUTPUT} .lsat-card", has_text="arithmetic").get_by_text("6", exact=True).wait_for()

    turn(page, "Code")  # what is typed stays while one looks elsewhere, and when the page is opened again
    type_json(page, '"seed": 6', '"seed": 7')
    turn(page, "Loss")
    until(page, "print('\"seed\": 7' in explorer.panel.code.draft)", "True")
    page.run_code("explorer.recipe = explorer.recipe.replace(dtype='float64')")
    turn(page, "Code")
    page.page.get_by_text("The recipe has changed meanwhile").wait_for()
    button(page, "Revert").click()
    page.wait_for(f"() => document.querySelector('{AREA}').value.includes('float64')")
    clean(page)


def test_the_test_rows_are_looked_at_by_a_button_that_counts(notebook: Open) -> None:
    page = notebook("look.ipynb", QUICK, SHOW)
    look = button(page, "Look at the test set")
    look.wait_for()
    assert look.is_disabled()
    assert "no model yet" in (look.get_attribute("title") or "")
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for("() => !document.querySelector('.lsat-last-look button').disabled")
    look.focus()
    page.page.keyboard.press("Enter")
    page.page.locator(f"{OUTPUT} .lsat-last-look", has_text="1 look").wait_for()
    assert page.page.locator(f"{OUTPUT} .lsat-test-result").inner_text().startswith("Test error ")
    assert page.run_code("print(explorer.run.looks)") == "1"
    page.run_code("def refuse():\n    raise ValueError('Not now.')\nexplorer.run.test = refuse")
    for _ in range(2):  # the same failure twice leaves the button on
        look.press("Enter")
        page.page.locator(f"{OUTPUT} .lsat-last-look .lsat-error", has_text="Not now.").wait_for()
        page.wait_for("() => !document.querySelector('.lsat-last-look button').disabled")
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    clean(page)
