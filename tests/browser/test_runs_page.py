"""The history of runs as a user meets it: branch, name, overlay and delete, with a mouse and with keys."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from lab import Notebook
from test_explorer import CONTROLS, DIGITS, clean, press, until_activity

pytestmark = pytest.mark.browser

SHOW = "tuner = lsat.widgets.LiveTuner(data, recipe)\ntuner"
ROWS = ".jp-OutputArea-output .lsat-runs tbody tr"
SWATCH = f"{ROWS}[aria-selected=true] .lsat-swatch"
LENGTH = """(name) => {
    const output = '.jp-OutputArea-output .lsat-plot';
    const places = [...document.querySelectorAll(`${output}, ${output} *`)];
    const plot = places.find((place) => Array.isArray(place.data) && place.layout);
    const trace = plot?.data.find((t) => t.name === name && t.visible !== false);
    return trace ? trace.x.length : -1;
}"""

Open = Callable[..., Notebook]


def ended(notebook: Open, name: str, **place: object) -> Notebook:
    """Open a tuner and run it to its end."""
    page = notebook(name, DIGITS.replace("100_000", "12"), SHOW, **place)
    page.wait_for(f"() => document.querySelector('{CONTROLS}') !== null")
    press(page, "Start")
    until_activity(page, "ended")
    page.wait_for(f"() => ({LENGTH})('validation loss') === 13")
    return page


def until(page: Notebook, code: str, wanted: str) -> None:
    """Wait until code in the kernel prints what is wanted."""
    end = time.monotonic() + 60
    while (found := page.run_code(f"print({code})")) != wanted:
        assert time.monotonic() < end, f"{code} is {found}, expected {wanted}"


def mark(page: Notebook, number: int) -> None:
    """Mark an iterate by its number, with keys."""
    field = page.page.get_by_label("Iteration", exact=True)
    field.fill(str(number))
    field.press("Tab")
    page.page.locator(".lsat-marking", has_text="loss ").wait_for()


def branch(page: Notebook, number: int) -> None:
    """Go on from an iterate as another run, to its end."""
    before = page.page.locator(ROWS).count()
    mark(page, number)
    page.page.get_by_role("button", name=f"Branch from iteration {number}").press("Enter")
    page.wait_for(f"(count) => document.querySelectorAll('{ROWS}').length > count", before)
    until_activity(page, "ended")


def test_a_point_is_clicked_and_another_run_goes_on_from_there(notebook: Open) -> None:
    page = ended(notebook, "branch.ipynb")
    panel = page.page.locator(".lsat-plot .plotly .xy .plot, .lsat-plot .subplot.xy").first.bounding_box()
    assert panel is not None
    x, y = panel["x"] + panel["width"] * 5 / 12, panel["y"] + panel["height"] / 2
    page.page.mouse.move(x, y - 3)
    page.page.mouse.move(x, y)
    page.page.locator(".lsat-plot .hoverlayer .hovertext").first.wait_for()
    page.page.mouse.click(x, y)
    until(page, "tuner.controls.marked", "5")
    page.page.get_by_role("button", name="Branch from iteration 5").wait_for()
    page.picture("runs-marked", ".lsat-tuner")
    page.page.get_by_role("button", name="Unmark").click()
    until(page, "tuner.controls.marked", "None")
    branch(page, 5)
    assert (
        page.run_code("print(abs(tuner.run.iterates[0].loss - tuner.runs[0].run.iterates[5].loss) < 1e-12)") == "True"
    )
    assert page.page.locator(ROWS).first.locator(".lsat-run-words").inner_text() == "from iteration 5 of Run 1"
    page.run_code(
        "tuner.change(tuner.recipe.replace(method=lsat.ProximalGradient(max_iterations=100_000, tolerance=0.0)))"
    )
    press(page, "Restart")
    page.page.locator(".lsat-clock", has_text=re.compile(r"^elapsed .* s, about .* to go at most$")).wait_for()
    press(page, "Stop")
    until_activity(page, "ended")
    clean(page)


def test_runs_are_named_noted_overlaid_and_deleted_by_keys(notebook: Open) -> None:
    page = ended(notebook, "keys.ipynb")
    branch(page, 3)
    branch(page, 6)
    rows = page.page.locator(ROWS)
    rows.first.focus()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("F2")
    page.page.keyboard.type("other way")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Enter")
    page.page.keyboard.type("third step")
    page.page.keyboard.press("Enter")
    until(page, "tuner.runs[1].name", "third step")
    page.page.keyboard.press(" ")
    until(page, "tuner.runs[1].slot", "0")
    page.page.keyboard.press("ArrowUp")
    page.wait_for(f"() => ({LENGTH})('overlay 0') > 3")
    page.page.keyboard.press(" ")  # the shown run is not drawn beside itself: its mark is that of its own curve
    page.wait_for(f"() => getComputedStyle(document.querySelector('{SWATCH}')).borderTopStyle === 'solid'")
    assert rows.nth(1).locator(".lsat-swatch").evaluate("el => getComputedStyle(el).borderTopStyle") == "dashed"
    page.page.keyboard.press(" ")
    note = page.page.get_by_label("Note on Run 3")
    note.fill("starts lower")
    note.press("Enter")
    until(page, "tuner.runs[2].note", "starts lower")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Delete")
    page.wait_for(f"() => document.querySelectorAll('{ROWS}').length === 2")
    page.wait_for(f"() => document.activeElement === document.querySelector('{ROWS}[aria-selected=true]')")
    page.page.get_by_role("button", name="Undo: bring back third step").press("Enter")
    page.wait_for(f"() => document.querySelectorAll('{ROWS}').length === 3")
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 2
    page.save()
    page.page.reload()
    page.wait_for(f"() => document.querySelectorAll('{ROWS}').length === 3")
    assert page.page.locator(f"{ROWS} .lsat-run-name").all_inner_texts() == ["Run 3", "third step", "Run 1"]
    assert page.page.get_by_label("Note on Run 3").input_value() == "starts lower"
    clean(page)


def test_the_curves_are_as_wide_as_their_column_whatever_panels_they_have(notebook: Open) -> None:
    page = ended(notebook, "width.ipynb")
    width = """() => ['.lsat-plot', '.lsat-plot .main-svg']
        .map((part) => document.querySelector(part).getBoundingClientRect().width)"""
    for pressed in (None, "Show ω", "Show ω"):
        if pressed:
            height = page.page.locator(".lsat-plot .main-svg").first.bounding_box()
            page.page.get_by_role("button", name=pressed).click()
            page.wait_for(
                "(before) => document.querySelector('.lsat-plot .main-svg').getBoundingClientRect().height !== before",
                height and height["height"],
            )
        for size in (900, 1400):
            page.resize(size, 1500)
            page.wait_for(f"() => Math.abs(({width})()[0] - ({width})()[1]) < 2 && ({width})()[0] > {size} - 250")
    clean(page)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_its_place_with_every_panel(notebook: Open, theme: str, width: int) -> None:
    name = f"runs-{theme.split()[-1].lower()}-{width}"
    page = ended(notebook, f"{name}.ipynb", size=(width, 1500), theme=theme)
    branch(page, 3)
    page.run_code("tuner.runs.overlay(0); tuner.runs[0].note = 'where it began'; tuner.runs[1].name = 'third step'")
    page.page.get_by_role("button", name="Show ω").click()
    page.wait_for(f"() => ({LENGTH})('log row weights') > 3")
    mark(page, 4)
    page.wait_for("() => document.querySelector('.lsat-plot .legend')?.getBoundingClientRect().height > 20")
    page.picture(name, ".lsat-tuner")
    tuner = page.page.locator(".lsat-tuner").first
    assert tuner.evaluate("el => el.scrollWidth - el.clientWidth") <= 1
    legend, plot = (page.page.locator(f".lsat-plot {part}").first.bounding_box() for part in (".legend", ".main-svg"))
    assert legend is not None
    assert plot is not None
    assert legend["y"] + legend["height"] <= plot["y"] + plot["height"] + 1
    page.page.get_by_role("button", name="Show ω").click()
    page.wait_for(f"() => ({LENGTH})('log row weights') === -1")
    clean(page)
