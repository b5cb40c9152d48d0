"""The live figure in JupyterLab: it has the theme's colours, and another figure in its place has its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from boxes import overlapping
from lab import Notebook

pytestmark = pytest.mark.browser

RUN = """
import plotly.graph_objects as go
import lsat_explorer as lsat
from lsat_explorer.widgets.figure import figure_widget
run = lsat.tune(lsat.Recipe(), lsat.datasets.digits(), progress=False)
lsat.widgets.LiveTuner(run)
"""
OTHER = """
figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]))
for place in range(11):
    figure.add_annotation(x=place / 10, y=0.5, text=f"note {place}", showarrow=False, font_color="rgb(200, 0, 0)")
    figure.add_shape(type="line", x0=0, x1=1, y0=place / 10, y1=place / 10, line_color="rgb(0, 120, 0)")
figure_widget(figure)
"""
FILLS = """(words) => [...document.querySelectorAll('.jp-OutputArea-output .lsat-plot .annotation text')]
    .filter((text) => text.textContent.includes(words))
    .map((text) => [...text.querySelectorAll('*')].filter((part) => part.textContent === words).pop() ?? text)
    .map((part) => getComputedStyle(part).fill)"""
THEME = """(variable) => {
    const probe = document.createElement('span');
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
}"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_titles_and_values_have_the_theme_s_colours_and_other_figures_their_own(
    notebook: Callable[..., Notebook], theme: str
) -> None:
    page = notebook(f"plot-{theme.split()[-1].lower()}.ipynb", RUN, OTHER, theme=theme)
    page.wait_for(f"() => ({FILLS})('note').length === 11 && ({FILLS})('Validation loss').length === 1")
    for words in ("Validation loss", "Step size t", "Stopping residual"):
        assert page.page.evaluate(FILLS, words) == [page.page.evaluate(THEME, "--jp-ui-font-color1")]
    loss = page.run_code(
        "from lsat_explorer.plots.curves import value_text; print(value_text(run.iterates[-1].loss, 'loss'))"
    )
    assert page.page.evaluate(FILLS, loss) == [page.page.evaluate(THEME, "--jp-brand-color1")]
    assert set(page.page.evaluate(FILLS, "note")) == {"rgb(200, 0, 0)"}
    strokes = """() => [...document.querySelectorAll('.jp-OutputArea-output .lsat-plot .shapelayer path')]
        .map((path) => getComputedStyle(path).stroke)"""
    assert page.page.evaluate(strokes).count("rgb(0, 120, 0)") == 11
    assert page.complaints == []


EXPLORER = """
import lsat_explorer as lsat
data = lsat.datasets.digits()
early = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=12), early_stopping=lsat.EarlyStopping(patience=20))
tuner = lsat.widgets.LiveTuner(lsat.tune(early, data, progress=False))
tuner
"""
# each word of the curves with its corners
TEXTS = """(part) => [...document.querySelectorAll(`.jp-OutputArea-output ${part} text`)].flatMap((text) => {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
        const { currentNode: node } = walker, range = document.createRange();
        range.selectNode(node);
        if (node.data.trim() && node.parentElement.checkVisibility({ visibilityProperty: true })) {
            const { left, right, top, bottom } = range.getBoundingClientRect();
            found.push([node.data, [[left, top], [right, top], [right, bottom], [left, bottom]]]);
        }
    }
    return found;
})"""
SETTLED = """(part) => {
    const plot = document.querySelector(`.jp-OutputArea-output ${part}`);
    return plot.querySelector('.main-svg')?.clientWidth === plot.clientWidth;
}"""
TAB = """() => {
    const bar = document.querySelector('.lsat-explorer .lsat-tabs');
    const last = bar.lastElementChild, end = (node) => node.getBoundingClientRect().right;
    return [last.textContent, bar.scrollWidth <= bar.clientWidth, end(last) <= end(bar)];
}"""


def test_words_of_the_curves_and_tabs_have_room_in_a_narrow_window(notebook: Callable[..., Notebook]) -> None:
    page = notebook("narrow.ipynb", EXPLORER, "lsat.widgets.Explorer(data)")
    page.page.locator(".lsat-explorer .lsat-tabs button").last.wait_for()
    for width in (1400, 800, 700, 440, 400):
        page.resize(width, 1500)
        page.wait_for(SETTLED, ".lsat-tuner .lsat-plot")
        found = page.page.evaluate(TEXTS, ".lsat-tuner .lsat-plot")
        said = [words for words, _ in found]
        assert ("· tolerance dashed" in said) == (width > 440)
        over = [(said[a], said[b]) for a, b in overlapping([corners for _, corners in found], 1.0)]
        assert (width, over) == (width, [])
        assert page.page.evaluate(TAB) == ["Code", True, True]
    assert page.complaints == []
