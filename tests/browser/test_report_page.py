"""The page of a run as its reader meets it: offline, with scripts switched off, light, dark, narrow and printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

import lsat_explorer as lsat
from lab import ARTEFACTS
from test_report import EVIL, hostile

pytestmark = pytest.mark.browser

ARRIVED = "() => [...document.images].map((image) => image.complete ? image.naturalWidth : 0)"
READABLE = """() => ['h1', 'h2', 'p', 'td', 'th', 'dt', 'dd', 'pre', 'figcaption'].flatMap((tag) =>
    [...document.querySelectorAll(tag)].filter((place) => place.getBoundingClientRect().height === 0))
    .map((place) => place.outerHTML)"""


@pytest.fixture(scope="module")
def report(digits: lsat.Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2).replace(
        method=lsat.ProximalGradient(max_iterations=40)
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    lsat.tune(recipe, digits, progress=False).report(path, name="weights on the digits")
    return path


def opened(browser: Browser, path: Path, scheme: str, width: int) -> tuple[Page, list[str], list[str]]:
    """The page in a browser that runs no script and reaches nobody, what it asked for, and what it complained of."""
    context = browser.new_context(
        java_script_enabled=False, offline=True, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    return page, asked, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 420])
def test_everything_shows_without_scripts_and_without_a_network(
    browser: Browser, report: Path, scheme: str, width: int
) -> None:
    page, asked, complaints = opened(browser, report, scheme, width)
    try:
        widths = page.evaluate(ARRIVED)
        assert len(widths) == 2 + 20
        assert min(widths) > 0
        assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
        assert complaints == []
        assert page.evaluate(READABLE) == []
        assert page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        for heading in ("What came of it", "Curves", "Hyper-parameters", "Iterates", "Recipe", "Where it comes from"):
            assert page.get_by_role("heading", name=heading, exact=True).is_visible()
        ARTEFACTS.mkdir(exist_ok=True)
        picture = ARTEFACTS / f"report-{scheme}-{width}.png"
        page.screenshot(path=picture, full_page=True)
        grey = np.asarray(Image.open(picture).convert("L"))
        ground = int(np.median(grey))
        assert (ground > 250) if scheme == "light" else (ground < 40)
        assert (np.abs(grey.astype(int) - ground) > 40).mean() < 0.25  # no drawing stays a white field in the dark
    finally:
        page.context.close()


def test_it_prints_on_white_with_nothing_cut_off(browser: Browser, report: Path) -> None:
    page, _, _ = opened(browser, report, "dark", 1200)
    try:
        page.emulate_media(media="print")
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") in (
            "rgb(255, 255, 255)",
            "rgba(0, 0, 0, 0)",
        )
        assert page.evaluate("() => getComputedStyle(document.querySelector('img.drawing')).filter") == "none"
        cut = "() => [...document.querySelectorAll('pre, .wide')].filter((el) => el.scrollHeight > el.clientHeight + 2)"
        assert page.evaluate(f"{cut}.length") == 0
        assert page.pdf(format="A4").count(b"/Type /Page\n") > 1
    finally:
        page.context.close()


def test_hostile_names_stay_text_in_a_browser_that_runs_scripts(browser: Browser, tmp_path: Path) -> None:
    hostile().report(tmp_path / "hostile.html", name=EVIL)
    page = browser.new_page()
    try:
        met: list[str] = []
        page.on("dialog", lambda dialog: (met.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: met.append(request.url))
        page.goto((tmp_path / "hostile.html").as_uri())
        assert [url for url in met if not url.startswith("data:")] == [(tmp_path / "hostile.html").as_uri()]
        assert page.locator("script").count() == 0
        assert page.locator("h1").inner_text() == EVIL
        assert EVIL in page.locator("pre").first.inner_text()
    finally:
        page.close()
