"""`lsat-explorer tune --resume`: a run is kept as it goes on, and gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

import lsat_explorer as lsat
from lsat_explorer.commands import tune
from tuning import table, write_recipe


def broken_off(folder: Path, after: int = 4) -> lsat.Recipe:
    """Leave in a folder what a process leaves that is killed after an iterate."""
    recipe = lsat.Recipe(loss=lsat.CrossEntropy(), method=lsat.ProximalGradient(step=100.0, max_iterations=10))
    run = lsat.Run(recipe, lsat.datasets.digits(), checkpoint=lsat.Checkpoint(folder, iterations=1, seconds=0.0))
    for iterate in run.steps():
        if iterate.number == after:
            run.keeper = None
            break
    return recipe


def test_a_run_that_was_killed_is_gone_on_with_in_its_folder(tmp_path, command):
    expected = lsat.tune(broken_off(tmp_path / "run"), lsat.datasets.digits(), progress=False)
    with pytest.raises(ValueError, match="holds no saved run"):
        lsat.Run.load(tmp_path / "run")
    code, out, error = command("tune", "--resume", str(tmp_path / "run"), "--data", "digits")
    assert code == 0, error
    loaded = lsat.Run.load(tmp_path / "run")
    assert [i.objective for i in loaded.iterates] == [i.objective for i in expected.iterates]
    assert table(out)["iterations"].startswith("10 (")
    words = ("tune", "--resume", str(tmp_path / "run"), "--data", "digits", "--out", str(tmp_path / "b"))
    assert command(*words)[0] == 0
    assert len(lsat.Run.load(tmp_path / "b").iterates) > len(loaded.iterates)
    assert len(lsat.Run.load(tmp_path / "run").iterates) == len(loaded.iterates)


def test_a_run_that_has_converged_is_saved_again_as_it_is(tmp_path, command):
    data = lsat.datasets.digits()
    run = lsat.tune(lsat.Recipe(), data, progress=False, checkpoint=tmp_path / "run")
    assert run.status is lsat.Status.CONVERGED
    assert command("tune", "--resume", str(tmp_path / "run"), "--data", "digits")[0] == 0
    loaded = lsat.Run.load(tmp_path / "run", data)
    assert len(loaded.iterates) == len(run.iterates)
    assert loaded.omega == run.omega


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--resume", "none"], "none holds no checkpoint: checkpoint.safetensors is missing"),
        (["--resume", "good", "--seed", "1"], "is of a run on other data (Data(digits"),
        (["--resume", "cut"], "is cut off, or is no checkpoint"),
        (["--resume", "good", "good.json"], "RECIPE.json is for a new run: leave it out with --resume"),
        (["--resume", "good", "--engine", "chunks"], "--engine is for a new run"),
        (["--resume", "good", "--out", "full"], "full is not empty"),
        (["--out", "new"], "RECIPE.json is missing: give RECIPE.json and --out"),
        (["good.json"], "--out is missing: give RECIPE.json and --out"),
        (["good.json", "--out", "good"], "good is not empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_gone_on_with_is_one_sentence(words, sentence, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("good.json").write_text(broken_off(Path("good")).to_json())
    for name in ("none", "cut", "full"):
        Path(name).mkdir()
    Path("cut", "checkpoint.safetensors").write_bytes(Path("good", "checkpoint.safetensors").read_bytes()[:-3])
    Path("full", "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, error = command("tune", *words, "--data", "digits")
    assert (code, out) == (2, "")
    assert error.splitlines()[-1].startswith("lsat-explorer: ")
    assert sentence in error
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_checkpoint_that_cannot_be_written_is_said_once_and_the_run_ends_well(tmp_path, monkeypatch, command):
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    words = ("tune", write_recipe(tmp_path), "--data", "digits", "--out", str(tmp_path / "run"))
    with monkeypatch.context() as patched:
        patched.setattr("lsat_explorer.data.whole_file.os.fsync", full)
        patched.setattr(tune, "save", lambda tuning, folder, *, look: 0)
        code, _, error = command(*words)
    assert code == 0
    assert error.count("The checkpoint could not be written") == 1
    assert "No space left on device" in error
