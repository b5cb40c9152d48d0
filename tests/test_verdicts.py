"""Verdicts on training rows: what they remember, how a change is taken back, and what they do to data."""

from __future__ import annotations

import datetime
import math
import threading

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings

import lsat_explorer as lsat
from explained import fitted
from lsat_explorer.verdicts import KINDS, Verdict

ROWS = st.lists(st.sampled_from([0, 1, 2, "a", "b"]), max_size=3)
ACTS = st.one_of(
    st.tuples(st.sampled_from(["keep", "drop", "ambiguous", "clear"]), ROWS),
    st.tuples(st.just("relabel"), ROWS, st.sampled_from([1, True, "x", 2.5])),
    st.tuples(st.sampled_from(["undo", "redo"])),
)


def told(verdicts: lsat.Verdicts) -> dict[object, str]:
    """What is decided, with the types of the labels."""
    return {row: repr(verdict) for row, verdict in verdicts.items()}


def decided() -> lsat.Verdicts:
    verdicts = lsat.Verdicts()
    verdicts.drop([4, "a"])
    verdicts.relabel(15, 7)
    verdicts.keep([2, 10])
    verdicts.ambiguous("b")
    return verdicts


@settings(max_examples=200, deadline=None)
@given(st.lists(ACTS, max_size=12))
def test_undo_and_redo_walk_through_the_states_there_were(acts):
    verdicts, states, at = lsat.Verdicts(), [{}], 0
    for name, *words in acts:
        getattr(verdicts, name)(*words)
        if name == "undo":
            at = max(at - 1, 0)
        elif name == "redo":
            at = min(at + 1, len(states) - 1)
        elif told(verdicts) != states[at]:
            del states[at + 1 :]
            states.append(told(verdicts))
            at += 1
        assert told(verdicts) == states[at]
        assert (verdicts.can_undo, verdicts.can_redo) == (at > 0, at < len(states) - 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(ACTS, max_size=12))
def test_the_source_rebuilds_the_verdicts(acts):
    verdicts, names = lsat.Verdicts(), {}
    for name, *words in acts:
        getattr(verdicts, name)(*words)
    exec(verdicts.to_source(), names)
    assert told(names["verdicts"]) == told(verdicts)
    assert names["verdicts"].path is None


def test_the_source_is_short_and_has_a_call_for_each_kind_and_label():
    verdicts = decided()
    verdicts.relabel(['say "no"', "b"], "it's")
    assert verdicts.to_source().splitlines() == [
        "import lsat_explorer as lsat",
        "",
        "verdicts = lsat.Verdicts()",
        "verdicts.keep([2, 10])",
        r'verdicts.relabel(["b", "say \"no\""], "it' + "'" + r's")',
        "verdicts.relabel([15], 7)",
        'verdicts.drop([4, "a"])',
    ]
    verdicts.drop(range(1000))
    assert max(map(len, verdicts.to_source().splitlines())) <= 100


def test_a_mapping_in_the_order_of_the_names():
    verdicts = decided()
    assert list(verdicts) == [2, 4, 10, 15, "a", "b"]
    assert verdicts[15] == Verdict("relabel", 7)
    assert 4 in verdicts
    assert 5 not in verdicts
    assert len(verdicts) == 6
    assert verdicts.get("nobody") is None
    assert repr(verdicts) == "Verdicts(2 keep, 1 relabel, 2 drop, 1 ambiguous)"
    assert verdicts.indices() == {"keep": [2, 10], "relabel": [15], "drop": [4, "a"], "ambiguous": ["b"]}
    assert list(lsat.Verdicts().indices()) == list(KINDS)
    with pytest.raises(TypeError):
        verdicts[4] = Verdict("keep")
    with pytest.raises(AttributeError):
        verdicts[4].kind = "keep"


