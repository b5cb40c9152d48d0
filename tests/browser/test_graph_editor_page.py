"""The graph editor as a user meets it: in JupyterLab, with a mouse and with keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from lab import Notebook

pytestmark = pytest.mark.browser

SETUP = """
import torch
torch.set_num_threads(1)
import networkx as nx
import lsat_explorer as lsat
data = lsat.datasets.digits()
"""
SHOW = "editor = lsat.widgets.GraphEditor(data)\neditor"
EDITOR = ".jp-OutputArea-output .lsat-editor"
DRAWING = f"{EDITOR} .lsat-draw svg"
# edges drawn, of each graph: it is a group of paths with a move for each edge
DRAWN = f"""() => [...document.querySelectorAll('{EDITOR} .lsat-draw-edges > g')]
    .map((graph) => [...graph.children].map((path) => path.getAttribute('d')).join('').split('M').length - 1)"""

Open = Callable[..., Notebook]


def until_drawn(page: Notebook, *counts: int) -> None:
    """Wait until each graph has as many edges on the page."""
    page.wait_for(f"(counts) => String(({DRAWN})()) === String(counts)", list(counts))


def place(page: Notebook, row: float, column: float, side: int = 8) -> tuple[float, float]:
    """Where a node of a square image is on the page."""
    page.page.locator(DRAWING).first.scroll_into_view_if_needed()
    box = page.page.locator(DRAWING).first.bounding_box()
    assert box is not None
    return box["x"] + (column + 0.5) / side * box["width"], box["y"] + (row + 0.5) / side * box["height"]


def click(page: Notebook, row: float, column: float, side: int = 8) -> None:
    page.page.mouse.click(*place(page, row, column, side))


def edges(page: Notebook) -> int:
    return int(page.run_code("print(len(editor.graph.edges))"))


def until_has(page: Notebook, a: int, b: int) -> None:
    """Wait until the kernel's graph has an edge."""
    page.until_prints(f"print([{a}, {b}] in editor.graph.edges.tolist())", "True")


def clean(page: Notebook) -> None:
    """Fail if the page complained, or asked anybody but its own server."""
    assert page.complaints == []
    assert page.strangers == []


