"""What is said of a path that was given for a saved model and is none: what is there, and what to give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import lsat_explorer as lsat

GIVE = "Give a model that was saved, such as the model.safetensors in the folder of a run."


@pytest.fixture(scope="module")
def run() -> lsat.Run:
    X = np.random.default_rng(0).normal(size=(40, 2))
    data = lsat.Data.from_arrays(X, X.sum(1))
    return lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=1)), data, progress=False)


OTHERS = {
    "report.html": (lambda run, path: run.report(path), "a page of HTML, as a report is"),
    "recipe.json": (lambda run, path: path.write_text(run.recipe.to_json()), "JSON, as a recipe is"),
    "mark.json": (lambda run, path: path.write_text('\ufeff{"type": {}}', encoding="utf-8"), "JSON, as a recipe is"),
    "table.csv": (lambda run, path: path.write_text("größe,farbe\n" * 99, encoding="utf-8"), "text, as a table is"),
    "module.pt": (lambda run, path: torch.save({"a": torch.ones(3)}, path), "a zip file, as torch.save writes"),
    "table.parquet": (lambda run, path: pd.DataFrame({"a": [1.0]}).to_parquet(path), "a Parquet table"),
    "rows.npy": (lambda run, path: np.save(path, np.ones(3)), "an array of numpy"),
    "curves.png": (lambda run, path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99)), "a picture"),
    "empty": (lambda run, path: path.touch(), "empty"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_called_what_it_is(name, run, tmp_path):
    make, kind = OTHERS[name]
    path = tmp_path / name
    make(run, path)
    with pytest.raises(ValueError, match="is no model file") as told:
        lsat.FittedModel.load(path)
    assert str(told.value) == f"{path} is no model file: it is {kind}. {GIVE}"


@pytest.mark.parametrize("name", ["report.html", "recipe.json", "empty"])
def test_predict_says_so_too(name, run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    make, kind = OTHERS[name]
    make(run, Path(name))
    Path("rows.csv").write_text("0,1\n1,2\n")
    code, out, error = command("predict", name, "--data", "rows.csv")
    assert (code, out, error) == (2, "", f"lsat-explorer: {name} is no model file: it is {kind}. {GIVE}\n")


def test_a_model_that_is_cut_off_or_spoilt_is_still_called_damaged(run, tmp_path):
    run.model.save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for part in (whole[:7], whole[:60], whole[:-1], whole + b"x", b"\xff" + whole[1:], whole[:8] + b"x" + whole[9:]):
        (tmp_path / "part").write_bytes(part)
        with pytest.raises(ValueError, match=r"is no model file: .*damaged"):
            lsat.FittedModel.load(tmp_path / "part")


def test_a_checkpoint_and_a_folder_without_a_run_are_told_from_models(run, tmp_path, command):
    lsat.tune(run.recipe, run.data, progress=False, checkpoint=tmp_path / "kept")
    with pytest.raises(
        ValueError, match=r"has format 'lsat_explorer\.checkpoint/1', expected .* Give a model that was"
    ):
        lsat.FittedModel.load(tmp_path / "kept" / "checkpoint.safetensors")
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"run\.json is missing; give a folder that Run\.save or `lsat-explorer tune"):
        lsat.Run.load(tmp_path / "none")
