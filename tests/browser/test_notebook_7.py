"""The views in Notebook 7, which is JupyterLab's own parts around one notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lab import Notebook, write_notebook
from test_explorer import DIGITS, SHOW, clean, press, until_activity, until_points

pytestmark = pytest.mark.browser


def test_the_explorer_runs_there_too(browser: Browser, server: str, folder: Path) -> None:
    write_notebook(folder / "seven.ipynb", DIGITS.replace("100_000", "60"), SHOW)
    page = Notebook.in_notebook_7(browser, server, "seven.ipynb", size=(1400, 1300))
    own = [said for said in page.complaints if "/static/notebook/" in said]  # of its own, about a setting it lacks
    try:
        page.run_all()
        assert page.page.evaluate("() => window.jupyterapp.name") == "Jupyter Notebook"
        page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
        press(page, "Start")
        until_points(page, 5)
        until_activity(page, "ended")
        until_points(page, 60)  # the last ones may be drawn after the word
        page.page.locator(".jp-OutputArea-output .lsat-tabs").get_by_role("tab", name="Regularizers").click()
        page.page.get_by_role("button", name="Edit graphs", exact=True).click()
        page.page.locator(".lsat-editor [aria-busy=false] canvas").first.wait_for()
        page.picture("notebook-7")
        page.complaints = [said for said in page.complaints if said not in own]
        clean(page)
    finally:
        page.close()


def test_every_other_view_opens_there_too(browser: Browser, server: str, folder: Path) -> None:
    views = {
        ".lsat-editor [aria-busy=false] canvas": "lsat.widgets.GraphEditor(data)",
        ".lsat-features svg": "lsat.widgets.FeaturizerBuilder(data, recipe.featurizer)",
        ".lsat-knob input[type=range]": "lsat.widgets.HyperSliders(recipe)",
        ".lsat-tuner .main-svg": "lsat.widgets.LiveTuner(data, recipe)",
        ".lsat-browser-tile [style*=background-image]": "lsat.widgets.WeightBrowser(lsat.Run(recipe, data))",
    }
    write_notebook(folder / "seven-all.ipynb", DIGITS, *views.values())
    page = Notebook.in_notebook_7(browser, server, "seven-all.ipynb", size=(1400, 2600))
    own = [said for said in page.complaints if "/static/notebook/" in said]
    try:
        page.run_all()
        for cell, drawn in enumerate(views, start=1):
            view = page.page.locator(".jp-Cell").nth(cell)
            view.scroll_into_view_if_needed()
            view.locator(drawn).first.wait_for(state="attached")
        page.complaints = [said for said in page.complaints if said not in own]
        clean(page)
    finally:
        page.close()
