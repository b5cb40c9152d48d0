"""The README's pictures: the Explorer on MNIST, light and dark, made here and not by hand.

`make pictures`, or `LSAT_PICTURES=write pytest tests/browser/test_pictures.py`, makes them anew; look at them before
they are kept. Otherwise what is kept is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import machine
from lab import Notebook
from test_explorer import MNIST, SHOW, clean, press, until_activity, until_points

pytestmark = pytest.mark.browser

DOCS = machine.ROOT / "docs"
ITERATIONS = 60
PATIENCE = 600_000  # ms that they may take where the machine has more to do
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
MOST = 300_000  # bytes of a picture
# what differs from one machine to the next
DEVICE = "() => document.querySelectorAll('.lsat-device').forEach((place) => { place.textContent = 'Device cpu'; })"

Open = Callable[..., Notebook]


def make(notebook: Open, scheme: str, path: Path) -> None:
    """Run the Explorer to its end and keep its picture."""
    page = notebook(f"picture-{scheme}.ipynb", MNIST, SHOW, size=(1400, 2000), theme=THEMES[scheme])
    page.page.set_default_timeout(PATIENCE)
    page.wait_for("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
    press(page, "Start")
    until_activity(page, "ended")
    until_points(page, ITERATIONS)
    page.run_code("explorer.browser.wait()")
    page.page.evaluate(DEVICE)
    page.page.mouse.move(0, 0)
    png = page.page.locator(".jp-OutputArea-output .lsat-explorer").first.screenshot(animations="disabled")
    clean(page)
    path.write_bytes(png)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


@pytest.mark.parametrize("scheme", THEMES)
def test_the_readme_shows_the_explorer(notebook: Open, scheme: str, request: pytest.FixtureRequest) -> None:
    path = DOCS / f"explorer-{scheme}.png"
    if os.environ.get("LSAT_PICTURES") == "write":
        request.getfixturevalue("mnist_folder")
        make(notebook, scheme, path)
    assert path.stat().st_size < MOST
    with Image.open(path) as image:
        assert image.width >= 1000
        ground = int(np.median(np.asarray(image.convert("L"))))
    assert (ground > 200) if scheme == "light" else (ground < 80)
    shown = re.search(r"<picture>(.*?)</picture>", (machine.ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    source = f'srcset="docs/{path.name}"' if scheme == "dark" else f'src="docs/{path.name}"'
    assert source in shown.group(1)
