"""Text from strangers stays text: in every view, in what hovers over a plot, in a report, in an exported notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbconvert
import nbformat
import pytest
from playwright.sync_api import Browser, Page, Request

import hostile
import lsat_explorer as lsat
from lab import PATIENCE, Notebook
from test_explorer import clean

pytestmark = pytest.mark.browser

SETUP = f"""
import sys, torch
sys.path.append({str(Path(hostile.__file__).parent)!r})
torch.set_num_threads(1)
import hostile, lsat_explorer as lsat
from hostile import HOSTILE
data, pictures = hostile.rows(), hostile.rows(image=True)
recipe = hostile.recipe(data)
"""
EXPLORER = """
explorer = lsat.widgets.Explorer(data, recipe)
explorer.start()
explorer.wait(60)
explorer.browser.verdicts.relabel(explorer.browser.run.data.train.rows[:2], HOSTILE[0])
explorer.browser.selected = list(data.train.rows[:3])
explorer.browser._folded = False
explorer.browser.wait()
explorer
"""
TUNER = """
tuner = lsat.widgets.LiveTuner(pictures, hostile.recipe(pictures))
for name in HOSTILE[2:9]:
    tuner.start()
    tuner.wait(60)
    tuner.runs[-1].name = tuner.runs[-1].note = name
    tuner.branch(2)
    tuner.wait(60)
for k in range(1, 6):
    tuner.runs.overlay(k)
del tuner.runs[0]
tuner.runs[-1].name = HOSTILE[0]
tuner.controls.marked = 3
tuner.controls.with_omega = True
tuner
"""
VIEWS = {
    "explorer": EXPLORER,
    "tuner": TUNER,
    "sliders": "lsat.widgets.HyperSliders(lsat.tune(recipe, data, progress=False))",
    "columns": "lsat.widgets.GraphEditor(data)",
    "nodes": "editor = lsat.widgets.GraphEditor(hostile.graph())\neditor._listing = True\neditor",
    "features": (
        "lsat.widgets.FeaturizerBuilder(data, lsat.Concat(some=lsat.Chain(lsat.SelectFeatures(), lsat.Spline()), "
        "near=lsat.KMeansArchetypes(per_class=1)))"
    ),
    "rows": (
        "rows = lsat.widgets.WeightBrowser(lsat.tune(recipe, data, progress=False), order='doubt')\n"
        "rows.selected = [data.train.rows[1]]\nrows.wait()\nrows"
    ),
    "pictures": (
        "seen = lsat.widgets.WeightBrowser(tuner.run, part='validation')\n"
        "seen.selected = [pictures.validation.rows[0]]\nseen.wait()\nseen"
    ),
    "maps": """
import numpy as np
from lsat_explorer import plots
from lsat_explorer.widgets.figure import figure_widget
images = pictures.train.inputs[:len(HOSTILE)].reshape(-1, 4, 4)
figure_widget(plots.thumbnails_plotly(images, HOSTILE, HOSTILE[0], across=4))""",
    "theta": "figure_widget(plots.theta_plotly(tuner.run.model.theta[:16], (4, 4), pictures.classes))",
    "report": "tuner.run.report(name=HOSTILE[1])",
    "estimator": (
        "estimator = lsat.TunedLeastSquaresClassifier(recipe=recipe.replace(data_weights=lsat.GroupWeights("
        "[HOSTILE[i % 6] for i in range(85)])))\n"
        "estimator.fit(data.train.inputs.numpy(), data.train.labels)"
    ),
    "said": "print(data, tuner.runs, explorer.browser.verdicts)\ndata",
    "refused": """
try:
    lsat.widgets.GraphEditor(data, active=HOSTILE[0])
except ValueError as error:
    print(error)""",
}
# What text may not become: elements and attributes that only a name of a stranger brings.
MADE = """() => {
    const made = [...document.querySelectorAll('img[src="x"], iframe[srcdoc], a[href^="javascript"], svg[onload]')];
    for (const element of document.querySelectorAll('*')) {
        const [own] = element.childNodes;
        if (element.childNodes.length === 1 && own.nodeType === 3 && own.textContent === 'bold') made.push(element);
        const scripts = element.tagName === 'SCRIPT' && element.textContent.includes('pwned=1')
            && !/json/.test(element.type);
        const handlers = [...element.attributes].some(({ name, value }) => /^on/.test(name) && /pwned/.test(value));
        if (scripts || handlers) made.push(element);
    }
    return made.map((element) => element.outerHTML.slice(0, 200));
}"""
# Everything that a person may read or have read out: text, tooltips, names, what stands in fields.
READ = """(root) => {
    const words = [];
    for (const element of root.querySelectorAll('*')) {
        for (const name of ['title', 'aria-label', 'alt', 'placeholder']) words.push(element.getAttribute(name) ?? '');
        words.push(element.value ?? '');
    }
    return [root.textContent, ...words].join('\\n');
}"""

Open = Callable[..., Notebook]


def nothing_made(page: Page) -> None:
    """Fail where a name has become an element, or its script has run."""
    assert page.evaluate("() => String(window.pwned)") == "undefined"
    assert page.evaluate(MADE) == []


def outputs(page: Notebook) -> dict[str, str]:
    """What can be read in the outputs of each view's cell."""
    cells = page.page.locator(".jp-Notebook .jp-Cell").all()[1:]
    return {
        name: "\n".join(area.evaluate(READ) for area in cell.locator(".jp-Cell-outputArea").all())
        for name, cell in zip(VIEWS, cells, strict=True)
    }


