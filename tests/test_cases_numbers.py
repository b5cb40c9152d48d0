"""Faults to survive, 1 to 18: numbers, rows and columns that least squares stumbles over, by every way in."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import cases
import lsat_explorer as lsat
import pieces
from cases import CLASSES, DATA, LABELS, NUMBERS, QUICK, ROWS, X, Y, from_splits
from lsat_explorer.solve.outcome import Reason, SolveError
from lsat_explorer.solve.weighted import Moments, solve_normal

numbers = pytest.mark.parametrize("entry", NUMBERS.values(), ids=NUMBERS)
classes = pytest.mark.parametrize("entry", CLASSES.values(), ids=CLASSES)
SOLVERS = {"cholesky": lsat.Cholesky(), "qr": lsat.QR(), "lsmr": lsat.LSMR(), "cg": lsat.CG()}
solvers = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
RIDGE = lsat.Recipe(
    featurizer=lsat.Concat(x=lsat.Identity(), one=lsat.Constant()),
    regularizer=lsat.Ridge(block="x"),
    loss=lsat.SquaredError(),
)
RANDOM = np.random.default_rng(1)


def data_of(inputs: Any = X, outcome: Any = Y, **how: Any) -> lsat.Data:
    return lsat.Data.from_splits((inputs, outcome), (inputs, outcome), **how)


def model_of(recipe: lsat.Recipe, data: lsat.Data) -> lsat.FittedModel:
    problem = lsat.Problem(recipe, data)
    return lsat.FittedModel.of(problem, problem.init())


# --- 1, 2: weak regularizers, columns of any scale -------------------------------------------------------------------


@pytest.mark.parametrize("log_weight", [-17.3, -40.0])
def test_case_01_a_weight_near_zero_fits_noise_free_data_exactly(log_weight: float) -> None:
    ridge = lsat.Ridge(block="x", log_weight=log_weight)
    model = model_of(RIDGE.replace(regularizer=ridge), data_of())
    np.testing.assert_allclose(model.predict(X), Y, rtol=0, atol=1e-8)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"Feature 3 is a combination .*: raise regularizer"):
        model_of(RIDGE.replace(regularizer=ridge), data_of(twice))


@solvers
def test_case_01_a_stacked_ridge_near_zero_is_solved_exactly(solver: Any) -> None:
    A = torch.from_numpy(np.concatenate([X, np.exp(-40) * np.eye(3)]))
    B = A @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    theta = lsat.least_squares(A, B, solver=solver)
    np.testing.assert_allclose((A @ theta).numpy(), B.numpy(), rtol=0, atol=1e-8)


SCALES = np.array([2e5, 2e8, 2e11])


@numbers
def test_case_02_columns_of_any_scale_predict_alike(entry: Any) -> None:
    expected = entry(X, Y)
    np.testing.assert_allclose(entry(X * SCALES, Y), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(entry(X * [1e-200, 1.0, 1e90], Y), expected, rtol=1e-6, atol=1e-6)


@solvers
def test_case_02_columns_of_any_scale_are_solved_as_by_qr(solver: Any) -> None:
    A = X * SCALES
    theta = lsat.least_squares(torch.from_numpy(A), torch.from_numpy(Y), solver=solver).numpy()
    np.testing.assert_allclose(A @ theta, X @ np.linalg.lstsq(X, Y)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("solver", [lsat.Cholesky(), lsat.QR()], ids=["cholesky", "qr"])
def test_case_02_numbers_whose_squares_are_none_are_solved_as_others(solver: Any, size: float) -> None:
    A, B = torch.from_numpy(X * [size, 1.0, 1.0]), torch.from_numpy(Y)
    expected = lsat.least_squares(torch.from_numpy(X), B, solver=solver) / torch.tensor(
        [size, 1.0, 1.0], dtype=torch.float64
    )
    np.testing.assert_allclose(lsat.least_squares(A, B, solver=solver).numpy(), expected.numpy(), rtol=1e-9)


@pytest.mark.parametrize("solver", [lsat.LSMR(), lsat.CG()], ids=["lsmr", "cg"])
def test_case_02_an_iteration_names_numbers_that_it_cannot_square(solver: Any) -> None:
    A = torch.from_numpy(X * [1.0, 1e300, 1.0])
    for given in (A, A.to_sparse_csr()):
        with pytest.raises(SolveError, match=r"A holds the number .*e\+(299|300), .*first at row 0, column 1: divide"):
            lsat.least_squares(given, torch.from_numpy(Y), solver=solver)


@numbers
def test_case_02_a_table_names_numbers_whose_squares_are_none(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"X has .*e\+\d+ at row \d+, column 1.*at most 1e\+100 in size; divide"):
        entry(X * [1.0, 1e200, 1.0], Y)
    with pytest.raises(ValueError, match=r"y has .* at row \d+.*at most 1e\+100 in size; divide"):
        entry(X, Y * 1e200)


def test_case_02_a_column_too_large_to_be_squared_is_named() -> None:
    gram = torch.eye(3, dtype=torch.float64)
    gram[1, 1] = float("inf")
    solution = solve_normal(Moments(gram, torch.ones(3, 1, dtype=torch.float64)), [], [])
    assert solution.outcome.reason is Reason.NOT_FINITE
    assert solution.outcome.column == 1
    assert solution.outcome.sentence.startswith("Feature 1 holds numbers too large to be squared: standardise")


# --- 3, 4, 5: types of numbers, weights, rows and classes ------------------------------------------------------------

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
    "categorical": lambda Z: pd.DataFrame(Z).astype({0: "category"}),
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


# --- 6, 7, 8, 10: columns that depend on each other, and those that hardly vary ---------------------------------------

one = X[:, :1]
DEPENDENT = {
    "x x 1 1": np.column_stack([one, one, np.ones((ROWS, 2))]),
    "constant": np.column_stack([X, np.ones(ROWS)]),
    "zero": np.column_stack([X, np.zeros(ROWS)]),
    "sum": np.column_stack([X, X.sum(1)]),
}


@pytest.mark.parametrize("kind", DEPENDENT)
@numbers
def test_case_06_dependent_columns_are_solved_by_a_ridge(kind: str, entry: Any) -> None:
    assert np.isfinite(entry(DEPENDENT[kind], Y)).all()


@pytest.mark.parametrize("kind", DEPENDENT)
def test_case_06_without_a_ridge_dependent_columns_are_named(kind: str) -> None:
    Z = DEPENDENT[kind]
    difference = np.eye(Z.shape[1])[:1] - np.eye(Z.shape[1])[1:2]
    more = {"one": lsat.Constant()} if kind == "constant" else {}
    features = lsat.Concat(x=lsat.Identity(), **more)
    recipe = RIDGE.replace(regularizer=lsat.Matrix(difference, block="x"), featurizer=features)
    with pytest.raises(ValueError, match=r"Feature \d is a combination of the features before it"):
        model_of(recipe, data_of(Z))


@solvers
def test_case_06_a_solver_names_dependent_columns(solver: Any) -> None:
    with pytest.raises(SolveError, match=r"[Cc]olumns? .*(combination|dependent|zero)") as error:
        lsat.least_squares(torch.from_numpy(DEPENDENT["x x 1 1"]), torch.from_numpy(Y), solver=solver)
    assert error.value.outcome.reason is Reason.RANK_DEFICIENT
    assert error.value.outcome.column is not None or error.value.outcome.columns


@numbers
def test_case_07_a_large_float32_column_that_hardly_varies_is_as_in_float64(entry: Any) -> None:
    column = np.full(ROWS, 1e8, dtype=np.float32)
    column[3] += 8
    Z = np.column_stack([column, X[:, 0].astype(np.float32)]).astype(np.float32)
    for dtype in ("float64", "float32"):
        given = QUICK.replace(dtype=dtype)
        single = cases.fitted(data_of(Z), Z, given)
        np.testing.assert_allclose(single, cases.fitted(data_of(Z.astype(float)), Z.astype(float), given), atol=1e-3)
    np.testing.assert_allclose(entry(Z, Y), entry(Z.astype(float), Y), atol=1e-3)


@pytest.mark.parametrize("solver", [*SOLVERS.values(), None], ids=[*SOLVERS, "none"])
def test_case_08_float32_of_large_numbers_is_as_float64(solver: Any) -> None:
    A = np.column_stack([np.ones(10_000), np.arange(10_000)]).astype(np.float32)
    B = (3 + 0.5 * A[:, 1]).astype(np.float32)
    theta = lsat.least_squares(torch.from_numpy(A), torch.from_numpy(B), solver=solver).numpy()
    np.testing.assert_allclose(theta, np.linalg.lstsq(A.astype(float), B.astype(float))[0], rtol=1e-5)


def test_case_08_a_recipe_in_float32_is_as_in_float64() -> None:
    Z, target = np.arange(2000.0)[:, None].astype(np.float32), 3 + 0.5 * np.arange(2000.0)
    models = [model_of(RIDGE.replace(dtype=dtype), data_of(Z, target)).predict(Z) for dtype in ("float32", "float64")]
    np.testing.assert_allclose(models[0], models[1], rtol=1e-5, atol=1e-2)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
@pytest.mark.parametrize("solver", [lsat.Cholesky(), lsat.QR(), lsat.LSMR()], ids=["cholesky", "qr", "lsmr"])
def test_case_10_a_rank_deficient_matrix_has_the_same_outcome_everywhere(solver: Any, device: str) -> None:
    A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], dtype=torch.float64, device=device)
    with pytest.raises(SolveError) as error:
        lsat.least_squares(A, torch.ones(3, dtype=torch.float64, device=device), solver=solver)
    assert error.value.outcome.reason is Reason.RANK_DEFICIENT


# --- 9: NaN and infinities -------------------------------------------------------------------------------------------

NOT_FINITE = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
not_finite = pytest.mark.parametrize("value", NOT_FINITE.values(), ids=NOT_FINITE)


def spoilt(values: np.ndarray, value: float, *place: int) -> np.ndarray:
    copied = values.astype(float)
    copied[place] = value
    return copied


@not_finite
@numbers
def test_case_09_the_first_entry_that_is_not_finite_is_named(value: float, entry: Any) -> None:
    with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 2"):
        entry(spoilt(X, value, 5, 2), Y)
    with pytest.raises(ValueError, match=rf"y has {value} at row 7"):
        entry(X, spoilt(Y, value, 7))
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"], index=[f"r{i}" for i in range(ROWS)])
    frame.loc["r5", "c"] = value
    named = "r5" if entry is not cases.from_rows else 5
    with pytest.raises(ValueError, match=rf"X has {value} at row {named!r}, column 2 \('c'\)"):
        entry(frame, pd.Series(Y, index=frame.index))


@not_finite
def test_case_09_other_splits_weights_and_recipes_name_what_is_not_finite(value: float) -> None:
    for split in ("validation", "test", "final"):
        given = {"train": (X, Y), "validation": (X, Y), split: (spoilt(X, value, 3, 1), Y)}
        with pytest.raises(ValueError, match=rf"{split} X has {value} at row 3, column 1"):
            lsat.Data.from_splits(**given)
        given[split] = (X, spoilt(Y, value, 4))
        with pytest.raises(ValueError, match=rf"{split} y has {value} at row 4"):
            lsat.Data.from_splits(**given)
    for make in (cases.regressor, cases.classifier):
        with pytest.raises(ValueError, match=rf"sample_weight has {value} at row 2"):
            make(X, LABELS, sample_weight=spoilt(np.ones(ROWS), value, 2))
    with pytest.raises(ValueError, match=rf"X holds {value} in row 1, column 'x2'"):
        model_of(RIDGE, data_of()).predict(spoilt(X, value, 1, 2))
    for make_piece in (
        lambda: lsat.Ridge(log_weight=value),
        lambda: lsat.SumSquares(value),
        lambda: lsat.AbsoluteValue(value),
        lambda: lsat.FixedWeights([1.0, value]),
        lambda: lsat.Huber(value),
        lambda: lsat.Matrix([[1.0, value]]),
        lambda: lsat.PowerTransform(exponent=value),
        lambda: lsat.LineSearch(tolerance=value),
    ):
        with pytest.raises(ValueError, match=r"nan|NaN|inf"):
            make_piece()


@not_finite
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_case_09_an_estimator_places_what_is_not_finite_in_sparse_rows(value: float, form: Any) -> None:
    with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 2"):
        cases.regressor(form(spoilt(X, value, 5, 2)), Y)


@not_finite
@solvers
def test_case_09_a_solver_places_what_is_not_finite(value: float, solver: Any) -> None:
    A, B = torch.from_numpy(spoilt(X, value, 5, 2)), torch.from_numpy(Y)
    forms = [A] if isinstance(solver, lsat.Cholesky | lsat.QR) else [A, A.to_sparse_csr(), sparse.csr_array(A.numpy())]
    for form in forms:
        with pytest.raises(SolveError, match="A holds a NaN or an infinity, first at row 5, column 2"):
            lsat.least_squares(form, B, solver=solver)
    with pytest.raises(SolveError, match="B holds a NaN or an infinity, first at row 7, column 0"):
        lsat.least_squares(torch.from_numpy(X), torch.from_numpy(spoilt(Y, value, 7)), solver=solver)


@not_finite
def test_case_09_a_table_in_a_file_names_what_is_not_finite(value: float, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    frame.loc[5, "b"] = value
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for read in (lsat.datasets.from_csv, lsat.datasets.from_parquet):
        path = tmp_path / f"t.{read.__name__.removeprefix('from_')}"
        with pytest.raises(ValueError, match=rf"X has {value} at row 5, column 1 \('b'\)"):
            read(path, "y", progress=False, cache=False)


# --- 11, 12, 16: forms of arrays, labels, names ----------------------------------------------------------------------


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


# --- 13, 14: losses that turn NaN, and runs that end at once ---------------------------------------------------------


@pytest.mark.parametrize(
    "method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS()], ids=lambda m: type(m).__name__
)
def test_case_13_a_loss_that_turns_nan_keeps_the_best_values(method: Any) -> None:
    from lsat_explorer import model as m

    calls = {"count": 0}

    def turns(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls["count"] += 1
        loss = (predictions - targets).square().sum(1).mean()
        return loss * float("nan") if calls["count"] > 3 else loss

    m.register_loss("turns nan in a case", turns)
    recipe = RIDGE.replace(loss=m.CustomLoss("turns nan in a case"), method=method)
    run = lsat.tune(recipe, data_of(X, Y + RANDOM.normal(size=ROWS)), progress=False)
    assert run.status is lsat.Status.NOT_FINITE
    assert all(np.isfinite(value.numpy()).all() for value in run.omega.values())
    assert np.isfinite(run.model.predict(X)).all()


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize("kind", [lsat.ProximalGradient, lsat.LineSearch, lsat.LBFGS])
def test_case_14_a_run_of_no_or_one_iteration_is_a_fit(kind: Any, limit: int) -> None:
    run = lsat.tune(
        RIDGE.replace(method=kind(max_iterations=limit, tolerance=0.0)), data_of(X, LABELS * 1.0 + Y), progress=False
    )
    assert run.status is lsat.Status.MAX_ITERATIONS
    assert run.iterates[-1].number <= limit
    assert np.isfinite(run.model.predict(X)).all()
    if limit == 0:
        np.testing.assert_allclose(run.model.predict(X), model_of(RIDGE, run.data).predict(X))


def test_case_14_a_flat_loss_is_converged_at_once() -> None:
    run = lsat.tune(RIDGE, data_of(X, np.ones(ROWS)), progress=False)
    assert run.status is lsat.Status.CONVERGED


# --- 15, 17, 18: sparse matrices, devices, gradients -----------------------------------------------------------------


@pytest.mark.parametrize("solver", [lsat.LSMR(), lsat.CG()], ids=["lsmr", "cg"])
def test_case_15_a_sparse_matrix_with_weights_and_a_constant_is_as_a_dense_one(solver: Any) -> None:
    k, n = 40_000, 200
    S = sparse.random_array((k, n), density=0.002, rng=np.random.default_rng(0), format="csr")
    S = sparse.csr_array(sparse.hstack([S, np.ones((k, 1))]))
    root = np.sqrt(np.random.default_rng(1).uniform(0.5, 2, k))
    A = sparse.csr_array(sparse.diags_array(root) @ S)
    B = torch.from_numpy(root * np.random.default_rng(2).normal(size=k))
    tracemalloc.start()
    theta = lsat.least_squares(A, B, solver=solver)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * k * n * 8
    expected = lsat.least_squares(torch.from_numpy(A.toarray()), B)
    np.testing.assert_allclose(theta.numpy(), expected.numpy(), rtol=0, atol=1e-8 * float(expected.abs().max()) * 10)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_case_15_the_estimator_takes_sparse_rows_as_dense_ones(form: Any) -> None:
    Z = np.column_stack([np.where(X > 1, X, 0.0), np.ones(ROWS)])
    weights = np.linspace(0.5, 2, ROWS)
    expected = lsat.TunedLeastSquaresRegressor().fit(Z, Y, sample_weight=weights).predict(Z)
    found = lsat.TunedLeastSquaresRegressor().fit(form(Z), Y, sample_weight=weights)
    np.testing.assert_allclose(found.predict(form(Z)), expected, atol=1e-8)


def test_case_17_types_and_devices_are_one_or_named() -> None:
    A, B = torch.from_numpy(X), torch.from_numpy(Y)
    with pytest.raises(ValueError, match=r"A is torch.float32 and B is torch.float64: expected one"):
        lsat.least_squares(A.float(), B)
    with pytest.raises(ValueError, match="A is on the device meta, which holds no numbers"):
        lsat.least_squares(A.to("meta"), B)
    with pytest.raises(ValueError, match="B is on the device meta"):
        lsat.least_squares(A, B.to("meta"))
    with pytest.raises(ValueError, match="X is a tensor on the device meta, which holds no numbers"):
        from_splits(A.to("meta"), Y)
    single = from_splits(torch.from_numpy(X.astype(np.float32)), Y)
    np.testing.assert_allclose(single, from_splits(X, B), rtol=1e-5)
    data = lsat.Data.from_splits((X.astype(np.float32), Y), (X, Y))
    assert data.train.inputs.dtype == data.validation.inputs.dtype == torch.float64


@pytest.mark.cuda
def test_case_17_a_cuda_tensor_with_numpy_is_moved_or_named() -> None:
    A, B = torch.from_numpy(X), torch.from_numpy(Y)
    with pytest.raises(ValueError, match=r"A is on cuda:0 and B on cpu"):
        lsat.least_squares(A.cuda(), B)
    np.testing.assert_allclose(from_splits(A.cuda(), Y), from_splits(X, B.cuda()))


@pytest.mark.parametrize("piece", pieces.examples(lsat.Ridge.__mro__[1]), ids=lambda piece: repr(piece)[:40])
def test_case_18_every_hyper_parameter_of_a_regularizer_agrees_with_differences(piece: Any) -> None:
    _differences(
        lsat.Recipe(featurizer=_BLOCKS, regularizer=lsat.Stack(every=lsat.Ridge(), one=piece), loss=lsat.SquaredError())
    )


@pytest.mark.parametrize(
    "featurizer",
    [lsat.Scale(), lsat.PowerTransform(), lsat.KMeansArchetypes(per_class=2), lsat.Chain(lsat.Scale(), lsat.Spline())],
    ids=lambda piece: repr(piece)[:40],
)
def test_case_18_every_hyper_parameter_of_a_featurizer_agrees_with_differences(featurizer: Any) -> None:
    _differences(lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(log_weight=0.5), loss=lsat.SquaredError()))


_BLOCKS = lsat.Concat(a=lsat.Identity(), b=lsat.Chain(lsat.Scale(tuned=False), lsat.PowerTransform()))


def _differences(recipe: lsat.Recipe) -> None:
    random = np.random.default_rng(3)
    Z = random.uniform(0.5, 2.0, size=(40, 12))
    problem = lsat.Problem(recipe, lsat.Data.from_splits((Z[:30], Z[:30, :2]), (Z[30:], Z[30:, :2] + 0.1)))
    omega = problem.init()
    point = problem.evaluate(omega)
    gradient = problem.gradient(point)
    direction = {name: torch.from_numpy(random.normal(size=tuple(value.shape))) for name, value in omega.items()}
    step = 1e-6  # where a row lies on a knot, differences err by as much as the step
    ends = [
        problem.evaluate({name: value + sign * step * direction[name] for name, value in omega.items()}).loss
        for sign in (1, -1)
    ]
    slope = sum(float((gradient[name] * direction[name]).sum()) for name in omega)
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-9)
