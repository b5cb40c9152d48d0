"""The Explorer as a user meets it: in JupyterLab, with a mouse and with keys."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import nbconvert
import nbformat
import pytest
from playwright.sync_api import Browser

from lab import ARTEFACTS, Notebook

pytestmark = pytest.mark.browser

DIGITS = """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
data = lsat.datasets.digits()
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=3).replace(
    method=lsat.ProximalGradient(max_iterations=100_000, tolerance=0.0))
"""
MNIST = """
import os, torch
torch.set_num_threads(2)
import lsat_explorer as lsat
data = lsat.datasets.mnist(os.environ["LSAT_MNIST"], size=5_000, deskew=True)
recipe = lsat.recipes.paper_weighting().replace(method=lsat.ProximalGradient(max_iterations=60))
"""
SHOW = "explorer = lsat.widgets.Explorer(data, recipe)\nexplorer"
CONTROLS = ".jp-OutputArea-output .lsat-controls"
POINTS = """() => {
    const output = '.jp-OutputArea-output .lsat-plot';
    const places = [...document.querySelectorAll(`${output}, ${output} *`)];
    const plot = places.find((place) => Array.isArray(place.data) && place.layout);
    const trace = plot?.data.find((t) => t.name === 'validation loss');
    return trace ? trace.x.length : -1;
}"""

PRESS = """async ([controls, name]) => {
    // A page that is opened again may draw its outputs twice: the controls are looked up each time.
    const activity = () => document.querySelector(controls)?.dataset.activity;
    const button = () => [...document.querySelectorAll(`${controls} button`)].find((b) => b.textContent === name);
    let began;
    const shown = (...activities) => new Promise((show, fail) => {
        const patience = setTimeout(() => fail(new Error(`${name} led to ${activity()}`)), 90_000);
        new MutationObserver((_changes, observer) => {
            if (!activities.includes(activity())) return;
            observer.disconnect();
            clearTimeout(patience);
            requestAnimationFrame(() => show(performance.now() - began));
        }).observe(document.body, { attributeFilter: ['data-activity'], childList: true, subtree: true });
    });
    const both = Promise.all([shown('stopping', 'paused', 'ended'), shown('paused', 'ended')]);
    began = performance.now();
    button().click();
    return both;
}"""

Open = Callable[..., Notebook]


def points(page: Notebook) -> int:
    """Points of the validation loss that the page has drawn."""
    return int(page.page.evaluate(POINTS))


def press(page: Notebook, name: str) -> None:
    """Press a button of the controls."""
    page.page.locator(f"{CONTROLS} button", has_text=re.compile(f"^{name}$")).first.evaluate("el => el.click()")


def press_and_time(page: Notebook, name: str) -> str:
    """Press Stop or Pause; return how long the page took to answer, and to show that it is done."""
    answered, done = page.page.evaluate(PRESS, [CONTROLS, name])
    return f"{name}: answered after {answered:.0f} ms, done after {done:.0f} ms"


def until_activity(page: Notebook, *activities: str) -> None:
    """Wait until the controls say what the run is doing."""
    page.wait_for(
        f"(names) => names.includes(document.querySelector('{CONTROLS}')?.dataset.activity)", list(activities)
    )


def until_points(page: Notebook, more_than: int) -> None:
    """Wait until more points are drawn."""
    page.wait_for(f"(count) => ({POINTS})() > count", more_than)


def clean(page: Notebook) -> None:
    """Fail if the page complained, or asked anybody but its own server."""
    assert page.complaints == []
    assert page.strangers == []


def test_a_run_from_start_to_stop(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = notebook("run.ipynb", DIGITS, SHOW)
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
    until_points(page, -1)
    assert points(page) == 0
    page.picture("explorer-before-start")

    press(page, "Start")
    until_points(page, 5)
    until_points(page, points(page))  # and they go on growing
    page.run_code("explorer.start()")  # a second start does nothing: it is one run
    assert page.run_code("import threading; print(sum(t.name == 'lsat-tuner' for t in threading.enumerate()))") == "1"

    paused = press_and_time(page, "Pause")
    page.page.locator(".lsat-sentence", has_text="Paused after iteration").first.wait_for()
    accepted = page.run_code("print(len(explorer.run.iterates))")
    page.wait_for(f"(count) => ({POINTS})() === Number(count)", accepted)
    assert page.run_code("print(len(explorer.run.iterates))") == accepted

    press(page, "Step")
    page.wait_for(f"(count) => ({POINTS})() === Number(count) + 1", accepted)
    until_activity(page, "paused")

    press(page, "Resume")
    until_points(page, points(page) + 3)
    _move_the_slider(page)

    stopped = press_and_time(page, "Stop")
    assert page.run_code("print(explorer.run.status.value)") == "stopped_by_user"
    with capsys.disabled():
        print(f"\n  digits: {paused}\n          {stopped}")
    page.picture("explorer-after-stop")
    clean(page)


def _move_the_slider(page: Notebook) -> None:
    """Move λ while the run goes on: the recipe changes, the step rule starts anew and the run goes on with it."""
    page.click(".lsat-tabs button:has-text('Weights')")
    slider = page.page.get_by_role("slider", name="λ of log row weights")
    slider.wait_for()
    assert slider.get_attribute("title")
    before = page.run_code("print(explorer.recipe.hyper_penalties['data_weights.log_weight'].terms[0].weight)")
    slider.evaluate("el => { el.value = 800; el.dispatchEvent(new Event('input', { bubbles: true })); }")
    weight = "explorer.run.recipe.hyper_penalties['data_weights.log_weight'].terms[0].weight"
    end = time.monotonic() + 60
    while page.run_code(f"print({weight})") == before:
        assert time.monotonic() < end, "the run did not take the slider up"
    assert float(page.run_code(f"print({weight})")) > 10 * float(before)
    restarts = "print(sum(i.step == 1.0 and i.number > 2 for i in explorer.run.iterates))"
    while int(page.run_code(restarts)) == 0:
        assert time.monotonic() < end, "the step rule did not start anew"
    until_points(page, points(page) + 2)


def test_rows_are_chosen_by_mouse_and_by_keys(notebook: Open) -> None:
    page = notebook("rows.ipynb", DIGITS, f"{SHOW[:-9]}\nexplorer")
    tiles = page.page.locator(".jp-OutputArea-output [role=listbox] [role=option]")
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
    page.wait_for(
        """() => {
            const image = document.querySelector('.lsat-browser-image');
            return image && getComputedStyle(image).backgroundImage.startsWith('url(');
        }"""
    )
    tiles.nth(3).click()
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile[aria-selected=true]').length === 1")
    first = page.run_code("print(list(explorer.browser.selected))")
    assert first not in ("", "[]")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Enter")
    end = time.monotonic() + 60
    while page.run_code("print(list(explorer.browser.selected))") in ("[]", first):
        assert time.monotonic() < end, "the keys chose no other row"
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    clean(page)


def test_running_the_cell_again_ends_the_old_run(notebook: Open) -> None:
    page = notebook("again.ipynb", DIGITS, SHOW + "\nkept = globals().get('kept', []) + [explorer]\nexplorer")
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null")
    press(page, "Start")
    until_points(page, 2)
    page.run_all()
    page.wait_for(f"() => document.querySelector('{CONTROLS}')?.dataset.activity === 'ready'")
    assert page.run_code("print(kept[0].tuner.worker.activity.value, kept[0].run.status.value)") == (
        "ended stopped_by_user"
    )
    clean(page)


def test_a_view_opened_later_shows_the_whole_history_and_goes_on(notebook: Open) -> None:
    page = notebook("later.ipynb", DIGITS, "explorer = lsat.widgets.Explorer(data, recipe)", "explorer")
    press(page, "Start")
    until_points(page, 10)
    before = points(page)
    page.page.evaluate(
        """async () => {
            window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2;
            await window.jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )
    until_points(page, before)
    until_points(page, points(page))  # the view that was taken away does not keep the new one from drawing
    press(page, "Stop")
    until_activity(page, "ended")
    whole = page.run_code("print(len(explorer.run.iterates))")
    page.wait_for(f"(count) => ({POINTS})() === Number(count)", whole)
    clean(page)
    page.save()
    page.page.reload()
    page.wait_for(f"(count) => ({POINTS})() === Number(count)", whole)
    until_activity(page, "ended")