def hovered(page: Notebook, cell: str) -> set[str]:
    """The texts that hover over the subplots of the figure in the cell of a view."""
    plot = page.page.locator(".jp-Notebook .jp-Cell").nth(1 + list(VIEWS).index(cell)).locator(".lsat-plot").first
    plot.scroll_into_view_if_needed()
    found: set[str] = set()
    for panel in plot.locator(".nsewdrag").all():
        box = panel.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.5
        before = plot.locator(".hoverlayer .hovertext").all_text_contents()
        page.page.mouse.move(x, y - 3)
        page.page.mouse.move(x, y)
        plot.locator(".hoverlayer .hovertext").first.wait_for()
        if before:  # the texts of the panel before give way to those of this one
            page.page.wait_for_function(
                "([el, old]) => [...el.querySelectorAll('.hovertext')].map((t) => t.textContent).join() !== old",
                arg=[plot.element_handle(), ",".join(before)],
            )
        found |= set(plot.locator(".hoverlayer .hovertext").all_text_contents())
    return found


def strangers(page: Page, own: str) -> list[str]:
    """Collect what a page asks for that is not its own."""
    asked: list[str] = []

    def hear(request: Request) -> None:
        if not request.url.startswith((own, "data:", "blob:", "about:")):
            asked.append(request.url)

    page.on("request", hear)
    return asked


def test_names_of_strangers_are_text_in_every_view(notebook: Open, folder: Path, browser: Browser) -> None:
    page = notebook("hostile.ipynb", SETUP, *VIEWS.values(), size=(1400, 2000))
    page.wait_for("() => document.querySelectorAll('.lsat-plot .main-svg').length >= 8")
    for name in ("Weights", "Loss", "Method", "Code", "Regularizers", "Features"):
        page.click(f".lsat-tabs button:has-text('{name}')")
        nothing_made(page.page)
    page.wait_for(
        """() => document.querySelectorAll('.lsat-browser-reasons').length >= 2
            && [...document.querySelectorAll('.lsat-browser-standing')].every((said) => !/…/.test(said.textContent))"""
    )
    read = outputs(page)
    silent = {"sliders", "report"}  # names of pieces and fields alone; a still picture
    assert [name for name, words in read.items() if "<img src=x o" not in words and name not in silent] == []
    shown = ("</script><sc", '"><svg onloa', "${7*7}{{7*7}", "<b>bold</b>", "👩‍👩‍👧‍👦 é", "WWWWWWWW")
    for name in ("explorer", "columns", "nodes", "features", "rows", "pictures"):
        assert [text for text in shown if text not in read[name]] == []
    # what follows the sign would be turned round, numbers too
    assert [name for name in ("explorer", "features", "rows", "pictures", "theta") if "\u202e" in read[name]] == []

    over = {name: hovered(page, name) for name in ("tuner", "maps")}
    assert any("%{x}%{customdata}<extra></extra>" in text for text in over["tuner"]), over["tuner"]
    assert any("<img src=x onerror=" in text for text in over["maps"]), over["maps"]
    nothing_made(page.page)
    page.picture("hostile")
    page.save()
    clean(page)

    saved = nbformat.read(folder / "hostile.ipynb", as_version=4)
    html, _ = nbconvert.HTMLExporter(template_name="lab").from_notebook_node(saved)
    (folder / "hostile.html").write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    exported = context.new_page()
    exported.set_default_timeout(PATIENCE)
    exported.goto((folder / "hostile.html").as_uri(), wait_until="commit")
    exported.locator(".lsat-estimator").wait_for()
    nothing_made(exported)
    context.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_report_of_strangers_names_is_text(browser: Browser, tmp_path: Path, scripts: bool) -> None:
    data = hostile.rows(image=True)
    path = tmp_path / "report.html"
    run = lsat.tune(hostile.recipe(data), data, progress=False)
    run.report(path, name=hostile.HOSTILE[1])
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    asked, said = strangers(page, path.as_uri()), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    words = page.evaluate("() => document.documentElement.textContent")
    for name in hostile.HOSTILE[:6]:
        assert name in words
    nothing_made(page)
    assert (asked, said) == ([], [])
    context.close()


def test_a_file_of_strangers_names_is_text(notebook: Open, folder: Path) -> None:
    path = hostile.table(folder)
    show = f"""
data = lsat.datasets.from_csv({str(path)!r}, target="kind")
explorer = lsat.widgets.Explorer(data)
explorer.start()
explorer.wait(60)
explorer.browser.order = "doubt"
explorer.browser.wait()
explorer"""
    page = notebook("hostile-file.ipynb", SETUP, show)
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
    page.page.locator(".lsat-heading").get_by_text("<img src=x onerror").wait_for()
    nothing_made(page.page)
    clean(page)
