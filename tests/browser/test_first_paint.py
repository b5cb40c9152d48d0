"""How the Explorer appears, and that its page is heard and drawn whatever the kernel is doing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_explorer import DIGITS, MNIST, SHOW, clean, press, press_and_time, until_points

pytestmark = pytest.mark.browser

PAINTED = """async ([cell, source]) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const frame = () => new Promise((go) => requestAnimationFrame(go));
    const output = '.jp-OutputArea-output';
    const all = (selector) => document.querySelectorAll(`${output} ${selector}`);
    const parts = {
        panel: () => all('.lsat-heading .lsat-title').length && all('.lsat-card').length && all('.lsat-runs td').length
            && all('.lsat-plot-title, .lsat-plot .main-svg').length && all('.lsat-controls button').length
            && [...all('.lsat-browser-image')].filter((image) => image.style.backgroundImage).length === 20,
        curves: () => all('.lsat-plot .main-svg').length,
    };
    notebook.activeCellIndex = cell;
    notebook.activeCell.model.sharedModel.setSource(source);
    const times = [], began = performance.now();
    window.jupyterapp.commands.execute('notebook:run-cell');
    for (const there of Object.values(parts)) {
        while (!there()) await frame();
        await frame();
        times.push(performance.now() - began);
    }
    return times;
}"""

FIGURES = """() => [...document.querySelectorAll('.lsat-plot, .lsat-plot *')]
    .filter((place) => Array.isArray(place.data) && place.layout)
    .map(({ data }) => [data.find((t) => t.name === 'stopping residual')?.x.length,
        [...data.find((t) => t.name === 'training loss')?.y ?? [NaN]].every(Number.isFinite)])"""

Open = Callable[..., Notebook]


def painted(page: Notebook, cell: int) -> tuple[float, float]:
    """Show an Explorer in a cell; return the ms until its panel is painted, and until plotly has drawn its curves."""
    panel, curves = page.page.evaluate(PAINTED, [cell, SHOW])
    return panel, curves


def test_the_panel_is_painted_before_plotly_is_read(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = notebook("paint.ipynb", DIGITS, "0")
    page.page.evaluate(
        """() => {
            window.lsatLater = [];
            window.requestIdleCallback = (act) => window.lsatLater.push(act);
        }"""
    )
    held = page.page.evaluate(PAINTED.replace("Object.values(parts)", "[parts.panel]"), [1, SHOW])
    assert page.page.locator(".lsat-plot .main-svg").count() == 0
    assert page.page.locator(".lsat-plot-place").inner_text().split("\n") == [
        "Validation loss",
        "Step size t",
        "Stopping residual",
        "no iteration yet",
    ]
    before = page.page.locator(".lsat-plot").first.bounding_box()
    page.page.evaluate("() => window.lsatLater.forEach((act) => act({ timeRemaining: () => 50, didTimeout: true }))")
    page.page.locator(".lsat-plot .main-svg").first.wait_for()
    assert page.page.locator(".lsat-plot").first.bounding_box() == before  # nothing below it moves
    with capsys.disabled():
        print(f"\n  digits: panel painted {held[0]:.0f} ms after the cell began")
    clean(page)


@pytest.mark.mnist
def test_small_mnist_is_painted(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = notebook("paint-mnist.ipynb", MNIST, "0")
    panel, curves = painted(page, 1)
    page.run_code("0")  # the cell has ended, with its picture
    again = painted(page, 1)[0]
    with capsys.disabled():
        print(f"\n  MNIST: panel painted {panel:.0f} ms after the cell began, plotly there after {curves:.0f} ms")
        print(f"         {again:.0f} ms where the cell is run again")
    clean(page)


def test_buttons_act_while_a_cell_waits_for_the_run(notebook: Open) -> None:
    page = notebook("waits.ipynb", DIGITS, SHOW, "explorer.run.status")
    press(page, "Start")
    until_points(page, 2)
    page.page.evaluate(
        """() => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = 2;
            notebook.activeCell.model.sharedModel.setSource('explorer.wait(300)\\nexplorer.run.status.value');
            window.jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )
    prompt = page.page.locator(".jp-Cell").nth(2).locator(".jp-InputPrompt")
    prompt.filter(has_text="*").wait_for()
    press_and_time(page, "Pause")
    assert prompt.inner_text() == "[*]:"  # the cell waits for the end of the run
    press_and_time(page, "Stop")
    page.page.locator(".jp-OutputArea-output", has_text="'stopped_by_user'").wait_for()
    clean(page)


def test_a_run_that_begins_before_its_curves_can_be_drawn_is_drawn_whole(notebook: Open) -> None:
    start = f"{SHOW[:-9]}\nexplorer.start()\nexplorer.wait(60)\nexplorer"
    page = notebook("early.ipynb", DIGITS.replace("100_000", "12"), start, "explorer.tuner")
    page.wait_for(f"() => ({FIGURES})().length === 2")  # the second view is of the same figure, drawn in its turn
    page.wait_for(f"() => ({FIGURES})().every(([points, finite]) => points === 12 && finite)")
    assert page.page.evaluate("() => globalThis[Symbol.for('lsat_explorer.modules')].size") == 1
    clean(page)
