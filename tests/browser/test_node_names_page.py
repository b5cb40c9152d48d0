"""Names of nodes in the graph editor: as many as there is room for, none over another, none cut off."""

from __future__ import annotations

import pytest

from boxes import overlapping
from lab import Notebook
from test_graph_editor_page import EDITOR, SETUP, Open, clean

pytestmark = pytest.mark.browser

TOUCH = 0.5  # px by which boxes may meet: letters do not fill theirs
GRAPHS = """
names = [f"sepal length {i} (cm), and of what it was" for i in range(12)]
shown = [
    *[lsat.graphs.ring(n) for n in (3, 12, 16, 17, 150)],
    lsat.graphs.grid(8, 8),
    lsat.graphs.grid(28, 28),
    lsat.Graph(12, lsat.graphs.ring(12).edges, names=names),
]
"""
# the corners of every name, and of its drawing, px
NAMES = f"""() => [...document.querySelectorAll('{EDITOR}')].map((editor) => {{
    const svg = editor.querySelector('.lsat-draw svg').getBoundingClientRect();
    const names = [...editor.querySelectorAll('.lsat-draw-names text')].map((text) => {{
        const {{ x, y, width, height }} = text.getBBox(), to = text.getScreenCTM();
        return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]].map(([a, b]) => {{
            const at = new DOMPoint(a, b).matrixTransform(to);
            return [at.x - svg.x, at.y - svg.y];
        }});
    }});
    return {{ names, size: [svg.width, svg.height], nodes: editor.querySelector('.lsat-draw-nodes')
        .getAttribute('d').split('M').length - 1 }};
}})"""
ZOOMED = f"""(scale) => [...document.querySelectorAll('{EDITOR} .lsat-editor-scale')]
    .every((one) => one.textContent === scale)"""


def check(page: Notebook, placement: str, least: int) -> list[int]:
    """Fail if a name lies over another or leaves its drawing; return how many there are in each."""
    page.wait_for(f"() => ({NAMES})().every((one) => one.nodes > 0 && (!{least} || one.names.length))")
    counts = []
    for drawing in page.page.evaluate(NAMES):
        names, (width, height) = drawing["names"], drawing["size"]
        assert overlapping(names, TOUCH) == [], (placement, drawing["nodes"])
        places = [place for corners in names for place in corners]
        assert all(-1 <= x <= width + 1 and -1 <= y <= height + 1 for x, y in places), (placement, drawing["nodes"])
        assert len(names) >= min(drawing["nodes"], least), (placement, drawing["nodes"])
        counts.append(len(names))
    return counts


@pytest.mark.parametrize("width", [1400, 700])
def test_no_name_lies_over_another_or_is_cut_off(notebook: Open, width: int) -> None:
    page = notebook(
        f"graph-names-{width}.ipynb",
        SETUP + GRAPHS,
        "from IPython.display import display\neditors = [lsat.widgets.GraphEditor(each) for each in shown]\n"
        "for each in editors:\n    display(each)",
        size=(width, 1500),
    )
    for placement in ("circle", "line", "networkx"):
        page.run_code(
            f"for each in editors:\n    each._obey(each, {{'do': 'place', 'placement': '{placement}'}}, [])\n"
        )
        page.wait_for(
            f"""(word) => [...document.querySelectorAll('{EDITOR} .lsat-draw svg')]
                .every((one) => one.getAttribute('aria-label').includes(word))""",
            {"circle": "on a circle", "line": "on a line", "networkx": "by networkx"}[placement],
        )
        before = check(page, placement, 6)
        page.run_code("for each in editors:\n    each._zoom = 3.0")
        page.wait_for(ZOOMED, "300 %")
        after = check(page, placement, 6)
        assert sum(after) > sum(before)  # what is drawn larger has room for more
        page.run_code("for each in editors:\n    each._zoom = 1.0")
        page.wait_for(ZOOMED, "100 %")
    page.run_code(
        "for each in editors:\n    each._obey(each, {'do': 'place', 'placement': 'image'}, [])\n    each._zoom = 3.0"
    )
    page.wait_for(ZOOMED, "300 %")
    check(page, "image", 0)
    clean(page)


def test_every_name_around_a_circle_is_read(notebook: Open) -> None:
    page = notebook("graph-circle.ipynb", SETUP, "lsat.widgets.GraphEditor(data, placement='circle')")
    assert check(page, "circle", 64) == [64]
    page.picture("graph-circle", EDITOR)


def test_a_name_that_is_cut_off_is_told_whole_and_k_says_what_can_be(notebook: Open) -> None:
    data = "data = lsat.Data.from_arrays(np.random.default_rng(0).normal(size=(60, 12)), np.arange(60.0) % 7, "
    page = notebook(
        "graph-names-whole.ipynb",
        SETUP + GRAPHS + "import numpy as np\n" + data + "feature_names=names, task='regression')",
        "editor = lsat.widgets.GraphEditor(shown[-1], data=data, placement='circle')\neditor",
    )
    cut = page.page.locator(f"{EDITOR} .lsat-draw-names text:has(title)")
    cut.first.wait_for()
    assert cut.first.locator("title").text_content() == "sepal length 0 (cm), and of what it was"
    assert cut.first.evaluate("(text) => getComputedStyle(text).pointerEvents") == "auto"
    k = page.page.locator(f"{EDITOR} .lsat-editor-k input")
    k.fill("50")
    k.press("Enter")
    page.page.locator(f"{EDITOR} .lsat-editor-k").get_by_text("50 cannot be: a whole number from 1 to 11").wait_for()
    assert k.input_value() == "11"
    page.picture("graph-k", EDITOR)
    k.fill("3")
    k.press("Enter")
    page.wait_for(f"() => document.querySelector('{EDITOR} .lsat-editor-k [role=status]').textContent === ''")
    clean(page)
