"""The link from a live run to the page of the dask cluster that works on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab import Notebook
from test_accessibility import violations
from test_explorer import CONTROLS, clean, press, until_activity

pytest.importorskip("distributed", reason="there is no dask.distributed: pip install .[dask]")

pytestmark = pytest.mark.browser

SETUP = """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
data = lsat.datasets.digits()
engine = lsat.Dask.local(workers=1)
recipe = lsat.Recipe(engine=engine, method=lsat.ProximalGradient(max_iterations=3))
tuner = lsat.widgets.LiveTuner(data, recipe)
"""
LINK = f"{CONTROLS} a"

Open = Callable[..., Notebook]


def test_a_run_on_a_cluster_links_to_its_page(notebook: Open) -> None:
    page = notebook("workers.ipynb", SETUP, "tuner", size=(1100, 900))
    assert page.page.locator(LINK).is_hidden()  # before there is a cluster that works
    press(page, "Start")
    until_activity(page, "ended")
    link = page.page.locator(CONTROLS).get_by_role("link", name="Workers, in a new tab")
    link.wait_for()
    assert link.get_attribute("href") == page.run_code("print(engine.dashboard)")
    assert link.get_attribute("target") == "_blank"
    assert "noopener" in (link.get_attribute("rel") or "").split()
    assert "cluster" in (link.get_attribute("title") or "")
    page.picture("workers", ".lsat-tuner")
    sentence = page.page.locator(f"{CONTROLS} .lsat-sentence").first
    looks = "el => [getComputedStyle(el).textDecorationLine, getComputedStyle(el).color]"
    assert link.evaluate(looks)[0] == "underline"
    assert link.evaluate(looks)[1] != sentence.evaluate(looks)[1]
    assert violations(page, CONTROLS) == []
    link.focus()
    with page.context.expect_page() as opened:
        page.page.keyboard.press("Enter")
    assert opened.value.evaluate("() => window.opener") is None
    opened.value.close()
    page.strangers.clear()  # the cluster's own page was asked for
    for address in ("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", ""):
        page.run_code(f"tuner.controls.dashboard = {address!r}")
        link.wait_for(state="hidden")
        assert page.page.locator(LINK).get_attribute("href") == ""
        page.run_code("tuner.controls.dashboard = 'https://cluster.example/status'")
        link.wait_for()
    clean(page)
