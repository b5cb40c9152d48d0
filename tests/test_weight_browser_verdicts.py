"""Verdicts in the weight browser: given by the page and from Python, marked, filtered, kept, and solved with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.explain import Judged
from lsat_explorer.widgets import WeightBrowser
from lsat_explorer.widgets.row_resolve import compared


@pytest.fixture(scope="module")
def run(digits: lsat.Data) -> lsat.Run:
    return lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=2)), digits, progress=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the notebook."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def browser(run: lsat.Run) -> Any:
    browser = WeightBrowser(run)
    browser.wait()
    yield browser
    browser.wait()
    browser.close()


def say(browser: WeightBrowser, **content: Any) -> None:
    browser._handle_custom_msg(content, [])
    browser.wait()


def state(browser: WeightBrowser, name: str) -> Any:
    value = browser.get_state([name])[name]
    json.dumps(value)
    return value


def names(browser: WeightBrowser, positions: list[int]) -> list[int]:
    return [int(browser.run.data.train.rows[place]) for place in positions]


def given(browser: WeightBrowser) -> dict[Any, tuple[str, Any]]:
    return {row: (verdict.kind, verdict.to) for row, verdict in browser.verdicts.items()}


def test_each_key_gives_its_verdict_on_the_row_under_it(browser: WeightBrowser) -> None:
    places = state(browser, "_shown")["positions"]
    rows, suggested = names(browser, places), state(browser, "_shown")["suggested"]
    for place, kind in zip(places, ("keep", "suggestion", "drop", "ambiguous"), strict=False):
        say(browser, do="verdict", kind=kind, position=place)
    say(browser, do="verdict", kind="relabel", position=places[4], to=6)
    assert given(browser) == {
        rows[0]: ("keep", None),
        rows[1]: ("relabel", int(suggested[1])),
        rows[2]: ("drop", None),
        rows[3]: ("ambiguous", None),
        rows[4]: ("relabel", 6),
    }
    assert state(browser, "_shown")["verdicts"][:6] == [
        {"kind": "keep", "to": ""},
        {"kind": "relabel", "to": suggested[1]},
        {"kind": "drop", "to": ""},
        {"kind": "ambiguous", "to": ""},
        {"kind": "relabel", "to": "6"},
        None,
    ]
    say(browser, do="verdict", kind="clear", position=places[0])
    assert rows[0] not in browser.verdicts


def test_a_verdict_on_a_selected_row_is_on_all_selected_ones_and_one_step(browser: WeightBrowser) -> None:
    places = state(browser, "_shown")["positions"]
    browser.set_state({"_picked": places[:3]})
    say(browser, do="verdict", kind="suggestion", position=places[1])
    suggested = [int(label) for label in state(browser, "_shown")["suggested"][:3]]
    assert given(browser) == {
        row: ("relabel", to) for row, to in zip(names(browser, places[:3]), suggested, strict=True)
    }
    say(browser, do="verdict", kind="drop", position=places[5])  # not selected: on it alone
    assert len(browser.verdicts) == 4
    say(browser, do="undo")
    say(browser, do="undo")
    assert given(browser) == {}
    assert (state(browser, "_judged")["undo"], state(browser, "_judged")["redo"]) == (False, True)
    say(browser, do="redo")
    assert len(browser.verdicts) == 3


def test_what_a_page_cannot_mean_changes_nothing(browser: WeightBrowser) -> None:
    for content in (
        {"kind": "drop", "position": -1},
        {"kind": "drop", "position": 10**6},
        {"kind": "drop", "position": "3"},
        {"kind": "drop"},
        {"kind": "undo", "position": 3},
        {"kind": "observe", "position": 3},
        {"position": 3},
    ):
        say(browser, do="verdict", **content)
    say(browser, do="verdict", kind="relabel", position=3, to=10)
    assert state(browser, "_judged")["problem"] == "class 10 does not exist: the data has 10"
    assert given(browser) == {}
    say(browser, do="verdict", kind="keep", position=3)
    assert state(browser, "_judged")["problem"] == ""


def test_validation_and_test_rows_get_no_verdict_and_say_why(browser: WeightBrowser) -> None:
    for part in ("validation", "test"):
        browser.part = part
        say(browser, do="verdict", kind="drop", position=2)
        assert given(browser) == {}
        assert state(browser, "_judged")["off"].startswith(
            f"Verdicts are given on training rows. These are {part} rows"
        )
    browser.part = "training"
    assert state(browser, "_judged")["off"] == ""


def test_verdicts_are_filtered_and_counted(browser: WeightBrowser) -> None:
    rows = browser.run.data.train.rows
    browser.verdicts.drop(rows[:3])
    browser.verdicts.relabel(rows[5], 4)
    browser.verdicts.keep(10**6)  # a row that is not there
    judged = state(browser, "_judged")
    assert (judged["counts"], judged["total"], judged["elsewhere"]) == (
        {"keep": 0, "relabel": 1, "drop": 3, "ambiguous": 0},
        5,
        1,
    )
    for which, places in (("drop", [0, 1, 2]), ("any", [0, 1, 2, 5]), ("relabel", [5]), ("keep", [])):
        browser.set_state({"verdict": which})
        assert sorted(state(browser, "_shown")["positions"]) == places
    browser.verdict = "none"
    assert state(browser, "_shown")["total"] == len(rows) - 4
    browser.set_state({"_class": int(browser.run.data.train.labels[0]), "verdict": "drop"})
    assert 0 in state(browser, "_shown")["positions"]
    with pytest.raises(Exception, match="verdict"):
        browser.verdict = "maybe"


def test_the_last_page_goes_with_its_last_row(browser: WeightBrowser) -> None:
    browser.verdicts.drop(browser.run.data.train.rows[:21])
    browser.verdict, browser.page = "drop", 2
    (place,) = state(browser, "_shown")["positions"]
    say(browser, do="verdict", kind="clear", position=place)
    assert (browser.page, state(browser, "_shown")["pages"], len(state(browser, "_shown")["positions"])) == (1, 1, 20)


def test_verdicts_are_kept_in_a_file_that_is_written_at_the_first(run: lsat.Run, folder: Path) -> None:
    browser = WeightBrowser(run)
    path = folder / "verdicts-digits.json"
    assert (state(browser, "_judged")["file"], path.exists()) == (path.name, False)
    say(browser, do="verdict", kind="drop", position=7)
    assert path.exists()
    row = names(browser, [7])[0]
    assert dict(lsat.Verdicts(path)) == {row: lsat.verdicts.Verdict("drop")}
    again = WeightBrowser(run)  # the cell is run again
    assert again.verdicts is browser.verdicts
    say(again, do="undo")
    assert state(browser, "_judged")["total"] == 0  # views over one file show the same
    for view in (browser, again):
        view.close()


def test_verdicts_outlive_order_page_and_another_split(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.verdicts.drop(browser.run.data.train.rows[:40])
    browser.order, browser.page = "row", 2
    assert state(browser, "_shown")["verdicts"] == [{"kind": "drop", "to": ""}] * 20
    other = lsat.datasets.digits(seed=5)
    browser.refresh(lsat.tune(run.recipe, other, progress=False))
    browser.wait()
    trained = set(other.train.rows.tolist())
    elsewhere = sum(row not in trained for row in run.data.train.rows[:40].tolist())
    judged = state(browser, "_judged")
    assert (judged["total"], judged["elsewhere"], judged["counts"]["drop"]) == (40, elsewhere, 40 - elsewhere)
    assert 0 < elsewhere < 40
    browser.part, browser.verdict = "validation", "any"
    assert state(browser, "_shown")["total"] + judged["counts"]["drop"] <= 40


def test_verdicts_may_be_given_or_a_path(run: lsat.Run, folder: Path) -> None:
    mine = lsat.Verdicts()
    mine.keep(run.data.train.rows[0])
    browser = WeightBrowser(run, verdicts=mine, order="row")
    assert browser.verdicts is mine
    assert state(browser, "_shown")["verdicts"][0] == {"kind": "keep", "to": ""}
    assert (state(browser, "_judged")["file"], state(browser, "_judged")["path"]) == ("", "")
    browser.close()
    mine.drop(run.data.train.rows[0])  # a view that was closed follows no more
    assert state(browser, "_shown")["verdicts"][0] == {"kind": "keep", "to": ""}
    kept = WeightBrowser(run, verdicts=folder / "mine.json")
    assert kept.verdicts.path == folder / "mine.json"
    kept.close()


def test_a_damaged_file_leaves_the_rows_and_says_so(run: lsat.Run, folder: Path) -> None:
    path = folder / "verdicts-digits.json"
    path.write_text("[]")
    browser = WeightBrowser(run)
    judged = state(browser, "_judged")
    assert str(path) in judged["problem"]
    assert judged["problem"].endswith("Until then verdicts are kept in memory alone.")
    assert judged["file"] == ""
    browser.close()
    assert path.read_text() == "[]"
    with pytest.raises(ValueError, match=r"verdicts-digits\.json is damaged"):
        WeightBrowser(run, verdicts=path)


def test_the_verdicts_are_code_that_gives_them_again(browser: WeightBrowser) -> None:
    rows = browser.run.data.train.rows
    browser.verdicts.relabel(rows[:2], 3)
    browser.verdicts.ambiguous(rows[4])
    space: dict[str, Any] = {}
    exec(state(browser, "_source"), space)
    assert dict(space["verdicts"]) == dict(browser.verdicts)


def test_solving_with_verdicts_is_what_if_and_follows_them(run: lsat.Run, browser: WeightBrowser) -> None:
    rows, labels = run.data.train.rows, run.data.train.labels
    browser.verdicts.drop(rows[:3])
    browser.verdicts.relabel(rows[7], (int(labels[7]) + 1) % 10)
    browser.verdicts.ambiguous(rows[9])
    browser.verdicts.drop(10**6)
    assert state(browser, "_answer") == {}  # nobody asked
    browser.set_state({"_solving": True})
    browser.wait()
    expected = lsat.explain.what_if(run.model, rows[:3], {rows[7]: (int(labels[7]) + 1) % 10})
    answer = state(browser, "_answer")
    assert answer["before"] == [f"{expected.before.loss:.4f}", f"{100 * expected.before.error:.2f} %"]
    assert answer["after"] == [f"{expected.after.loss:.4f}", f"{100 * expected.after.error:.2f} %"]
    assert (answer["words"], answer["old"]) == ("3 rows dropped, 1 row relabelled", False)
    browser.verdicts.drop(rows[:200])
    browser.wait()
    assert state(browser, "_answer")["words"] == "200 rows dropped"
    browser.set_state({"_solving": False})
    assert state(browser, "_answer") == {}


def test_verdicts_that_leave_no_fit_say_so(run: lsat.Run, browser: WeightBrowser) -> None:
    browser.verdicts.drop(run.data.train.rows)
    browser.set_state({"_solving": True})
    browser.wait()
    assert "drop leaves none of the 898 training rows" in state(browser, "_answer")["problem"]
    say(browser, do="undo")
    assert "problem" not in state(browser, "_answer")


def test_a_loss_that_falls_while_the_error_rises_is_warned_of() -> None:
    told = compared(Judged(0.5, 0.10), Judged(0.4, 0.12), True)
    assert told["moved"] == ["-0.1000", "+2.00 points"]
    assert told["better"] == [True, False]
    assert told["warning"].startswith("The validation loss falls and the validation error rises")
    for after in (Judged(0.4, 0.10), Judged(0.6, 0.12), Judged(0.6, 0.08)):
        assert compared(Judged(0.5, 0.10), after, True)["warning"] == ""
    told = compared(Judged(0.5, 0.10), Judged(0.50001, 0.10001), True)  # by less than can be read
    assert (told["moved"], told["better"]) == (["0.0000", "0.00 points"], [None, None])
    assert compared(Judged(0.5, 2.0), Judged(0.5, 2.5), False)["after"] == ["0.5000", "2.5000"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (1.09e11, 1.05e11, ["1.09e11", "1.05e11", "-4e9"]),
        (3.2e-7, 3.1e-7, ["3.2e-7", "3.1e-7", "-1e-8"]),
        (1.53244, 1.53246, ["1.5324", "1.5325", "+2e-5"]),
        (0.0093, 0.0123, ["0.0093", "0.0123", "+0.0030"]),
        (0.0, 0.0, ["0.0000", "0.0000", "0.0000"]),
        (float("inf"), 2.0, ["–", "2.0000", "–"]),
    ],
)
def test_loss_and_error_of_any_size_are_told_with_their_names(before: float, after: float, told: list[str]) -> None:
    answer = compared(Judged(before, before), Judged(after, after), False)
    assert [answer[when] for when in ("before", "after", "moved")] == [[text, text] for text in told]
    assert answer["names"] == ["validation loss", "validation RMSE"]
    assert compared(Judged(1.0, 0.1), Judged(1.0, 0.1), True)["names"] == ["validation loss", "validation error"]


def test_numbers_are_relabelled_by_text() -> None:
    rng = np.random.default_rng(0)
    for outputs, text, label in (
        (1, "2.5", 2.5),
        (1, "−230.2", -230.2),  # as the page writes it
        (1, "1,000", 1000.0),
        (2, "2.5, −1", (2.5, -1.0)),
    ):
        data = lsat.Data.from_arrays(rng.standard_normal((60, 3)), rng.standard_normal((60, outputs)), test=0)
        browser = WeightBrowser(lsat.tune(lsat.Recipe(), data, progress=False), verdicts=lsat.Verdicts())
        browser.wait()
        say(browser, do="verdict", kind="relabel", position=4, to=text)
        assert [verdict.to for verdict in browser.verdicts.values()] == [label]
        for wrong in ("two", "1, 2, 3", "nan", ""):
            say(browser, do="verdict", kind="relabel", position=5, to=wrong)
            assert "The new label is" in state(browser, "_judged")["problem"]
        say(browser, do="verdict", kind="suggestion", position=6)
        assert len(browser.verdicts) == 2
        browser.set_state({"_solving": True})
        browser.wait()
        assert state(browser, "_answer")["words"] == "2 rows relabelled"
        browser.close()


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_suggestion_of_numbers_is_read_and_told_from_another_label(outputs: int) -> None:
    rng = np.random.default_rng(0)
    data = lsat.Data.from_arrays(rng.standard_normal((60, 3)), -1e5 * rng.standard_normal((60, outputs)), test=0)
    browser = WeightBrowser(lsat.tune(lsat.Recipe(), data, progress=False), verdicts=lsat.Verdicts())
    browser.selected = [data.train.rows[6]]
    browser.wait()
    said = state(browser, "_zoom")["suggested"]
    parts = said.replace("\N{MINUS SIGN}", "-").split(", ")
    assert len(parts) == outputs
    assert all(np.isfinite(float(part)) and len(part) <= 9 for part in parts)
    assert "-" not in said + state(browser, "_zoom")["label"] + "".join(state(browser, "_shown")["labels"])
    say(browser, do="verdict", kind="suggestion", position=6)
    assert state(browser, "_zoom")["verdict"]["suggested"]
    assert said.startswith(state(browser, "_zoom")["verdict"]["to"].removesuffix("…"))
    say(browser, do="verdict", kind="relabel", position=6, to=", ".join(["2.5"] * outputs))
    assert not state(browser, "_zoom")["verdict"]["suggested"]
    say(browser, do="verdict", kind="keep", position=6)
    assert state(browser, "_zoom")["verdict"] == {"kind": "keep", "to": ""}
    browser.close()


def test_rows_of_a_multiindex_get_no_verdict_and_the_view_says_why() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], range(20)])
    X = pd.DataFrame(np.random.default_rng(0).random((40, 3)), index=index)
    data = lsat.Data.from_arrays(X, pd.Series([0, 1] * 20, index=index), test=0)
    browser = WeightBrowser(lsat.tune(lsat.Recipe(), data, progress=False), verdicts=lsat.Verdicts())
    browser.wait()
    say(browser, do="verdict", kind="drop", position=0)
    said = state(browser, "_judged")["problem"]
    assert "verdicts are kept by a number, a word or a date; Data.from_arrays(rows=...) gives rows such names" in said
    assert len(browser.verdicts) == 0
    browser.close()
