"""The table of faults and ways in is whole: no place is empty, and every test that it names is there and of its way."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cases_covered import CASES, COVERED, NAMES, REASONS, TESTS, WAYS, case_of
from machine import ROOT

FOLDER = Path(__file__).parent
# What stands in a test that goes in by this way: the fixtures and calls that do so.
SIGNS = {
    "D": r"\bData\.from_|\bdata_of\(|\bentry\(|\btable\(|\bhostile\.rows\(|datasets\.from_csv|from_splits\(",
    "R": r"\brecipe|Recipe|RIDGE|QUICK|lsat\.Run\.|_differences\(|lsat\.(Ridge|FixedWeights)\(",
    "E": r"TunedLeastSquares|\b(regressor|classifier|fitted)\(|@numbers|@classes|cases\.regressor",
    "W": r"\b(Explorer|LiveTuner|WeightBrowser|GraphEditor|HyperSliders|views_of|view|browsed|live|_alike|typed"
    r"|worker_of)\(",
    "C": r"\b(tuned|divided|command)\(",
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_every_fault_is_tested_by_every_way_in_or_it_is_said_why_not(case: int, way: str) -> None:
    found = COVERED[case, way]
    assert found, f"no test and no reason for case {case}, {CASES[case]}, by {WAYS[way]}"
    if isinstance(found, str):
        assert re.fullmatch(r"[A-Z].{15,}\.", found), f"this is no sentence: {found}"


def test_no_reason_stands_beside_a_test_and_every_case_has_one() -> None:
    assert sorted(CASES) == list(range(1, 28))
    assert set(REASONS) <= set(COVERED)
    assert [place for place in REASONS if isinstance(COVERED[place], tuple)] == []
    assert {case_of(name) for name in NAMES} == set(CASES)


def test_the_tests_of_the_table_are_those_that_are_collected() -> None:
    files = sorted(path.name for path in FOLDER.glob("test_cases_*.py") if path.name != Path(__file__).name)
    assert sorted(TESTS) == files
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-n", "0"]
    paths = [str(FOLDER / name) for name in files]
    done = subprocess.run([*words, *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    collected = set(re.findall(r"(test_cases_\w+\.py)::(\w+)", done.stdout))
    assert collected == {(file, name) for file, tests in TESTS.items() for name in tests}


@pytest.mark.parametrize("file", TESTS)
def test_a_test_goes_in_by_the_ways_that_the_table_says(file: str) -> None:
    text = (FOLDER / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    for name, ways in TESTS[file].items():
        node = functions[name]
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        body = "\n".join(lines[first - 1 : node.end_lineno])
        for way in ways:
            assert re.search(SIGNS[way], body), f"{name} does not go in by {WAYS[way]}"
