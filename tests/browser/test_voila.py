"""A notebook as a dashboard: `voila notebooks/06_workbench.ipynb` serves it without its code, and the views live."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import machine
from lab import ARTEFACTS, PATIENCE, free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FONTS = "https://cdn.jsdelivr.net/npm/@fortawesome/"  # Voilà's own pages ask for icons, and do without them
ACTIVITY = "() => document.querySelector('.lsat-explorer .lsat-controls')?.dataset.activity"


@contextmanager
def voila(notebook: Path) -> Iterator[str]:
    """Serve a notebook; yield its address."""
    home = notebook.parent / ".voila"
    places = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "RUNTIME")}
    address = f"http://127.0.0.1:{(port := free_port())}"
    words = [sys.executable, "-m", "voila", str(notebook), "--no-browser", "--Voila.ip=127.0.0.1", f"--port={port}"]
    environment = machine.environment() | places | {"PYTHONPATH": str(machine.ROOT), "IPYTHONDIR": str(home)}
    home.mkdir()
    log = home / "voila.log"
    with log.open("w") as out:
        server = subprocess.Popen(words, env=environment, cwd=notebook.parent, stdout=out, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + PATIENCE / 1000
        while not answers(f"{address}/voila/templates/lab/static/voila.js"):
            assert server.poll() is None, f"Voilà ended at once:\n{log.read_text()[-3000:]}"
            assert time.monotonic() < end, f"Voilà did not come up:\n{log.read_text()[-3000:]}"
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def answers(address: str) -> bool:
    """Whether a server says anything, be it that there is no such file."""
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def test_the_workbench_is_a_dashboard(browser: Browser, tmp_path: Path) -> None:
    shutil.copy(machine.ROOT / "notebooks" / "06_workbench.ipynb", tmp_path)
    context = browser.new_context(viewport={"width": 1400, "height": 1500})
    try:
        with voila(tmp_path / "06_workbench.ipynb") as address:
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            broken: list[str] = []
            strangers: list[str] = []
            page.on("pageerror", lambda error: broken.append(error.stack or str(error)))
            page.on("request", lambda request: strangers.append(request.url))
            page.goto(address, wait_until="domcontentloaded")
            page.wait_for_function("() => document.querySelectorAll('.lsat-browser-tile').length >= 20")
            page.wait_for_function("() => document.querySelector('.lsat-plot .main-svg') !== null")
            page.locator(".lsat-editor [aria-busy=false] canvas").first.wait_for()
            assert page.locator(".lsat-explorer .lsat-runs tbody tr").count() == 4
            assert page.locator("text=lsat.widgets.Explorer(data)").count() == 0  # the code of the cells is left out

            page.locator(".lsat-explorer").get_by_role("tab", name="Method").click()
            page.get_by_role("slider", name="tolerance").first.wait_for()
            page.locator(".lsat-controls button", has_text="Restart").first.evaluate("el => el.click()")
            page.wait_for_function("() => document.querySelectorAll('.lsat-explorer .lsat-runs tbody tr').length === 5")
            page.wait_for_function(f"() => ({ACTIVITY})() === 'ended'")
            ARTEFACTS.mkdir(exist_ok=True)
            page.locator(".lsat-explorer").first.screenshot(path=ARTEFACTS / "voila.png", animations="disabled")
            assert [error for error in broken if "lsat" in error] == []
            own = (address, address.replace("http", "ws"), "data:", "blob:", FONTS)
            assert [url for url in strangers if not url.startswith(own)] == []
    finally:
        context.close()
