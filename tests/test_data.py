"""Data and Split: whatever table the user has, divided once, encoded alike, and refused in one sentence."""

from __future__ import annotations

import decimal
import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from lsat_explorer.data import Data, Split
from lsat_explorer.data.partition import partition

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)
Y = np.repeat([0, 1], 20)
TARGETS = RANDOM.randn(40)


def of(inputs, outcomes, **options):
    return Data.from_arrays(inputs, outcomes, **options)


def parts(data):
    return [split for split in (data.train, data.validation, data.test, data.final) if split is not None]


def final_of(inputs, outcomes):
    """Sound splits, and these rows as the final one."""
    return Data.from_splits((X, TARGETS), (X, TARGETS), final=(inputs, outcomes))


def sentence(error):
    """The message, which must be one line and one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert ". " not in text
    assert len(text) < 300
    return text


# --- what comes out -------------------------------------------------------------------------------------------------


def test_reprs_are_short_and_constant():
    data = of(X, Y, name="coins", validation=0.25, test=0.25)
    assert repr(data) == "Data(coins: 20 training, 10 validation, 10 test rows, 3 features, 2 classes)"
    assert data.describe() == "coins · 20 training, 10 validation, 10 test rows"
    assert repr(data.train) == "Split(20 rows, 3 features, 2 outputs)"
    assert len(data.train) == 20
    big = of(np.zeros((5000, 1)), np.linspace(0, 1, 5000), test=None)
    assert repr(big) == "Data(data: 3,500 training, 1,500 validation rows, 1 feature, 1 output)"


def test_every_row_is_in_one_split_with_its_own_outcome():
    data = of(X, TARGETS)
    rows = np.concatenate([split.rows for split in parts(data)])
    assert sorted(rows) == list(range(40))
    for split in parts(data):
        assert (np.diff(split.rows) > 0).all()
        np.testing.assert_array_equal(split.inputs.numpy(), X[split.rows])
        np.testing.assert_array_equal(split.targets.numpy()[:, 0], TARGETS[split.rows])
        np.testing.assert_array_equal(split.labels, TARGETS[split.rows])


def test_the_division_follows_the_seed_and_is_stratified():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    data, again, other = (of(np.zeros((100, 1)), y, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(data.train.rows, again.train.rows)
    assert not np.array_equal(data.train.rows, other.train.rows)
    assert [split.targets.sum(0).tolist() for split in parts(data)] == [[30, 15, 5], [18, 9, 3], [12, 6, 2]]


def test_shares_may_be_numbers_of_rows_and_no_test_may_be_kept():
    data = of(X, Y, validation=7, test=5)
    assert [len(split) for split in parts(data)] == [28, 7, 5]
    assert of(X, Y, test=0).test is None
    assert of(X, Y, test=None).test is None
    # 0.07 * 100 is 7.000000000000001 in floating point, and seven rows
    assert len(of(np.zeros((100, 1)), np.linspace(0, 1, 100), test=0.07).test) == 7


def test_the_end_may_keep_rows_of_its_own():
    data = of(X, Y, validation=0.25, test=0.25, final=0.1, name="coins")
    assert repr(data) == "Data(coins: 16 training, 10 validation, 10 test, 4 final rows, 3 features, 2 classes)"
    assert data.describe() == "coins · 16 training, 10 validation, 10 test, 4 final rows"
    rows = np.concatenate([split.rows for split in parts(data)])
    assert sorted(rows) == list(range(40))
    assert (np.diff(data.final.rows) > 0).all()
    np.testing.assert_array_equal(data.final.inputs.numpy(), X[data.final.rows])
    np.testing.assert_array_equal(data.final.labels, Y[data.final.rows])
    assert data.final.targets.sum(0).tolist() == [2, 2]
    assert of(X, Y).final is of(X, Y, final=0).final is of(X, Y, final=None).final is None
    # without a test split, and with fractions of a row rounded up as for the test
    assert repr(of(X, TARGETS, test=None, final=0.11)).startswith("Data(data: 23 training, 12 validation, 5 final rows")
    mixed = final_of(X.astype(np.float32), TARGETS)
    assert mixed.train.inputs.dtype == mixed.final.inputs.dtype == torch.float64


@pytest.mark.parametrize("y", [Y, TARGETS])
def test_final_rows_stay_when_the_other_shares_change(y):
    data = of(X, y, final=6)
    for options in ({"validation": 0.2}, {"test": 0.1}, {"test": None, "validation": 9}):
        np.testing.assert_array_equal(of(X, y, final=6, **options).final.rows, data.final.rows)
    np.testing.assert_array_equal(of(X, y, final=6, validation=0.2).test.rows, data.test.rows)


def test_divisions_without_a_final_split_stay_for_good():
    # positions of the first version: a seed written down by a user must go on to mean the same rows
    data = of(X[:12], [0, 1, 2] * 4, seed=3)
    assert [split.rows.tolist() for split in parts(data)] == [[0, 3, 4, 7, 8, 11], [1, 5, 9], [2, 6, 10]]
    data = of(X[:12], TARGETS[:12], seed=3, test=3, validation=4)
    assert [split.rows.tolist() for split in parts(data)] == [[0, 2, 3, 8, 9], [6, 7, 10, 11], [1, 4, 5]]
    codes = np.repeat([0, 1, 2, 3], [57, 30, 10, 3])[np.random.RandomState(0).permutation(100)]
    shares = [(0.3, 0.2), (0.25, 0.25), (0.3, None), (7, 5), (0.5, 0), (1, 60), (0.05, 0.05)]
    digest = hashlib.sha256()
    for strata, seed, (validation, test) in itertools.product((None, codes), range(5), shares):
        positions = partition(100, strata, validation=validation, test=test, seed=seed)
        for split in ("train", "validation", "test"):
            found = ",".join(map(str, positions[split])) + ";" if split in positions else "-"
            digest.update(found.encode())
    assert digest.hexdigest().startswith("4493e88e7a76d541")


def test_rare_classes_reach_training_and_validation():
    y = np.array(["common"] * 200 + ["rare"] * 2 + ["scarce"] * 3)
    for seed in range(20):
        data = of(np.zeros((205, 1)), y, seed=seed)
        for split in (data.train, data.validation):
            assert set(split.labels) == {"common", "rare", "scarce"}
        assert sum(map(len, parts(data))) == 205
        held_out = of(np.zeros((205, 1)), y, seed=seed, validation=0.1, test=0.3, final=0.4)
        for split in (held_out.train, held_out.validation):
            assert set(split.labels) == {"common", "rare", "scarce"}
        assert sorted(np.concatenate([split.rows for split in parts(held_out)])) == list(range(205))


def test_targets_are_one_hot_in_the_order_of_the_classes():
    data = of(X, np.where(Y, "no", "yes"))
    assert data.task == "classification"
    assert data.classes == ("no", "yes")
    for split in parts(data):
        assert split.targets.dtype == torch.float64
        assert (np.asarray(data.classes)[split.targets.argmax(1).numpy()] == split.labels).all()
        assert (split.targets.sum(1) == 1).all()


def test_several_outputs():
    data = of(X, np.stack([TARGETS, -TARGETS], axis=1))
    assert data.task == "regression"
    assert data.classes is None
    assert data.train.targets.shape == (20, 2)
    assert data.train.labels.shape == (20, 2)
    assert repr(data).endswith("3 features, 2 outputs)")
    frame = of(X, pd.DataFrame({"a": Y, "b": Y}))
    assert frame.train.targets.shape == (20, 2)
    column = of(X, TARGETS[:, None])
    assert column.train.labels.shape == (20,)


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (Y, "classification"),
        (Y.astype(np.uint8), "classification"),
        (Y.astype(bool), "classification"),
        (Y.astype(object), "classification"),
        (Y.astype(bool).astype(object), "classification"),
        (np.where(Y, "a", "b"), "classification"),
        (np.where(Y, "a", "b").astype(object), "classification"),
        (pd.Series(np.where(Y, "a", "b"), dtype="category"), "classification"),
        (pd.Series(Y, dtype="Int64"), "classification"),
        (Y.tolist(), "classification"),
        (torch.from_numpy(Y), "classification"),
        (np.arange(40) % 20, "classification"),
        (np.arange(40), "regression"),
        (np.arange(40) % 21, "regression"),
        (np.arange(40).astype(object), "regression"),
        (Y.astype(float), "regression"),
        ([decimal.Decimal(number) for number in range(40)], "regression"),
        (torch.from_numpy(TARGETS), "regression"),
    ],
)
def test_the_task_is_inferred_by_the_stated_rule(y, task):
    assert of(X, y).task == task


def test_the_users_word_goes_before_the_rule():
    assert of(X, Y, task="regression").classes is None
    data = of(X, Y.astype(float), task="classification")
    assert data.classes == (0.0, 1.0)


# --- cases 3, 11, 16: the same table in another guise ---------------------------------------------------------------

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


# --- case 12: one encoder -------------------------------------------------------------------------------------------


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


# --- cases 5 and 9, and other bad input -----------------------------------------------------------------------------


def with_entry(entry, row=17, column=1):
    table = X.copy()
    table[row, column] = entry
    return table


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, object])
def test_the_first_entry_that_is_not_finite_is_named(entry, dtype):
    table = with_entry(entry).astype(dtype)
    word = {0: "training", 1: "validation", 2: "test"}[[17 in split.rows for split in parts(of(X, Y))].index(True)]
    with pytest.raises(ValueError, match=rf"^{word} X has {entry} at row 17, column 1, expected finite") as error:
        of(table, Y)
    sentence(error)
    with pytest.raises(ValueError, match=rf"^validation X has {entry} at row 17, column 1,"):
        Data.from_splits((X, TARGETS), (table, TARGETS))
    with pytest.raises(ValueError, match=rf"^final X has {entry} at row 17, column 1, expected finite") as error:
        final_of(table, TARGETS)
    sentence(error)


def test_a_missing_entry_is_named_by_the_users_index_and_column():
    frame = pd.DataFrame(with_entry(np.nan), columns=["age", "height", "x"], index=[f"p{i}" for i in range(40)])
    with pytest.raises(ValueError, match=r"validation X has nan at row 'p17', column 1 \('height'\)"):
        Data.from_splits((frame.fillna(0.0), TARGETS), (frame, TARGETS))
    nullable = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"training X has nan at row 1, column 0 \('a'\)"):
        Data.from_splits((nullable, [1.0, 2.0, 3.0]), (np.eye(2), [1.0, 2.0]))


@pytest.mark.parametrize(
    ("y", "found"),
    [
        (np.where(np.arange(40) == 5, np.nan, TARGETS), "nan"),
        (np.where(np.arange(40) == 5, np.inf, TARGETS), "inf"),
        (np.where(np.arange(40) == 5, None, Y.astype(object)), "None"),
        (["a", "b"] * 2 + ["a", None] + ["a", "b"] * 17, "None"),
        (["a", "b"] * 2 + ["a", float("nan")] + ["a", "b"] * 17, "nan"),
        (pd.Series(["a", "b"] * 2 + ["a", None] + ["a", "b"] * 17, dtype="string"), "<NA>"),
        (pd.Categorical(np.where(np.arange(40) == 5, None, np.where(Y, "a", "b"))), "nan"),
        (pd.array([1, 0, 1, 0, 1, None] + [0, 1] * 17, dtype="Int64"), "(nan|<NA>)"),
    ],
)
def test_a_missing_outcome_is_named(y, found):
    with pytest.raises(ValueError, match=rf"(training|validation|test) y has {found} at row 5, expected") as error:
        of(X, y)
    sentence(error)
    complete = np.where(np.arange(40) == 5, y[4], y) if isinstance(y, np.ndarray) else [*y[:5], *y[4:5], *y[6:]]
    with pytest.raises(ValueError, match=rf"^final y has {found} at row 5, expected") as error:
        Data.from_splits((X, complete), (X, complete), final=(X, y))
    sentence(error)


REFUSED = {
    "y too short": (lambda: of(X, Y[:-1]), "X has 40 rows and y has 39"),
    "validation y too short": (
        lambda: Data.from_splits((X, Y), (X, Y[1:])),
        "validation X has 40 rows and validation y",
    ),
    "X of rank 1": (lambda: of(TARGETS, Y), r"X has shape \(40,\), expected \(N, d\).*reshape\(-1, 1\)"),
    "X of rank 3": (lambda: of(X[None], Y), r"X has shape \(1, 40, 3\)"),
    "X without columns": (lambda: of(X[:, :0], Y), r"X has shape \(40, 0\)"),
    "no rows": (lambda: of(X[:0], Y[:0]), "X has no rows"),
    "no validation rows": (lambda: Data.from_splits((X, Y), (X[:0], Y[:0])), "validation X has no rows"),
    "one row": (lambda: of(X[:1], [1.0]), "1 row with validation"),
    "one training row": (
        lambda: Data.from_splits((X[:1], [1.0]), (X, TARGETS)),
        "training X has 1 row, expected at least 2",
    ),
    "ragged": (lambda: of([[1, 2], [3]], Y[:2]), "X has rows of different lengths"),
    "words in X": (
        lambda: of([["1", "red"], ["2", "blue"]], [0, 1]),
        "X has 'red' at position 0, column 1, expected num",
    ),
    "words in a frame": (
        lambda: of(pd.DataFrame({"n": [1, 2], "c": ["3", "x"]}), [0, 1]),
        r"'x' at position 1, column 1 \('c'",
    ),
    "complex": (lambda: of(X + 1j, Y), "X is of type complex128"),
    "dates": (lambda: of(pd.DataFrame({"t": pd.date_range("2020", periods=40)}), Y), "X is of type datetime64"),
    "date outcomes": (lambda: of(X, pd.date_range("2020", periods=40).to_numpy()), "y is of type datetime64"),
    "y of rank 3": (lambda: of(X, X[:, :, None]), r"y has shape \(40, 3, 1\)"),
    "labels in columns": (
        lambda: of(X, np.stack([Y, Y], 1), task="classification"),
        r"y has shape \(40, 2\), expected one lab",
    ),
    "unknown task": (lambda: of(X, Y, task="ranking"), "task is 'ranking'"),
    "regression of words": (lambda: of(X, np.where(Y, "a", "b"), task="regression"), "labels such as 'b'"),
    "single class": (lambda: of(X, ["a"] * 40), "y has the single class 'a'"),
    "single training class": (
        lambda: Data.from_splits((X, ["a"] * 40), (X, ["b"] * 40)),
        "training y has the single class 'a'",
    ),
    "class of one row": (lambda: of(X, ["a"] * 20 + ["b"] * 19 + ["c"]), "class 'c' has a single row"),
    "class absent from validation": (
        lambda: Data.from_splits((X, Y), (X, Y * 0)),
        "validation y has no row of class 1",
    ),
    "mixed labels": (lambda: of(X, [1, "a"] * 20), "y mixes labels of type int and str"),
    "labels that are lists": (lambda: of(X, pd.Series([[1], [2]] * 20)), r"y holds \[1\], expected one plain label"),
    "other columns": (
        lambda: Data.from_splits((X, Y), (X[:, :2], Y)),
        "validation X has 2 columns and training X has 3",
    ),
    "other order of columns": (
        lambda: Data.from_splits((pd.DataFrame(X, columns=list("abc")), Y), (pd.DataFrame(X, columns=list("acb")), Y)),
        "column 1 of validation X is 'c' and that of training X is 'b'",
    ),
    "other targets": (
        lambda: Data.from_splits((X, X), (X, X[:, :2])),
        r"validation y has shape \(40, 2\) and training y",
    ),
    "other columns at the end": (lambda: final_of(X[:, :2], TARGETS), "final X has 2 columns and training X has 3"),
    "other targets at the end": (lambda: final_of(X, X[:, :2]), r"final y has shape \(40, 2\) and training y"),
    "final y too short": (lambda: final_of(X, Y[1:]), "final X has 40 rows and final y has 39"),
    "no final rows": (lambda: final_of(X[:0], Y[:0]), "final X has no rows"),
    "no final pair": (
        lambda: Data.from_splits((X, Y), (X, Y), final=X),
        r"final is a ndarray, expected a pair \(X, y\); pass final=\(X, y\)",
    ),
    "final share": (lambda: of(X, Y, final=-0.1), "final is -0.1, expected a share.*final=0.2"),
    "too many final rows": (lambda: of(X, Y, final=40), "final is 40, expected a share between 0 and 1 or a number of"),
    "boolean final": (lambda: of(X, Y, final=True), "final is True"),
    "all kept for the end": (
        lambda: of(X, Y, final=20),
        "40 rows with validation=0.3, test=0.2 and final=20 leave 0 training and 12 validation rows",
    ),
    "final rows all needed": (
        lambda: of(X[:4], [0, 0, 1, 1], test=0, final=1, validation=1),
        "training and validation need every row that final=1 asks for",
    ),
    "no pair": (lambda: Data.from_splits((X, Y), X), r"validation is a ndarray, expected a pair \(X, y\)"),
    "indexes differ": (lambda: of(pd.DataFrame(X), pd.Series(Y, index=range(1, 41))), "different row indexes"),
    "rows repeated": (lambda: of(X, Y, rows=[1, *range(39)]), "rows of X names 1 twice"),
    "index repeated": (lambda: of(pd.DataFrame(X, index=["a"] * 40), Y), "the row index of X names 'a' twice"),
    "too few row names": (lambda: of(X, Y, rows=range(39)), r"rows has shape \(39,\), expected \(40,\)"),
    "too few names": (lambda: of(X, Y, feature_names=["a"]), "feature_names has 1 names for 3 features"),
    "sparse tensor": (lambda: of(torch.from_numpy(X).to_sparse(), Y), r"X is a sparse tensor.*X.to_dense\(\)"),
    "validation share": (lambda: of(X, Y, validation=1.5), "validation is 1.5, expected a share"),
    "no validation": (lambda: of(X, Y, validation=0), "leave 32 training and 0 validation rows"),
    "nothing to train": (lambda: of(X, Y, validation=20, test=20), "leave 0 training and 20 validation rows"),
    "boolean share": (lambda: of(X, Y, validation=True), "validation is True"),
    "text share": (lambda: of(X, Y, test="0.2"), "test is '0.2'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_sentence(case):
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=message) as error:
        make()
    sentence(error)


def test_a_sparse_matrix_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match=r"training X is a sparse matrix.*X\.toarray\(\)"):
        Data.from_splits((sparse.csr_matrix(X), Y), (X, Y))


def test_data_checks_its_parts():
    data = of(X, Y)
    common = {"classes": (0, 1), "feature_names": ("a", "b", "c"), "task": "classification"}
    assert Data(data.train, data.validation, **common).final is None
    with pytest.raises(TypeError):
        Data(data.train, data.validation, data.test, data.test, **common)
    narrow = Split(data.train.inputs[:, :2], data.train.targets, data.train.labels, data.train.rows)
    for train, options, message in [
        (narrow, {}, "the validation split has 3 features and 2 outputs, the train split 2 and 2"),
        (data.train, {"final": narrow}, "the final split has 2 features and 2 outputs, the train split 3 and 2"),
        (data.train, {"classes": (0, 1, 2)}, "with 2 target columns"),
        (data.train, {"classes": None}, "classes are None for classification"),
        (data.train, {"task": "other"}, "task is 'other'"),
        (data.train, {"feature_names": ("a",)}, "feature_names has 1 names"),
        (data.train, {"image_shape": (2, 2)}, r"image_shape \(2, 2\) has 4 values and a row of X has 3"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            Data(train, data.validation, **{**common, **options})
        sentence(error)
    with pytest.raises(ValueError, match=r"a Split got 20 inputs, 20 targets, 20 labels, 3 rows"):
        Split(data.train.inputs, data.train.targets, data.train.labels, data.train.rows[:3])
    with pytest.raises(ValueError, match=r"a Split got inputs of shape \(3,\)"):
        Split(torch.zeros(3), torch.zeros(3), np.zeros(3), np.arange(3))


def test_data_are_frozen_and_equal_by_identity():
    data = of(X, Y)
    with pytest.raises(AttributeError):
        data.name = "other"
    assert data == data
    assert data != of(X, Y)
    assert len({data, data.train}) == 2


# --- case 25: images ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(8, 8), (4, 6), (5, 4, 1), (4, 5, 3)])
@pytest.mark.parametrize("top", [1.0, 16.0, 255.0])
def test_images_of_any_shape_and_range_are_shown_right(shape, top):
    pictures = RANDOM.randint(0, 256, (30, *shape))
    pictures.ravel()[:2] = 0, 255
    pictures[1:] = np.maximum(pictures[0], pictures[1:])
    data = of(pictures * (top / 255), np.arange(30) % 3, image_shape=shape, rows=np.arange(100, 130), final=4)
    assert data.image_shape == shape
    # the range is that of the training rows
    train = pictures[data.train.rows - 100]
    expected = (train - train.min()) / (train.max() - train.min()) * 255
    shown = data.images("train", [3, 1])
    assert shown.dtype == np.uint8
    assert shown.shape == (2, *(shape[:2] if shape[2:] == (1,) else shape))
    np.testing.assert_allclose(shown.reshape(2, -1), expected[[3, 1]].reshape(2, -1), atol=0.5 + 1e-9)
    assert len(data.images("validation")) == len(data.validation)
    assert data.images("test", []).shape[0] == 0
    np.testing.assert_allclose(
        data.images("final").reshape(len(data.final), -1),
        # the range is that of the training rows, which others may leave
        np.clip((pictures[data.final.rows - 100] - train.min()) / (train.max() - train.min()), 0, 1).reshape(
            len(data.final), -1
        )
        * 255,
        atol=0.5 + 1e-9,
    )


def test_images_may_come_flat_or_not():
    pictures = RANDOM.rand(20, 4, 4)
    flat, stack = (of(table, np.arange(20) % 2, image_shape=(4, 4)) for table in (pictures.reshape(20, 16), pictures))
    assert torch.equal(flat.train.inputs, stack.train.inputs)
    assert flat.feature_names[:5] == ("pixel_0_0", "pixel_0_1", "pixel_0_2", "pixel_0_3", "pixel_1_0")


def test_constant_images_are_black():
    assert not of(np.ones((10, 4)), np.arange(10) % 2, image_shape=(2, 2)).images().any()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((28, 28), r"image_shape \(28, 28\) has 784 values and a row of X has 64"),
        ((4, 8, 2), r"image_shape is \(4, 8, 2\), expected \(h, w\)"),
        ((64,), r"image_shape is \(64,\)"),
        (64, "image_shape is 64"),
        ((8.0, 8.0), r"image_shape is \(8.0, 8.0\)"),
        ((-8, -8), r"image_shape is \(-8, -8\)"),
    ],
)
def test_an_image_shape_that_does_not_fit_is_refused_by_name(shape, message):
    with pytest.raises(ValueError, match=message) as error:
        of(np.zeros((20, 64)), np.arange(20) % 2, image_shape=shape)
    sentence(error)


def test_images_refuse_what_is_not_there():
    data = of(RANDOM.rand(20, 16), np.arange(20) % 2, image_shape=(4, 4), test=None)
    for split, indices, message in [
        ("test", [0], "no split 'test', expected one of train, validation"),
        ("final", [0], "no split 'final', expected one of train, validation"),
        ("train", [14], "position 14 is outside the train split, which has 14 rows"),
        ("train", [-1], "position -1 is outside"),
        ("train", [0.5], "indices have shape"),
        ("train", [[0]], "indices have shape"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            data.images(split, indices)
        sentence(error)
    with pytest.raises(ValueError, match="the rows of data are not images"):
        of(X, Y).images()


# --- weight of the import -------------------------------------------------------------------------------------------


def test_the_import_is_light():
    program = (
        "import sys; from lsat_explorer.data import Data, datasets; "
        "print([m for m in ('sklearn', 'pandas', 'PIL', 'matplotlib', 'plotly') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
