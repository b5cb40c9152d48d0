"""Tables of the user at the command line: how they are read, what is advised, and `lsat-explorer predict`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.__main__ import main
from lsat_explorer.commands.source import told_as_options
from lsat_explorer.data import datasets
from lsat_explorer.tune.fingerprint import fingerprint

RANDOM = np.random.default_rng(0)
N = 120
TABLE = pd.DataFrame(
    {
        "id": [f"customer {row}" for row in range(N)],
        "age": RANDOM.normal(50, 10, N),
        "city": RANDOM.choice(["Bern", "Oslo", "Rome"], N),
        "zone": RANDOM.choice([1, 2], N),
        "note": [f"called {row} times" for row in range(N)],
        "churn": RANDOM.choice(["no", "yes"], N),
    }
)
TABLE.loc[::7, "age"] = np.nan
READ = ("--index", "id", "--drop", "note")
OPTIONS = (*READ, "--missing", "median", "--categories", "zone")
SAME = {"index": "id", "drop": ["note"], "missing": "median", "categories": ["zone"]}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with the table as CSV and Parquet, and a quick recipe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    TABLE.to_csv("c.csv", index=False)
    TABLE.to_csv("semicolons.csv", index=False, sep=";")
    TABLE.to_csv("commas.csv", index=False, sep=";", decimal=",")
    TABLE.to_csv("numbered.csv")
    TABLE.to_csv("c.tsv", index=False, sep="\t")
    TABLE.to_csv("tabs.txt", index=False, sep="\t")
    TABLE.to_parquet("c.parquet")
    TABLE.to_parquet("C.PARQUET")
    recipe = lsat.Recipe(loss=lsat.CrossEntropy(), method=lsat.LBFGS(max_iterations=2))
    Path("recipe.json").write_text(recipe.to_json())


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("c.csv", ()),
        ("semicolons.csv", ("--separator", ";")),
        ("commas.csv", ("--separator", ";", "--decimal", ",")),
        ("c.tsv", ()),
        ("tabs.txt", ("--separator", r"\t")),
        ("c.parquet", ()),
        ("C.PARQUET", ()),
    ],
    ids=str,
)
def test_a_table_is_read_as_its_options_say(file, more, command):
    words = ("tune", "recipe.json", "--data", file, "--target", "churn", *OPTIONS, *more, "--seed", "3", "--out", "run")
    code, _, error = command(*words)
    assert code == 0, error
    same = datasets.from_csv("c.csv", "churn", seed=3, progress=False, **SAME)
    assert lsat.FittedModel.load("run/model.safetensors").feature_names == same.feature_names
    assert json.loads(Path("run", "run.json").read_text())["data"]["sha256"] == fingerprint(same)["sha256"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--data", "c.csv"], "drop=['id'] (--drop id), let it name the rows by index='id' (--index id), or say"),
        (["--data", "c.csv", "--index", "di"], "c.csv has no column 'di' for --index, it has id, age"),
        (["--data", "c.csv", "--index", "id", "--drop", "note"], "missing='mean' (--missing mean)"),
        (["--data", "semicolons.csv", *OPTIONS], "separator=';' (--separator ';')"),
        (["--data", "c.csv", *OPTIONS, "--missing", "zero"], None),
        (["--data", "numbered.csv", *OPTIONS], "leave it out: drop=['Unnamed: 0'] (--drop 'Unnamed: 0')."),
        (["--data", "numbered.csv"], "or have it name the rows: index='Unnamed: 0' (--index 'Unnamed: 0')."),
        (["--data", "digits", "--drop", "id"], "--target goes with CSV and Parquet"),
        (["--data", "c.parquet", *OPTIONS, "--folder", "x"], "--folder goes with --validation; leave it out"),
        (["--data", "c.parquet", *OPTIONS, "--separator", ";"], "--separator goes with CSV; leave it out"),
        (["--data", "c.parquet", *OPTIONS, "--decimal", ","], "--decimal goes with CSV; leave it out"),
        (["--data", "c.parquet", "--validation", "c.parquet", "--index", "id"], "--index goes with CSV, or with Parq"),
        (["--data", "c.parquet"], "or have --seed divide the rows, by --missing refuse"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_go_together_and_what_is_advised_name_the_options(words, sentence, command, capsys):
    said = ("tune", "recipe.json", "--target", "churn", *words, "--out", "run")
    if sentence is None:  # argparse says it, and what is expected
        with pytest.raises(SystemExit, match="2"):
            command(*said)
        assert "'refuse', 'mean', 'median'" in capsys.readouterr().err
        return
    code, out, error = command(*said)
    assert (code, out) == (2, "")
    assert sentence in error.splitlines()[-1]
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("file", "more"),
    [("two.csv", ()), ("two.parquet", ("--missing", "refuse")), ("two.parquet", ("--validation", "two.parquet"))],
    ids=["csv", "parquet that is divided", "parquet"],
)
def test_several_targets_are_predicted_and_none_of_them_is_a_feature(file, more, command):
    two = TABLE[["zone"]].assign(age=TABLE.age.fillna(50), y=TABLE.zone * 0.5, z=TABLE.zone * 1.5)
    two.to_csv("two.csv", index=False)
    two.to_parquet("two.parquet")
    Path("numbers.json").write_text(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)).to_json())
    words = ("--data", file, *more, "--target", "y", "--target", "z")
    code, _, error = command("tune", "numbers.json", *words, "--out", "run")
    assert code == 0, error
    model = lsat.FittedModel.load("run/model.safetensors")
    assert (model.feature_names, model.predict(two[["zone", "age"]]).shape) == (("zone", "age"), (N, 2))
    for read in (("tune", "--resume", "run", *words), ("show", "run", *words, "--html", "page.html")):
        code, _, error = command(*read)
        assert code == 0, error
    code, out, error = command("predict", "run", "--data", file, "--drop", "y", "--drop", "z")
    assert (code, out.partition("\n")[0]) == (0, "row,prediction_y,prediction_z"), error
    code, _, error = command("tune", "numbers.json", *words[:-1], "y", "--out", "other")
    assert (code, "--target names 'y' twice, expected each column once; leave one out." in error) == (2, True)


@pytest.mark.parametrize("words", [("predict", "run"), ("tune", "recipe.json")], ids=lambda words: words[0])
def test_a_second_column_that_names_the_rows_is_refused(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--data", "c.csv", "--index", "id", "--index", "note"])
    assert "argument --index: it is 'id' and 'note', expected one column; leave one out" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--index", "--drop", "--categories", "--missing", "--separator"])
def test_options_of_tables_are_refused_with_data_that_are_none(option, command):
    code, _, error = command("tune", "recipe.json", "--data", "digits", option, "mean", "--out", "run")
    assert (code, error) == (2, f"lsat-explorer: {option} goes with CSV and Parquet; leave it out with other data.\n")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("leave it out by drop=['a b'].", "leave it out by drop=['a b'] (--drop 'a b')."),
        ("""leave it out by drop=["it's"], or""", """leave it out by drop=["it's"] (--drop 'it'"'"'s'), or"""),
        (r"""by index='it\'s "so"'; or""", r"""by index='it\'s "so"' (--index 'it'"'"'s "so"'); or"""),
        ("by target= and by index=, or target=", "by --target and by --index, or --target"),
        (r"stands between, pass separator='\t', or", r"stands between, pass separator='\t' (--separator '\t'), or"),
        ("by drop=['a], and by index='b'", "by drop=['a], and by index='b' (--index b)"),
    ],
)
def test_advice_in_python_names_the_option_whatever_the_column_is_called(told, expected):
    with pytest.raises(ValueError, match=r"by |between") as found, told_as_options():
        raise ValueError(told)
    assert str(found.value) == expected


@pytest.fixture
def tuned(command):
    words = ("tune", "recipe.json", "--data", "c.csv", "--target", "churn", *OPTIONS, "--out", "run")
    assert command(*words)[0] == 0
    return lsat.FittedModel.load("run/model.safetensors")


@pytest.mark.parametrize("saved", ["run", "run/model.safetensors"])
@pytest.mark.parametrize(
    ("file", "more"),
    [("c.csv", ()), ("commas.csv", ("--separator", ";", "--decimal", ",")), ("c.parquet", ())],
    ids=["c.csv", "commas.csv", "c.parquet"],
)
def test_predict_writes_labels_and_probabilities_under_the_names_of_the_rows(saved, file, more, tuned, command):
    words = ("predict", saved, "--data", file, *READ, "--drop", "churn", *more)
    code, out, _ = command(*words)
    assert code == 0
    table = pd.read_csv(io.StringIO(out), index_col="id")
    rows = TABLE.set_index("id").drop(columns=["note", "churn"])
    assert table.index.tolist() == TABLE["id"].tolist()
    assert table.prediction.tolist() == tuned.predict(rows).tolist()
    assert table.columns.tolist() == ["prediction", "probability_no", "probability_yes"]
    np.testing.assert_allclose(table.iloc[:, 1:].to_numpy(), tuned.predict_proba(rows), rtol=1e-12)
    code, said, _ = command(*words, "--out", "p.csv")
    assert (code, said) == (0, "120 predictions are in p.csv.\n")
    assert Path("p.csv").read_text() == out


def test_predict_without_names_of_rows_counts_them_and_without_probabilities_gives_none(tuned, command):
    TABLE[["age"]].fillna(50).assign(y=TABLE.zone * 0.5, z=TABLE.zone * 1.5).to_csv("two.csv", index=False)
    data = datasets.from_csv("two.csv", ["y", "z"], progress=False)
    lsat.tune(lsat.Recipe(), data, progress=False).model.save("two.safetensors")
    code, out, _ = command("predict", "two.safetensors", "--data", "two.csv", "--drop", "y", "--drop", "z")
    assert code == 0
    table = pd.read_csv(io.StringIO(out))
    assert table.columns.tolist() == ["row", "prediction_y", "prediction_z"]
    assert table.row.tolist() == list(range(N))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "--data", "c.csv", *READ], "has the unknown column 'churn', to leave out by --drop churn"),
        (["run", "--data", "c.csv", "--index", "id"], "'note', 'churn', to leave out by --drop note --drop churn"),
        (["run", "--data", "c.csv", "--drop", "age", *READ], "lacks column 'age'"),
        (["run", "--data", "none.csv"], "there is no file none.csv"),
        (["run", "--data", "semicolons.csv"], "between columns, pass separator=';' (--separator ';')."),
        (["run", "--data", "c.parquet", "--separator", ";"], "--separator goes with CSV; leave it out"),
        (["run", "--data", "c.parquet", "--decimal", ","], "--decimal goes with CSV; leave it out"),
        (["run", "--data", "c.csv", "--index", "di"], "c.csv has no column 'di' for --index"),
        (["none", "--data", "c.csv"], "none is no model file: there is no such file."),
        (["recipe.json", "--data", "c.csv"], "recipe.json is no model file"),
        (["cache", "--data", "c.csv"], "cache holds no saved run: run.json is missing"),
        (
            ["run", "--data", "c.csv", *READ, "--drop", "churn", "--out", "none/p.csv"],
            "there is no folder none",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_predicted_is_one_sentence(words, sentence, tuned, command):
    code, out, error = command("predict", *words)
    assert (code, out) == (2, "")
    assert sentence in error.splitlines()[-1]


@pytest.mark.parametrize("separator", ["", "\n", "\udcff"])
@pytest.mark.parametrize("words", [("predict", "run"), ("tune", "recipe.json")], ids=lambda words: words[0])
def test_a_separator_that_is_no_character_is_refused(words, separator, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--data", "c.csv", "--separator", separator])
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert f"argument --separator: it is {separator!r}, expected what stands between two entries, such as ';'" in error
    assert error.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="a working folder cannot be removed")
def test_a_working_folder_that_is_removed_is_said(tmp_path, monkeypatch, command):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    words = (str(tmp_path / "recipe.json"), "--data", str(tmp_path / "c.csv"), "--target", "churn", "--out", "run")
    code, out, error = command("tune", *words)
    assert (code, out) == (2, "")
    assert error == (
        "lsat-explorer: The working folder is there no more, so that no file in it can be named: change to another, "
        "and try again.\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names of files in Unicode alone")
def test_a_file_whose_name_is_not_utf_8_is_tuned_on_and_a_folder_for_a_run_is_refused(command):
    name = os.fsdecode(b"\xff.csv")
    Path("c.csv").rename(name)
    words = ("tune", "recipe.json", "--data", name, "--target", "churn", *OPTIONS, "--out")
    folder = os.fsdecode(b"run\xff")
    code, out, error = command(*words, folder)
    assert (code, out) == (2, "")
    assert error.startswith("lsat-explorer: 'run\\udcff' has a path that is no text in UTF-8")
    assert error.count("\n") == 1  # not even the table was read
    assert not Path(folder).exists()
    # In a process, whose standard error escapes such names; what stands in for it in a test does not.
    subprocess.run([sys.executable, "-m", "lsat_explorer", *words, "run"], check=True, capture_output=True)
    data = datasets.from_csv(name, "churn", progress=False, **SAME)
    run = lsat.Run.load("run", data)
    assert fingerprint(run.data)["name"].startswith("Data(\udcff: ")
    assert json.loads(Path("run", "run.json").read_text("utf-8"))["data"] == fingerprint(data)
    with pytest.raises(ValueError, match="no text in UTF-8"):
        run.save(folder)


def test_predictions_take_the_place_of_no_file_unasked_and_never_of_what_is_read(tuned, command):
    words = ("predict", "run", "--data", "c.csv", *READ, "--drop", "churn", "--out")
    Path("link.csv").symlink_to("c.csv")
    os.link("c.csv", "other_name.csv")
    os.mkfifo("pipe")
    Path("p.csv").write_text("mine")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for out, more, sentence in [
        ("c.csv", (), "--out c.csv is the table of --data, which would be lost; name another file."),
        ("c.csv", ("--overwrite",), "--out c.csv is the table of --data, which would be lost; name another file."),
        ("link.csv", ("--overwrite",), "--out link.csv is the table of --data, which would be lost"),
        ("other_name.csv", ("--overwrite",), "--out other_name.csv is the table of --data, which would be lost"),
        ("run/model.safetensors", ("--overwrite",), "is the model, which would be lost; name another file."),
        ("p.csv", (), "p.csv is there already; name another file, or add --overwrite."),
        ("pipe", ("--overwrite",), "pipe is a pipe, expected a regular file to write; give another name"),
    ]:
        code, said, error = command(*words, out, *more)
        assert (code, said) == (2, "")
        assert sentence in error
        assert error.count("\n") == 1  # not even the table was read
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    assert command(*words, "p.csv", "--overwrite")[:2] == (0, "120 predictions are in p.csv.\n")
    assert len(pd.read_csv("p.csv")) == N


def test_predict_reads_categories_as_the_text_that_stands_there(command):
    codes = TABLE.assign(zone=RANDOM.choice(["00", "01", "1"], N))
    codes.to_csv("codes.csv", index=False)
    words = ("tune", "recipe.json", "--data", "codes.csv", "--target", "churn", *OPTIONS, "--out", "run")
    assert command(*words)[0] == 0
    model = lsat.FittedModel.load("run/model.safetensors")
    assert [name for name in model.feature_names if "zone" in name] == ["zone=00", "zone=01", "zone=1"]
    code, out, _ = command("predict", "run", "--data", "codes.csv", *READ, "--drop", "churn")
    assert code == 0
    rows = codes.set_index("id").drop(columns=["note", "churn"])
    assert pd.read_csv(io.StringIO(out)).prediction.tolist() == model.predict(rows).tolist()


def test_predict_takes_no_table_for_its_first_line_and_no_column_for_another(command):
    frame = TABLE[["age"]].fillna(50).assign(income=TABLE.zone * 0.5)
    data = lsat.Data.from_arrays(frame, frame.age - frame.income)
    lsat.tune(lsat.Recipe(), data, progress=False).model.save("two.safetensors")
    frame.to_csv("headless.csv", index=False, header=False)
    frame[["income", "age"]].to_csv("other.csv", index=False, header=["Income", "Age"])
    for file in ("headless.csv", "other.csv"):
        code, out, error = command("predict", "two.safetensors", "--data", file)
        assert (code, out) == (2, "")
        assert "X lacks columns 'age', 'income': give the columns 'age', 'income' by name." in error
    Path("long.csv").write_text("age,income\n1,50,0.5\n2,60,1.5\n")
    code, out, error = command("predict", "two.safetensors", "--data", "long.csv")
    assert (code, out) == (2, "")
    assert "Expected 2 fields in line 2, saw 3" in error
