"""Bad input (cases 5 and 9, and others): refused in one sentence that names what is at fault."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat
from arrays import TARGETS, X, Y, final_of, of, parts, sentence
from lsat_explorer.data import Data, Split


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
    "a name twice": (lambda: of(X, Y, feature_names=["a", "b", "b"]), "feature_names has 'b' twice, expected a name"),
    "a number twice": (lambda: of(X, Y, feature_names=["1", "a", 1]), "feature_names has '1' twice"),
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


@pytest.mark.parametrize("kind", [list, tuple, lambda y: pd.Series(y, dtype=object)])
@pytest.mark.parametrize("labels", [["a", "a\0"], [b"a", b"a\0"], ["a\0", "a\0\0"]])
def test_labels_that_numpy_would_make_equal_are_two_classes(labels, kind):
    y = labels * 20
    data = Data.from_arrays(np.arange(80.0).reshape(40, 2), kind(y), validation=10, test=10)
    assert data.classes == tuple(labels)
    assert [y[row] for row in data.train.rows] == data.train.labels.tolist()


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_a_row_without_a_name_is_refused_by_its_place(missing):
    index = [f"r{i}" for i in range(39)]
    index.insert(7, missing)
    for rows in (index, np.array(index, dtype=object), pd.Index(index, dtype=object)):
        with pytest.raises(ValueError, match=r"rows of X has .* at position 7, expected a name of each row"):
            Data.from_arrays(np.eye(40), [0, 1] * 20, rows=rows)
    with pytest.raises(ValueError, match=r"the row index of X has .* at position 7"):
        Data.from_arrays(pd.DataFrame(np.eye(40), index=index), [0, 1] * 20)


def test_a_row_without_a_name_in_a_file_is_refused_by_its_place(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("case,age,ill\n" + "".join(f"{'' if i == 7 else f'r{i}'},{i},{i % 2}\n" for i in range(40)))
    with pytest.raises(ValueError, match="rows of X has nan at position 7, expected a name of each row"):
        lsat.datasets.from_csv(path, "ill", index="case", progress=False, cache=False)


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
