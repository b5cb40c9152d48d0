"""The examples of the docstrings: they run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from machine import ROOT

PACKAGE = ROOT / "lsat_explorer"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_examples_of_a_module_print_what_they_say(path: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