def test_names_of_numpy_and_pandas_are_plain_and_true_is_not_one():
    verdicts = lsat.Verdicts()
    verdicts.keep(np.int64(1))
    verdicts.drop(np.array([2, 3], dtype=np.uint8))
    verdicts.ambiguous(pd.Index(["a", "b"]))
    verdicts.relabel(torch.tensor([4]), np.str_("cow"))
    verdicts.relabel(np.float32(0.5), np.float32(0.25))
    verdicts.relabel(9, np.array([1.0, 2.0]))
    assert {type(row) for row in verdicts} == {int, str, float}
    assert [type(verdicts[row].to) for row in (4, 0.5, 9)] == [str, float, tuple]
    assert np.int8(2) in verdicts
    assert True not in verdicts


def test_a_dict_of_labels_is_one_change() -> None:
    verdicts = lsat.Verdicts()
    verdicts.relabel({np.int64(4): "ant", "r1": np.float64(2.5)})
    assert {row: verdict.to for row, verdict in verdicts.items()} == {4: "ant", "r1": 2.5}
    with pytest.raises(ValueError, match="a dict of labels and the label 'bee' beside it"):
        verdicts.relabel({4: "cow"}, "bee")
    verdicts.undo()
    assert len(verdicts) == 0


@pytest.mark.parametrize("name", [True, None, (1, 2), b"a", math.nan, 2**70, [1], pd.NaT, pd.Timestamp(1)])
def test_what_is_no_name_of_a_row_is_refused_and_changes_nothing(name):
    verdicts = decided()
    before = told(verdicts)
    with pytest.raises(
        ValueError, match=r"A row is called .*: verdicts are kept by a number, a word or a date; Data\.from"
    ):
        verdicts.drop([1, name])
    assert told(verdicts) == before


def test_a_table_is_no_list_of_names_and_its_index_is():
    verdicts = decided()
    table = verdicts.table()
    with pytest.raises(ValueError, match=r"rows is a DataFrame, expected names of rows: give table\.index"):
        verdicts.drop(table)
    verdicts.drop(table.index)
    assert verdicts.indices()["drop"] == list(verdicts)


@pytest.mark.parametrize("label", [None, float("inf"), b"a", (1.0, "a"), [[1.0]], {}, 2**70, object()])
def test_what_is_no_label_is_refused(label):
    with pytest.raises(ValueError, match="A row is relabelled to"):
        lsat.Verdicts().relabel(1, label)


def test_a_verdict_has_a_known_kind_and_a_label_where_one_belongs():
    with pytest.raises(ValueError, match="A verdict is 'delete': expected one of keep, relabel, drop, ambiguous"):
        Verdict("delete")
    with pytest.raises(ValueError, match="relabel alone has one"):
        Verdict("drop", 3)


def test_observers_are_called_after_each_change_by_the_thread_that_made_it():
    verdicts, heard = lsat.Verdicts(), []

    def hear() -> None:
        heard.append((told(verdicts), threading.current_thread().name))

    verdicts.observe(hear)
    verdicts.observe(hear)
    thread = threading.Thread(target=verdicts.drop, args=(1,), name="another")
    thread.start()
    thread.join()
    verdicts.drop(1)  # no change
    verdicts.clear(2)
    verdicts.keep([])
    verdicts.undo()
    verdicts.undo()
    verdicts.redo()
    verdicts.unobserve(hear)
    verdicts.clear(1)
    dropped, main = {1: repr(Verdict("drop"))}, threading.current_thread().name
    assert heard == [(dropped, "another"), ({}, main), (dropped, main)]
    with pytest.raises(TypeError, match="callback is a int, expected a function"):
        verdicts.observe(3)


def test_an_observer_that_fails_keeps_neither_the_change_nor_the_others_back():
    verdicts, heard = lsat.Verdicts(), []
    verdicts.observe(lambda: 1 / 0)
    verdicts.observe(lambda: heard.append(len(verdicts)))
    with pytest.raises(ZeroDivisionError):
        verdicts.drop([1, 2])
    assert heard == [2]
    assert verdicts.can_undo


