"""One JupyterLab and one Chromium for all browser tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="Playwright is not installed: pip install 'lsat_explorer[test]'")

from playwright.sync_api import Browser, sync_playwright

from lab import Notebook, lab_server, launch, write_notebook


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[str]:
    with lab_server(folder) as address:
        yield address


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        yield browser
        browser.close()


@pytest.fixture
def notebook(browser: Browser, server: str, folder: Path) -> Iterator[Callable[..., Notebook]]:
    """Open a notebook of the given cells and run it."""
    opened: list[Notebook] = []

    def open_notebook(
        name: str, *cells: str, size: tuple[int, int] = (1400, 1500), theme: str = "JupyterLab Light"
    ) -> Notebook:
        write_notebook(folder / name, *cells)
        opened.append(Notebook(browser, server, name, size=size, theme=theme))
        opened[-1].run_all()
        return opened[-1]

    yield open_notebook
    for page in opened:
        page.close()
