"""JupyterLab in a private folder, and its pages in headless Chromium."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request

import machine

ARTEFACTS = Path(__file__).parent / "artefacts"
PATIENCE = 90_000  # ms: a loaded machine is slow, and no wait takes so long unless it fails

CONNECTED = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.sessionContext?.session?.kernel?.connectionStatus === 'connected';
}"""

# The bar at the right is at the window's edge, and the panel reaches to the bar, but for a margin of 5 px.
LAID_OUT = """(width) => {
    const { left, right } = document.querySelector('.jp-SideBar.jp-mod-right').getBoundingClientRect();
    const panel = window.jupyterapp.shell.currentWidget.node.getBoundingClientRect();
    return innerWidth === width && right === width && Math.abs(panel.right - left) < 8;
}"""

_CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-lcd-text",
    "--disable-checker-imaging",
)
_SETTINGS = {
    "apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker.jupyterlab-settings": {"windowingMode": "none"},
}


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def lab_server(folder: Path) -> Iterator[str]:
    """Run JupyterLab on a folder with private settings; yield its address."""
    home = folder / ".lab"
    settings = home / "settings"
    for name, value in _SETTINGS.items():
        path = settings / "@jupyterlab" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
    places = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    places |= {"JUPYTERLAB_SETTINGS_DIR": str(settings), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    root = machine.ROOT
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    environment = machine.environment() | places | {"PYTHONPATH": path, "IPYTHONDIR": str(home / "ipython")}
    port = free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"),
        *("--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", f"--ServerApp.root_dir={folder}"),
        "--JupyterNotebookApp.expose_app_in_browser=True",  # Notebook 7, which the same server offers
        "--ServerApp.open_browser=False",
    ]
    log = home / "lab.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_up(address, server, log)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_up(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended at once:\n{log.read_text()[-3000:]}")
        try:
            urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"JupyterLab did not come up:\n{log.read_text()[-3000:]}")


def launch(playwright: Playwright, program: str) -> Browser:
    """Start Chromium."""
    return playwright.chromium.launch(executable_path=program, args=list(_CHROMIUM))


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook of code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


class Notebook:
    """A notebook open in a page, with what the page said and asked for."""

    def __init__(self, browser: Browser, address: str, name: str, *, size: tuple[int, int], theme: str) -> None:
        self._begin(browser, address, size)
        self.page.goto(f"{address}/lab?reset")
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate(
            """async ([name, theme]) => {
                const app = window.jupyterapp;
                await app.restored;
                // JupyterLab takes its splash screen away twice, and fails, if a theme is changed while it fades
                const faded = async () => {
                    while (document.getElementById('jupyterlab-splash')) await new Promise((go) => setTimeout(go, 50));
                };
                await faded();
                await app.commands.execute('apputils:change-theme', { theme });
                await faded();
                await app.commands.execute('docmanager:open', { path: name, factory: 'Notebook' });
                if (app.shell.leftCollapsed === false) app.shell.collapseLeft();
            }""",
            [name, theme],
        )
        self.page.wait_for_function(CONNECTED)

    @classmethod
    def in_notebook_7(cls, browser: Browser, address: str, name: str, *, size: tuple[int, int]) -> Notebook:
        """Open a notebook in Notebook 7 instead of JupyterLab."""
        self = cls.__new__(cls)
        self._begin(browser, address, size)
        self.page.goto(f"{address}/notebooks/{name}")
        self.page.wait_for_function(CONNECTED)
        return self

    def _begin(self, browser: Browser, address: str, size: tuple[int, int]) -> None:
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        self.address = address
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.page = self._new_page()

    def _new_page(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(error.stack or str(error)))
        page.on("request", self._request)
        return page

    def close_tab(self, name: str) -> None:
        """Close the browser's tab while the kernel goes on, and open the notebook again in another one."""
        self.page.close()
        self.page = self._new_page()
        self.page.goto(f"{self.address}/lab/tree/{name}")
        self.page.wait_for_function(CONNECTED)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:", self.address.replace("http", "ws"))):
            self.strangers.append(request.url)

    def run_all(self) -> None:
        """Run every cell; returns when the last has ended, and raises what a cell raised."""
        self.execute("notebook:run-all-cells")
        raised = self.page.evaluate(
            """() => {
                const cells = [...window.jupyterapp.shell.currentWidget.content.model.cells];
                const outputs = cells.flatMap((cell) => cell.type === 'code' ? cell.outputs.toJSON() : []);
                const bad = outputs.find((output) => output.output_type === 'error');
                return bad ? `${bad.ename}: ${bad.evalue}` : null;
            }"""
        )
        if raised is not None:
            raise RuntimeError(f"A cell failed: {raised}")

    def execute(self, command: str, **arguments: Any) -> None:
        """Execute a command of JupyterLab and wait for its end."""
        self.page.evaluate("([c, a]) => window.jupyterapp.commands.execute(c, a)", [command, arguments])

    def run_code(self, code: str) -> str:
        """Run code in the notebook's kernel and return what it prints."""
        return str(
            self.page.evaluate(
                """async (code) => {
                    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                    const future = kernel.requestExecute({ code, store_history: false });
                    let text = '';
                    future.onIOPub = (message) => {
                        const type = message.header.msg_type;
                        if (type === 'stream') text += message.content.text;
                        if (type === 'error') text += message.content.ename + ': ' + message.content.evalue;
                    };
                    await future.done;
                    return text;
                }""",
                code,
            )
        ).strip()

    def until_prints(self, code: str, text: str) -> None:
        """Wait until code run in the kernel prints a text: code may overtake what the page tells the kernel."""
        end = time.monotonic() + PATIENCE / 1000
        while (printed := self.run_code(code)) != text:
            if time.monotonic() > end:
                raise TimeoutError(f"{code} printed {printed!r}, and not {text!r}")
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size; returns when JupyterLab has laid out its panels in it."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.wait_for(LAID_OUT, width)

    def click(self, selector: str) -> None:
        """Click without waiting for a box at rest: beside a live plot there is none."""
        self.page.locator(selector).first.evaluate("el => el.click()")

    def wait_for(self, condition: str, argument: Any = None) -> Any:
        """Wait until a JavaScript condition is true and return its value."""
        return self.page.wait_for_function(condition, arg=argument, polling=20).json_value()

    def picture(self, name: str, selector: str | None = None) -> Path:
        """Keep a screenshot among the artefacts."""
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        if selector is None:
            self.page.screenshot(path=path)
        else:
            self.page.locator(selector).first.screenshot(path=path, animations="disabled")
        return path

    def save(self) -> None:
        """Save the notebook."""
        self.execute("docmanager:save")

    def reopen(self, name: str) -> None:
        """Close the notebook with its kernel and open it again."""
        self.page.evaluate(
            """async (name) => {
                const app = window.jupyterapp;
                const panel = app.shell.currentWidget;
                await panel.sessionContext.shutdown();
                panel.dispose();
                await app.commands.execute('docmanager:open', { path: name, factory: 'Notebook' });
                await app.shell.currentWidget.context.ready;
            }""",
            name,
        )

    def close(self) -> None:
        """End the kernel and close the page."""
        self.page.evaluate("async () => { await window.jupyterapp.shell.currentWidget?.sessionContext.shutdown(); }")
        self.context.close()
