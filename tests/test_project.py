"""The project around the code: versions that agree, imports that run one way, a clean tree, a README that is true."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import machine
from machine import ROOT

PACKAGE = ROOT / "lsat_explorer"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LONGEST_MODULE = 300
LONGEST_README = 150

# What a part may import, besides itself. The commands, the benchmarks and the package's front stand on top.
BELOW: dict[str, set[str]] = {
    "solve": set(),
    "data": set(),
    "model": {"solve"},
    "engines": {"solve", "data", "model"},
    "tune": {"solve", "engines", "data", "model"},
    "explain": {"solve", "engines", "data", "model", "tune"},
    "verdicts": {"data", "model"},
    "plots": set(),
    "widgets": {"engines", "data", "model", "tune", "explain", "plots", "verdicts"},
    "estimators": {"data", "model", "tune", "plots", "widgets"},
    "report": {"data", "model", "tune", "plots"},
    "streams": {"tune"},
    "interop": set(),
}
# What is only reached for when it is asked for: `Run.report` makes a page of what stands above it.
LATE = {("tune/run.py", "report")}


def direct_dependencies() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    requirements = map(Requirement, [*PROJECT["dependencies"], *(line for extra in extras for line in extra)])
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


def pins(lines: list[str]) -> dict[str, str]:
    """Read `name==version` lines; anything else that is neither a comment nor empty fails."""
    found = {}
    for line in lines:
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([\w.!]+)", line)
        assert match, f"{line!r} pins no version"
        found[canonicalize_name(match.group(1))] = match.group(2)
    return found


CONSTRAINTS = pins([line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")])


@pytest.mark.parametrize("requirement", direct_dependencies(), ids=str)
def test_a_direct_dependency_is_pinned_within_its_range(requirement):
    assert requirement.specifier, f"{requirement.name} has no range"
    assert CONSTRAINTS[canonicalize_name(requirement.name)] in requirement.specifier


def test_environment_yml_names_each_direct_dependency_with_the_same_version():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip_lines,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert pip_lines[0] == "-c constraints.txt"
    assert pip_lines[-1] == "-e ."
    expected = {canonicalize_name(requirement.name) for requirement in direct_dependencies()}
    assert pins(pip_lines[1:-1]) == {name: CONSTRAINTS[name] for name in expected}
    (python,) = (entry for entry in environment["dependencies"] if str(entry).startswith("python="))
    assert Version(python.removeprefix("python=")) in Requirement(f"python{PROJECT['requires-python']}").specifier


def test_the_constraints_pin_what_the_dependencies_need_in_turn():
    from importlib.metadata import PackageNotFoundError, distribution

    unpinned, seen = set(), set()
    waiting = [(requirement.name, "") for requirement in direct_dependencies()]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if canonicalize_name(name) not in CONSTRAINTS:
            unpinned.add(name)
        with contextlib.suppress(PackageNotFoundError):
            for line in distribution(name).requires or []:
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting += [(needed.name, each) for each in ("", *needed.extras)]
    # A CUDA build of torch brings libraries in versions of its own, pinned by torch.
    assert {name for name in unpinned if not name.startswith(("nvidia-", "cuda-", "triton"))} == set()


def test_the_lowest_versions_are_those_that_the_ranges_begin_with():
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    lowest = pins([line for line in lines if not line.startswith("#")])
    extras = PROJECT["optional-dependencies"]
    tools = {canonicalize_name(Requirement(line).name) for name in ("docs", "test") for line in extras[name]}
    for requirement in direct_dependencies():
        if (name := canonicalize_name(requirement.name)) not in tools:
            (bound,) = requirement.specifier
            assert bound.operator == ">="
            assert Version(lowest[name]) == Version(bound.version), name


def test_the_environment_of_other_frameworks_adds_to_the_constraints_and_contradicts_none():
    lines = [line.split(";")[0] for line in (ROOT / "requirements-interop.txt").read_text().splitlines()]
    added = pins([line for line in lines if not line.startswith("#")])
    assert {"jax", "jaxlib", "pytest", "tensorflow-cpu"} <= set(added)
    assert {name: CONSTRAINTS[name] for name in added if name in CONSTRAINTS} == {
        name: version for name, version in added.items() if name in CONSTRAINTS
    }


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Absolute names of the package's modules that a module imports, in functions too, but not for types only."""
    package = ("lsat_explorer", *path.relative_to(PACKAGE).parent.parts)
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "lsat_explorer")
        if isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) + 1 - node.level]) + "." if node.level else ""
            name = f"{start}{node.module or ''}".rstrip(".")
            if name.split(".")[0] == "lsat_explorer":
                yield from (f"{name}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("part", BELOW)
def test_imports_run_one_way(part):
    backwards = []
    for path in [*sorted((PACKAGE / part).rglob("*.py")), *PACKAGE.glob(f"{part}.py")]:
        for name in imported(path):
            target = [*name.split("."), ""][1]
            late = (path.relative_to(PACKAGE).as_posix(), target) in LATE
            if target != part and target not in BELOW[part] and not late:
                backwards.append(f"{path.relative_to(ROOT)} imports {name}")
    assert backwards == []


def test_the_order_of_the_parts_has_no_circle():
    placed: set[str] = set()
    while placed != set(BELOW):
        ready = {part for part, below in BELOW.items() if part not in placed and below <= placed}
        assert ready, f"{set(BELOW) - placed} go in a circle"
        placed |= ready


def test_every_part_has_its_place_in_the_order():
    parts = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"__pycache__"}
    assert parts - set(BELOW) == {"__init__", "__main__", "bench", "commands"}


