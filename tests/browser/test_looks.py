"""How every view looks, against what is kept here: a label that is missing, or out of its place, is noticed.

Words are compared in every browser, the places of words and controls wherever the fonts are those of the baselines, and
pixels where Chromium is of the same version too. After a change of looks
`LSAT_BASELINES=write pytest tests/browser/test_looks.py` makes them anew; look at them before they are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser

from lab import ARTEFACTS, Notebook
from layout import SEEN, differences, layout, read, write

pytestmark = pytest.mark.browser

BASELINES = Path(__file__).parent / "baselines"
MADE_WITH = BASELINES / "made_with.txt"
WRITE = os.environ.get("LSAT_BASELINES") == "write"
FONTS = """() => {
    const pen = document.createElement('canvas').getContext('2d');
    return ['system-ui', 'monospace'].map((font) => {
        pen.font = `100px ${font}`;
        return Math.round(pen.measureText('Least squares 0123').width);
    });
}"""
CLEAR = 48  # of 255: how far a pixel is off before it counts
MOST = 12  # pixels that may be off; a letter has more


@dataclass(frozen=True)
class View:
    """A view to compare: its element, the cell that shows it, when it is drawn, and a label that it has."""

    selector: str
    code: str
    label: str
    ready: str = "true"
    moves: bool = True  # whether a style can move the label: not that of plotly's, which has a transform of its own


CURVES = "view.querySelector('.lsat-plot .main-svg')?.clientWidth === view.querySelector('.lsat-plot').clientWidth"
ENDED = "view.querySelector('.lsat-controls').dataset.activity === 'ended'"
TILES = "view.querySelectorAll('.lsat-browser-tile').length === 20"
AFTER = """tuner = lsat.widgets.LiveTuner(data, recipe.replace(method=lsat.ProximalGradient(max_iterations=6)))
tuner.start()
tuner.worker.wait(60)
tuner"""
VIEWS = {
    "explorer": View(
        ".lsat-explorer", "lsat.widgets.Explorer(data, recipe)", ".lsat-card .lsat-strong", f"{CURVES} && {TILES}"
    ),
    "tuner": View(".lsat-tuner", AFTER, ".lsat-plot .ytick text", f"{CURVES} && {ENDED}", moves=False),
    "sliders": View(".lsat-sliders", "lsat.widgets.HyperSliders(recipe)", ".lsat-knob-name"),
    "browser": View(".lsat-browser", "lsat.widgets.WeightBrowser(lsat.Run(recipe, data))", "label, button", TILES),
    "graph": View(
        ".lsat-editor",
        "lsat.widgets.GraphEditor(data)",
        ".lsat-card .lsat-strong",
        "view.querySelector('[aria-busy=false] canvas')",
    ),
    "features": View(
        ".lsat-features",
        "builder = lsat.widgets.FeaturizerBuilder(data, recipe.featurizer)\nbuilder.wait()\nbuilder",
        ".lsat-card .lsat-strong",
        "view.querySelector('svg')",
    ),
}
SETUP = """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
data = lsat.datasets.digits()
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2)
"""
# The view alone, at a whole pixel: in a notebook half a pixel of what stands above it moves every letter. What differs
# from one machine or run to the next is covered: the device, and seconds. It is still once nothing has moved for as
# long as plotly waits before it draws anew.
STAGED = """async ([index, selector, width, ready]) => {
    const view = document.querySelectorAll('.jp-Notebook .jp-Cell')[index]
        .querySelector(`.jp-OutputArea-output ${selector}`);
    const stage = document.createElement('div');
    stage.className = 'lsat-test-stage';
    stage.style = `position: fixed; inset: 0; z-index: 100000; background: var(--jp-layout-color0); width: ${width}px;`;
    const home = document.createComment('');
    view.replaceWith(home);
    stage.append(view);
    document.body.append(stage);
    const cover = document.createElement('style');
    cover.textContent = `.lsat-test-stage :is(.lsat-device, .lsat-clock, .lsat-runs td:nth-last-child(2)) {
            font-size: 0; &::after { font-size: 13px; content: "1.0"; } > * { display: none; } }`;
    stage.append(cover);
    stage.restore = () => { home.replaceWith(view); stage.remove(); };
    const drawn = new Function('view', `return ${ready}`);
    const frame = () => new Promise((go) => requestAnimationFrame(go));
    const state = () => {
        const { width: wide, height } = view.getBoundingClientRect();
        return `${wide} ${height} ${view.scrollWidth} ${view.innerHTML.length}`;
    };
    let before = '', since = performance.now();
    while (!drawn(view) || performance.now() - since < 500) {
        await frame();
        const now = state();
        if (now !== before) [before, since] = [now, performance.now()];
    }
    await document.fonts.ready;
    await Promise.all([...view.querySelectorAll('img')].map((image) => image.decode()));
    return [view.clientWidth, Math.ceil(view.getBoundingClientRect().height)];
}"""

Open = Callable[..., Notebook]


def pixels(page: Notebook, size: tuple[int, int]) -> np.ndarray:
    """What the page shows in its upper left corner."""
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1]}
    png = page.page.screenshot(clip=clip, animations="disabled", caret="hide")
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int16)


def off(one: np.ndarray, other: np.ndarray) -> int:
    """How many pixels are clearly not the same; all of them where the sizes differ."""
    if one.shape != other.shape:
        return int(max(one.shape[0] * one.shape[1], other.shape[0] * other.shape[1]))
    return int((np.abs(one - other).max(2) > CLEAR).sum())


def saved(path: Path) -> np.ndarray:
    """The pixels of a picture."""
    return np.asarray(Image.open(path).convert("RGB"), dtype=np.int16)


def keep(path: Path, shown: np.ndarray) -> np.ndarray:
    """Write a picture, and return its pixels as they were drawn."""
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(shown.astype(np.uint8)).quantize(256).save(path, optimize=True)
    return shown


@dataclass(frozen=True)
class Made:
    """With what the pictures were made, or what draws here."""

    chromium: str
    fonts: tuple[int, ...]

    def draws_letters_as(self, other: Made) -> bool:
        """Whether the fonts are the same; versions of Chromium measure them alike to a pixel or two in a thousand."""
        return all(abs(a - b) <= 2 for a, b in zip(self.fonts, other.fonts, strict=True))

    @classmethod
    def read(cls, text: str) -> Made:
        """Return what `text` gave."""
        chromium, *fonts = text.split()
        return cls(chromium, tuple(map(int, fonts)))

    def text(self) -> str:
        """Return it as a line of a file."""
        return " ".join((self.chromium, *map(str, self.fonts))) + "\n"


@pytest.fixture(scope="module")
def here(browser: Browser) -> Made:
    """What draws here."""
    blank = browser.new_page()
    made = Made(browser.version, tuple(blank.evaluate(FONTS)))
    blank.close()
    if WRITE:
        MADE_WITH.parent.mkdir(exist_ok=True)
        MADE_WITH.write_text(made.text(), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def kept() -> Made:
    """What the pictures were made with."""
    return Made.read(MADE_WITH.read_text(encoding="utf-8"))


def test_pixels_are_compared(here: Made, kept: Made) -> None:
    if here != kept:
        places = "places" if here.draws_letters_as(kept) else "not even places"
        pytest.skip(f"pictures were made with {kept}, this is {here}: words are compared, {places}, but no pixels")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("width", [1400, 800])
def test_every_view_looks_as_it_did(notebook: Open, here: Made, theme: str, width: int) -> None:
    name = f"{theme.split()[-1].lower()}-{width}"
    page = notebook(
        f"looks-{name}.ipynb", SETUP, *(view.code for view in VIEWS.values()), size=(width, 2700), theme=theme
    )
    made = Made.read(MADE_WITH.read_text(encoding="utf-8"))
    places, by_pixel = here.draws_letters_as(made), here == made
    page.page.mouse.move(width - 1, 2699)
    wrong: dict[str, object] = {}
    unnoticed = []
    for index, (title, view) in enumerate(VIEWS.items(), start=1):
        # as wide as in a notebook of that width, in whole pixels
        size = page.page.evaluate(STAGED, [index, view.selector, width - 130, view.ready])
        path, plan = BASELINES / f"{title}-{name}.png", BASELINES / f"{title}-{width}.json"  # one plan for both themes
        shown, seen = pixels(page, size), layout(page.page.evaluate(SEEN))
        if WRITE and "Light" in theme:
            write(plan, seen)
        expected = read(plan)
        if said := differences(seen, expected, places=places):
            wrong[f"{title}, words and places"] = said
        drawn = keep(path, shown) if WRITE else saved(path)
        if by_pixel and off(shown, drawn) > MOST:
            wrong[f"{title}, pixels"] = (shown.shape, drawn.shape, off(shown, drawn))
        if any(one.startswith(title) for one in wrong):
            keep(ARTEFACTS / f"looks-{path.name}", shown)
        label = page.page.locator(f".lsat-test-stage :is({view.label})").filter(visible=True).first
        label.evaluate("el => { el.style.visibility = 'hidden'; }")
        if not differences(layout(page.page.evaluate(SEEN)), expected, places=places):
            unnoticed.append(f"{title}, words")
        if by_pixel and off(pixels(page, size), drawn) <= MOST:
            unnoticed.append(f"{title}, pixels")
        label.evaluate("el => { el.style.visibility = ''; }")
        label.evaluate("el => { el.style.transform = 'translateX(9px)'; }")
        if places and view.moves and not differences(layout(page.page.evaluate(SEEN)), expected, places=True):
            unnoticed.append(f"{title}, places")
        label.evaluate("el => { el.style.transform = ''; }")
        page.page.evaluate("() => document.querySelector('.lsat-test-stage').restore()")
    assert wrong == {}, f"pictures in {ARTEFACTS} against those in {BASELINES}"
    assert unnoticed == []  # a label that is missing, or not in its place
    assert page.complaints == []
