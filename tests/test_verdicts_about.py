"""Verdicts that know some data: labels which these do not have are refused as they are given."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lsat_explorer as lsat
from lsat_explorer.widgets import WeightBrowser

X = np.random.default_rng(0).normal(size=(30, 2))
COLOURS = lsat.Data.from_arrays(X, ["red", "green", "blue"] * 10)
DIGITS = lsat.Data.from_arrays(X, np.arange(30) % 3)
FLAGS = lsat.Data.from_arrays(X, np.arange(30) % 2 == 0)
LENGTHS = lsat.Data.from_arrays(X, X[:, 0])
PLACES = lsat.Data.from_arrays(X, X)
NAMED = lsat.Data.from_arrays(X, X, target_names=["north", "east"])


def about(*known: lsat.Data) -> lsat.Verdicts:
    verdicts = lsat.Verdicts()
    for data in known:
        verdicts.about(data)
    return verdicts


@pytest.mark.parametrize(
    ("data", "label", "wrong", "said"),
    [
        (COLOURS, "red", "rd", "gives row 7 the class 'rd', which is unknown: give one of 'blue', 'green', 'red'"),
        (DIGITS, 2, 3, "gives row 7 the class 3, which is unknown: give one of 0, 1, 2"),
        (DIGITS, np.int64(2), True, "gives row 7 the class True, which is unknown"),
        (FLAGS, True, 1, "gives row 7 the class 1, which is unknown"),
        (LENGTHS, 2.5, "long", "gives row 7 the target 'long': expected a finite number"),
        (PLACES, (1, 2.5), 1.0, r"gives row 7 the target 1.0: expected 2 finite numbers\."),
        (NAMED, (1, 2.5), 1.0, r"gives row 7 the target 1.0: expected 2 finite numbers for \['north', 'east'\]\."),
    ],
)
def test_a_label_that_the_data_do_not_have_is_refused_at_once(data, label, wrong, said):
    verdicts = about(data)
    verdicts.relabel([7, "a row of other data"], label)
    before = dict(verdicts)
    with pytest.raises(ValueError, match=said):
        verdicts.relabel(7, wrong)
    with pytest.raises(ValueError, match=said):
        verdicts.relabel({3: label, 7: wrong})
    assert dict(verdicts) == before
    verdicts.applied(data)


def test_verdicts_that_know_no_data_take_any_label():
    verdicts = lsat.Verdicts()
    verdicts.relabel(7, "rd")
    assert verdicts[7].to == "rd"


def test_a_label_of_any_of_several_data_is_taken():
    verdicts = about(COLOURS, DIGITS)
    verdicts.relabel(1, "red")
    verdicts.relabel(2, 1)
    with pytest.raises(ValueError, match="the class 3, which is unknown: give one of 0, 1, 2"):
        verdicts.relabel(3, 3)


def test_data_that_are_gone_have_no_say_and_are_not_kept():
    passing = lsat.Data.from_arrays(X, ["up", "down"] * 15)
    verdicts = about(passing)
    del passing
    gc.collect()
    verdicts.relabel(1, "left")
    assert verdicts[1].to == "left"


def test_what_is_no_data_is_refused():
    with pytest.raises(ValueError, match="data is a list, expected Data"):
        lsat.Verdicts().about([1, 2])


def test_those_of_a_view_are_about_its_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=1)), COLOURS, progress=False)
    row = COLOURS.train.rows[0]
    for verdicts in (None, lsat.Verdicts(), tmp_path / "mine.json"):
        browser = WeightBrowser(run, verdicts=verdicts)
        with pytest.raises(ValueError, match="the class 'zzz', which is unknown: give one of 'blue', 'green', 'red'"):
            browser.verdicts.relabel(row, "zzz")
        browser.verdicts.relabel(row, "green")
        assert browser.verdicts[row].to == "green"
        browser.close()
