"""`lsat-explorer lab`: a copy of the notebooks that never costs the user a change, served to this machine only."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lsat_explorer.__main__ import main
from lsat_explorer.commands import lab


@pytest.fixture
def shipped(tmp_path) -> Path:
    return ship(tmp_path)


def ship(place: Path) -> Path:
    """A folder of two notebooks, as if they had come with the package."""
    folder = place / "shipped"
    folder.mkdir()
    for name in ("01_first_look.ipynb", "02_mnist_paper.ipynb"):
        (folder / name).write_text(f"{name}, version 1")
    return folder


def test_notebooks_are_copied_once(shipped, tmp_path):
    folder = tmp_path / "new" / "notebooks"
    assert lab.copy_notebooks(shipped, folder) == [
        f"Copied 01_first_look.ipynb, 02_mnist_paper.ipynb to {folder}.",
    ]
    assert (folder / "01_first_look.ipynb").read_text() == "01_first_look.ipynb, version 1"
    assert lab.copy_notebooks(shipped, folder) == []
    assert sorted(path.name for path in folder.iterdir()) == [
        ".lsat_explorer.json",
        "01_first_look.ipynb",
        "02_mnist_paper.ipynb",
    ]


def test_a_notebook_that_the_user_changed_is_kept_and_said_so(shipped, tmp_path):
    folder = tmp_path / "mine"
    lab.copy_notebooks(shipped, folder)
    (folder / "01_first_look.ipynb").write_text("my work")
    assert lab.copy_notebooks(shipped, folder) == [f"Kept 01_first_look.ipynb in {folder} as you changed it."]
    for name in ("01_first_look.ipynb", "02_mnist_paper.ipynb"):
        (shipped / name).write_text(f"{name}, version 2")
    assert lab.copy_notebooks(shipped, folder) == [
        f"Copied 02_mnist_paper.ipynb to {folder}.",
        f"Kept 01_first_look.ipynb in {folder} as you changed it.",
    ]
    assert (folder / "01_first_look.ipynb").read_text() == "my work"
    assert (folder / "02_mnist_paper.ipynb").read_text() == "02_mnist_paper.ipynb, version 2"


@pytest.mark.parametrize("record", [None, "{", "[1]"])
def test_without_a_readable_record_everything_present_is_the_users(record, shipped, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "01_first_look.ipynb").write_text("mine, from elsewhere")
    if record is not None:
        (folder / lab.RECORD).write_text(record)
    assert f"Kept 01_first_look.ipynb in {folder} as you changed it." in lab.copy_notebooks(shipped, folder)
    assert (folder / "01_first_look.ipynb").read_text() == "mine, from elsewhere"


def test_a_link_at_the_place_of_a_notebook_is_not_followed(shipped, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere.ipynb"
    (folder / "01_first_look.ipynb").symlink_to(elsewhere)
    lab.copy_notebooks(shipped, folder)
    assert not elsewhere.exists()


def test_a_folder_that_is_a_file_gives_one_sentence(tmp_path, shipped, monkeypatch, command):
    monkeypatch.setattr(lab, "shipped_notebooks", lambda: shipped)
    path = tmp_path / "file"
    path.write_text("")
    code, out, error = command("lab", "--folder", str(path))
    assert (code, out) == (2, "")
    assert error == f"lsat-explorer: {path}: File exists.\n"


def test_without_jupyterlab_the_user_is_told_how_to_install_it(tmp_path, shipped, monkeypatch, command):
    monkeypatch.setattr(lab, "shipped_notebooks", lambda: shipped)
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", None)
    code, _, error = command("lab", "--folder", str(tmp_path / "mine"))
    assert code == 1
    assert "pip install 'lsat_explorer[lab]'" in error


def test_in_place_copies_nothing_and_kernels_find_mnist_from_their_own_folder(tmp_path, shipped, monkeypatch, command):
    monkeypatch.setattr(lab, "shipped_notebooks", lambda: shipped)
    started = []
    monkeypatch.setattr(lab, "start_jupyterlab", started.append)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LSAT_MNIST", "data/mnist")
    assert command("lab", "--in-place", "--no-browser") == (0, "", "")
    assert f"--ServerApp.root_dir={shipped}" in started[0]
    assert os.environ["LSAT_MNIST"] == str(tmp_path / "data" / "mnist")
    assert not (tmp_path / "lsat_notebooks").exists()


@pytest.mark.parametrize("number", ["99999", "0", "-1", "x", "8.5"])
def test_a_port_out_of_range_is_refused(number, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["lab", f"--port={number}"])
    assert stopped.value.code == 2
    assert f"{number!r} is no port, expected a whole number from 1 to 65535" in capsys.readouterr().err


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(frozen=True)
class Served:
    """A server that `lsat-explorer lab --no-browser` started: the address that it printed, its log and its process."""

    address: str
    folder: Path
    pid: int

    @property
    def parts(self) -> tuple[str, int, str]:
        """Host with its scheme, port and token."""
        found = re.fullmatch(r"(http://[^/]+:(\d+))/\S*token=(\w+)", self.address)
        assert found, self.address
        return found[1], int(found[2]), found[3]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    shipped = ship(folder)
    program = f"""
