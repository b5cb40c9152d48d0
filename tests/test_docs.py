"""The pages of the documentation: built without a warning, one for each public name, complete in themselves."""

from __future__ import annotations

import inspect
import itertools
import re
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import build_docs
import lsat_explorer as lsat
from machine import ROOT

pytestmark = pytest.mark.slow
INTEROP = ["interop", "interop.jax.lstsq", "interop.tensorflow.lstsq"]  # their modules need the frameworks


def public_names() -> list[str]:
    """Every name of the package's `__all__`, and of those of the modules among them, as it is written after `lsat.`."""
    names = []
    for name in lsat.__all__:
        names.append(name)
        found = getattr(lsat, name)
        if isinstance(found, ModuleType):
            names += [f"{name}.{own}" for own in found.__all__ if own not in lsat.__all__]
    return names + INTEROP


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages") / "html"
    assert build_docs.build(folder) == 0
    return folder


def loaded(html: str) -> list[str]:
    """What a browser loads for a page: scripts, styles, pictures."""
    tags = re.findall(r"<(?:script|img|link|iframe|source)\b[^>]*>", html)
    kept = [tag for tag in tags if not re.search(r'rel="(?:index|search|next|prev|canonical)"', tag)]
    return [address for tag in kept for address in re.findall(r'(?:src|href)="([^"]*)"', tag)]


# One test, for the pages are built once: tests of a module may run in several processes.
def test_each_public_name_has_its_page_and_the_pages_stand_alone(pages):
    names = public_names()
    assert len(names) > 100
    for name in names:
        page = pages / "api" / f"lsat_explorer.{name}.html"
        assert page.is_file(), f"{name} has no page: add it to its chapter in docs/names.rst"
        html = page.read_text(encoding="utf-8")
        assert f"lsat_explorer.{name}" in html, name
        found = None if name in INTEROP else attrgetter(name)(lsat)
        if callable(found) or isinstance(found, ModuleType):
            first, *_ = inspect.getdoc(found).split("\n")
            assert [word for word in re.findall(r"\w+", first) if word not in html] == [], name
    index = (pages / "names.html").read_text(encoding="utf-8")
    listed = re.findall(r'href="api/lsat_explorer\.([\w.]+)\.html#', index)
    assert sorted(set(listed)) == sorted(names)
    for first, second in itertools.pairwise(ORDER):
        assert listed.index(first) < listed.index(second), (first, second)
    front = (pages / "index.html").read_text(encoding="utf-8")
    for path in (*ROOT.glob("docs/*.md"), ROOT / "docs" / "names.rst"):
        assert path.stem == "index" or f'href="{path.stem}.html"' in front, path
    for path in pages.rglob("*.html"):
        for address in loaded(path.read_text(encoding="utf-8")):
            parts = urlsplit(address)
            assert parts.scheme in ("", "data"), f"{path.name} loads {address}"
            assert parts.scheme == "data" or (path.parent / unquote(parts.path)).is_file(), (
                f"{path.name} lacks {address}"
            )
    notebooks = (pages / "notebooks.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<img ", notebooks)) >= len(list(ROOT.glob("notebooks/*.ipynb")))


# The order of the chapters: what a reader meets first in the sentence solve, model, tune, explain, show.
ORDER = [
    "least_squares",
    "datasets.digits",
    "Data",
    "Graph",
    "Identity",
    "Ridge",
    "LogWeights",
    "SquaredError",
    "SumSquares",
    "HeldOut",
    "ProximalGradient",
    "Recipe",
    "Problem",
    "FittedModel",
    "explain.label_doubt",
    "TunedLeastSquaresClassifier",
    "widgets.Explorer",
]