def test_threads_lose_no_verdict_of_each_other():
    verdicts = lsat.Verdicts()
    verdicts.observe(verdicts.indices)

    def decide(first: int) -> None:
        for row in range(first, 400, 4):
            verdicts.drop(row)
            assert row in verdicts

    threads = [threading.Thread(target=decide, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(verdicts) == list(range(400))
    for _ in range(400):
        verdicts.undo()
    assert len(verdicts) == 0


@pytest.fixture(scope="module")
def words() -> lsat.Data:
    X, y = np.arange(24.0).reshape(12, 2), np.array(["ant", "bee"] * 6)
    return lsat.Data.from_splits(
        train=(pd.DataFrame(X, index=[f"r{i}" for i in range(12)]), y), validation=(X[:2], y[:2]), test=(X, y)
    )


def test_applied_drops_rows_and_changes_labels_and_leaves_all_else(words):
    verdicts = lsat.Verdicts()
    verdicts.drop(["r0", "r5", "gone"])
    verdicts.relabel(["r1", "r2"], np.str_("ant"))
    verdicts.ambiguous("r3")
    data = verdicts.applied(words)
    kept = [place for place in range(12) if place not in (0, 5)]
    assert data.train.rows.tolist() == [f"r{place}" for place in kept]
    assert data.train.labels.tolist() == ["ant", "ant", "bee", "ant", "ant", "bee", "ant", "bee", "ant", "bee"]
    assert data.train.targets.argmax(1).tolist() == [["ant", "bee"].index(label) for label in data.train.labels]
    assert torch.equal(data.train.inputs, words.train.inputs[kept])
    assert data.train.labels.dtype == words.train.labels.dtype
    assert data.validation is words.validation
    assert data.test is words.test
    assert words.train.labels.tolist() == ["ant", "bee"] * 6
    assert verdicts.relabelled(words).tolist()[:3] == ["ant", "ant", "ant"]
    assert verdicts.weights(words, ambiguous=0.5).tolist() == [0, 1, 1, 0.5, 1, 0, 1, 1, 1, 1, 1, 1]
    assert verdicts.missing(words) == ["gone"]
    assert lsat.Verdicts().applied(words) is words


def test_weights_of_0_and_rows_that_are_gone_give_the_same_fit(digits):
    verdicts = lsat.Verdicts()
    verdicts.drop(digits.train.rows[3:9])
    verdicts.relabel(digits.train.rows[20], 3)
    relabelled = lsat.Verdicts()
    relabelled.relabel(digits.train.rows[20], 3)
    # The featurizer of the default recipe looks at all training rows, whatever they weigh.
    plain = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge())
    weighed = plain.replace(data_weights=lsat.FixedWeights(verdicts.weights(digits)))
    one, other = fitted(weighed, relabelled.applied(digits)), fitted(plain, verdicts.applied(digits))
    torch.testing.assert_close(one.theta, other.theta)


def test_numbers_are_relabelled_by_numbers():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(8, 2)), random.normal(size=(8, 2))
    for y, to in ((Y, (1.5, 2.5)), (Y[:, 0], 1.5)):
        data = lsat.Data.from_splits(train=(X, y), validation=(X, y))
        verdicts = lsat.Verdicts()
        verdicts.relabel(3, to)
        changed = verdicts.applied(data)
        np.testing.assert_array_equal(changed.train.labels[3], to)
        np.testing.assert_array_equal(changed.train.targets[3], np.atleast_1d(to))
        np.testing.assert_array_equal(np.delete(changed.train.labels, 3, 0), np.delete(y, 3, 0))
        assert verdicts.table(data)["given"].tolist() == [tuple(y[3]) if y.ndim == 2 else y[3]]


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Vienna"])
def test_rows_are_called_by_their_times(zone, unit, tmp_path):
    times = pd.date_range("2020-02-28 23:30", periods=4, freq="h", tz=zone).as_unit(unit)
    X, y = np.eye(4), np.array(["ant", "bee"] * 2)
    data = lsat.Data.from_splits(train=(pd.DataFrame(X, index=times), y), validation=(X, y))
    verdicts = lsat.Verdicts(tmp_path / "verdicts.json")
    verdicts.drop(data.train.rows[:1])
    verdicts.relabel(times[2], "bee")
    verdicts.keep([datetime.date(2020, 2, 28), 7, "7"])
    names = {}
    exec(verdicts.to_source(), names)
    for each in (verdicts, lsat.Verdicts(verdicts.path), names["verdicts"]):
        assert told(each) == told(verdicts)
        assert each.applied(data).train.labels.tolist() == ["bee", "bee", "bee"]
        assert each.missing(data) == [7, datetime.date(2020, 2, 28), "7"]
    assert [type(row) for row in verdicts] == [int, datetime.date, datetime.datetime, datetime.datetime, str]


