"""Every pinned package may stand beside a project under the MIT licence, and the page of licences says why."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

import pytest

import licences
from machine import ROOT

LISTED = [line for line in licences.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LISTED]


def test_the_page_lists_every_pin_in_its_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [f"{name}=={version}" for name, version, *_ in ROWS] == pins, "run python scripts/licences.py"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_licence_is_permissive_or_has_its_reason(row: list[str]) -> None:
    name, version, words, note = row
    permissive = licences.Licence(name, version, words).permissive
    assert permissive != (name in licences.EXCEPTIONS), words
    assert note == licences.EXCEPTIONS.get(name, "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_says_what_the_package_says(row: list[str]) -> None:
    try:
        found = distribution(row[0])
    except PackageNotFoundError:
        pytest.skip("not installed here")
    if found.version.partition("+")[0] != row[1]:
        pytest.skip("installed here in another version")
    assert licences.words_of(found.metadata) == row[2], "run python scripts/licences.py"


@pytest.mark.parametrize("words", ["GPL-3.0-only", "MIT AND AGPL-3.0-or-later", "not named", "", "Proprietary"])
def test_other_licences_are_noticed(words: str) -> None:
    assert not licences.Licence("some", "1.0", words).permissive
