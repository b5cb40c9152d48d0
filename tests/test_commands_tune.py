"""`lsat-explorer tune` and `show`: the run is written and read back, and Ctrl-C keeps the last accepted iterate."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.commands import tune


def write_recipe(folder: Path, **choices: object) -> str:
    """Write a recipe that takes ten quick steps on the digits."""
    choices = {"loss": lsat.CrossEntropy(), "method": lsat.ProximalGradient(step=100.0, max_iterations=10)} | choices
    path = folder / "recipe.json"
    path.write_text(lsat.Recipe(**choices).to_json())
    return str(path)


def table(text: str) -> dict[str, str]:
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in text.splitlines())


def test_tune_writes_the_run_that_python_gives(tmp_path, command):
    recipe = write_recipe(tmp_path)
    code, out, error = command("tune", recipe, "--data", "digits", "--seed", "3", "--out", str(tmp_path / "run"))
    assert code == 0
    assert "10/10" in error
    expected = lsat.tune(lsat.Recipe.from_json(Path(recipe).read_text()), lsat.datasets.digits(seed=3), progress=False)
    written = pd.read_csv(tmp_path / "run" / "iterates.csv")
    assert written["loss"].tolist() == pytest.approx(expected.history()["loss"].tolist(), rel=1e-12)
    last = expected.iterates[-1]
    shown = table(out)
    onward = f"To go on, `lsat-explorer tune --resume {tmp_path / 'run'}` with the same --data."
    assert shown["status"].startswith(f"Stopped at the maximum number of iterations. {onward}")
    assert shown["validation loss"].startswith(f"{last.loss:.4f} ")
    assert shown["validation error"] == f"{100 * last.error:.1f} %"
    assert shown["iterations"].startswith("10 (")
    log_weight = float(last.omega["regularizer.log_weight"])
    assert shown["regularizer.log_weight"].startswith(f"{log_weight:.4g} (weight ")
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_show_repeats_what_the_end_of_the_run_warned_of(tmp_path, command):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3))
    labels = np.where(X[:, 0] + generator.normal(size=300) > 0, "u", "v")
    pd.DataFrame(X, columns=list("abc")).assign(y=labels).to_csv(tmp_path / "n.csv", index=False)
    archetypes = lsat.KMeansArchetypes(per_class=5)
    recipe = lsat.Recipe(featurizer=archetypes, regularizer=lsat.Ridge(), loss=lsat.CrossEntropy())
    (tmp_path / "d.json").write_text(recipe.to_json())
    data = ("--data", str(tmp_path / "n.csv"), "--target", "y", "--seed", "2")
    code, tuned, error = command("tune", str(tmp_path / "d.json"), *data, "--out", str(tmp_path / "run"))
    assert code == 0, error
    assert "the validation error rose from" in table(tuned)["status"]
    assert command("show", str(tmp_path / "run")) == (0, tuned, "")


def test_the_engine_of_the_command_line_comes_before_that_of_the_recipe(tmp_path, command):
    words = ("tune", write_recipe(tmp_path), "--data", "digits", "--engine", "chunks", "--out", str(tmp_path / "run"))
    assert command(*words)[0] == 0
    written = lsat.Recipe.from_json((tmp_path / "run" / "recipe.json").read_text())
    assert written.engine == lsat.Chunks()
    with pytest.raises(SystemExit):
        command(*words[:-3], "cloud", "--out", str(tmp_path / "other"))


def test_memory_that_runs_out_is_one_sentence(tmp_path, monkeypatch, command):
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("lsat_explorer.engines.memory.MemoryRows.predict", full)
    code, _, error = command("tune", write_recipe(tmp_path), "--data", "digits", "--out", str(tmp_path / "run"))
    assert code == 1
    assert "set Recipe(engine=Chunks(rows=256))" in error
    assert "Traceback" not in error


def test_show_prints_what_tune_printed_and_writes_nothing(tmp_path, command):
    run = tmp_path / "run"
    weights = {"data_weights": lsat.LogWeights(), "hyper_penalties": {"data_weights.log_weight": lsat.SumSquares(1e-3)}}
    _, tuned, _ = command("tune", write_recipe(tmp_path, **weights), "--data", "digits", "--out", str(run))
    assert table(tuned)["data_weights.log_weight"].startswith("898 values, ")
    assert command("show", str(run)) == (0, tuned, "")
    (run / "curves.png").unlink()
    before = sorted(path.name for path in run.iterdir())
    assert before == ["checkpoint.safetensors", "iterates.csv", "model.safetensors", "recipe.json", "run.json"]
    code, out, error = command("show", str(run))
    assert (code, error) == (0, "")
    assert table(out) == {name: text for name, text in table(tuned).items() if name != "curves"}
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_run_that_has_no_stopping_residual_shows_a_dash(tmp_path, command):
    words = ["tune", write_recipe(tmp_path, method=lsat.ProximalGradient(max_iterations=0)), "--data", "digits"]
    _, out, _ = command(*words, "--out", str(tmp_path / "run"))
    assert table(out)["stopping residual"] == "–"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tune", "none.json", "--data", "digits", "--out", "run"], "There is no recipe none.json;"),
        (["tune", "typo.json", "--data", "digits", "--out", "run"], "featuriser"),
        (["tune", "half.json", "--data", "digits", "--out", "run"], "not readable JSON"),
        (["tune", "block.json", "--data", "digits", "--out", "run"], "pixles"),
        (["tune", "good.json", "--data", "digits", "--deskew", "--out", "run"], "--deskew goes with a folder of MNIST"),
        (["tune", "good.json", "--data", "no-mnist", "--out", "run"], "no-mnist"),
        (
            ["tune", "good.json", "--data", "half.json", "--out", "run"],
            "half.json is a file and not Parquet; --data takes",
        ),
        (["tune", "good.json", "--data", "digits", "--out", "good.json"], "good.json is a file"),
        (["tune", "good.json", "--data", "digits", "--out", "."], "is not empty"),
        (["tune", ".", "--data", "digits", "--out", "run"], "The recipe . cannot be read: Is a directory"),
        (["tune", "typo.json", "--data", "digits", "--out", "."], "did you mean 'featurizer'?"),
        (["tune", "typo.json", "--data", "no-mnist", "--out", "run"], "featuriser"),
        (["show", "good.json"], "good.json is a file; `show` takes the folder of a run"),
        (["tune", "good.json", "--data", "digits", "--out", "good.json/run"], "good.json/run: Not a directory."),
        (["show", "run"], "There is no folder run"),
        (["show", "."], "run.json is missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_sentence_that_names_it_and_code_2(words, sentence, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    good = json.loads(lsat.Recipe(loss=lsat.CrossEntropy()).to_json())
    misspelt = {("featuriser" if key == "featurizer" else key): value for key, value in good.items()}
    unknown_block = good | {"regularizer": {"type": "Ridge", "block": "pixles"}}
    for name, value in (("good", good), ("typo", misspelt), ("block", unknown_block)):
        Path(f"{name}.json").write_text(json.dumps(value))
    Path("half.json").write_text(json.dumps(good)[:50])
    code, out, error = command(*words)
    assert (code, out) == (2, "")
    # A progress bar may stand before the sentence, on a line that it ends.
    last = error.splitlines()[-1]
    assert last.startswith("lsat-explorer: ")
    assert sentence in last
    assert not last.endswith("?.")
    assert not Path("run").exists()


def test_an_older_run_is_replaced_only_when_asked(tmp_path, command):
    run = tmp_path / "run"
    words = ["tune", write_recipe(tmp_path), "--data", "digits", "--out", str(run)]
    assert command(*words)[0] == 0
    before = (run / "iterates.csv").read_bytes()
    code, _, error = command(*words)
    assert code == 2
    assert "--overwrite" in error
    assert (run / "iterates.csv").read_bytes() == before
    assert command(*words, "--seed", "1", "--overwrite")[0] == 0
    assert (run / "iterates.csv").read_bytes() != before


def test_an_interrupt_before_the_first_fit_saves_nothing(tmp_path, monkeypatch, command):
    def interrupted(*args: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(lsat.Run, "steps", lambda run: map(interrupted, [0]))
    before = signal.getsignal(signal.SIGINT)
    code, out, error = command("tune", write_recipe(tmp_path), "--data", "digits", "--out", str(tmp_path / "run"))
    assert (code, out) == (130, "")
    assert error.endswith("lsat-explorer: interrupted; nothing was saved.\n")
    assert signal.getsignal(signal.SIGINT) is before
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("there", [True, False])
def test_only_a_folder_that_the_command_made_goes_when_nothing_is_saved(there, tmp_path, monkeypatch, command):
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune, "pull", interrupted)
    run = tmp_path / "runs" / "a"
    if there:
        run.mkdir(parents=True)
    assert command("tune", write_recipe(tmp_path), "--data", "digits", "--out", str(run))[0] == 130
    assert (run.exists(), run.parent.exists()) == (there, there)


@pytest.mark.parametrize(("count", "kept"), [(2, True), (3, False)])
def test_a_second_interrupt_does_not_cost_the_run_and_a_third_ends_at_once(count, kept, tmp_path, monkeypatch, command):
    save = tune.save

    def interrupted_save(*args: object) -> int:
        for _ in range(count - 1):
            signal.raise_signal(signal.SIGINT)
        return save(*args)

    steps = lsat.Run.steps

    def interrupted_at_three(run):
        for iterate in steps(run):
            if iterate.number == 3 and not iterate.status.final:
                signal.raise_signal(signal.SIGINT)
            yield iterate

    monkeypatch.setattr(lsat.Run, "steps", interrupted_at_three)
    monkeypatch.setattr(tune, "save", interrupted_save)
    run = tmp_path / "run"
    method = lsat.ProximalGradient(step=1e-3, grow=1.0, tolerance=0.0, max_iterations=1_000_000)
    code, _, error = command("tune", write_recipe(tmp_path, method=method), "--data", "digits", "--out", str(run))
    assert code == 130
    assert error.splitlines()[-1].startswith(
        "lsat-explorer: interrupted; the last accepted" if kept else "lsat-explorer: interrupted 3 times;"
    )
    assert kept or f"tune --resume {run}" in error
    assert (run / "run.json").exists() is kept
    assert not kept or lsat.Run.load(run).status is lsat.Status.STOPPED_BY_USER
    assert lsat.Run.resume(run, lsat.datasets.digits()).iterates[-1].number >= 3


def test_the_interrupt_handler_is_put_back_after_a_run(tmp_path, command):
    before = signal.getsignal(signal.SIGINT)
    command("tune", write_recipe(tmp_path), "--data", "digits", "--out", str(tmp_path / "run"))
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to another process")
def test_ctrl_c_keeps_the_last_accepted_iterate_and_exits_130(tmp_path, command):
    # A weight per row keeps moving: without a tolerance this run has no end of its own within the test.
    recipe = write_recipe(
        tmp_path,
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(1e-3)},
        method=lsat.ProximalGradient(step=1e-3, grow=1.0, tolerance=0.0, max_iterations=10_000_000),
    )
    run = tmp_path / "run"
    words = [sys.executable, "-m", "lsat_explorer", "tune", recipe, "--data", "digits", "--out", str(run)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        text = ""
        while not re.search(r"\b[1-9]\d*/10000000", text):
            piece = process.stderr.read(1)
            assert piece, text
            text += piece
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert error.endswith(f"lsat-explorer: interrupted; the last accepted iterate is kept in {run}.\n")
    assert "Traceback" not in error
    assert table(out)["status"].startswith("Stopped by you.")
    history = pd.read_csv(run / "iterates.csv")
    assert history["status"].iloc[-1] == "stopped_by_user"
    assert history["objective"].iloc[-1] == history.loc[history["accepted"], "objective"].iloc[-1]
    model = lsat.FittedModel.load(run / "model.safetensors")
    validation = lsat.datasets.digits().validation
    wrong = (model.predict(validation.inputs) != validation.labels).mean()
    assert wrong == pytest.approx(history["error"].iloc[-1])
    assert command("show", str(run))[1] == out


@pytest.mark.mnist
@pytest.mark.slow
def test_the_options_of_mnist_reach_the_loader(mnist_folder, tmp_path, command):
    options = ["--size", "600", "--deskew", "--scale", "standard", "--seed", "2"]
    run = tmp_path / "run"
    code, _, _ = command("tune", write_recipe(tmp_path), "--data", str(mnist_folder), *options, "--out", str(run))
    assert code == 0
    data = lsat.datasets.mnist(mnist_folder, size=600, deskew=True, scale="standard", seed=2)
    expected = lsat.tune(lsat.Recipe.from_json((run / "recipe.json").read_text()), data, progress=False)
    assert pd.read_csv(run / "iterates.csv")["loss"].iloc[-1] == pytest.approx(expected.iterates[-1].loss, rel=1e-9)


def test_pull_stops_at_the_first_interrupt_between_iterates(tmp_path):
    tuning = lsat.Run(
        lsat.Recipe(method=lsat.ProximalGradient(step=1e-3, grow=1.0, tolerance=0.0, max_iterations=1_000_000)),
        lsat.datasets.digits(),
    )
    steps = tuning.steps

    def interrupted_at_three():
        for iterate in steps():
            if iterate.number == 3 and not iterate.status.final:
                signal.raise_signal(signal.SIGINT)
            yield iterate

    tuning.steps = interrupted_at_three
    with tune.stop_on_interrupt(tuning):
        tune.pull(tuning)
    assert tuning.status is lsat.Status.STOPPED_BY_USER
    assert tuning.iterates[-1].number >= 3


# --- kept as it goes on, and gone on with -----------------------------------------------------------------------------


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
        patched.setattr(tune, "save", lambda tuning, folder: 0)
        code, _, error = command(*words)
    assert code == 0
    assert error.count("The checkpoint could not be written") == 1
    assert "No space left on device" in error
