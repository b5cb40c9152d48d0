"""`~` is the home wherever a path is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from runs import QUICK
from tuning import write_recipe


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home, and another folder to work in, which is to stay empty."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    yield tmp_path / "home"
    assert list(Path().iterdir()) == []


def test_runs_models_and_reports_are_written_and_read_there(home):
    data = lsat.datasets.digits()
    run = lsat.tune(lsat.Recipe(method=QUICK), data, progress=False, checkpoint="~/kept")
    run.save("~/runs/a")
    run.report("~/r.html")
    run.model.save("~/m")
    assert {path.name for path in home.iterdir()} >= {"kept", "m", "r.html", "runs"}
    assert len(lsat.Run.load("~/runs/a", data).iterates) == len(run.iterates)
    assert len(lsat.Run.resume("~/kept", data).iterates) == len(run.iterates)
    assert lsat.FittedModel.load("~/m").feature_names == data.feature_names


def test_rows_are_read_from_there_and_copied_to_there(home):
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.save(home / "X.npy", X)
    assert lsat.Data.from_rows(("~/X.npy", X[:, 0]), (X, X[:, 0])).feature_names
    pd.DataFrame(X, columns=list("aby")).to_parquet(home / "c.parquet")
    data = lsat.Data.from_rows("~/c.parquet", "~/c.parquet", target="y", folder="~")
    assert data.feature_names == ("a", "b")


def test_the_command_line_finds_them_there(home, command):
    recipe = Path(write_recipe(home)).name
    code, _, error = command("tune", f"~/{recipe}", "--data", "digits", "--out=~/runs/a")
    assert code == 0, error
    assert command("show", "~/runs/a", "--data", "digits", "--html=~/r.html")[0] == 0
    table = pd.DataFrame(lsat.datasets.digits().test.inputs[:3], columns=lsat.datasets.digits().feature_names)
    table.to_csv(home / "t.csv", index=False)
    assert command("predict", "~/runs/a", "--data=~/t.csv", "--out=~/p.csv")[0] == 0
    assert {path.name for path in home.iterdir()} >= {"runs", "r.html", "p.csv"}


def test_the_home_of_nobody_is_refused(capsys):
    from lsat_explorer.__main__ import main

    with pytest.raises(SystemExit):
        main(["show", "~nobody-of-that-name/a"])
    assert "expected a path, and there is no such home" in capsys.readouterr().err
