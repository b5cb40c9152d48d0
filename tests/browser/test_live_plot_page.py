"""The live figure in JupyterLab: it has the theme's colours, and another figure in its place has its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
