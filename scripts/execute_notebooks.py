"""Execute the notebooks without a browser and save them tidy: outputs kept, widget state and volatile metadata removed.

`python scripts/execute_notebooks.py [NOTEBOOK ...]` executes; with `--check` it executes nothing and fails on a
notebook that is not tidy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from machine import ROOT, environment, has_mnist, without_mnist

FOLDER = ROOT / "notebooks"
MNIST_NOTEBOOKS = ("02_mnist_paper.ipynb", "05_one_percent.ipynb")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
CELL_SECONDS = 600
MOST_SECONDS = 90
"""Longest that a notebook may take, its kernel's start included, on two cores that do nothing else."""


def runnable() -> list[Path]:
    """Return the notebooks that this machine can execute, and say which are left out and why."""
    notebooks = sorted(FOLDER.glob("*.ipynb"))
    if has_mnist():
        return notebooks
    for path in notebooks:
        if path.name in MNIST_NOTEBOOKS:
            print(f"left out: {path.name}, because {without_mnist()}", flush=True)
    return [path for path in notebooks if path.name not in MNIST_NOTEBOOKS]


def execute(path: Path) -> NotebookNode:
    """Execute one notebook in a new kernel of this Python, in the notebook's own folder.

    Raises
    ------
    CellExecutionError
        When a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    # Without a stored widget state nbclient fails on a captured Output widget; tidy() removes the state afterwards.
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        store_widget_state=True,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    return client.execute(env=environment())


def tidy(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook whose text depends on its cells and their results only.

    Widget state makes the file grow by megabytes and the page empty where there is no kernel; the identifiers of
    widgets that are gone with it, time stamps and the machine's kernel differ from one execution to the next.
    """
    tidied = nbformat.from_dict(notebook)
    tidied.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(tidied.cells, start=1):
        cell.id = f"cell-{number:02d}"
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if len(data) > 1:
                data.pop("application/vnd.jupyter.widget-view+json", None)
    return tidied


def _joined(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Join the pieces of a text that was printed: where a kernel cuts it is a matter of time."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def text_of(notebook: NotebookNode) -> str:
    """Return what the file holds."""
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Execute or check the notebooks; return 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="the notebooks (default: all)")
    parser.add_argument("--check", action="store_true", help="execute nothing, fail on a notebook that is not tidy")
    args = parser.parse_args(argv)
    if args.check:
        return check(args.notebooks or sorted(FOLDER.glob("*.ipynb")))
    for path in args.notebooks or runnable():
        print(f"executing {path.name}", flush=True)
        began = time.monotonic()
        try:
            executed = execute(path)
        except CellExecutionError as error:
            print(f"{path.name} failed, and is left as it was:\n{error}", file=sys.stderr)
            return 1
        taken = time.monotonic() - began
        if taken > MOST_SECONDS:
            print(
                f"{path.name} took {taken:.0f} s, at most {MOST_SECONDS} s are allowed: it is left as it was; make it "
                "smaller, or execute it on a machine that is not busy.",
                file=sys.stderr,
            )
            return 1
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text_of(tidy(executed)), encoding="utf-8")
        temporary.replace(path)
    return 0


def check(notebooks: Sequence[Path]) -> int:
    """Name the notebooks that are not tidy; return 1 when there is one."""
    untidy = [
        path
        for path in notebooks
        if path.read_text(encoding="utf-8") != text_of(tidy(nbformat.read(path, as_version=4)))
    ]
    for path in untidy:
        print(f"{path.name} is not tidy; `make notebooks` executes and tidies it.", file=sys.stderr)
    return 1 if untidy else 0


if __name__ == "__main__":
    sys.exit(main())