def test_the_table_has_the_given_label_where_the_data_have_the_row(words):
    verdicts = lsat.Verdicts()
    verdicts.relabel("r1", "ant")
    verdicts.drop(["r0", "gone"])
    table = verdicts.table(words)
    assert list(table.columns) == ["given", "kind", "to"]
    assert table.index.name == "row"
    rows = {row: list(line) for row, line in zip(table.index, table.to_numpy(), strict=True)}
    assert rows == {"gone": [None, "drop", None], "r0": ["ant", "drop", None], "r1": ["bee", "relabel", "ant"]}
    assert list(verdicts.table().columns) == ["kind", "to"]
    assert lsat.Verdicts().table(words).shape == (0, 3)


def test_what_cannot_be_applied_is_said_in_a_sentence(words, tmp_path):
    verdicts = lsat.Verdicts()
    verdicts.relabel("r1", "cow")
    for use in (verdicts.applied, verdicts.relabelled):
        with pytest.raises(ValueError, match="relabel gives row 'r1' the class 'cow', which is unknown: give one of"):
            use(words)
    everything = lsat.Verdicts()
    everything.drop(words.train.rows[1:])
    with pytest.raises(ValueError, match="drop all but 1 of 12 training rows: keep two"):
        everything.applied(words)
    with pytest.raises(ValueError, match="data is a list, expected Data"):
        everything.weights([])
    with pytest.raises(ValueError, match="ambiguous is -1: expected a finite number of at least 0"):
        everything.weights(words, ambiguous=-1)
    X, y = np.eye(4), np.array([0.5, 1.5, 2.5, 3.5])
    on_disk = lsat.Data.from_rows(train=[(X, y)], validation=(X, y), folder=tmp_path)
    one = lsat.Verdicts()
    one.drop(0)
    with pytest.raises(ValueError, match=r"stay on disk, .* data_weights=lsat\.FixedWeights\(verdicts\.weights"):
        one.applied(on_disk)


def test_rows_of_a_multiindex_are_refused_and_never_taken_apart():
    index = pd.MultiIndex.from_product([["a", "b"], range(10)])
    X = pd.DataFrame(np.random.default_rng(0).random((20, 2)), index=index)
    row = lsat.Data.from_arrays(X, pd.Series([0, 1] * 10, index=index), test=0).train.rows[0]
    verdicts = lsat.Verdicts()
    for act in (verdicts.keep, verdicts.drop, verdicts.ambiguous, verdicts.clear):
        with pytest.raises(ValueError, match=r"rows is the tuple \('[ab]', \d\), .* gives rows plain names"):
            act(row)
        with pytest.raises(ValueError, match=r"A row is called \('[ab]', \d\): .* gives rows such names"):
            act([row])
    for labels in ([row, 1], [{row: 1}]):
        with pytest.raises(ValueError, match=r"rows is the tuple \('[ab]', \d\)"):
            verdicts.relabel(*labels)
    assert len(verdicts) == 0
