"""Record a live run of the Explorer as docs/live.gif: JupyterLab in headless Chromium, many screenshots a second.

`python scripts/record_live.py` takes MNIST where it is there, else the digits. Look at the frames before they are kept.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops

from machine import ROOT, chromium, has_mnist

TARGET = ROOT / "docs" / "live.gif"
MOST_BYTES = 2_000_000
WIDTH = 900  # pixels
FIRST, FRAME, LAST = 1_000, 120, 2_500  # ms that a frame is shown: before Start, during the run, at its end
PATIENCE = 600  # seconds that a run may take
MOST_FRAMES = 100
PREPARING = 4  # frames, however long it takes
MARGIN = 110  # pixels by which the view may grow during the run

SETUP = """
import os, torch
torch.set_num_threads(1)
import lsat_explorer as lsat
{data}
recipe = recipe.replace(method=lsat.ProximalGradient(max_iterations={iterations}))
explorer = lsat.widgets.Explorer(data, recipe)
explorer
"""
MNIST = """data = lsat.datasets.mnist(os.environ["LSAT_MNIST"], size=5_000, deskew=True)
recipe = lsat.recipes.paper_weighting()"""
DIGITS = """data = lsat.datasets.digits()
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=5)"""
CONTROLS = ".jp-OutputArea-output .lsat-controls"
READY = "() => document.querySelectorAll('.lsat-browser-tile').length >= 20"
PRESS = f"""() => [...document.querySelectorAll('{CONTROLS} button')].find((b) => b.textContent === 'Start').click()"""
ACTIVITY = f"() => document.querySelector('{CONTROLS}')?.dataset.activity"
# what differs from one machine to the next
DEVICE = "() => document.querySelectorAll('.lsat-device').forEach((place) => { place.textContent = 'Device cpu'; })"


def record(program: str) -> list[Image.Image]:
    """Run the Explorer in a browser and return what it looks like, from before Start to after the end."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    lab: Any = import_module("lab")
    playwright: Any = import_module("playwright.sync_api")
    cell = SETUP.format(data=MNIST, iterations=75) if has_mnist() else SETUP.format(data=DIGITS, iterations=120)
    with tempfile.TemporaryDirectory() as name, playwright.sync_playwright() as started:
        folder, browser = Path(name), lab.launch(started, program)
        lab.write_notebook(folder / "live.ipynb", cell)
        with lab.lab_server(folder) as address:
            page = lab.Notebook(browser, address, "live.ipynb", size=(1400, 1500), theme="JupyterLab Light")
            try:
                page.run_all()
                page.wait_for(READY)
                return frames(page)
            finally:
                page.close()
                browser.close()


def frames(page: Any) -> list[Image.Image]:
    """Press Start and take screenshots until the run has ended."""
    view = page.page.locator(".jp-OutputArea-output .lsat-explorer").first
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    box["height"] += MARGIN

    def shot() -> Image.Image:
        page.page.evaluate(DEVICE)
        return Image.open(io.BytesIO(page.page.screenshot(clip=box))).convert("RGB")

    taken = [shot()]
    page.page.evaluate(PRESS)
    end = time.monotonic() + PATIENCE
    while (activity := page.page.evaluate(ACTIVITY)) != "ended":
        if time.monotonic() > end:
            raise TimeoutError(f"The run did not end within {PATIENCE} seconds.")
        if activity == "failed":
            raise RuntimeError("The run failed: start a kernel with the same cell and read why.")
        if activity != "preparing" or len(taken) <= PREPARING:
            taken.append(shot())
    page.run_code("explorer.wait(); explorer.browser.wait()")
    page.page.wait_for_timeout(1_000)  # what the browser draws after the last message
    return [*taken, shot()]


def animated(taken: Sequence[Image.Image], width: int = WIDTH) -> bytes:
    """Return screenshots as an animated GIF that repeats, the ones that change nothing left out.

    Parameters
    ----------
    taken : sequence of images
        Of one size.
    width : int
        Pixels.
    """
    size = (width, round(width * taken[0].height / taken[0].width))
    small = [image.resize(size, Image.Resampling.LANCZOS) for image in taken]
    kept = [small[0], *(new for old, new in pairwise(small) if ImageChops.difference(old, new).getbbox())]
    step = (len(kept) - 1) / (MOST_FRAMES - 1)
    kept = kept if step <= 1 else [kept[round(i * step)] for i in range(MOST_FRAMES)]
    # One palette for all, and no dithering: what stands still stays the same to the bit, and costs nothing.
    both = Image.new("RGB", (size[0], 2 * size[1]))
    both.paste(kept[0], (0, 0))
    both.paste(kept[-1], (0, size[1]))
    palette = both.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in kept]
    times = [FIRST, *[FRAME] * (len(few) - 1)]
    times[-1] = LAST
    buffer = io.BytesIO()
    few[0].save(buffer, "GIF", save_all=True, append_images=few[1:], duration=times, loop=0, optimize=True)
    return buffer.getvalue()


def main(argv: Sequence[str] | None = None) -> int:
    """Record, and write the file where it is small enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TARGET, help="the file (default: docs/live.gif)")
    args = parser.parse_args(argv)
    program = chromium()
    if program is None:
        print("There is no Chromium: install it, or name its program in LSAT_CHROMIUM.", file=sys.stderr)
        return 1
    taken = record(program)
    gif = animated(taken)
    if len(gif) > MOST_BYTES:
        print(
            f"{len(taken)} frames take {len(gif):,} bytes, more than {MOST_BYTES:,}: nothing is kept.", file=sys.stderr
        )
        return 1
    temporary = args.out.with_suffix(".tmp")
    temporary.write_bytes(gif)
    temporary.replace(args.out)
    print(f"{args.out}: {len(taken)} frames, {len(gif):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
