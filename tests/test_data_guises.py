"""The same table in another guise (cases 3, 11, 16), and labels by one encoder (case 12)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from arrays import TARGETS, X, Y, of, parts, sentence
from lsat_explorer.data import Data

RANDOM = np.random.RandomState(1)


COUNTS = RANDOM.randint(0, 9, (40, 3))


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class Polarish:
    """Stands in for frames of other libraries, known by `columns` and `to_numpy` only."""

    columns = ("a", "b", "c")

    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return read_only(self.values)


@pytest.mark.parametrize(
    "guise",
    [
        lambda x: x,
        lambda x: x.astype(np.int8),
        lambda x: x.astype(object),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(">f8"),
        lambda x: x.tolist(),
        lambda x: np.asfortranarray(x.astype(float)),
        lambda x: x.astype(float)[::-1].copy()[::-1],
        lambda x: np.repeat(x.astype(float), 2, axis=1)[:, ::2],
        lambda x: read_only(x.astype(float)),
        lambda x: torch.from_numpy(x),
        lambda x: torch.from_numpy(x).to(torch.bfloat16),
        lambda x: torch.from_numpy(x.astype(float)).requires_grad_(),
        lambda x: np.ma.masked_array(x, mask=np.zeros_like(x)),
        lambda x: pd.DataFrame(x, columns=list("abc")),
        lambda x: pd.DataFrame(x, columns=list("abc")).astype({"a": "Int64", "b": "float32", "c": object}),
        lambda x: Polarish(x),
    ],
)
def test_the_same_numbers_give_the_same_data(guise):
    table = guise(COUNTS)
    plain, data = of(COUNTS.astype(float), Y), of(table, Y)
    for ours, theirs in zip(parts(plain), parts(data), strict=True):
        assert theirs.inputs.dtype == torch.float64
        assert theirs.inputs.is_contiguous()
        assert torch.equal(ours.inputs, theirs.inputs)
        assert torch.equal(ours.targets, theirs.targets)


def test_float32_stays():
    for table in (X.astype(np.float32), torch.from_numpy(X).float(), pd.DataFrame(X, dtype="float32")):
        assert of(table, Y).train.inputs.dtype == torch.float32
    assert of(X.astype(">f4"), Y).train.inputs.dtype == torch.float32
    mixed = Data.from_splits((X.astype(np.float32), Y), (X, Y))
    assert mixed.train.inputs.dtype == mixed.validation.inputs.dtype == torch.float64


def test_the_users_arrays_are_neither_changed_nor_shared(tmp_path):
    stored = tmp_path / "x.npy"
    np.save(stored, X.astype(np.float32))
    mapped, own, target = np.load(stored, mmap_mode="r"), X.copy(), TARGETS.copy()
    assert torch.equal(of(mapped, Y).train.inputs, of(X.astype(np.float32), Y).train.inputs)
    data = Data.from_splits((own, target), (mapped, read_only(target)))
    data.train.inputs.zero_()
    data.train.targets.zero_()
    np.testing.assert_array_equal(own, X)
    np.testing.assert_array_equal(target, TARGETS)
    np.testing.assert_array_equal(data.train.labels, TARGETS)


@pytest.mark.parametrize(
    "index", [[f"row {i}" for i in range(40)], list(range(400, 0, -10)), pd.date_range("2020", periods=40)]
)
def test_names_and_rows_are_the_users(index):
    frame = pd.DataFrame(X, columns=["height", 7, ("a", 1)], index=index)
    data = of(frame, pd.Series(TARGETS, index=index))
    assert data.feature_names == ("height", "7", "('a', 1)")
    for split in parts(data):
        np.testing.assert_array_equal(frame.loc[split.rows].to_numpy(), split.inputs.numpy())
    np.testing.assert_array_equal(of(X, pd.Series(TARGETS, index=index)).train.rows, data.train.rows)


def test_given_names_and_rows():
    data = of(X, Y, rows=[f"r{i}" for i in range(40)], feature_names=["a", 2, "<img src=x onerror=alert(1)>"])
    assert data.feature_names == ("a", "2", "<img src=x onerror=alert(1)>")
    assert set(data.train.rows) <= {f"r{i}" for i in range(40)}
    assert of(X, Y).feature_names == ("x0", "x1", "x2")


@pytest.mark.parametrize("names", [[1, "a"], ["a", "a\0"], [b"a", "a"], [2.5, "2.5"]])
@pytest.mark.parametrize("kind", [list, tuple, pd.Series, lambda rows: pd.Index(rows, dtype=object)])
def test_names_of_several_types_stay_what_they_are(kind, names):
    rows = [*names, *(f"r{i}" for i in range(38))]
    data = of(X, Y, rows=kind(rows))
    assert {row for split in parts(data) for row in split.rows.tolist()} == set(rows)


def test_pairs_are_no_names_of_rows():
    with pytest.raises(ValueError, match=r"rows has shape \(40, 2\), expected \(40,\)"):
        of(X, Y, rows=[("r", i) for i in range(40)])


@pytest.mark.parametrize(
    ("train", "validation", "classes"),
    [
        ([3, 7, 100], [100, 3, 7], (3, 7, 100)),
        ([3, 7, 100], np.array([100.0, 3, 7]), (3, 7, 100)),
        (np.array([3, 7, 100]), np.array([7, 3, 100], dtype=object), (3, 7, 100)),
        (["b", "a", "c"], pd.Series(["c", "b", "a"]), ("a", "b", "c")),
        (
            pd.Categorical(["lo", "mid", "hi"], categories=["lo", "mid", "hi", "never"]),
            ["hi", "lo", "mid"],
            ("lo", "mid", "hi"),
        ),
        ([True, False, True], [0, 1, 0], (False, True)),
    ],
)
def test_labels_of_all_splits_are_encoded_alike(train, validation, classes):
    data = Data.from_splits((np.eye(3), train), (np.eye(3), validation), task="classification")
    assert data.classes == classes
    for split, given in ((data.train, train), (data.validation, validation)):
        assert split.labels.tolist() == list(given)
        assert [classes[place] for place in split.targets.argmax(1)] == list(given)


def test_an_unknown_label_is_refused_by_name():
    frame, animals = pd.DataFrame(np.eye(3), index=[10, 11, 12]), pd.Series(["b", "a", "cat"], index=[10, 11, 12])
    with pytest.raises(ValueError, match=r"validation y has the label 'cat' at row 12, which no training row") as error:
        Data.from_splits((np.eye(3), ["a", "b", "a"]), (frame, animals))
    sentence(error)
    pair = np.eye(2), [3, 4]
    for split in ("test", "final"):
        with pytest.raises(ValueError, match=f"^{split} y has the label '3' at row 0") as error:
            Data.from_splits(pair, pair, **{split: (np.eye(2), ["3", "4"])}, task="classification")
        sentence(error)


def test_test_and_final_rows_may_lack_classes():
    data = Data.from_splits((X, Y), (X, Y), (X[:2], [1, 1]), final=(X[:3], [0, 0, 0]))
    assert data.test.targets.tolist() == [[0, 1]] * 2
    assert data.final.targets.tolist() == [[1, 0]] * 3
