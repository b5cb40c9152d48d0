"""How every view looks before anything has run, against pictures kept here: a label that is missing is noticed.

`LSAT_BASELINES=compare pytest tests/browser/test_looks.py` compares: half a pixel by which a page is laid out otherwise
counts, so it is not part of every run. `LSAT_BASELINES=write` makes the pictures anew; look at them before they are
kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser

from lab import ARTEFACTS, Notebook

pytestmark = pytest.mark.browser

BASELINES = Path(__file__).parent / "baselines"
MADE_WITH = BASELINES / "made_with.txt"
FONTS = """() => {
    const pen = document.createElement('canvas').getContext('2d');
    return ['system-ui', 'monospace'].map((font) => {
        pen.font = `100px ${font}`;
        return Math.round(pen.measureText('Least squares 0123').width);
    }).join(' and ');
}"""
CLEAR = 64  # of 255: how far a pixel is off before it counts, so that smoothing does not
MOST = 30  # pixels that may be off; the shortest label has more

VIEWS = {
    "explorer": (".lsat-explorer", "lsat.widgets.Explorer(data, recipe)"),
    "tuner": (".lsat-tuner", "lsat.widgets.LiveTuner(data, recipe)"),
    "sliders": (".lsat-sliders", "lsat.widgets.HyperSliders(recipe)"),
    "browser": (".lsat-browser", "lsat.widgets.WeightBrowser(lsat.Run(recipe, data))"),
    "graph": (".lsat-editor", "lsat.widgets.GraphEditor(data)"),
}
SETUP = """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
data = lsat.datasets.digits()
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2)
"""
READY = """() => document.querySelector('.lsat-editor [aria-busy=false] canvas')
    && document.querySelectorAll('.lsat-browser-tile').length >= 40
    && document.querySelectorAll('.lsat-plot .main-svg').length >= 4"""
# what differs from one machine to the next
STEADY = """() => document.querySelectorAll('.lsat-device').forEach((place) => { place.textContent = 'Device cpu'; })"""

Open = Callable[..., Notebook]


def shot(page: Notebook, index: int, selector: str) -> np.ndarray:
    """The pixels of a view in the cell of that number."""
    view = page.page.locator(".jp-Cell").nth(index).locator(f".jp-OutputArea-output {selector}").first
    view.scroll_into_view_if_needed()
    png = view.screenshot(animations="disabled", caret="hide")
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int16)


def off(one: np.ndarray, other: np.ndarray) -> int:
    """How many pixels are clearly not the same; all of them where the sizes differ."""
    if one.shape != other.shape:
        return int(max(one.shape[0] * one.shape[1], other.shape[0] * other.shape[1]))
    return int((np.abs(one - other).max(2) > CLEAR).sum())


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_every_view_looks_as_it_did(notebook: Open, browser: Browser, theme: str, width: int) -> None:
    asked = os.environ.get("LSAT_BASELINES", "")
    if asked not in ("compare", "write"):
        pytest.skip("pictures are compared on request: LSAT_BASELINES=compare, or write to make them anew")
    write = asked == "write"
    blank = browser.new_page()
    here = f"Chromium {browser.version}, fonts {blank.evaluate(FONTS)} wide"
    blank.close()
    known = MADE_WITH.read_text(encoding="utf-8").strip() if MADE_WITH.exists() else "nothing yet"
    if not write and known != here:
        pytest.skip(f"the pictures were made with {known}, this is {here}: letters and edges differ")
    name = f"{theme.split()[-1].lower()}-{width}"
    cells = [code for _, code in VIEWS.values()]
    page = notebook(f"looks-{name}.ipynb", SETUP, *cells, size=(width, 2700), theme=theme)
    page.wait_for(READY)
    page.page.evaluate("() => document.fonts.ready")
    page.page.evaluate(STEADY)
    page.page.mouse.move(0, 0)
    wrong = {}
    for index, (view, (selector, _)) in enumerate(VIEWS.items(), start=1):
        pixels = shot(page, index, selector)
        path = BASELINES / f"{view}-{name}.png"
        if write:
            BASELINES.mkdir(exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).quantize(64).save(path, optimize=True)
            MADE_WITH.write_text(here + "\n", encoding="utf-8")
            continue
        kept = np.asarray(Image.open(path).convert("RGB"), dtype=np.int16)
        if off(pixels, kept) > MOST:
            wrong[view] = (pixels.shape, kept.shape, off(pixels, kept))
            ARTEFACTS.mkdir(exist_ok=True)
            Image.fromarray(pixels.astype(np.uint8)).save(ARTEFACTS / f"looks-{view}-{name}.png")
    assert wrong == {}, f"pictures in {ARTEFACTS} against those in {BASELINES}"
    if write:
        return
    label = page.page.locator(".jp-Cell").nth(3).locator(".lsat-knob-name").first
    label.evaluate("el => { el.style.visibility = 'hidden'; }")
    kept = np.asarray(Image.open(BASELINES / f"sliders-{name}.png").convert("RGB"), dtype=np.int16)
    assert off(shot(page, 3, VIEWS["sliders"][0]), kept) > MOST  # a missing label is noticed
