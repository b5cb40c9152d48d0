"""What a click in the graph editor shows before Python has answered, and how soon."""

from __future__ import annotations

from statistics import median

import pytest

from test_assembly_page import until
from test_graph_editor_page import (
    DRAWING,
    DRAWN,
    EDITOR,
    SETUP,
    SHOW,
    Open,
    clean,
    click,
    edges,
    until_drawn,
    until_has,
)

pytestmark = pytest.mark.browser

# ms from a click, when the browser had it, until its edge has been painted, and until Python's answer has
WATCHED = f"""() => {{
    const editor = document.querySelector('{EDITOR}'), times = window.lsatTimes = [];
    const count = () => String(({DRAWN})());
    const said = () => editor.querySelector('[aria-label=Edges] .lsat-push').textContent;
    const painted = (there) => new Promise((go) => {{
        const look = () => {{
            if (!there()) return;
            watch.disconnect();
            requestAnimationFrame(() => {{  // a task after the frame: what it drew is on its way to the screen
                const after = new MessageChannel();
                after.port1.onmessage = () => go(performance.now());
                after.port2.postMessage(0);
            }});
        }};
        const watch = new MutationObserver(look);
        watch.observe(editor, {{ childList: true, subtree: true, attributes: true, characterData: true }});
        look();
    }});
    document.querySelector('{DRAWING}').addEventListener('pointerup', async (event) => {{
        if (editor.querySelector('.lsat-draw-first').style.display === 'none') return;
        const drawn = count(), told = said();
        const [edge, answer] = await Promise.all([painted(() => count() !== drawn), painted(() => said() !== told)]);
        times.push([edge - event.timeStamp, answer - event.timeStamp]);
    }}, true);
}}"""

HELD = """
import threading
go, held = threading.Event(), threading.Event()
def hold():
    with editor._lock:
        held.set()
        go.wait(60)
threading.Thread(target=hold, daemon=True).start()
print(held.wait(60))
"""


def test_an_edge_is_drawn_before_python_has_answered(notebook: Open) -> None:
    page = notebook("graph-early.ipynb", SETUP, SHOW, "editor")
    until_drawn(page, 112, 112)
    assert page.run_code(HELD) == "True"
    for row, column in ((0, 0), (1, 1), (2, 2), (3, 4), (2, 2), (3, 4), (5, 5)):
        click(page, row, column)
    until_drawn(page, 113, 112)  # one was added and taken away again; the other view hears of it from Python
    first = page.page.locator(EDITOR).first
    first.get_by_text("pixel_5_5: click the other end of the edge").wait_for()
    first.locator(".lsat-editor-hint", has_text="Not answered by the kernel yet: 7 changes on this page.").wait_for()
    assert edges(page) == 112
    page.run_code("go.set()")
    first.get_by_text("64 nodes · 113 edges · 1 component").wait_for()
    until_drawn(page, 113, 113)
    until_has(page, 0, 9)
    page.page.get_by_text("pixel_5_5: click the other end of the edge").nth(1).wait_for()
    clean(page)


def test_what_python_refuses_is_drawn_as_it_was(notebook: Open) -> None:
    page = notebook("graph-refused.ipynb", SETUP, SHOW)
    until_drawn(page, 112)
    click(page, 0, 0)
    until(page, "print(editor._shown['first'])", "True")
    page.run_code("def refuse(*asked):\n    raise ValueError('Not now.')\neditor._session.do = refuse")
    click(page, 1, 1)
    page.page.locator(EDITOR).get_by_role("alert").get_by_text("Not now.").wait_for()
    until_drawn(page, 112)
    page.page.get_by_text("pixel_0_0: click the other end of the edge").wait_for()
    clean(page)


def test_a_large_grid_appears_and_an_edge_toggles(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = notebook(
        "graph-large.ipynb", SETUP, "graph = lsat.graphs.grid(28, 28)\nlsat.widgets.GraphEditor(graph).close()", "0"
    )
    page.run_code("get_ipython().user_ns['shown'] = []")
    appeared = page.page.evaluate(
        f"""async () => {{
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = 2;
            notebook.activeCell.model.sharedModel.setSource('editor = lsat.widgets.GraphEditor(graph)\\neditor');
            const began = performance.now();
            window.jupyterapp.commands.execute('notebook:run-cell');
            while (String(({DRAWN})()) !== '1512') await new Promise((go) => requestAnimationFrame(go));
            return performance.now() - began;
        }}"""
    )
    page.page.evaluate(WATCHED)
    for row in range(6):  # an edge is added, then taken away again
        for count in (1513, 1512):
            click(page, 4 * row, 3, side=28)
            page.page.get_by_text("click the other end of the edge").wait_for()
            click(page, 4 * row + 1, 6, side=28)
            page.wait_for("(count) => window.lsatTimes.length === count", 2 * row + 1 + (count == 1512))
            until_drawn(page, count)
    times = page.page.evaluate("window.lsatTimes")
    assert edges(page) == 1512
    with capsys.disabled():
        print(f"\n  784 nodes, 1,512 edges: drawn {appeared:.0f} ms after the cell began")
        for what, found in zip(("painted", "answered by Python"), zip(*times, strict=True), strict=True):
            print(f"  an edge: {what} {median(found):.0f} ms (median), {max(found):.0f} ms (slowest) after the click")
    clean(page)
