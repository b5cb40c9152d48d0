"""Messages at usual mistakes: each says what came and what to do about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.data import datasets

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"age": RANDOM.normal(size=40), "weight": RANDOM.normal(size=40)})
KEPT = pd.Series(X.index != 3)
LABELS = ["ill", "well"] * 20
QUICK = lsat.Recipe(method=lsat.LBFGS(max_iterations=2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("c.csv", r"X is a str, expected a table \(N, d\): .*; datasets.from_csv\(path, target\) reads a file"),
        (Path("c.csv"), r"X is a PosixPath, expected a table \(N, d\)"),
        (None, r"X is a NoneType, expected a table \(N, d\)"),
        (3.0, r"X is a float, expected a table \(N, d\)"),
        ({"age": [1.0, 2.0]}, r"X is a dict, expected a table \(N, d\): .*; pandas.DataFrame\(X\) makes one"),
    ],
    ids=["path", "Path", "nothing", "number", "dict"],
)
def test_what_is_no_table_is_named_by_its_type(given, message):
    with pytest.raises(ValueError, match=message):
        lsat.Data.from_arrays(given, LABELS)


def test_a_missing_entry_is_told_with_what_fills_it_and_an_infinite_one_is_not():
    holes = X.where(KEPT, axis=0)
    with pytest.raises(ValueError, match="or have them filled: missing='mean' or missing='median'"):
        lsat.Data.from_arrays(holes, LABELS)
    for given, outcome in ((X.assign(age=np.inf), LABELS), (X, X.age.where(KEPT))):  # no option fills these
        with pytest.raises(ValueError, match=r" has (inf|nan) at row") as found:
            lsat.Data.from_arrays(given, outcome)
        assert "missing=" not in str(found.value)


@pytest.mark.parametrize("entry", ["", "NA", "N/A", "None", "null", "NULL", "NaN", "none", "Null", "na", "-", " "])
def test_a_missing_number_of_a_file_is_told_as_such_by_its_place_however_it_is_written(entry, tmp_path):
    path = tmp_path / "t.csv"
    X.assign(age=X.age.astype(str).where(X.index != 7, entry), y=LABELS).to_csv(path, index=False)
    remedy = "expected (finite numbers, and nan is a missing one; drop or fill|.* an empty entry where it is missing)"
    for target, place in (("y", r"row 7,? (column 0 \('age'\)|in column 'age')"), ("age", "row 7( in column 'age')?")):
        with pytest.raises(ValueError, match=f"at {place}, {remedy}"):
            datasets.from_csv(path, target, progress=False, cache=False)


def test_a_column_of_text_is_told_with_what_encodes_it():
    with pytest.raises(
        ValueError, match=r"encode or drop .* first: pandas.get_dummies\(X\) does, and datasets.from_cs"
    ):
        lsat.Data.from_arrays(X.assign(city="Bern"), LABELS)
    assert lsat.Data.from_arrays(pd.get_dummies(X.assign(city=["Bern", "Oslo"] * 20)), LABELS).feature_names[2:] == (
        "city_Bern",
        "city_Oslo",
    )


def test_thousands_separators_are_told_from_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    entries = ["1,001", "500", "1,234,567", "-20,000.5", "7"] * 8
    X.assign(age=entries, y=LABELS).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"has '1,001' and 23 more numbers with thousands separators") as found:
        datasets.from_csv(path, "y", progress=False, cache=False)
    assert "decimal" not in str(found.value)
    advised = str(found.value).partition("by ")[2].partition(", and give")[0]
    table = eval(advised, {"pandas": pd, "path": path})
    assert table.age[:5].tolist() == [1001, 500, 1234567, -20000.5, 7]
    assert lsat.Data.from_arrays(table[["age", "weight"]], table.y).feature_names == ("age", "weight")
    with pytest.raises(ValueError, match="thousands separators"):
        datasets.from_csv(path, "age", progress=False, cache=False)
    # a comma that may stand before decimals
    for separator, given in ((";", "1,001"), (",", "1,5"), (",", "0,001")):
        X.assign(age=[given, "500"] * 20, y=LABELS).to_csv(path, index=False, sep=separator)
        with pytest.raises(ValueError, match=r"decimal comma in column 'age'.*decimal=','"):
            datasets.from_csv(path, "y", progress=False, cache=False, separator=separator)


TIMES = pd.Series(pd.date_range("2020-01-01 05:30", periods=40, freq="7h"))
HOURS = pd.Series(pd.timedelta_range("1.5h", periods=40, freq="h"))
MONTHS = pd.Series(pd.period_range("2020-01", periods=40, freq="M"))
BEHIND = ((TIMES - TIMES[0]) / pd.Timedelta(days=1)).tolist()
OF_DAYS = ((TIMES.dt.normalize() - TIMES.dt.normalize()[0]) / pd.Timedelta(days=1)).tolist()
SECONDS = [3600.0 * row for row in range(40)]

DATES = {  # a column, and how far behind the first each of its rows is, in days or in seconds
    "dates": (TIMES, BEHIND),
    "dates with a zone": (TIMES.dt.tz_localize("Europe/Berlin"), BEHIND),
    "dates of pyarrow": (TIMES.astype(pd.ArrowDtype(pyarrow.timestamp("ns"))), BEHIND),
    "plain dates": (TIMES.dt.date, OF_DAYS),
    "plain times": (pd.Series(TIMES.array.to_pydatetime(), dtype=object), BEHIND),
    "days of pyarrow": (TIMES.dt.date.astype(pd.ArrowDtype(pyarrow.date32())), OF_DAYS),
    "months": (MONTHS, (MONTHS.dt.to_timestamp() - pd.Timestamp("2020-01-01")).dt.days.tolist()),
    "durations": (HOURS, SECONDS),
    "durations of pyarrow": (HOURS.astype(pd.ArrowDtype(pyarrow.duration("ns"))), SECONDS),
    "plain durations": (pd.Series(HOURS.array.to_pytimedelta(), dtype=object), SECONDS),
}


def advised(found, given):
    """Return what the code in the message of an error makes of a table."""
    code = str(found.value).partition("such as ")[2].partition(", or drop it")[0]
    return eval(code, {"X": given, "pandas": pd, "numpy": np})


@pytest.mark.parametrize(("times", "behind"), DATES.values(), ids=DATES)
@pytest.mark.parametrize("alone", [False, True], ids=["beside numbers", "alone"])
def test_dates_and_durations_are_told_with_what_makes_numbers_of_them(times, behind, alone):
    given = X.assign(age=times)[["age"] if alone else ["weight", "age"]]
    model = lsat.tune(QUICK, lsat.Data.from_arrays(given.assign(age=behind), LABELS), progress=False).model
    fits = [lambda rows: lsat.Data.from_arrays(rows, LABELS), model.predict]
    fits += [lambda rows: lsat.TunedLeastSquaresClassifier().fit(rows, LABELS)]
    for fit in fits:
        with pytest.raises((ValueError, TypeError), match=r"write that column as (days|seconds) first") as found:
            fit(given)
        assert "get_dummies" not in str(found.value)
        made = advised(found, given)
        # a day of the Julian calendar is a float64 of about 2.5e6, exact to 5e-10
        np.testing.assert_allclose(made - made[0], behind, rtol=0, atol=1e-9)
        # rows that are to be predicted get the numbers that they had among others
        np.testing.assert_array_equal(advised(found, given[5:]), made[5:])
        fit(given.assign(age=made))


@pytest.mark.parametrize("alone", [False, True], ids=["beside numbers", "alone"])
@pytest.mark.parametrize("times", ["dates", "dates with a zone", "plain dates", "durations"])
@pytest.mark.parametrize(
    "made", [polars.from_pandas, lambda frame: pyarrow.Table.from_pandas(frame)], ids=["polars", "pyarrow"]
)
def test_dates_of_other_libraries_are_told_with_what_makes_numbers_of_them(made, times, alone):
    column, behind = DATES[times]
    given = made(X.assign(age=column)[["age"] if alone else ["weight", "age"]])
    with pytest.raises(ValueError, match=r"write that column as (days|seconds) first") as found:
        lsat.Data.from_arrays(given, LABELS)
    numbers = advised(found, given)
    np.testing.assert_allclose(numbers - numbers[0], behind, rtol=0, atol=1e-9)


def test_dates_in_a_column_that_is_called_by_a_number_are_found_by_the_advice():
    given = pd.DataFrame({0: X.age, 1: TIMES})
    with pytest.raises(ValueError, match="write that column as days first") as found:
        lsat.Data.from_arrays(given, LABELS)
    numbers = advised(found, given)
    np.testing.assert_allclose(numbers - numbers[0], BEHIND, rtol=0, atol=1e-9)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_file_with_another_separator_is_told_which(separator, tmp_path):
    path = tmp_path / "t.csv"
    X.assign(y=LABELS).to_csv(path, sep=separator, index=False)
    with pytest.raises(ValueError, match="has no column 'y' for target=") as found:
        datasets.from_csv(path, "y", progress=False, cache=False)
    advised = str(found.value).partition("pass separator=")[2].partition(", or else")[0]
    assert datasets.from_csv(path, "y", progress=False, cache=False, separator=eval(advised)).feature_names == tuple(X)


@pytest.mark.parametrize(
    ("names", "end", "remedy"),
    [
        ("age,weight,y,", ",", "remove the ',' at the end of the lines"),
        ("age,weight,y,", "", "remove the ',' at the end of the lines"),
        ("age,weight,y,,", ",,", "remove the ',' at the end of the lines"),
        ("age,weight,,y", None, "remove it from the file"),
    ],
    ids=["every line", "first line", "two", "between"],
)
def test_a_column_without_a_name_and_without_entries_is_told_with_how_it_is_left_out(names, end, remedy, tmp_path):
    path = tmp_path / "t.csv"
    rows = zip(X.age, X.weight, LABELS, strict=True)
    lines = [f"{age},{weight},,{y}" if end is None else f"{age},{weight},{y}{end}" for age, weight, y in rows]
    path.write_text("\n".join([names, *lines]))
    read = {"target": "y", "progress": False, "cache": False}
    with pytest.raises(ValueError, match=rf"^t\.csv has a column without a name .*expected .*; {remedy}, or") as found:
        datasets.from_csv(path, **read)
    with pytest.raises(ValueError, match="without a name"):
        datasets.from_csv(path, **read, missing="mean")
    dropped = eval(str(found.value).partition("drop=")[2])
    assert datasets.from_csv(path, **read, drop=dropped).feature_names == ("age", "weight")


def test_a_table_that_is_read_by_the_reader_of_the_other_kind_is_told_which_to_take(tmp_path):
    frame, quiet = X.assign(y=LABELS), {"progress": False, "cache": False}
    for name in ("t.parquet", "t.dat", "t.csv"):
        path = tmp_path / name
        frame.to_parquet(path)
        with pytest.raises(ValueError, match=rf"{name} is a Parquet table, expected CSV; read it by datasets.from_pa"):
            datasets.from_csv(path, "y", **quiet)
        assert datasets.from_parquet(path, "y", **quiet).feature_names == tuple(X)
    for name in ("t.csv", "t.csv.gz", "t.parquet"):
        path = tmp_path / name
        frame.to_csv(path, index=False)
        told = rf"{name} is CSV, as it seems, expected a Parquet file; read it by datasets.from_csv"
        with pytest.raises(ValueError, match=told):
            datasets.from_parquet(path, "y", **quiet)
        with pytest.raises(ValueError, match=told):
            lsat.Data.from_rows(path, path, target="y")
        assert datasets.from_csv(path, "y", **quiet).feature_names == tuple(X)


def test_numbers_with_a_decimal_comma_are_told_and_read(tmp_path, monkeypatch):
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "t.csv"
    X.assign(y=LABELS).to_csv(path, sep=";", decimal=",", index=False)
    with pytest.raises(ValueError, match=r"more numbers with a decimal comma in column .* read CSV with decimal=','"):
        datasets.from_csv(path, "y", progress=False, cache=False, separator=";")
    data = datasets.from_csv(path, "y", progress=False, separator=";", decimal=",")
    assert data.feature_names == tuple(X)
    assert set(map(tuple, data.train.inputs.tolist())) <= set(map(tuple, X.to_numpy(float).tolist()))
    assert "decimal=','" in data.source
    with pytest.raises(ValueError, match="decimal comma"):  # not what the other way left in the cache
        datasets.from_csv(path, "y", progress=False, separator=";")
    with pytest.raises(ValueError, match=r"decimal is ';', .*; pass '\.' or ','"):
        datasets.from_csv(path, "y", progress=False, separator=";", decimal=";")


def test_a_misspelt_name_of_the_digits_is_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recipe.json").write_text(QUICK.to_json())
    words = ("tune", "recipe.json", "--out", "run", "--data")
    assert command(*words, "digit")[2] == "lsat-explorer: --data is digit: did you mean 'digits'?\n"
    assert "did you mean" not in command(*words, "mnist-files")[2]
    Path("digit").mkdir()
    assert "did you mean" not in command(*words, "digit")[2]


def test_a_path_in_place_of_a_recipe_and_a_file_that_holds_none_are_named(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"not readable JSON: .*'recipe.json' looks like a path: pass the text"):
        lsat.Recipe.from_json("recipe.json")
    with pytest.raises(ValueError, match="not readable JSON") as found:
        lsat.Recipe.from_json('{"a":')
    assert "path" not in str(found.value)
    X.to_csv("c.csv")
    code, _, error = command("tune", "c.csv", "--data", "digits", "--out", "run")
    assert code == 2
    assert error.startswith("lsat-explorer: c.csv holds no recipe: The recipe is not readable JSON")


def test_a_folder_that_holds_a_checkpoint_alone_is_told_with_the_command_that_goes_on(command, tmp_path):
    data = lsat.Data.from_arrays(X, LABELS)
    steps = lsat.Run(QUICK, data, checkpoint=lsat.Checkpoint(tmp_path / "kept")).steps()
    next(steps)
    steps.close()
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["checkpoint.safetensors"]
    code, _, error = command("show", str(tmp_path / "kept"))
    assert code == 2
    assert f"run.json is missing, but one broken off, with which `lsat-explorer tune --resume {tmp_path}/kept`" in error
    (tmp_path / "empty").mkdir()
    assert "resume" not in command("show", str(tmp_path / "empty"))[2]


def test_data_that_only_look_like_those_of_a_run_are_told_apart(tmp_path):
    data, other = (lsat.Data.from_arrays(X, LABELS, seed=seed) for seed in (0, 1))
    run = lsat.tune(QUICK, data, progress=False, checkpoint=lsat.Checkpoint(tmp_path / "kept"))
    run.save(tmp_path / "run")
    reads = (lambda rows: lsat.Run.load(tmp_path / "run", rows), lambda rows: lsat.Run.resume(tmp_path / "kept", rows))
    for read in reads:
        with pytest.raises(
            ValueError, match=r"on other data .*; they look alike, but the rows differ, in values, order"
        ):
            read(other)
        with pytest.raises(ValueError, match="on other data") as found:
            read(lsat.datasets.digits())
        assert "alike" not in str(found.value)


def test_an_estimator_ends_its_sentences_where_they_end():
    with pytest.raises(ValueError, match=r"has nan at row 3, column 0 \('age'\)") as found:
        lsat.TunedLeastSquaresClassifier().fit(X.where(KEPT, axis=0), LABELS)
    told = str(found.value)
    assert "Input X contains NaN" in told
    assert "..." not in told
    assert "Alternatively" not in told


def test_a_hidden_outcome_is_not_scored():
    numbers, hidden = X.to_numpy(), [True] * 3 + [False] * 37
    for kind, y in (
        (lsat.TunedLeastSquaresClassifier, (numbers[:, 0] > 0).astype(int)),
        (lsat.TunedLeastSquaresRegressor, numbers[:, 0]),
    ):
        fitted = kind().fit(numbers, y)
        assert fitted.score(numbers, np.ma.array(y)) == fitted.score(numbers, y)
        with pytest.raises(ValueError, match="y hides an entry in row 0, expected none hidden"):
            fitted.score(numbers, np.ma.array(y, mask=hidden))


def test_what_is_no_graph_is_named_by_its_type():
    for given in (10**5000, "grid"):
        with pytest.raises(ValueError, match=rf"Smooth: graph is of type {type(given).__name__}, expected a Graph"):
            lsat.Smooth(given)


def test_a_tune_in_inference_mode_is_told_to_leave_it():
    with torch.inference_mode(), pytest.raises(ValueError, match="tune outside of it"):
        lsat.tune(QUICK, lsat.Data.from_arrays(X, LABELS), progress=False)
