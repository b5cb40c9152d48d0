"""Load with a real page: a long run in its open view, and a page that stops reading.

`LSAT_SOAK=1` (`make soak`) makes both long, and they record their figures.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import reliability
import soak
from lab import Notebook
from test_explorer import clean, press, until_points
from test_soak import LONG, MEGABYTE, MOST_GROWTH, grown

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETUP = """
import json, sys
sys.path.append({folder!r})
import soak
from lsat_explorer.widgets import LiveTuner
tuner = LiveTuner(soak.light({iterations}, step={step}))
"""

Open = Callable[..., Notebook]


def opened(notebook: Open, name: str, iterations: int, step: float = 1.0) -> Notebook:
    setup = SETUP.format(folder=str(Path(soak.__file__).parent), iterations=iterations, step=step)
    page = notebook(name, setup, "tuner")
    until_points(page, -1)
    return page


def test_a_long_run_with_its_page_holds_no_more_after_a_thousand_iterations(notebook: Open) -> None:
    began, iterations = time.monotonic(), 20_000 if LONG else 3_000
    page = opened(notebook, "soak.ipynb", iterations)
    found = json.loads(page.run_code("print(json.dumps(soak.watched(tuner, 1_000)))"))
    assert found["iterations"] == iterations
    page.page.locator(".lsat-sentence", has_text="maximum number of iterations").first.wait_for()
    until_points(page, 1_000)  # it was drawn to the end
    growth = found["most"] - found["start"]["rss"]
    assert growth < MOST_GROWTH
    assert grown(found["start"], found["stays"]) == {}
    clean(page)
    reliability.record(
        "a long run in its open view, with its page in JupyterLab",
        f"{iterations:,} iterations",
        f"memory {growth / MEGABYTE:+.1f} MB after the first 1,000 (at most 20); no trait, comm, thread or file more",
        time.monotonic() - began,
    )


@contextmanager
def held_still() -> Iterator[None]:
    """Hold the processes of the pages of this test's own browser, so that they read nothing, and let them go on."""
    below = psutil.Process().children(recursive=True)
    pages = [one for one in below if "--type=renderer" in one.cmdline()]
    assert pages
    for one in pages:
        one.suspend()
    try:
        yield
    finally:
        for one in pages:
            one.resume()


def between(samples: list[list[float]], begin: float, end: float) -> tuple[float, float, float]:
    """Iterations a second, and the growth in bytes of the kernel and of its server, from one time to another."""
    inside = [sample for sample in samples if begin <= sample[0] <= end]
    first, last = inside[0], inside[-1]
    kernel, server = (max(sample[k] for sample in inside) - first[k] for k in (2, 3))
    return (last[1] - first[1]) / (last[0] - first[0]), kernel, server


def test_a_page_that_stops_reading_slows_no_run(notebook: Open, capsys: pytest.CaptureFixture[str]) -> None:
    began, seconds = time.monotonic(), 60.0 if LONG else 5.0
    page = opened(notebook, "still.ipynb", 10_000_000, step=0.01)
    press(page, "Start")
    until_points(page, 500)
    page.run_code("samples = soak.sampled(tuner)")
    start = time.time()
    page.page.wait_for_timeout(1000 * seconds)
    with held_still():
        still = time.time()
        time.sleep(seconds)  # nothing is waited for: what is looked at is what goes on meanwhile
        end = time.time()
    until_points(page, 0)
    samples = json.loads(page.run_code("print(json.dumps(samples))"))
    before, _, _ = between(samples, start, still)
    rate, kernel, server = between(samples, still, end)
    press(page, "Stop")
    page.page.locator(".lsat-sentence", has_text="topped").first.wait_for()  # it hears its buttons again
    whole = int(page.run_code("tuner.wait(60); print(len(tuner.run.iterates) - 1)"))
    page.wait_for(f"(last) => ({LAST})() === last", whole)  # and shows all that came meanwhile
    assert rate > 0
    assert kernel < MOST_GROWTH
    assert server < MOST_GROWTH
    clean(page)
    words = f"{rate:,.0f} iterations a second, {before:,.0f} while it read"
    memory = f"kernel {kernel / MEGABYTE:+.1f} MB, server {server / MEGABYTE:+.1f} MB"
    with capsys.disabled():
        print(f"\n  a page that reads nothing for {seconds:.0f} s: {words}; {memory}")
    reliability.record("a page that stops reading", f"{seconds:.0f} s", f"{words}; {memory}", time.monotonic() - began)


LAST = """() => {
    const output = '.jp-OutputArea-output .lsat-plot';
    const places = [...document.querySelectorAll(`${output}, ${output} *`)];
    const plot = places.find((place) => Array.isArray(place.data) && place.layout);
    return plot?.data.find((t) => t.name === 'validation loss')?.x.at(-1);
}"""
