"""The page of figures: each command replaces its own rows, from what its tests recorded, and no others."""

from __future__ import annotations

import json
import re

import pytest
import yaml

import reliability
from machine import ROOT

MARKED = "words\n<!-- soak: begin -->\nold\n<!-- soak: end -->\n<!-- fuzz: begin -->\nkept\n<!-- fuzz: end -->\n"


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    monkeypatch.setenv(reliability.PLACE, str(path))
    monkeypatch.setenv(reliability.COMMAND, "make soak")
    return path


def test_a_row_is_recorded_with_its_command_and_day(recorded):
    reliability.record("kill -9", "200 kills", "nothing lost", 61.26)
    reliability.record("leaks", "20,000 iterations", "flat", 5)
    row = json.loads(recorded.read_text().splitlines()[0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.pop("date"))
    assert row == {
        "what": "kill -9",
        "tried": "200 kills",
        "outcome": "nothing lost",
        "seconds": 61.3,
        "command": "make soak",
    }
    assert [row.what for row in reliability.read(recorded)] == ["kill -9", "leaks"]


def test_without_a_file_nothing_is_recorded(monkeypatch, tmp_path):
    monkeypatch.delenv(reliability.PLACE, raising=False)
    monkeypatch.chdir(tmp_path)
    reliability.record("kill -9", "200 kills", "nothing lost", 1.0)
    assert list(tmp_path.iterdir()) == []
    assert reliability.read(tmp_path / "absent") == []


def test_a_command_replaces_its_own_rows_and_no_others(recorded):
    reliability.record("a | b\nc", "2", r"a backslash \d", 1234.0)
    page = reliability.written(MARKED, "soak", reliability.read(recorded))
    assert page.startswith("words\n<!-- soak: begin -->\nWritten by `make soak`")
    assert "old" not in page
    assert r"| a \| b c | 2 | a backslash \d | 1,234 | " in page
    assert page.endswith("<!-- soak: end -->\n<!-- fuzz: begin -->\nkept\n<!-- fuzz: end -->\n")
    assert reliability.written(page, "soak", reliability.read(recorded)) == page


@pytest.mark.parametrize("spoilt", [MARKED.replace("<!-- soak: end -->", ""), MARKED * 2, "<!-- soak: end --> " * 2])
def test_a_page_without_its_marks_is_refused(spoilt):
    with pytest.raises(ValueError, match="want one of each"):
        reliability.written(spoilt, "soak", [])


def test_the_page_has_a_place_for_every_command_and_every_test_is_there():
    page = reliability.PAGE.read_text(encoding="utf-8")
    for name, long in reliability.COMMANDS.items():
        assert reliability.written(page, name, []) != page
        assert [test for test in long.tests if not (ROOT / test).is_file()] == []
        assert f"scripts/reliability.py {name}\n" in (ROOT / "Makefile").read_text()


def test_every_long_command_and_the_audit_run_each_night():
    nightly = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    assert nightly[True]["schedule"]  # YAML reads the word `on` as true
    assert sorted(nightly["jobs"]["long"]["strategy"]["matrix"]["command"]) == sorted(reliability.COMMANDS)
    audit = next(step["run"] for step in nightly["jobs"]["audit"]["steps"] if "audit --" in step.get("run", ""))
    assert f"`{audit}`" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_recipes_are_tried_for_five_minutes_by_the_long_command():
    assert float(reliability.COMMANDS["fuzz"].environment["LSAT_FUZZ_SECONDS"]) >= 300
    assert "tests/test_recipe_fuzz.py" in reliability.COMMANDS["fuzz"].tests