import sys
from pathlib import Path
from lsat_explorer.__main__ import main
from lsat_explorer.commands import lab
lab.shipped_notebooks = lambda: Path({str(shipped)!r})
sys.exit(main(["lab", "--no-browser", "--folder", {str(folder / "mine")!r}, "--port", "{free_port()}"]))
"""
    # A private home: no settings of the user's, no file of this server left in it.
    private = {name: str(folder / name.lower()) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    log = folder / "lab.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=stream, stderr=subprocess.STDOUT, env={**os.environ, **private}
        )
    try:
        yield Served(wait_for_address(process, log), folder, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The printed address, once there is a server behind it: Jupyter prints first and listens a moment later."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        printed = re.search(r"http://127\.0\.0\.1:(\d+)/\S*token=\w+", log.read_text())
        if printed:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", int(printed.group(1)))).close()
                return printed.group()
        time.sleep(0.05)
    pytest.fail(f"JupyterLab printed no address:\n{log.read_text()}")


def wait_for_line(log: Path, line: str) -> None:
    deadline = time.monotonic() + 30
    while line not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def status_of(address: str, **options: Any) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, **options), timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.slow
def test_lab_serves_the_copied_notebook_with_a_token(served):
    wait_for_line(served.folder / "lab.log", f"Open this address in a browser: {served.address}\n")
    assert "/lab/tree/01_first_look.ipynb?token=" in served.address
    assert (served.folder / "mine" / "01_first_look.ipynb").exists()
    host, _, token = served.parts
    assert len(token) >= 40
    assert status_of(f"{host}/api/contents?token={token}") == 200
    with urllib.request.urlopen(f"{host}/lab?token={token}", timeout=30) as reply:
        page = reply.read().decode()
    assert re.search(r'"news": \{"disabled": true\}', page)


@pytest.mark.slow
def test_without_the_token_nobody_reads_runs_or_reaches_a_kernel(served):
    host, _, token = served.parts
    for path in ("contents", "contents/01_first_look.ipynb", "kernels", "sessions", "terminals", "config/notebook"):
        assert status_of(f"{host}/api/{path}") == 403, path
        assert status_of(f"{host}/api/{path}?token={token[::-1]}") == 403, path
    for path in ("kernels", "contents", "terminals"):
        assert status_of(f"{host}/api/{path}", data=b"{}", method="POST") == 403, path
    for path in ("lab", "files/01_first_look.ipynb"):
        with urllib.request.urlopen(f"{host}/{path}", timeout=30) as reply:
            assert "/login?next=" in reply.url
    # a page elsewhere whose name was made to mean this machine comes with its own name, and is turned away by that
    assert status_of(f"{host}/api/contents?token={token}", headers={"Host": "evil.invalid"}) == 403


@pytest.mark.slow
def test_lab_listens_to_this_machine_only(served):
    _, port, _ = served.parts
    psutil = pytest.importorskip("psutil")
    server = psutil.Process(served.pid)
    family = [server, *server.children(recursive=True)]
    heard = {line.laddr for one in family for line in one.net_connections("inet") if line.status == "LISTEN"}
    assert port in {address.port for address in heard}
    assert {address.ip for address in heard} <= {"127.0.0.1", "::1"}
    if sys.platform == "linux":
        # A second address of this machine: a server that listened on every address would answer there too.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=30)


WEAKER = re.compile(
    r"token|password|auth|origin|xsrf|csp|remote|insecure|credential|cookie|0\.0\.0\.0|\*", re.IGNORECASE
)


@pytest.mark.parametrize("browser", [True, False])
def test_nothing_that_is_passed_to_jupyter_opens_it_wider(browser):
    options = lab.server_options(Path("notebooks"), port=8888, browser=browser)
    assert "--ServerApp.ip=127.0.0.1" in options
    assert [option for option in options if WEAKER.search(option)] == []
    settings = [path for path in lab.JUPYTER_CONFIG.rglob("*") if path.is_file()]
    assert settings
    assert [path.name for path in settings if WEAKER.search(path.read_text(encoding="utf-8"))] == []
