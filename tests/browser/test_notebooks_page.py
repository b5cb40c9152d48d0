"""The notebooks as whoever has no kernel reads them: exported to HTML and opened in a browser that is offline."""

from __future__ import annotations

import re
from pathlib import Path

import nbconvert
import nbformat
import pytest
from playwright.sync_api import Browser

from execute_notebooks import FOLDER
from lab import ARTEFACTS

pytestmark = pytest.mark.browser

PICTURES = "() => [...document.images].map((image) => image.complete ? image.naturalWidth : 0)"
BOXES = """() => [...document.querySelectorAll('.jp-OutputArea-output')].map((box) => ({
    text: box.innerText.trim(), images: box.querySelectorAll('img, svg').length,
    height: box.getBoundingClientRect().height, width: box.getBoundingClientRect().width,
}))"""
RAW = re.compile(r"<\w[\w. ]* (?:object|size|with)\b|\bat 0x[0-9a-f]+|\b(?:\w*Box|\w+Widget|Output|Layout|Figure)\(")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.name)
def test_its_page_shows_a_picture_where_a_view_was(browser: Browser, tmp_path: Path, path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    html, _ = nbconvert.HTMLExporter(template_name="lab").from_notebook_node(notebook)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1100, "height": 900})
    page = context.new_page()
    try:
        page.goto((tmp_path / "page.html").as_uri())
        widths = page.evaluate(PICTURES)
        assert len(widths) >= max(len(pictures), 1)
        assert min(widths) > 0
        boxes = page.evaluate(BOXES)
        assert len(boxes) >= len(outputs)
        assert [box for box in boxes if box["height"] < 8 or not (box["text"] or box["images"])] == []
        assert [box["text"] for box in boxes if RAW.search(box["text"])] == []
        ARTEFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"page-{path.stem}.png", full_page=True)
    finally:
        context.close()


def test_a_raw_repr_is_noticed() -> None:
    said = ["<Sheet size 800x500 with 3 Axes>", "<lsat_explorer.Run object at 0x7f00>", "VBox(children=(Label(),))"]
    assert all(RAW.search(text) for text in said)
    assert not RAW.search("Stack(pixel_ridge=Ridge(block='pixels')) <b> loss < 1.5")
