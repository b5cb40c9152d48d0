"""Tables of pandas and polars as users have them: nullable, categorical, with text as row index."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from test_data import parts

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


def test_a_category_among_the_inputs_is_refused_by_name_but_numbers_in_categories_are_numbers():
    with pytest.raises(ValueError, match=r"column 3 \('ward'\), expected numbers; encode or drop that column first"):
        lsat.Data.from_arrays(X.assign(ward=pd.Categorical(["a", "b"] * 30)), LABELS)
    data = lsat.Data.from_arrays(X.assign(ward=pd.Categorical([3, 5] * 30)), LABELS)
    assert set(data.train.inputs[:, 3].tolist()) == {3.0, 5.0}


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
    polars = pytest.importorskip("polars", reason="polars is not installed")
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