def test_importing_the_package_loads_nothing_heavy():
    program = "import json, sys, lsat_explorer; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert "lsat_explorer.report" not in json.loads(done.stdout)
    assert "torch" in loaded
    assert loaded & {"ipywidgets", "anywidget", "plotly", "matplotlib", "sklearn", "jupyterlab"} == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_holds_one_idea(path):
    count = len(path.read_text().splitlines())
    assert count <= LONGEST_MODULE, f"{count} lines, at most {LONGEST_MODULE}: it holds two ideas"


def test_no_file_holds_a_path_of_somebodys_machine(project_files):
    pattern = re.compile(rb"(?<![\w.:/-])/(work|tmp|root|home|Users)/[A-Za-z]")
    binary = {".png", ".gif", ".gz", ".npz"}
    found = [path for path in project_files if path.suffix not in binary and pattern.search(path.read_bytes())]
    assert [str(path.relative_to(ROOT)) for path in found] == []


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_is_tidy(path):
    from execute_notebooks import check

    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert "widgets" not in notebook["metadata"]
    assert check([path]) == 0


def test_the_changelog_has_a_place_for_what_comes_next():
    headings = re.findall(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "## [Unreleased]"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(("there", "chosen"), [(False, ""), (True, ""), (True, "mine"), (False, "mine")])
def test_make_explore_names_mnist_only_where_it_is(there, chosen, tmp_path):
    program = tmp_path / "project" / ".venv" / "bin" / "lsat-explorer"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "folder=${LSAT_MNIST-unset} words=$*"\n')
    program.chmod(0o755)
    for name in ("pyproject.toml", "constraints.txt", ".venv/bin/python", ".venv/.lab-installed"):
        (tmp_path / "project" / name).touch()
    (tmp_path / "project" / "Makefile").write_text((ROOT / "Makefile").read_text())
    usual = tmp_path / "shared" / "data" / "mnist"
    if there:
        usual.mkdir(parents=True)
    names = {name: value for name, value in os.environ.items() if name not in ("LSAT_MNIST", "MAKEFLAGS")}
    env = names | ({"LSAT_MNIST": chosen} if chosen else {})
    words = ["make", "-s", "explore", "ARGS=--no-browser"]
    done = subprocess.run(words, cwd=tmp_path / "project", env=env, capture_output=True, text=True, check=True)
    expected = chosen or (usual if there else "unset")
    assert done.stdout == f"folder={expected} words=lab --in-place --no-browser\n"


@pytest.mark.parametrize("there", [True, False])
def test_a_kernel_is_told_of_mnist_only_where_it_is(there, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "ROOT", tmp_path / "project")
    monkeypatch.delenv("LSAT_MNIST", raising=False)
    (tmp_path / "project").mkdir()
    usual = tmp_path / "shared" / "data" / "mnist"
    if there:
        usual.mkdir(parents=True)
    assert machine.environment().get("LSAT_MNIST") == (str(usual) if there else None)


def test_what_kernels_compile_of_the_project_is_kept(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in machine.environment()


@pytest.mark.parametrize("name", ["02_mnist_paper.ipynb", "05_one_percent.ipynb"])
def test_without_mnist_its_notebooks_end_with_the_sentence_of_the_library(name, tmp_path, monkeypatch):
    cells = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LSAT_MNIST", raising=False)
    # The threads are this process's, and other tests count on them.
    monkeypatch.setattr("torch.set_num_threads", lambda number: None)
    with pytest.raises(SystemExit, match=r"`lsat-explorer data mnist .*` fetches the"):
        exec(compile("\n".join(sources[:2]), name, "exec"), {})  # the parameters, and what they are for


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len(README.splitlines()) <= LONGEST_README
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_readmes_example_prints_what_the_readme_says():
    assert printed_by_the_readme("import lsat_explorer") == re.search(r"```text\n(.*?)```", README, re.DOTALL).group(1)


def test_the_readmes_own_table_is_tuned_saved_and_read_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed_by_the_readme("from sklearn") == "['setosa' 'setosa' 'setosa']\n"
    written = {"iterates.csv", "model.safetensors", "recipe.json", "run.json"}
    assert {path.name for path in (tmp_path / "runs" / "iris").iterdir()} == written
    assert all(f"`{name}`" in README for name in written)


def printed_by_the_readme(start: str) -> str:
    """What a program of the README prints, found by its first words."""
    (program,) = (code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if code.startswith(start))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    return out.getvalue()


@pytest.mark.parametrize("module", ["lsat_explorer", "lsat_explorer.plots", "lsat_explorer.widgets"])
def test_what_a_package_shows_is_what_it_offers(module):
    package = importlib.import_module(module)
    assert dir(package) == sorted(package.__all__)