def test_a_run_goes_on_while_its_tab_is_closed(notebook: Open) -> None:
    page = notebook("tab.ipynb", DIGITS, SHOW)
    press(page, "Start")
    until_points(page, 5)
    page.save()
    before = points(page)
    page.close_tab("tab.ipynb")
    page.wait_for(f"() => document.querySelector('{CONTROLS}')?.dataset.activity === 'running'")
    until_points(page, before)  # the whole history, with what came while nobody looked
    until_points(page, points(page))
    press_and_time(page, "Stop")
    page.wait_for(f"(count) => ({POINTS})() === Number(count)", page.run_code("print(len(explorer.run.iterates))"))
    clean(page)


def test_two_notebooks_run_at_once(notebook: Open) -> None:
    pages = [notebook(f"{name}.ipynb", DIGITS, SHOW) for name in ("one", "another")]
    for page in pages:
        press(page, "Start")
    for page in pages:
        until_points(page, 5)
    one, another = pages
    press_and_time(one, "Stop")
    before = one.run_code("print(len(explorer.run.iterates))")
    until_points(another, points(another) + 3)
    assert one.run_code("print(explorer.run.status.value, len(explorer.run.iterates))") == f"stopped_by_user {before}"
    press_and_time(another, "Stop")
    for page in pages:
        clean(page)


