"""The weight browser as a user meets it: in JupyterLab, with a mouse and with keys."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from lab import PATIENCE, Notebook

pytestmark = pytest.mark.browser

SETUP = """
import torch
torch.set_num_threads(1)
import numpy as np, pandas as pd
import lsat_explorer as lsat
recipe = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    hyper_penalties={"data_weights.log_weight": lsat.SumSquares(1e-6) + lsat.ZeroSum()},
    loss=lsat.CrossEntropy(temperature=True),
    method=lsat.ProximalGradient(step=100.0, max_iterations=20),
)
run = lsat.tune(recipe, lsat.datasets.digits(), progress=False)
"""
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
SHOW = "browser = lsat.widgets.WeightBrowser(run, order='lightest')\nbrowser"
BROWSER = ".jp-OutputArea-output .lsat-browser"
AREA = f"{BROWSER} .lsat-browser-area"
SHOWN = f"""() => [...document.querySelectorAll('{BROWSER} .lsat-browser-tile')].map((tile) => tile.title)"""

Open = Callable[..., Notebook]


def until_shown(page: Notebook, count: int = 20) -> None:
    page.wait_for(f"(count) => ({SHOWN})().length >= count", count)


def until_says(page: Notebook, text: str) -> None:
    """Wait until the first browser shows how many rows pass."""
    page.page.locator(BROWSER).first.get_by_text(text, exact=True).wait_for()


def told(page: Notebook, expression: str) -> Any:
    """Return the value of an expression in the kernel."""
    return json.loads(page.run_code(f"import json; browser.wait(); print(json.dumps({expression}))"))


def until_told(page: Notebook, expression: str, value: Any) -> None:
    """Wait until an expression has a value in the kernel: the page shows at once what it has yet to tell."""
    end = time.monotonic() + PATIENCE / 1000
    while (found := told(page, expression)) != value:
        assert time.monotonic() < end, f"{expression} is {found}, not {value}"


def until_brushed(page: Notebook, first: int | None, last: int | None) -> None:
    """Wait until the range of weights is that between two of the 49 edges of the bars, and its rows are shown."""
    edges = "np.geomspace(run.weights().min(), run.weights().max(), 49)"
    ends = ", ".join("None" if end is None else f"float(f'{{{edges}[{end}]:.3g}}')" for end in (first, last))
    until_told(page, "[end and float(f'{end:.3g}') for end in browser.weights or ()]", told(page, f"[{ends}]"))
    low, high = told(page, "browser.weights")
    until_says(page, passing(page, f"(w >= {low or 0}) & (w <= {high or 1e99})"))


def passing(page: Notebook, condition: str) -> str:
    """Return the words for how many rows meet a condition on their weights w, labels g and predictions p."""
    arrays = "w, g, p = run.weights(), run.data.train.labels, run.model.predict(run.data.train.inputs)"
    return page.run_code(f"{arrays}; print(f'{{int(({condition}).sum()):,}} of {{len(w):,}} rows')")


def at(page: Notebook, share: float) -> tuple[float, float]:
    """Where on the page a share of the histogram's width is."""
    area = page.page.locator(AREA).first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + 0.6 * box["height"]


def clean(page: Notebook) -> None:
    """Fail if the page complained, or asked anybody but its own server."""
    assert page.complaints == []
    assert page.strangers == []


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


def until_shows_what_python_says(page: Notebook, number: int) -> None:
    """Wait until every tile of a page has the words of its row, and the sprite is that of the page."""
    words = "[f'{label}, row {row}' for label, row in zip(browser._shown['labels'], browser._shown['rows'])]"
    until_told(page, "browser.page", number)
    page.wait_for(
        f"""async ([words, size]) => {{
            const tiles = [...document.querySelectorAll('{BROWSER} .lsat-browser-tile')];
            if (tiles.length !== words.length || !tiles.every((tile, i) => {{
                const [label, row] = words[i].split(', row ');
                return tile.title.startsWith(`label ${{label}},`) && tile.title.endsWith(`row ${{row}}`)
                    && tile.textContent.startsWith(label) && tile.textContent.includes(row);
            }})) return false;
            const urls = new Set(tiles.map((tile) => tile.querySelector('.lsat-browser-image').style.backgroundImage));
            const [url] = urls;
            return urls.size === 1 && (await (await fetch(url.slice(5, -2))).blob()).size === size;
        }}""",
        [told(page, words), told(page, "len(browser._sprite)")],
    )


def test_pages_turned_quicker_than_they_come_end_on_the_last_one(notebook: Open) -> None:
    page = notebook("rows-quick.ipynb", SETUP, SHOW.replace("order=", "page_size=200, order="))
    until_shown(page, 200)
    next_page, previous = (
        f"document.querySelector('{BROWSER} [aria-label^=\"{way} page\"]')" for way in ("Next", "Previous")
    )
    for script, number in (
        (f"{next_page}.click(); {next_page}.click(); {next_page}.click()", 4),
        (f"{previous}.click()", 3),
    ):
        page.page.evaluate(f"() => {{ {script} }}")
        until_shows_what_python_says(page, number)
    page.page.locator(f"{BROWSER} [aria-label^='Next page']").click()
    page.page.get_by_role("button", name="Heaviest").click()
    until_shows_what_python_says(page, 1)
    clean(page)


@pytest.mark.mnist
def test_five_hundred_thumbnails_appear(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    data = 'import os\nmnist = lsat.Run(recipe, lsat.datasets.mnist(os.environ["LSAT_MNIST"], size=5_000))'
    page = notebook("rows-many.ipynb", SETUP, data, "lsat.widgets.WeightBrowser(mnist, page_size=500).close()", "0")
    painted = f"""() => {{
        const tiles = document.querySelectorAll('{BROWSER} .lsat-browser-image');
        return tiles.length === 500 && tiles[499].style.backgroundImage ? tiles[0].style.backgroundImage : '';
    }}"""
    times = page.page.evaluate(
        f"""async () => {{
            const notebook = window.jupyterapp.shell.currentWidget.content;
            const frame = () => new Promise((go) => requestAnimationFrame(go));
            const until = async (old) => {{
                while (['', old].includes(({painted})())) await frame();
                await frame();
                return ({painted})();
            }};
            notebook.activeCellIndex = 3;
            const source = 'browser = lsat.widgets.WeightBrowser(mnist, page_size=500)\\nbrowser';
            notebook.activeCell.model.sharedModel.setSource(source);
            const times = [performance.now()];
            window.jupyterapp.commands.execute('notebook:run-cell');
            let now = await until('');
            times.push(performance.now());
            for (let page = 2; page <= 4; page += 1) {{
                document.querySelector('{BROWSER} [aria-label^="Next page"]').click();
                now = await until(now);
                times.push(performance.now());
            }}
            return times;
        }}"""
    )
    assert len(times) == 5
    until_shows_what_python_says(page, 4)
    with capsys.disabled():
        turns = ", ".join(f"{late - early:.0f}" for early, late in pairwise(times[1:]))
        print(f"\n  500 thumbnails: {times[1] - times[0]:.0f} ms after the cell began; the next pages {turns} ms")
        print(f"  2,000 thumbnails on four pages: {times[4] - times[0]:.0f} ms")
    clean(page)


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