def test_edges_are_made_and_undone_by_mouse(notebook: Open) -> None:
    page = notebook("graph-mouse.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    click(page, 0, 0)
    page.page.get_by_text("click the other end of the edge").wait_for()
    click(page, 1, 1)
    until_drawn(page, 113)
    until_has(page, 0, 9)
    page.page.locator(EDITOR).get_by_text("64 nodes · 113 edges · 1 component").wait_for()
    undo = page.page.locator(EDITOR).get_by_role("button", name="Undo", exact=True)
    assert "pixel_0_0 – pixel_1_1" in (undo.get_attribute("title") or "")
    page.page.keyboard.press("Control+z")
    until_drawn(page, 112)
    assert page.run_code("print(editor.graph)") == "graphs.grid(8, 8)"
    page.page.keyboard.press("Control+Shift+z")
    until_drawn(page, 113)
    undo.click()
    until_drawn(page, 112)
    clean(page)


def test_a_box_selects_nodes_that_are_joined_and_cleared(notebook: Open) -> None:
    page = notebook("graph-box.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    page.page.mouse.move(*place(page, 1.6, 1.6))
    page.page.mouse.down()
    page.page.mouse.move(*place(page, 3, 3), steps=4)
    page.page.mouse.move(*place(page, 4.4, 3.4), steps=4)
    page.page.mouse.up()
    selection = page.page.locator(EDITOR).get_by_label("Selection", exact=True)
    selection.get_by_text("6 nodes selected").wait_for()
    assert page.run_code("print(editor._selected)") == "[18, 19, 26, 27, 34, 35]"
    selection.get_by_label("pattern").select_option(label="Grid 8")
    selection.get_by_role("button", name="Join").click()
    until_drawn(page, 116)  # two diagonals in each of the two squares
    page.picture("graph-selection", EDITOR)
    selection.get_by_role("button", name="Clear inside").click()
    until_drawn(page, 105)
    selection.get_by_role("button", name="Deselect").click()
    selection.get_by_text("Drag a box over nodes").wait_for()
    clean(page)


def test_everything_is_done_with_keys(notebook: Open) -> None:
    page = notebook("graph-keys.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    keys = page.page.keyboard
    page.page.locator(DRAWING).first.focus()
    for key in ("ArrowRight", "ArrowDown", "Enter", "ArrowRight", "ArrowDown", " "):
        keys.press(key)
    until_drawn(page, 113)
    until_has(page, 9, 18)
    keys.press("Home")
    for _ in range(2):
        keys.press("Shift+ArrowRight")
    keys.press("Shift+ArrowDown")
    page.page.locator(EDITOR).get_by_text("6 nodes selected").wait_for()
    keys.press("Delete")
    until_drawn(page, 106)
    keys.press("Escape")
    page.page.locator(EDITOR).get_by_text("Drag a box over nodes").wait_for()
    keys.press("+")
    page.page.locator(EDITOR).get_by_text("150 %").wait_for()

    node = page.page.locator(EDITOR).get_by_label("Node", exact=True)
    node.get_by_label("name").fill("pixel_5_5")
    keys.press("Enter")
    node.get_by_text("4 neighbours").wait_for()
    node.get_by_role("button", name="Remove the edge from pixel_5_5 to pixel_5_4").press("Enter")
    until_drawn(page, 105)
    node.get_by_label("edge to").fill("pixel_7_7")
    keys.press("Enter")
    until_drawn(page, 106)
    until_has(page, 45, 63)
    assert page.page.locator(".jp-mod-editMode").count() == 0  # the notebook took no key
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 2
    clean(page)


def test_the_drawing_is_zoomed_by_mouse_keys_and_wheel(notebook: Open) -> None:
    page = notebook("graph-zoom.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    drawing, scale = page.page.locator(DRAWING).first, page.page.locator(f"{EDITOR} .lsat-editor-scale").first
    whole = drawing.bounding_box()
    page.page.get_by_role("button", name="Zoom in", exact=True).first.click()
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-editor-scale').textContent === '150 %'")
    larger = drawing.bounding_box()
    assert whole is not None
    assert larger is not None
    assert larger["width"] == pytest.approx(1.5 * whole["width"], abs=3)
    click(page, 3, 3)  # nodes are still where they are drawn
    page.page.get_by_text("click the other end of the edge").wait_for()
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("+")
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-editor-scale').textContent === '200 %'")
    page.page.keyboard.down("Control")
    page.page.mouse.wheel(0, 120)
    page.page.keyboard.up("Control")
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-editor-scale').textContent === '150 %'")
    scale.click()
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-editor-scale').textContent === '100 %'")
    clean(page)


def test_what_cannot_be_done_is_said_under_the_editor(notebook: Open) -> None:
    page = notebook("graph-errors.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    alert = page.page.locator(EDITOR).get_by_role("alert")
    name = page.page.locator(EDITOR).get_by_label("Node", exact=True).get_by_label("name")
    name.fill("pixel_9_9")
    name.press("Enter")
    alert.get_by_text("There is no node 'pixel_9_9'").wait_for()
    page.page.locator(EDITOR).get_by_text("Edge list and code").click()
    area = page.page.locator(f"{EDITOR} textarea")
    page.wait_for(f"() => document.querySelector('{EDITOR} textarea').value.startsWith('0 1')")
    area.fill("0 1\n1 1\n")
    replace = page.page.locator(EDITOR).get_by_role("button", name="Replace edges by list")
    replace.click()
    alert.get_by_text("Line 2 joins node 1 to itself: remove it, it penalises nothing.").wait_for()
    page.page.locator(EDITOR).get_by_role("button", name="Path", exact=True).click()
    until_drawn(page, 63)
    assert page.run_code("print(editor._text.count(chr(10)))") == "63"
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-code').textContent.includes('path')")
    assert area.input_value() == "0 1\n1 1\n"  # what was typed is still there to be mended
    area.fill("# mended\n0 1\n1 10\n")
    replace.click()
    until_drawn(page, 2)
    page.wait_for(f"() => document.querySelector('{EDITOR} [role=alert]').hidden")
    page.wait_for(f"() => document.querySelector('{EDITOR} textarea').value === '0 1\\n1 10\\n'")
    with page.page.expect_download() as download:
        page.page.locator(EDITOR).get_by_role("button", name="Download CSV").click()
    assert Path(download.value.path()).read_text() == "source,target\n0,1\n1,10\n"
    chooser = page.page.locator(f"{EDITOR} input[type=file]")
    chooser.set_input_files({"name": "e.csv", "mimeType": "text/csv", "buffer": b"source,target\n5,6\n6,7\n7,8\n"})
    until_drawn(page, 3)
    area.fill("0 1\n")
    page.page.locator(EDITOR).get_by_role("button", name="+ Add a graph").click()
    page.wait_for(f"() => document.querySelector('{EDITOR} textarea').value === ''")  # of the other graph now
    clean(page)


def test_a_second_view_and_a_reload_show_the_same(notebook: Open) -> None:
    page = notebook("graph-later.ipynb", SETUP, SHOW.replace("\neditor", ""), "editor", "editor")
    until_drawn(page, 112, 112)
    first = page.page.locator(EDITOR).first
    first.get_by_role("button", name="+ Add a graph").click()
    first.get_by_role("button", name="Ring", exact=True).click()
    click(page, 3, 3)
    until_drawn(page, 112, 64, 112, 64)
    page.wait_for(
        f"() => [...document.querySelectorAll('{EDITOR}')].every((e) => e.textContent.includes('click the other end'))"
    )
    page.save()
    page.page.reload()
    until_drawn(page, 112, 64, 112, 64)
    page.wait_for(
        f"() => [...document.querySelectorAll('{EDITOR}')].every((e) => e.textContent.includes('click the other end'))"
    )
    assert page.run_code("print(list(editor.graphs), editor.active)") == "['smooth', 'smooth_2'] smooth_2"


def test_python_moves_what_the_page_shows(notebook: Open) -> None:
    page = notebook("graph-python.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    page.run_code("editor.graph = lsat.graphs.ring(64)")
    until_drawn(page, 64)
    page.run_code("editor.graphs = {'a': lsat.graphs.path(64), 'b': lsat.graphs.grid(8, 8)}")
    until_drawn(page, 63, 112)
    colours = page.page.evaluate(
        """(editor) => ['.lsat-draw-edges > g', '.lsat-editor-swatch'].flatMap((part) =>
            [...document.querySelectorAll(`${editor} ${part}`)].map((one) => getComputedStyle(one))
                .map(({ stroke, backgroundColor }) => stroke === 'none' ? backgroundColor : stroke))""",
        EDITOR,
    )
    assert len(set(colours)) == 2  # each graph has its own, in the drawing and in the list
    assert sorted(colours[:2]) == sorted(colours[2:])
    backdrop = page.page.locator(f"{EDITOR} .lsat-draw-backdrop").first
    assert backdrop.is_visible()
    page.run_code("editor._obey(editor, {'do': 'place', 'placement': 'line'}, [])")
    page.wait_for(f"() => document.querySelector('{DRAWING}').getBoundingClientRect().height < 260")
    assert not backdrop.is_visible()  # no node lies on its pixel
    clean(page)


def test_theta_of_any_class_is_shown_before_and_after(notebook: Open) -> None:
    page = notebook("graph-theta.ipynb", SETUP, SHOW)
    effect = page.page.locator(EDITOR).get_by_label("Effect on θ", exact=True)
    effect.locator("canvas").nth(1).wait_for()
    drawn = f"() => [...document.querySelectorAll('{EDITOR} canvas')].map((one) => one.toDataURL())"
    of_zero = page.page.evaluate(drawn)
    assert of_zero[0] != of_zero[1]  # without and with the penalty
    effect.get_by_role("combobox").select_option(label="7")
    page.wait_for(f"(before) => ({drawn})().every((one, i) => one !== before[i])", of_zero)
    assert page.run_code("print(editor._class)") == "7"
    captions = effect.locator("figcaption").all_inner_texts()
    page.page.locator(EDITOR).get_by_label("Weight, value").fill("300")
    page.page.keyboard.press("Enter")
    page.wait_for(
        f"(old) => [...document.querySelectorAll('{EDITOR} figcaption')].map((one) => one.innerText).join() !== old",
        ",".join(captions),
    )
    assert "300" in effect.locator("figcaption").last.inner_text()
    clean(page)


def test_a_saved_notebook_shows_its_picture_without_a_kernel(notebook: Open, folder: Path) -> None:
    page = notebook("graph-saved.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    before = page.page.locator(".jp-OutputArea-child .jp-RenderedImage img").get_attribute("src")
    page.run_code("editor._obey(editor, {'do': 'pattern', 'pattern': 'ring'}, [])")
    until_drawn(page, 64)
    page.wait_for("(old) => document.querySelector('.jp-RenderedImage img').src !== old", before)
    page.save()
    saved = nbformat.reads((folder / "graph-saved.ipynb").read_text(encoding="utf-8"), as_version=4)
    pictures = [o for o in saved.cells[1].outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 1
    page.reopen("graph-saved.ipynb")
    page.page.locator(".jp-OutputArea-child .jp-RenderedImage img").wait_for(state="visible")
    page.picture("graph-reopened")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_it_fits_its_place(notebook: Open, theme: str, width: int) -> None:
    name = f"graph-{theme.split()[-1].lower()}-{width}"
    start = (
        "editor = lsat.widgets.GraphEditor({'across': lsat.graphs.grid(8, 8, vertical=False), "
        "'along': lsat.graphs.grid(8, 8, horizontal=False)}, data=data)\n"
        "editor._obey(editor, {'do': 'weigh', 'weight': '300'}, [])\neditor"
    )
    page = notebook(f"{name}.ipynb", SETUP, start, size=(width, 1500), theme=theme)
    until_drawn(page, 56, 56)
    page.page.locator(f"{EDITOR} canvas").first.wait_for()
    click(page, 2, 2)
    page.page.get_by_text("click the other end of the edge").wait_for()
    page.page.mouse.move(1, 1)
    page.picture(name, ".lsat-editor")
    left, right = (page.page.locator(f"{EDITOR} .lsat-editor-{side}").bounding_box() for side in ("left", "right"))
    assert left is not None
    assert right is not None
    assert (right["x"] >= left["x"] + left["width"]) == (width > 900)
    assert page.page.locator(EDITOR).evaluate("el => el.scrollWidth - el.clientWidth") <= 1
    unnamed = page.page.locator(EDITOR).evaluate(
        """(el) => [...el.querySelectorAll('button, select, textarea, input:not([type=file])')]
            .filter((control) => control.offsetParent && !(control.title && (control.labels?.length
                || control.textContent.trim() || control.getAttribute('aria-label'))))
            .map((control) => control.outerHTML.slice(0, 120))"""
    )
    assert unnamed == []
    clean(page)


def test_a_name_that_is_refused_is_answered_beside_its_field(notebook: Open) -> None:
    page = notebook("graph-refused.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    card = page.page.locator(f"{EDITOR} section[aria-label=Graphs]")
    field, told = card.locator("input[title^='Name of this']"), card.get_by_role("alert")
    field.fill("two words")
    field.press("Enter")
    told.get_by_text("cannot name a regularizer").wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert not page.page.locator(f"{EDITOR} > .lsat-editor-problem").is_visible()
    box, below = field.bounding_box(), told.bounding_box()
    assert box is not None
    assert below is not None
    assert 0 <= below["y"] - box["y"] - box["height"] < 30
    field.press("Escape")
    assert field.input_value() == "smooth"
    assert field.get_attribute("aria-invalid") == "false"
    assert not told.is_visible()
    field.fill("rough")
    field.press("Enter")
    page.until_prints("print(editor.active)", "rough")
    clean(page)
