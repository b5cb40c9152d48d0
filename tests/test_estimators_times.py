"""Dates and durations given to estimators, which are refused as tables of data refuse them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest

import lsat_explorer as lsat

DAYS = np.arange(60).astype("M8[D]")
TIMES = {  # as X, and as y
    "dates": DAYS.astype("M8[us]"),
    "a date that is missing": np.where(np.arange(60) == 7, np.datetime64("NaT"), DAYS.astype("M8[ns]")),
    "durations": np.arange(60).astype("m8[s]"),
    "a series of dates": pd.Series(DAYS.astype("M8[ms]")),
    "a list of durations": list(np.arange(60).astype("m8[ns]")),
    "objects": np.fromiter(DAYS.astype("M8[ns]").reshape(60), object),
    "dates of polars": polars.Series("when", DAYS.astype("M8[us]")),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_dates_and_durations_are_no_numbers_to_fit(times):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] + np.arange(60)
    column = np.asarray(times).reshape(-1, 1)
    for given in (pd.DataFrame({"when": times}), pd.DataFrame({"when": times, "age": y}), column):
        for model in (lsat.TunedLeastSquaresRegressor(), lsat.TunedLeastSquaresClassifier()):
            with pytest.raises(ValueError, match=r"X .*expected (real )?numbers; write that column as (days|seconds)"):
                model.fit(given, y > y.mean())
            model.fit(np.zeros((60, given.shape[1])) + y[:, None], y > y.mean())
            with pytest.raises(ValueError, match=r"X .*expected (real )?numbers; write that column as (days|seconds)"):
                model.predict(given)
    with pytest.raises(ValueError, match=r"y (is of type|has) .*expected (labels or real )?numbers"):
        lsat.TunedLeastSquaresRegressor().fit(X, times)
