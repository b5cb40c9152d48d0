"""Tables of pandas and polars as users have them: nullable, categorical, with text as row index."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import lsat_explorer as lsat
from arrays import parts

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(60, 3)), columns=["height", "width", "age"])
X.index = pd.Index([f"patient {i}" for i in range(60)], dtype="string")
LABELS = pd.Series(["well", "ill", "well"] * 20, index=X.index)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("labels", ["string", "category"])
def test_nullable_tables_are_read_by_their_own_names(backend, labels):
    frame = X.assign(old=X.age > 0, visits=range(60)).convert_dtypes(dtype_backend=backend)
    data = lsat.Data.from_arrays(frame, LABELS.astype(labels))
    assert data.feature_names == ("height", "width", "age", "old", "visits")
    assert data.classes == ("ill", "well")
    for split in parts(data):
        np.testing.assert_allclose(split.inputs[:, :3].numpy(), X.loc[list(split.rows)].to_numpy())
        assert split.labels.tolist() == LABELS.loc[list(split.rows)].tolist()
    frame.loc["patient 7", "visits"] = pd.NA
    with pytest.raises(ValueError, match=r"has nan at row 'patient 7', column 4 \('visits'\), expected finite"):
        lsat.Data.from_arrays(frame, LABELS)
    filled = lsat.Data.from_arrays(frame, LABELS, missing="median")
    (split,) = (split for split in parts(filled) if "patient 7" in split.rows)
    assert split.inputs[split.rows.tolist().index("patient 7"), 4] == filled.fill[4]


CODES = [3, 5] * 30
OF_POLARS = polars.from_pandas(X)
CATEGORIES = {
    "pandas": X.assign(ward=pd.Categorical(CODES)),
    "in order": X.assign(ward=pd.Categorical(CODES, ordered=True)),
    "text": X.assign(ward=pd.Categorical([str(code) for code in CODES])),
    "flags": X.assign(ward=pd.Categorical([code == 3 for code in CODES])),
    "called by a number": X.set_axis([0, 1, 2], axis=1).assign(ward=pd.Categorical(CODES)).rename(columns={"ward": 3}),
    "polars": OF_POLARS.with_columns(ward=polars.Series(map(str, CODES), dtype=polars.Categorical)),
    "polars, in order": OF_POLARS.with_columns(ward=polars.Series(map(str, CODES), dtype=polars.Enum("35"))),
    "pyarrow": pyarrow.Table.from_pandas(X.assign(ward=pd.Categorical(CODES)), preserve_index=False),
}


@pytest.mark.parametrize("frame", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_are_refused_by_name_where_they_are_numbers_too_and_taken_as_is_advised(frame):
    plain = pd.DataFrame(np.column_stack([X, CODES]), columns=["height", "width", "age", "ward"])
    labels = LABELS.to_numpy()
    model = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)), lsat.Data.from_arrays(plain, labels)).model
    name = "3" if isinstance(frame, pd.DataFrame) and frame.columns[3] == 3 else "ward"
    estimator = lsat.TunedLeastSquaresClassifier()
    fits = [
        lambda: lsat.Data.from_arrays(frame, labels),
        lambda: estimator.fit(frame, labels),
        lambda: estimator.fit(plain, labels).predict(frame),
    ]
    if name == "ward":
        fits.append(lambda: model.predict(frame))
    for fit in fits:
        with pytest.raises(ValueError, match=rf"^X has categories .*3 \('{name}'\), .* expected numbers; enc") as found:
            fit()
    known = {"X": frame, "pandas": pd, "numpy": np}
    encoded = eval(str(found.value).partition("first: ")[2].partition(" does, ")[0], known)
    assert lsat.Data.from_arrays(encoded, labels).feature_names[3:] in (
        tuple(f"{name}_{each}" for each in values) for values in (CODES[:2], (False, True))
    )
    amounts = eval(str(found.value).partition("they are amounts: ")[2].partition(" (")[0], known)
    np.testing.assert_array_equal(amounts, [True, False] * 30 if frame is CATEGORIES["flags"] else CODES)


def test_a_category_of_text_among_the_inputs_is_refused_by_name():
    with pytest.raises(ValueError, match=r"column 3 \('ward'\), expected numbers; encode or drop that column first"):
        lsat.Data.from_arrays(X.assign(ward=pd.Categorical(["a", "b"] * 30)), LABELS)


def test_names_reach_the_coefficients_the_explanations_and_the_errors():
    data = lsat.Data.from_arrays(X, LABELS)
    run = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)), data, progress=False)
    assert run.model.coefficients().index.get_level_values("feature").tolist() == ["height", "width", "age", "1"]
    np.testing.assert_array_equal(run.model.predict(X[["age", "height", "width"]]), run.model.predict(X))
    with pytest.raises(ValueError, match="lacks column 'age'"):
        run.model.predict(X[["height", "width"]])
    problem = lsat.Data.from_arrays(X.to_numpy(), LABELS, feature_names=["a", "b", "c"])
    assert problem.feature_names == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"column 1 \('b'\)"):
        lsat.Data.from_arrays(X.to_numpy() * [1, np.nan, 1], LABELS, feature_names=["a", "b", "c"])


def test_polars_frames_are_what_pandas_ones_are():
    frame = polars.from_pandas(X.reset_index(drop=True))
    same = lsat.Data.from_arrays(X.reset_index(drop=True), LABELS.to_numpy(), missing="mean")
    for labels in (polars.Series(LABELS.tolist()), polars.Series(LABELS.tolist(), dtype=polars.Categorical)):
        data = lsat.Data.from_arrays(frame, labels, missing="mean")
        assert (data.feature_names, data.classes, data.fill) == (same.feature_names, same.classes, same.fill)
        np.testing.assert_array_equal(data.train.inputs.numpy(), same.train.inputs.numpy())
    holes = frame.with_columns(polars.when(polars.col("age") > 1).then(None).otherwise(polars.col("age")).alias("age"))
    data = lsat.Data.from_arrays(holes, LABELS.to_numpy(), missing="mean")
    model = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)), data, progress=False).model
    np.testing.assert_array_equal(model.predict(holes.select("age", "height", "width")), model.predict(holes))


def test_a_text_or_a_category_of_polars_is_refused_by_name_and_nulls_by_their_place():
    frame = polars.from_pandas(X.reset_index(drop=True))
    for ward in (["a", "b"] * 30, polars.Series(["a", "b"] * 30, dtype=polars.Categorical)):
        with pytest.raises(
            ValueError, match=r"column 3 \('ward'\), expected numbers; encode or drop that column first"
        ):
            lsat.Data.from_arrays(frame.with_columns(ward=polars.Series(ward)), LABELS.to_numpy())
    holes = frame.with_columns(old=polars.Series([True, False, None] * 20), visits=polars.Series([1, None, 3] * 20))
    with pytest.raises(ValueError, match=r"has nan at row 2, column 3 \('old'\), expected finite"):
        lsat.Data.from_arrays(holes.drop("visits"), LABELS.to_numpy())
    data = lsat.Data.from_arrays(holes, LABELS.to_numpy(), missing="median")
    assert data.fill[4] in (1.0, 2.0, 3.0)
    assert set(data.train.inputs[:, 3].tolist()) <= {0.0, 1.0, data.fill[3]}


FRAMES = {
    "pandas": lambda frame: frame,
    "pandas on pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": polars.from_pandas,
    "polars, lazy": lambda frame: polars.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pyarrow.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("made", FRAMES.values(), ids=FRAMES)
def test_a_table_is_the_same_whichever_library_holds_it(made):
    plain = X.reset_index(drop=True)
    expected = lsat.Data.from_arrays(plain, LABELS.to_numpy())
    outcome = made(pd.DataFrame({"label": LABELS.to_numpy()}))
    data = lsat.Data.from_arrays(made(plain), outcome)
    assert (data.feature_names, data.classes) == (expected.feature_names, expected.classes)
    for found, split in zip(parts(data), parts(expected), strict=True):
        np.testing.assert_array_equal(found.inputs.numpy(), split.inputs.numpy())
        assert found.labels.tolist() == split.labels.tolist()
    several = lsat.Data.from_arrays(made(plain), made(plain[["age", "width"]]))
    assert several.train.targets.shape[1] == 2


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(LABELS.to_numpy(), dtype=pd.CategoricalDtype(["well", "ill", "gone"])),
        pd.Categorical(LABELS.to_numpy(), categories=["well", "ill", "gone"]),
        polars.Series(LABELS.tolist(), dtype=polars.Enum(["well", "ill", "gone"])),
    ],
    ids=["series", "categorical", "enum"],
)
def test_categories_keep_the_order_that_the_user_gave_them(labels):
    assert lsat.Data.from_arrays(X.to_numpy(), labels).classes[:2] == ("well", "ill")


def test_columns_of_one_name_are_told_apart_by_their_places():
    twice = X.set_axis(["age", "age", "width"], axis=1)
    assert lsat.Data.from_arrays(twice, LABELS).feature_names == ("age", "age", "width")


def test_a_target_named_twice_is_refused(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "y", "z"])
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for read in (
        lambda: lsat.datasets.from_csv(tmp_path / "t.csv", ["y", "y"], progress=False, cache=False),
        lambda: lsat.datasets.from_parquet(tmp_path / "t.parquet", ["y", "z", "y"], progress=False),
        lambda: lsat.Data.from_rows(tmp_path / "t.parquet", tmp_path / "t.parquet", target=["y", "y"]),
    ):
        with pytest.raises(ValueError, match="target= names 'y' twice, expected each column once; leave one out"):
            read()