def test_a_saved_notebook_shows_its_picture_without_a_kernel(notebook: Open, folder: Path, browser: Browser) -> None:
    page = notebook("saved.ipynb", DIGITS.replace("100_000", "30"), SHOW)
    press(page, "Start")
    until_activity(page, "ended")
    still = page.page.locator(".jp-OutputArea-child .jp-RenderedImage img")
    still.wait_for(state="attached")
    assert still.is_hidden()  # below a view that lives
    page.run_code("explorer.wait(60)")
    page.save()
    text = (folder / "saved.ipynb").read_text(encoding="utf-8")
    saved = nbformat.reads(text, as_version=4)
    pictures = [o.data["image/png"] for o in saved.cells[1].outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 1
    html, _ = nbconvert.HTMLExporter(template_name="lab", exclude_input=True).from_notebook_node(saved)
    assert pictures[0].replace("\n", "")[:200] in html
    target = folder / "saved.html"
    target.write_text(html, encoding="utf-8")
    alone = browser.new_context(offline=True, viewport={"width": 1100, "height": 800})
    exported = alone.new_page()
    exported.goto(target.as_uri(), wait_until="commit")
    image = exported.locator("img").first
    image.wait_for()
    assert image.evaluate("el => el.naturalWidth") > 1000
    exported.screenshot(path=ARTEFACTS / "explorer-without-kernel.png")
    alone.close()
    page.reopen("saved.ipynb")  # with a new kernel, which knows nothing of the view
    still.wait_for(state="visible")
    page.picture("explorer-reopened")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800, 700])
def test_it_fits_its_place(notebook: Open, theme: str, width: int) -> None:
    name = f"explorer-{theme.split()[-1].lower()}-{width}"
    page = notebook(f"{name}.ipynb", DIGITS.replace("100_000", "40"), SHOW, size=(width, 1500), theme=theme)
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
    page.picture(name, ".lsat-explorer")
    left, right, whole = (
        page.page.locator(f".lsat-{part}").first.bounding_box() for part in ("left", "right", "explorer")
    )
    assert left is not None
    assert right is not None
    assert whole is not None
    assert (right["x"] >= left["x"] + left["width"]) == (width > 900)
    assert page.page.locator(".lsat-explorer").first.evaluate("el => el.scrollWidth - el.clientWidth") <= 1
    drawn = page.page.locator(".lsat-plot .main-svg").first.bounding_box()
    assert drawn is not None
    assert abs(drawn["width"] - right["width"]) < 12
    clean(page)


@pytest.mark.mnist
def test_small_mnist(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.perf_counter()
    page = notebook("mnist.ipynb", MNIST, SHOW)
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null")
    shown = time.perf_counter() - began
    press(page, "Start")
    until_activity(page, "preparing", "running")
    until_points(page, 1)
    paused = press_and_time(page, "Pause")
    press(page, "Resume")
    until_activity(page, "running")
    stopped = press_and_time(page, "Stop")
    with capsys.disabled():
        print(f"\n  MNIST: page {shown:.1f} s after its notebook\n         {paused}\n         {stopped}")
    press(page, "Go on")
    page.page.locator(".lsat-sentence", has_text="maximum number of iterations").first.wait_for()
    page.picture("explorer-mnist", ".lsat-explorer")
    clean(page)


def test_a_view_whose_kernel_was_restarted_keeps_its_columns_and_says_what_to_do(notebook: Open) -> None:
    columns = """() => [...document.querySelectorAll('.lsat-explorer :is(.lsat-left, .lsat-right, .lsat-browser)')]
        .map((node) => { const box = node.getBoundingClientRect(); return [box.left, box.width].map(Math.round); })"""
    lost = "[...document.querySelectorAll('.lsat-explorer .lsat-lost')].filter((node) => node.checkVisibility())"
    page = notebook("restarted.ipynb", DIGITS, SHOW, size=(1400, 1400))
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null && ({columns})().length === 3")
    before = page.page.evaluate(columns)
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for("() => document.querySelectorAll('.lsat-columns.jupyter-widgets-disconnected').length === 1")
    assert page.page.evaluate(columns) == before
    assert page.page.evaluate(f"() => {lost}.length") == 0
    page.page.locator(CONTROLS).get_by_text("Start", exact=True).click()
    page.wait_for(f"() => {lost}.length === 1")
    page.page.locator(".lsat-browser-bar select").first.select_option("row")
    page.wait_for(f"() => {lost}.length === 2")
    assert set(page.page.locator(".lsat-lost").all_text_contents()) == {"The kernel was restarted: run the cell again."}
    clean(page)
