"""The built wheel: it holds every file that is read at run time, and works where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lsat_explorer
from machine import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from the source distribution as a release is, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_every_file_of_the_package_and_the_notebooks(wheel, project_files):
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path.relative_to(ROOT).as_posix() for path in project_files]
    expected = {name for name in files if name.startswith("lsat_explorer/")}
    expected |= {f"lsat_explorer/{name}" for name in files if name.startswith("notebooks/")}
    assert expected - names == set()
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert inside - expected == set()


def test_the_installed_wheel_works_away_from_the_checkout(wheel, tmp_path):
    place = tmp_path / "site"
    words = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(place), str(wheel)]
    subprocess.run(words, capture_output=True, check=True)
    environment = {**os.environ, "PYTHONPATH": str(place)}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    program = (
        "import lsat_explorer as lsat; from lsat_explorer.commands import lab; lsat.widgets.Explorer; "
        "print(lsat.__file__); print(*sorted(p.name for p in lab.shipped_notebooks().iterdir()))"
    )
    file, notebooks = run(sys.executable, "-c", program).splitlines()
    assert Path(file).is_relative_to(place)
    assert notebooks.split() == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    scripts = list(place.glob("bin/lsat-explorer*"))
    assert len(scripts) == 1
    assert run(str(scripts[0]), "--version") == f"lsat-explorer {lsat_explorer.__version__}"
