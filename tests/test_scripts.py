"""The scripts behind the Makefile: notebooks executed and tidied, strict nbval, and what is left out said aloud."""

from __future__ import annotations

import io
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

import execute_notebooks
import machine
import record_live
import run_tests

FIRST_LOOK = execute_notebooks.FOLDER / "01_first_look.ipynb"
# parameters, data, recipe, run, and its numbers
UP_TO_THE_HISTORY = ("cell-02", "cell-03", "cell-05", "cell-07", "cell-09", "cell-11")


def strict_nbval(path):
    """Run nbval as the project's check does, in one process, and return what it said."""
    words = [word for word in run_tests.NOTEBOOKS if word not in ("-n", "2", "--dist=loadscope")]
    return subprocess.run(
        [*words, str(path)], cwd=machine.ROOT, env=machine.environment(), capture_output=True, text=True, check=False
    )


def write(path, *sources: str) -> None:
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "somebody's own"}, "widgets": {"state": {}}}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    path = tmp_path_factory.mktemp("notebooks") / "small.ipynb"
    lines = ["import ipywidgets", "print(f'loss {1.5:.4f} at {object()} after {0.25} s')", "ipywidgets.IntSlider(3)"]
    write(path, *lines)
    assert execute_notebooks.main([str(path)]) == 0
    return path


@pytest.mark.slow
def test_an_executed_notebook_is_tidy_and_keeps_its_results(executed):
    notebook = nbformat.read(executed, as_version=4)
    assert notebook.metadata == execute_notebooks.METADATA
    assert [cell.id for cell in notebook.cells] == ["cell-01", "cell-02", "cell-03"]
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert notebook.cells[1].outputs[0].text.startswith("loss 1.5000")
    assert list(notebook.cells[2].outputs[0].data) == ["text/plain"]
    assert execute_notebooks.main(["--check", str(executed)]) == 0


def test_an_untidy_notebook_is_named(tmp_path, capsys):
    write(tmp_path / "untidy.ipynb", "1")
    assert execute_notebooks.main(["--check", str(tmp_path / "untidy.ipynb")]) == 1
    assert "untidy.ipynb is not tidy" in capsys.readouterr().err


@pytest.mark.slow
def test_a_notebook_that_fails_is_left_as_it_was(tmp_path, capsys):
    path = tmp_path / "failing.ipynb"
    write(path, "1 / 0")
    before = path.read_text()
    assert execute_notebooks.main([str(path)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_notebook_that_takes_too_long_is_left_as_it_was(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(execute_notebooks, "MOST_SECONDS", 0)
    path = tmp_path / "slow.ipynb"
    write(path, "1")
    before = path.read_text()
    assert execute_notebooks.main([str(path)]) == 1
    assert "slow.ipynb took" in capsys.readouterr().err
    assert path.read_text() == before


@pytest.mark.slow
def test_strict_nbval_passes_and_fails_when_a_number_changes(executed, tmp_path):
    changed = tmp_path / "changed.ipynb"
    changed.write_text(executed.read_text().replace("loss 1.5000", "loss 1.5001"))
    assert strict_nbval(executed).returncode == 0
    assert strict_nbval(changed).returncode == 1


@pytest.mark.slow
def test_strict_nbval_passes_twice_and_fails_when_a_shipped_notebook_takes_another_step_size(tmp_path):
    notebook = nbformat.read(FIRST_LOOK, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id in UP_TO_THE_HISTORY]
    copy, changed = tmp_path / "copy.ipynb", tmp_path / "changed.ipynb"
    nbformat.write(notebook, copy)
    recipe = next(cell for cell in notebook.cells if "lsat.ProximalGradient(" in cell.source)
    assert "step=" not in recipe.source
    recipe.source = recipe.source.replace("lsat.ProximalGradient(", "lsat.ProximalGradient(step=0.5, ")
    nbformat.write(notebook, changed)
    for _ in range(2):
        done = strict_nbval(copy)
        assert done.returncode == 0, done.stdout
    done = strict_nbval(changed)
    assert done.returncode == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert f"::Cell {len(UP_TO_THE_HISTORY) - 1}" in failed[-1]  # the table of losses and step sizes
    assert "Cell execution caused an exception" not in done.stdout  # it is the results, no cell raised an error


def test_without_mnist_and_chromium_the_rest_runs_and_the_omissions_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LSAT_MNIST", str(tmp_path))
    monkeypatch.setattr(execute_notebooks, "FOLDER", tmp_path)
    for name in ("01_first_look.ipynb", *execute_notebooks.MNIST_NOTEBOOKS):
        write(tmp_path / name, "1")
    monkeypatch.delenv("LSAT_CHROMIUM", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    steps = run_tests.steps([])
    out = capsys.readouterr().out
    assert f"left out: the tests marked mnist, because the MNIST files are not in {tmp_path}" in out
    assert "left out: 02_mnist_paper.ipynb, because" in out
    assert "left out: 05_one_percent.ipynb, because" in out
    assert "left out: tests/browser, because" in out
    assert steps[:-1] == [*run_tests.LINT, run_tests.TESTS, run_tests.INTEROP]
    assert steps[-1] == [*run_tests.NOTEBOOKS, str(tmp_path / "01_first_look.ipynb")]


def test_a_relative_folder_of_mnist_becomes_absolute_for_the_kernels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LSAT_MNIST", "data/mnist")
    assert machine.environment()["LSAT_MNIST"] == str(tmp_path / "data" / "mnist")


def test_the_first_step_that_fails_ends_the_run(monkeypatch, capfd):
    fails = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(run_tests, "steps", lambda words: [fails, [sys.executable, "-c", "print('went on')"]])
    assert run_tests.main([]) == 3
    assert "went on" not in capfd.readouterr().out


def test_screenshots_become_a_small_animation_without_those_that_change_nothing():
    plain = Image.new("RGB", (1000, 600), "white")
    marked = plain.copy()
    marked.paste((11, 107, 203), (100, 100, 300, 200))
    gif = Image.open(io.BytesIO(record_live.animated([plain, plain, marked, marked], width=500)))
    assert (gif.size, gif.n_frames, gif.info["loop"]) == ((500, 300), 2, 0)
    assert gif.info["duration"] == record_live.FIRST
    gif.seek(1)
    assert gif.info["duration"] == record_live.LAST
    assert np.allclose(gif.convert("RGB").getpixel((100, 75)), (11, 107, 203), atol=8)


def test_the_recording_that_is_kept_moves_and_is_small():
    path = record_live.TARGET
    assert path.stat().st_size <= record_live.MOST_BYTES
    with Image.open(path) as gif:
        assert gif.width == record_live.WIDTH
        assert gif.n_frames >= 20


def test_without_chromium_nothing_is_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record_live, "chromium", lambda: None)
    assert record_live.main(["--out", str(tmp_path / "live.gif")]) == 1
    assert "LSAT_CHROMIUM" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_is_too_large_is_not_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(record_live, "chromium", lambda: "chromium")
    monkeypatch.setattr(record_live, "record", lambda program: [Image.new("RGB", (100, 100))] * 2)
    monkeypatch.setattr(record_live, "MOST_BYTES", 10)
    assert record_live.main(["--out", str(tmp_path / "live.gif")]) == 1
    assert "more than 10: nothing is kept" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
