"""Pages of the weight browser in JupyterLab are turned quickly, and show many thumbnails."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lab import Notebook
from rows_page import BROWSER, SETUP, SHOW, Open, clean, told, until_shown, until_told

pytestmark = pytest.mark.browser


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
