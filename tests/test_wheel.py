"""The built wheel: it holds every file that is read at run time, and works where it is installed."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import lsat_explorer
from machine import ROOT

SOURCES = ("lsat_explorer/", "tests/", "scripts/", "docs/")
BESIDE = {
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "constraints-lowest.txt",
    "constraints.txt",
    "environment.yml",
    "pyproject.toml",
    "requirements-interop.txt",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder of the source distribution and of the wheel built from it, as a release is, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory) -> Path:
    """The programs of a new environment with the wheel: its dependencies are those of this one, the checkout is not."""
    place = tmp_path_factory.mktemp("clean") / "environment"
    venv.create(place, symlinks=True)
    programs = place / ("Scripts" if sys.platform == "win32" else "bin")
    (packages,) = {*place.glob("lib/python*/site-packages"), *place.glob("Lib/site-packages")}
    # A path in a .pth file is looked into, but its own .pth files are not: the editable install stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    words = ["-m", "pip", "--python", str(programs / "python"), "install", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return programs


@pytest.fixture
def run(clean, tmp_path) -> Callable[..., str]:
    """Run a program of the new environment away from the checkout, and return what it prints."""

    def run(program: str, *words: str) -> str:
        done = subprocess.run([clean / program, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_wheel_holds_every_file_of_the_package_and_the_notebooks(wheel, project_files):
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path.relative_to(ROOT).as_posix() for path in project_files]
    expected = {name for name in files if name.startswith("lsat_explorer/")}
    expected |= {f"lsat_explorer/{name}" for name in files if re.fullmatch(r"notebooks/[^/]+\.ipynb", name)}
    assert "lsat_explorer/py.typed" in expected
    assert expected - names == set()
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert inside - expected == set()
    about = {name.split("/", 1)[1] for name in names - inside}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_distribution_holds_all_that_builds_and_tests_the_package(built, project_files):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    files = {path.relative_to(ROOT).as_posix() for path in project_files}
    expected = BESIDE | {
        name for name in files if name.startswith(SOURCES) or re.fullmatch(r"notebooks/.+\.ipynb", name)
    }
    assert expected - names == set()
    assert names - files == {"PKG-INFO"}


def test_the_wheel_says_what_it_needs_and_offers(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        said = email.message_from_bytes(archive.read(name))
    assert said["Version"] == lsat_explorer.__version__
    assert {"lab", "onnx", "scale", "bench", "test"} <= set(said.get_all("Provides-Extra", []))
    needed = said.get_all("Requires-Dist", [])
    assert any(line.startswith("torch>=") and "extra" not in line for line in needed)
    assert any(line.startswith("jupyterlab>=") and "extra == 'lab'" in line for line in needed)
    assert "# lsat_explorer" in said.get_payload()


def test_the_installed_wheel_works_away_from_the_checkout(clean, run):
    program = (
        "import lsat_explorer as lsat; from lsat_explorer.commands import lab; lsat.widgets.Explorer; "
        "print(lsat.__file__); print(*sorted(p.name for p in lab.shipped_notebooks().iterdir()))"
    )
    file, notebooks = run("python", "-c", program).splitlines()
    assert Path(file).is_relative_to(clean.parent)
    assert notebooks.split() == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert run("lsat-explorer", "--version").strip() == f"lsat-explorer {lsat_explorer.__version__}"


def test_the_installed_wheel_runs_the_twelve_lines_of_the_readme(run):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (program,) = (code for code in programs if code.startswith("import lsat_explorer"))
    assert run("python", "-c", program) == re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)


USE = """
import numpy as np

import lsat_explorer as lsat

data = lsat.Data.from_arrays(np.eye(8), [0, 1] * 4)
recipe = lsat.Recipe(regularizer=lsat.Stack(ridge=lsat.Ridge()), loss=lsat.CrossEntropy(), method=lsat.LBFGS())
run: lsat.Run = lsat.tune(recipe, data, progress=False)
model: lsat.FittedModel = run.model
loss: float = run.iterates[-1].loss
labels: np.ndarray = model.predict(np.eye(8))
estimator = lsat.TunedLeastSquaresRegressor().fit(np.eye(8), np.ones(8))
"""


def test_a_program_of_a_user_is_checked_by_the_types_of_the_installed_wheel(clean, tmp_path):
    names = [name for name in lsat_explorer.__all__ if not isinstance(getattr(lsat_explorer, name), ModuleType)]
    lines = [*USE.splitlines(), *(f"reveal_type(lsat.{name})" for name in names), "lsat.Ridge(log_weight='heavy')"]
    (tmp_path / "program.py").write_text("\n".join(lines))
    words = ["--strict", "--python-executable", str(clean / "python"), "--cache-dir", str(tmp_path / "cache")]
    checked = [sys.executable, "-m", "mypy", *words, "--config-file=", "program.py"]
    done = subprocess.run(checked, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert f"program.py:{len(lines)}: error" in errors[0]
    assert 'has incompatible type "str"; expected "float"' in errors[0]
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(revealed) == len(names)
    assert "Any" not in revealed
