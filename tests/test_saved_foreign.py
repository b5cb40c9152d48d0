"""A run is written over an earlier one, and over no file that its user has made under one of its names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import lsat_explorer as lsat
from lsat_explorer import Checkpoint
from lsat_explorer.tune.checkpoint_file import NAME
from test_problem import make_data

RECIPE = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=2))
TEXTS = {
    "run.json": [b'{"name": "mine", "epochs": 3}', b"{}", b"[1, 2]", b"", b'{"status": "ready"}', b"\xff\xfe"],
    "recipe.json": [b'{"flour": "500 g"}', b'{"format": 1, "flour": "500 g"}', b'{"format": "a"}', b"no"],
    "iterates.csv": [b"a,b\n1,2\n", b"", b"number,loss\n0,1.5\n", b"\xff\xfe\x00"],
    "model.safetensors": [b"mine", b""],
    "start.safetensors": [b"mine"],
    NAME: [b"mine"],
}


@pytest.fixture(scope="module")
def run() -> lsat.Run:
    return lsat.tune(RECIPE, make_data(), progress=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_a_file_of_the_users_own_is_refused_and_stays(run, tmp_path, name, text):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ValueError, match=rf"{name} holds no .* of lsat_explorer, or a damaged one \(.*\)") as error:
        run.save(tmp_path)
    assert str(error.value).endswith("), and would be lost: give another folder, or move that file away first.")
    assert contents(tmp_path) == {name: text}


@pytest.mark.parametrize("name", ["model.safetensors", "start.safetensors", NAME])
def test_tensors_of_another_program_are_refused_and_stay(run, tmp_path, name):
    save_file({"encoder.weight": torch.ones(2)}, tmp_path / name, metadata={"format": "pt"})
    there = contents(tmp_path)
    with pytest.raises(ValueError, match=rf"{name} holds no .* and would be lost"):
        run.save(tmp_path)
    assert contents(tmp_path) == there


def test_a_file_of_the_users_own_beside_an_earlier_run_is_refused_and_all_stays(run, tmp_path):
    run.save(tmp_path)
    (tmp_path / "run.json").write_text('{"mine": true}')
    there = contents(tmp_path)
    with pytest.raises(ValueError, match=r"run\.json holds no account of a run of lsat_explorer"):
        run.save(tmp_path)
    assert contents(tmp_path) == there


def test_a_run_is_saved_over_any_earlier_one(run, tmp_path):
    kept = lsat.tune(RECIPE, run.data, progress=False, checkpoint=tmp_path)
    branch = kept.branch(1)
    list(branch.steps())
    weighed = lsat.tune(RECIPE.replace(data_weights=lsat.LogWeights()), run.data, progress=False).branch(1)
    list(weighed.steps())
    for each in (kept, branch, weighed, run, kept):
        each.save(tmp_path)
        assert lsat.Run.load(tmp_path, run.data).recipe == each.recipe
        assert (tmp_path / "start.safetensors").exists() is (each.start is not None)
    older = {key: value for key, value in json.loads((tmp_path / "run.json").read_text()).items() if key != "notes"}
    (tmp_path / "run.json").write_text(json.dumps(older))
    run.save(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["notes"] == []


@pytest.mark.parametrize("replace", [False, True])
def test_a_checkpoint_takes_the_place_of_no_file_of_the_users_own(run, tmp_path, replace):
    np.save(tmp_path / "a.npy", np.ones(3))
    (tmp_path / "a.npy").rename(tmp_path / NAME)
    there = contents(tmp_path)
    with pytest.raises(ValueError, match=r"holds no checkpoint of lsat_explorer, or a damaged one .* move that"):
        lsat.tune(RECIPE, run.data, progress=False, checkpoint=Checkpoint(tmp_path, replace=replace))
    assert contents(tmp_path) == there


def test_a_recipe_of_pieces_that_this_process_does_not_know_is_one_all_the_same(run, tmp_path):
    run.save(tmp_path)
    said = json.loads((tmp_path / "recipe.json").read_text())
    said["featurizer"] = {"type": "PieceOfTheUsersOwn"}
    (tmp_path / "recipe.json").write_text(json.dumps(said))
    run.save(tmp_path)
    assert lsat.Run.load(tmp_path, run.data).recipe == run.recipe


@pytest.mark.parametrize("name", ["run.json", "curves.png", NAME])
def test_a_command_refuses_before_the_work_what_it_would_lose_at_the_end(tmp_path, command, name):
    (tmp_path / "recipe.json").write_text(RECIPE.to_json())
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_bytes(b"mine")
    words = ["tune", str(tmp_path / "recipe.json"), "--data", "digits", "--out", str(out), "--overwrite"]
    code, said, error = command(*words)
    assert (code, said) == (2, "")
    assert f"{out / name} holds no " in error
    assert "would be lost: give another folder, or move that file away first." in error
    assert "Tuning" not in error
    assert contents(out) == {name: b"mine"}
    (out / name).unlink()
    assert command(*words)[0] == command(*words)[0] == 0
    (out / "run.json").write_bytes(b"mine")
    code, said, error = command("tune", "--resume", str(out), "--data", "digits")
    assert (code, said) == (2, "")
    assert f"{out / 'run.json'} holds no account of a run" in error
    assert (out / "run.json").read_bytes() == b"mine"
