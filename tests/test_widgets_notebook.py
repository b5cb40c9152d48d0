"""The views in a notebook that runs from top to bottom by itself, without a page."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import machine

CELLS = (
    """
import torch
torch.set_num_threads(1)
import lsat_explorer as lsat
recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=3))
explorer = lsat.widgets.Explorer(lsat.datasets.digits(), recipe)
explorer
""",
    "tuner = lsat.widgets.LiveTuner(lsat.datasets.digits(), recipe)\ntuner",
    "explorer.start()\nexplorer.wait(timeout=60)",
    "tuner.start()\ntuner.wait(timeout=60)",
    "import hashlib\nfor view in (explorer, tuner): print(hashlib.sha256(view.picture()).hexdigest())",
)


@pytest.mark.slow
def test_the_pictures_of_the_end_of_the_run_are_saved_where_the_views_are(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    environment = machine.environment() | {"PYTHONPATH": str(machine.ROOT)}
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment, cwd=str(tmp_path))
    final = "".join(output.text for output in notebook.cells[4].outputs).split()
    for cell, digest in zip(notebook.cells[:2], final, strict=True):
        live, still = cell.outputs
        assert set(live.data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
        assert set(still.data) == {"image/png", "text/plain"}
        assert live.data["text/plain"] == still.data["text/plain"]
        assert hashlib.sha256(base64.b64decode(still.data["image/png"])).hexdigest() == digest
    assert [len(cell.outputs) for cell in notebook.cells[:4]] == [2, 2, 0, 0]


@pytest.mark.slow
def test_the_picture_of_a_run_that_goes_on_when_the_notebook_ends_is_that_of_a_run(tmp_path: Path) -> None:
    endless = CELLS[0].replace("max_iterations=3", "max_iterations=10**9, tolerance=0.0")
    seen = "import time\nwhile not explorer.run.iterates: time.sleep(0.01)\ntuner.start()"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (endless, CELLS[1], "explorer.start()", seen)]
    )
    unstarted = hashes(notebook, tmp_path, 2)
    assert not set(unstarted) & set(hashes(notebook, tmp_path, 4))


def hashes(notebook: nbformat.NotebookNode, folder: Path, cells: int) -> list[str]:
    """Run the first cells, and return what their pictures are."""
    run = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.source) for cell in notebook.cells[:cells]])
    environment = machine.environment() | {"PYTHONPATH": str(machine.ROOT)}
    NotebookClient(run, timeout=120, kernel_name="python3").execute(env=environment, cwd=str(folder))
    return [hashlib.sha256(base64.b64decode(cell.outputs[1].data["image/png"])).hexdigest() for cell in run.cells[:2]]


FIRST = """
import json, sys
import lsat_explorer as lsat
data = lsat.datasets.digits()
explorer = lsat.widgets.Explorer(data, lsat.recipes.paper_weighting(shape=(8, 8)))
live = explorer._live()[0]
print(json.dumps([explorer.run.problem is None, sorted(live), sorted(sys.modules)]))
import nbformat
import plotly.io._renderers as renderers
assert renderers.nbformat.__version__ == nbformat.__version__
explorer.close()
"""


def test_an_explorer_appears_before_features_are_prepared_and_pictures_drawn() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    unprepared, live, loaded = json.loads(done.stdout)
    assert unprepared
    assert "application/vnd.jupyter.widget-view+json" in live
    assert not {"matplotlib", "nbformat", "jsonschema", "sklearn.cluster"} & set(loaded)
