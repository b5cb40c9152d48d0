"""The notebooks that people share: as `make notebooks` makes them, whole, small, and with parameters that act."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import execute_notebooks
import machine

NOTEBOOKS = sorted(execute_notebooks.FOLDER.glob("*.ipynb"))
FIRST_LOOK = execute_notebooks.FOLDER / "01_first_look.ipynb"
MOST_BYTES = 1_500_000
TAG = "parameters"
PARAMETERS = {"size": int, "seed": int, "device": str}


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def texts(notebook: nbformat.NotebookNode) -> list[list[object]]:
    """What each cell printed or showed, but for its pictures."""
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        [output.get("text") or {k: v for k, v in output.data.items() if k != "image/png"} for output in cell.outputs]
        for cell in codes
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_was_executed_from_top_to_bottom_without_an_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert [output.ename for output in outputs if output.output_type == "error"] == []
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert any("image/png" in str(output.get("data", "")) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_small_and_says_nothing_of_the_machine(path):
    assert path.stat().st_size < MOST_BYTES
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == execute_notebooks.METADATA
    assert "widget-view" not in path.read_text(encoding="utf-8")
    assert str(machine.ROOT) not in path.read_text(encoding="utf-8")
    assert str(Path.home()) + "/" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_where_a_view_was_there_is_its_picture(path):
    for cell in code_cells(path):
        shown = [output.data for output in cell.outputs if output.output_type == "display_data"]
        live = [data["text/plain"] for data in shown if set(data) == {"text/plain"}]
        still = [data["text/plain"] for data in shown if "image/png" in data]
        assert set(live) <= set(still), cell.source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_first_cell_holds_parameters_that_act(path):
    first, *others = code_cells(path)
    assert first.metadata.get("tags") == [TAG]
    assert [TAG in cell.metadata.get("tags", []) for cell in others] == [False] * len(others)
    statements = ast.parse(first.source).body
    given = {}
    for statement in statements:
        assert isinstance(statement, ast.Assign), "papermill reads a name, a sign of equality and a value"
        given[ast.unparse(statement.targets[0])] = ast.literal_eval(statement.value)
    used = {node.id for cell in others for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)}
    assert set(given) <= used, "a parameter that does nothing misleads"
    assert {"seed", "device"} <= set(given)
    assert {name: type(given[name]) for name in PARAMETERS if name in given}.items() <= PARAMETERS.items()


@pytest.mark.slow
def test_a_committed_notebook_is_what_make_notebooks_makes():
    made = execute_notebooks.tidy(execute_notebooks.execute(FIRST_LOOK))
    kept = nbformat.read(FIRST_LOOK, as_version=4)
    assert [cell.source for cell in made.cells] == [cell.source for cell in kept.cells]
    assert texts(made) == texts(kept)


@pytest.mark.slow
def test_papermill_runs_a_notebook_with_other_parameters(tmp_path):
    out = tmp_path / "out.ipynb"
    words = ["-p", "seed", "1", "-p", "device", "cpu", "-k", "python3", "--no-progress-bar", str(FIRST_LOOK), str(out)]
    command = [sys.executable, "-m", "papermill", *words]
    done = subprocess.run(command, cwd=tmp_path, env=machine.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    other, kept = nbformat.read(out, as_version=4), nbformat.read(FIRST_LOOK, as_version=4)
    injected = next(cell for cell in other.cells if "injected-parameters" in cell.metadata.get("tags", []))
    assert "seed = 1" in injected.source
    other.cells.remove(injected)
    assert [cell.source for cell in other.cells] == [cell.source for cell in kept.cells]
    changed = [new != old for new, old in zip(texts(other), texts(kept), strict=True)]
    assert any(changed[4:])  # losses and errors of other rows
    assert "seed=1" in str(texts(other)[2])  # the recipe that it prints


def test_pieces_of_a_printed_text_are_joined():
    piece = nbformat.v4.new_output
    outputs = [piece("stream", text="a\n"), piece("stream", text="b\n"), piece("stream", name="stderr", text="c\n")]
    cell = nbformat.v4.new_code_cell(outputs=[*outputs, piece("display_data", {"text/plain": "d"})])
    tidied = execute_notebooks.tidy(nbformat.v4.new_notebook(cells=[cell])).cells[0].outputs
    assert [(output.get("name"), output.get("text")) for output in tidied] == [
        ("stdout", "a\nb\n"),
        ("stderr", "c\n"),
        (None, None),
    ]
