"""Faults to survive, 3, 4, 5, 11, 12 and 16: types and layouts of numbers, weights, classes, labels and names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import cases
import lsat_explorer as lsat
from cases import (
    DATA,
    LABELS,
    QUICK,
    RIDGE,
    ROWS,
    X,
    Y,
    classes,
    data_of,
    model_of,
    numbers,
    solvers,
)

RANDOM = np.random.default_rng(1)
SAME: dict[str, Any] = {
    "object": lambda Z: Z.astype(object),
    "strings of numbers": lambda Z: Z.astype(str),
    "lists": lambda Z: Z.tolist(),
    "longdouble": lambda Z: Z.astype(np.longdouble),
    "big endian": lambda Z: Z.astype(">f8"),
    "int8": lambda Z: Z.astype(np.int8),
    "uint8": lambda Z: Z.astype(np.uint8),
    "int64": lambda Z: Z.astype(np.int64),
    "float16": lambda Z: Z.astype(np.float16),
    "Int64": lambda Z: pd.DataFrame(Z).astype("Int64"),
    "Float64": lambda Z: pd.DataFrame(Z).astype("Float64"),
    "mixed frame": lambda Z: pd.DataFrame(Z).astype({0: "Int64", 1: "float32", 2: object}),
    "int tensor": lambda Z: torch.from_numpy(Z.astype(np.int32)),
    "bfloat16": lambda Z: torch.from_numpy(Z).bfloat16(),
    "matrix": np.asmatrix,
}
WHOLE = np.abs(np.rint(4 * X))


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("entry", {**DATA, "regressor": cases.regressor}.values(), ids=[*DATA, "regressor"])
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_case_03_numbers_of_any_type_are_the_same_numbers(kind: str, entry: Any) -> None:
    if entry is cases.regressor and kind == "matrix":
        pytest.skip("scikit-learn refuses it by name")
    if entry is cases.from_rows and kind in ("lists",):
        pytest.skip("rows that are read by slices are an array")
    np.testing.assert_allclose(entry(SAME[kind](WHOLE), Y), entry(WHOLE, Y), rtol=1e-9, atol=1e-9)


@classes
@pytest.mark.parametrize("kind", ["bool", "object bool", "boolean", "int8", "Int64", "tensor"])
def test_case_03_outcomes_of_any_type_are_the_same_outcomes(kind: str, entry: Any) -> None:
    given: Any = {
        "bool": LABELS.astype(bool),
        "object bool": LABELS.astype(bool).astype(object),
        "boolean": pd.Series(LABELS.astype(bool)).astype("boolean"),
        "int8": LABELS.astype(np.int8),
        "Int64": pd.Series(LABELS).astype("Int64"),
        "tensor": torch.from_numpy(LABELS),
    }[kind]
    np.testing.assert_allclose(entry(X, given), entry(X, LABELS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_case_04_a_row_of_weight_zero_is_no_row(engine: str) -> None:
    weights = np.where(np.arange(ROWS) % 4 == 1, 0.0, 1.5)
    recipe = RIDGE.replace(engine=engine)
    with_it = model_of(recipe.replace(data_weights=lsat.FixedWeights(weights.tolist())), data_of())
    kept = weights > 0
    data = lsat.Data.from_splits((X[kept], Y[kept]), (X, Y))
    without = model_of(recipe.replace(data_weights=lsat.FixedWeights(weights[kept].tolist())), data)
    np.testing.assert_allclose(with_it.predict(X), without.predict(X), rtol=1e-12)


def test_case_04_a_sample_of_weight_zero_is_no_sample() -> None:
    weights = np.where(np.arange(ROWS) % 4 == 1, 0.0, 1.5)
    kept = weights > 0
    one = lsat.TunedLeastSquaresRegressor().fit(X, Y, sample_weight=weights)
    other = lsat.TunedLeastSquaresRegressor().fit(X[kept], Y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


@numbers
def test_case_05_no_rows_and_one_row_are_refused(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"no rows|0 sample"):
        entry(X[:0], Y[:0])
    with pytest.raises(ValueError, match=r"1 row|1 sample"):
        entry(X[:1], Y[:1])


NO_ROWS = [None, 3.0, np.array(3.0), torch.tensor(3.0), {"a": 1}, iter([1.0])]


@pytest.mark.parametrize("given", NO_ROWS, ids=lambda given: type(given).__name__)
@pytest.mark.parametrize("entry", DATA.values(), ids=DATA)
def test_case_05_what_holds_no_rows_is_refused_by_name(given: Any, entry: Any) -> None:
    with pytest.raises(ValueError, match=r"\by (is|has)"):
        entry(X, given)
    with pytest.raises(ValueError, match=r"\bX (is|has)"):
        entry(given, Y)


@classes
def test_case_05_a_single_class_is_refused_by_name(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"y has the (single|one) class 'only'"):
        entry(X, np.array(["only"] * ROWS))


def test_case_05_a_class_that_validation_lacks_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="validation y has no row of class 'b', which training has"):
        lsat.Data.from_splits((X, np.where(LABELS, "a", "b")), (X[LABELS == 1], ["a"] * LABELS.sum()))


def test_case_05_all_weights_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="FixedWeights: every weight is 0, which leaves no rows"):
        model_of(RIDGE.replace(data_weights=lsat.FixedWeights([0.0] * ROWS)), data_of())
    with pytest.raises(ValueError, match=r"sample_weight (does not fit: Sample weights must|leaves 0 of 24)"):
        cases.regressor(X, Y, sample_weight=np.zeros(ROWS))
    with pytest.raises(ValueError, match="y has the one class 0, expected at least two"):
        cases.classifier(X, LABELS, sample_weight=(LABELS == 0).astype(float))


def in_form(Z: np.ndarray, form: str, folder: Path) -> Any:
    if form == "reversed":
        return np.ascontiguousarray(Z[::-1, ::-1])[::-1, ::-1]
    if form == "Fortran":
        return np.asfortranarray(Z)
    if form == "slice":
        wide = np.zeros((2 * len(Z), 5))
        wide[::2, 1:4] = Z
        return wide[::2, 1:4]
    if form == "memory map":
        np.save(folder / "Z.npy", Z)
        return np.load(folder / "Z.npy", mmap_mode="r")
    copied = Z.copy()
    copied.setflags(write=form != "read-only")
    return torch.from_numpy(Z.T.copy()).T if form == "tensor view" else copied


@pytest.mark.parametrize("form", ["reversed", "Fortran", "slice", "memory map", "read-only", "tensor view"])
@numbers
def test_case_11_an_array_of_any_layout_is_the_same_array_and_stays_as_it_is(
    form: str, entry: Any, tmp_path: Path
) -> None:
    given = in_form(X, form, tmp_path)
    target = np.ascontiguousarray(Y[::-1])[::-1]
    target.setflags(write=False)
    np.testing.assert_allclose(entry(given, target), entry(X.copy(), Y.copy()), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(given), X)
    np.testing.assert_array_equal(target, Y)


@pytest.mark.parametrize("form", ["reversed", "Fortran", "slice"])
@solvers
def test_case_11_a_solver_takes_any_layout(form: str, solver: Any, tmp_path: Path) -> None:
    A = torch.from_numpy(np.ascontiguousarray(X))
    given = (
        A.T.contiguous().T if form == "Fortran" else torch.cat([A, A])[:ROWS] if form == "slice" else A.flip(0).flip(0)
    )
    B = torch.from_numpy(Y)
    expected = lsat.least_squares(A, B, solver=solver)
    np.testing.assert_allclose(lsat.least_squares(given, B, solver=solver).numpy(), expected.numpy(), rtol=1e-9)


THREE = np.arange(ROWS) % 3
NAMED: dict[str, Any] = {
    "3, 7, 100": np.array([3, 7, 100])[THREE],
    "strings": np.array(["a", "b", "c"])[THREE],
    "objects": np.array(["a", "b", "c"], dtype=object)[THREE],
    "categorical": pd.Series(pd.Categorical(np.array(["a", "b", "c"])[THREE], categories=["c", "a", "b", "unused"])),
    "bytes": np.array([b"a", b"b", b"c"])[THREE],
    "list": np.array(["a", "b", "c"])[THREE].tolist(),
}


@pytest.mark.parametrize("kind", NAMED)
def test_case_12_one_encoder_serves_every_split(kind: str) -> None:
    labels = NAMED[kind]
    order = RANDOM.permutation(ROWS)
    other = pd.Series(np.asarray(labels)[order], dtype=object)
    data = lsat.Data.from_splits((X, labels), (X[order], other.tolist()))
    np.testing.assert_array_equal(data.validation.targets.numpy(), data.train.targets.numpy()[order])
    model = lsat.tune(QUICK, data, progress=False).model
    assert set(model.predict(X).tolist()) <= set(np.asarray(labels).tolist())
    with pytest.raises(ValueError, match=r"validation y has the label 'unknown' at row 1, which no training row has"):
        lsat.Data.from_splits(
            (X, labels), (X, pd.Series(["unknown" if i == 1 else v for i, v in enumerate(other)], dtype=object))
        )


@pytest.mark.parametrize("kind", [k for k in NAMED if k not in ("categorical", "bytes")])
def test_case_12_the_classifier_gives_the_labels_back(kind: str) -> None:
    labels = NAMED[kind]
    found = lsat.TunedLeastSquaresClassifier().fit(X, labels)
    assert set(found.predict(X).tolist()) <= set(np.asarray(labels).tolist())
    assert sorted(found.classes_.tolist()) == sorted(set(np.asarray(labels).tolist()))


INDEXES: dict[str, Any] = {
    "shuffled": RANDOM.permutation(ROWS),
    "gapped": np.arange(ROWS) * 7 + 3,
    "strings": [f"row {i}" for i in range(ROWS)],
    "dates": pd.date_range("2020-01-01", periods=ROWS),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_case_16_names_of_columns_and_rows_are_kept(kind: str) -> None:
    frame = pd.DataFrame(X, columns=pd.Index([0, "a", ("t", 1)], dtype=object), index=INDEXES[kind])
    data = lsat.Data.from_arrays(frame, pd.Series(Y, index=frame.index))
    assert data.feature_names == ("0", "a", "('t', 1)")
    rows = np.concatenate([data.train.rows, data.validation.rows, data.test.rows])
    assert sorted(map(str, pd.Index(rows))) == sorted(map(str, frame.index))
    place = frame.index.get_loc(data.train.rows[0])
    np.testing.assert_array_equal(data.train.inputs[0].numpy(), X[place])
    expected = lsat.TunedLeastSquaresRegressor().fit(X, Y).predict(X)
    found = lsat.TunedLeastSquaresRegressor().fit(frame, pd.Series(Y, index=frame.index))
    assert found.feature_names_in_.tolist() == ["0", "a", "('t', 1)"]
    np.testing.assert_allclose(found.predict(frame), expected, rtol=1e-9)
