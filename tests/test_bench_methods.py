"""`lsat-explorer bench methods`: counts, ratios and units are printed, goals judged, and missing files said."""

from __future__ import annotations

import json

import pytest

from benches import stand_in
from lsat_explorer.bench import methods


@pytest.fixture
def digits_for_mnist(monkeypatch, digits):
    stand_in(monkeypatch, digits)


def test_bench_methods_prints_counts_ratios_and_units(digits_for_mnist, command, tmp_path):
    file = tmp_path / "figures.json"
    names = ("digits", "diabetes", "two-ridges")
    code, out, _ = command("bench", "methods", "--problems", *names, "--json", str(file))
    assert code == 0
    written = json.loads(file.read_text())
    assert [each["problem"] for each in written["problems"]] == list(names)
    assert [each["relative"] for each in written["problems"]] == [False, True, False]
    assert [row["method"] for row in written["problems"][2]["methods"]][-1] == "multi-start"
    for each in written["problems"]:
        mark = " %" if each["relative"] else ""
        assert each["best"] == min(min(row["values"]) for row in each["methods"])
        for row in each["methods"]:
            assert row["evaluations"] == len(row["values"]) == len(row["times"])
            counts = ["–" if count is None else str(count) for count in row["evaluations_to"].values()]
            (line,) = (
                x for x in out.splitlines() if x.startswith(f"{each['problem'] + mark:<16} {row['method']:<14} ")
            )
            assert line.split(row["method"])[1].split()[:3] == counts
    assert "Goal" not in out


def test_bench_methods_judges_the_goals_and_shows_the_reference(digits_for_mnist, command, monkeypatch):
    words = ("bench", "methods", "--problems", "feat", "--stacked")
    monkeypatch.setattr(methods, "GOALS", {"feat": 1000})
    code, out, _ = command(*words)
    assert code == 0
    assert "in at most 1000 evaluations" in out
    assert out.count("33/36/98") == 1
    assert "run: " in out
    monkeypatch.setattr(methods, "GOALS", {"feat": 0})
    code, out, _ = command(*words[:-1], "--seed", "1")
    assert code == 1
    assert "MISSED" in out
    assert "33/36/98" not in out
    assert "run: " not in out
    code, out, _ = command(*words[:-1], "--full")
    assert code == 0
    assert "Goal" not in out


@pytest.mark.parametrize("name", ["methods", "peers"])
def test_missing_files_are_one_sentence(name, command, tmp_path):
    code, _, error = command("bench", name, "--data", str(tmp_path))
    assert code == 2
    assert error.count("\n") == 1
    assert "train-images-idx3-ubyte" in error
