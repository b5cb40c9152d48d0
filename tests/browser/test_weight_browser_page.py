"""The weight browser in JupyterLab: it fits its place, and says what it cannot show."""

from __future__ import annotations

import pytest

from rows_page import BROWSER, SETUP, SHOW, Open, clean, until_shown

pytestmark = pytest.mark.browser

TABLE = """
random = np.random.default_rng(0)
people = pd.DataFrame(random.standard_normal((300, 6)), columns=["age", "height", "income", "pulse", "rooms", "loss"])
answer = np.where(people.age + people.income + random.standard_normal(300) > 0, "yes", "no")
table = lsat.widgets.WeightBrowser(lsat.tune(recipe, lsat.Data.from_arrays(people, answer), progress=False))
table.order = "-loss"
table.selected = list(table.run.data.train.rows[:1])
table.wait()
table
"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_its_place(notebook: Open, theme: str, width: int) -> None:
    name = f"rows-{theme.split()[-1].lower()}-{width}"
    start = (
        "browser = lsat.widgets.WeightBrowser(run, weights=(None, 1.2))\nbrowser._folded = False\n"
        "browser.selected = list(run.data.train.rows[[12, 30]])\nbrowser.wait()\nbrowser"
    )
    page = notebook(f"{name}.ipynb", SETUP, start, TABLE, size=(width, 1500), theme=theme)
    until_shown(page, 40)
    page.wait_for(f"() => document.querySelectorAll('{BROWSER} .lsat-browser-said').length === 2")
    page.picture(name, BROWSER)
    both = page.page.locator(BROWSER)
    both.nth(1).scroll_into_view_if_needed()
    page.picture(f"{name}-table", f"{BROWSER}:has(.lsat-browser-table)")
    for view in (both.nth(0), both.nth(1)):
        list_, detail = (view.locator(f".lsat-browser-{part}").bounding_box() for part in ("list", "detail"))
        assert list_ is not None
        assert detail is not None
        assert (detail["x"] >= list_["x"] + list_["width"]) == (width > 900)
        assert view.evaluate("el => el.scrollWidth - el.clientWidth") <= 1
        unnamed = view.evaluate(
            """(el) => [...el.querySelectorAll('button, select, input, [role=slider], [role=option], [role=gridcell]')]
                .filter((control) => control.offsetParent && !(control.title && (control.labels?.length
                    || control.textContent.trim() || control.getAttribute('aria-label'))))
                .map((control) => control.outerHTML.slice(0, 120))"""
        )
        assert unnamed == []
    if width > 900:  # twenty lines are seen without scrolling
        lines = both.nth(1).locator(".lsat-browser-list")
        assert lines.evaluate("el => el.lastChild.children.length === 20 && el.scrollHeight <= el.clientHeight")
    heads = both.nth(1).locator(".lsat-browser-head > button")
    for column, head in enumerate(heads.all()):  # a head stands over its column
        cell = both.nth(1).locator(".lsat-browser-tile").first.locator("> span").nth(column)
        above, below = head.bounding_box(), cell.bounding_box()
        assert above is not None
        assert below is not None
        assert abs(above["x"] - below["x"]) <= 1.5
    heads.filter(has_text="row").first.click()
    page.wait_for(
        "() => document.querySelectorAll('.lsat-browser-head [aria-pressed=true]')[0].textContent === 'row ▴'"
    )
    clean(page)


def test_without_validation_rows_effect_is_not_offered_and_its_absence_is_explained(notebook: Open) -> None:
    fit = (
        "import lsat_explorer as lsat\nfrom sklearn.datasets import load_iris\n"
        "run = lsat.TunedLeastSquaresClassifier().fit(*load_iris(return_X_y=True)).run_\n"
        "browser = lsat.widgets.WeightBrowser(run, verdicts=lsat.Verdicts())\nbrowser.selected = [7]\nbrowser.wait()"
    )
    page = notebook("rows-unjudged.ipynb", fit, "browser")
    until_shown(page)
    first = page.page.locator(BROWSER).first
    first.get_by_text("not told: the data have no validation rows").wait_for()
    first.get_by_text("The data have no validation rows, by which this is judged").wait_for()
    for name, off in (("effect", True), ("doubt", False), ("loss", False)):
        option = first.locator(f"option[value='{name}']")
        assert option.is_disabled() == off
        assert option.get_attribute("title") == ("It takes validation rows, and the data have none." if off else "")
    assert first.locator(".lsat-browser-standing.lsat-error").count() == 0
    clean(page)


def test_rows_of_a_table_are_lines_before_anything_is_judged(notebook: Open) -> None:
    table = (
        "import lsat_explorer as lsat\nfrom sklearn.datasets import load_iris\n"
        "run = lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(*load_iris(return_X_y=True)), progress=False)\n"
        "browser = lsat.widgets.WeightBrowser(run, order='lightest', verdicts=lsat.Verdicts())"
    )
    page = notebook("rows-plain.ipynb", table, "browser")
    until_shown(page)
    assert page.page.locator(f"{BROWSER} .lsat-browser-head button").all_text_contents()[:2] == ["row", "label"]
    clean(page)


def test_no_more_than_a_line_stands_above_the_rows_before_one_is_chosen_in_a_narrow_window(notebook: Open) -> None:
    page = notebook("narrow-rows.ipynb", SETUP, SHOW, size=(800, 1500))
    until_shown(page)
    card = page.page.locator(f"{BROWSER} .lsat-browser-detail")
    height = "el => el.getBoundingClientRect().height"
    card.get_by_text("Choose a row to see it here.").wait_for()
    assert card.evaluate(height) < 50
    page.page.locator(f"{BROWSER} .lsat-browser-tile").first.click()
    card.locator(".lsat-browser-frame").wait_for()
    assert card.evaluate(height) >= 160
    page.page.keyboard.press("Escape")
    clean(page)
