"""Open the first notebook in JupyterLab, on a copy of the notebooks that is yours to change."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from pathlib import Path

import lsat_explorer
from lsat_explorer.commands.errors import FAILURE, CommandError, user_input
from lsat_explorer.commands.folders import path_of

SUMMARY = "open the notebooks in JupyterLab"
FIRST_NOTEBOOK = "01_first_look.ipynb"
RECORD = ".lsat_explorer.json"
LAST_PORT = 65_535
SETTLED = 1.0
"""Seconds after which a server that started has logged its first lines."""
# Defaults for JupyterLab's own settings: no question about news, no check for updates. The user's settings go first.
JUPYTER_CONFIG = Path(__file__).parent / "jupyter"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `lsat-explorer lab`."""
    parser.add_argument(
        "--folder",
        type=path_of,
        default=Path("lsat_notebooks"),
        help="where your copy of the notebooks lies (default: ./lsat_notebooks); what you changed there is kept",
    )
    parser.add_argument(
        "--in-place", action="store_true", help="open the notebooks of the source checkout themselves, without a copy"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, with its token, and open no browser"
    )
    parser.add_argument("--port", type=port, default=8888, help="the first port to try (default: 8888)")


def port(text: str) -> int:
    """Read the number of a port.

    Raises
    ------
    argparse.ArgumentTypeError
        When it is no whole number from 1 to 65535.
    """
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port, expected a whole number from 1 to {LAST_PORT}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Copy the notebooks and serve them to this machine until the user ends JupyterLab."""
    source = shipped_notebooks()
    folder = source if args.in_place else args.folder
    if not args.in_place:
        with user_input():
            for sentence in copy_notebooks(source, folder):
                print(sentence, flush=True)
    if mnist := os.environ.get("LSAT_MNIST"):
        # A kernel starts in the folder of its notebook, where a relative path would mean another place.
        os.environ["LSAT_MNIST"] = os.path.abspath(mnist)
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(
        filter(None, [os.environ.get("JUPYTER_CONFIG_PATH"), str(JUPYTER_CONFIG)])
    )
    start_jupyterlab(server_options(folder.resolve(), port=args.port, browser=not args.no_browser))
    return 0


def shipped_notebooks() -> Path:
    """Return the folder of notebooks that came with the package, or that stands beside it in a source checkout.

    Raises
    ------
    CommandError
        When neither holds the first notebook.
    """
    package = Path(lsat_explorer.__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / FIRST_NOTEBOOK).is_file():
            return folder
    raise CommandError("The notebooks are missing from this installation; install lsat_explorer again.", FAILURE)


def copy_notebooks(source: Path, folder: Path) -> list[str]:
    """Bring a folder of the user's up to date with the shipped notebooks, without losing a change of the user's.

    A record beside the notebooks remembers what was copied: a notebook that still is what was copied is replaced
    by a newer one, any other is the user's and is kept.

    Parameters
    ----------
    source, folder : Path
        The shipped notebooks, and the user's folder, which is made when it is missing.

    Returns
    -------
    list of str
        Sentences that say what was done.

    Raises
    ------
    OSError
        When the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = _read_record(folder / RECORD)
    copied, kept = [], []
    for notebook in sorted(source.glob("*.ipynb")):
        text = notebook.read_bytes()
        target = folder / notebook.name
        if target.exists() or target.is_symlink():
            present = target.read_bytes() if target.is_file() else None
            if present == text:
                record[notebook.name] = _digest(text)
                continue
            if present is None or target.is_symlink() or _digest(present) != record.get(notebook.name):
                kept.append(notebook.name)
                continue
        _write(target, text)
        record[notebook.name] = _digest(text)
        copied.append(notebook.name)
    _write(folder / RECORD, json.dumps(record, indent=1, sort_keys=True).encode())
    sentences = [f"Copied {', '.join(copied)} to {folder}."] if copied else []
    return sentences + [f"Kept {name} in {folder} as you changed it." for name in kept]


def server_options(folder: Path, *, port: int, browser: bool) -> list[str]:
    """Return JupyterLab's arguments: this machine only, the token kept, no request to any other host.

    Examples
    --------
    >>> server_options(Path("notebooks"), port=8888, browser=False)[0]
    '--ServerApp.ip=127.0.0.1'
    """
    options = [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]
    if not browser:
        options.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Containers run as root; the server is reached from this machine only, and with the token.
        options.append("--allow-root")
    return options


def start_jupyterlab(options: list[str]) -> None:
    """Run JupyterLab in this process until it is ended.

    Raises
    ------
    CommandError
        When JupyterLab is not installed.
    """
    try:
        from jupyterlab.labapp import LabApp
    except ImportError as error:
        sentence = "JupyterLab is not installed; `pip install 'lsat_explorer[lab]'` installs it."
        raise CommandError(sentence, FAILURE) from error
    server = LabApp.initialize_server(argv=options)
    if "--no-browser" in options:
        # After the lines that the server logs as it starts, in which the address is easily overlooked.
        server.io_loop.call_later(
            SETTLED, lambda: print(f"\nOpen this address in a browser: {server.local_url}", flush=True)
        )
    server.start()


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _read_record(path: Path) -> dict[str, str]:
    """Read what was copied; a record that was damaged counts as absent, so that everything present is kept."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write(path: Path, text: bytes) -> None:
    """Write a file so that it is the old one or the new one, never half."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
