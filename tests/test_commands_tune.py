"""`lsat-explorer tune` and `show`: the run is written and read back, and bad input is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lsat_explorer as lsat
from tuning import table, write_recipe


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


def test_an_error_of_rows_that_are_fitted_is_called_the_training_error(tmp_path, command):
    recipe = write_recipe(tmp_path, loss=lsat.SquaredError(), criterion=lsat.GCV())
    code, out, error = command("tune", recipe, "--data", "digits", "--out", str(tmp_path / "run"))
    assert code == 0, error
    assert "validation error" not in table(out)
    assert table(out)["training error"] == f"{100 * lsat.Run.load(tmp_path / 'run').iterates[-1].error:.1f} %"


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


def test_a_look_at_the_test_rows_is_printed_and_counted(tmp_path, command):
    recipe, run = write_recipe(tmp_path), str(tmp_path / "run")
    code, out, error = command("tune", recipe, "--data", "digits", "--seed", "3", "--out", run, "--look")
    assert code == 0, error
    expected = lsat.tune(lsat.Recipe.from_json(Path(recipe).read_text()), lsat.datasets.digits(seed=3), progress=False)
    seen = expected.test()
    assert table(out)["test loss"] == f"{seen.loss:.4f} (look 1 at these rows)"
    assert table(out)["test error"] == f"{100 * seen.error:.1f} %"
    assert json.loads((tmp_path / "run" / "run.json").read_text())["looks"] == 1
    code, out, error = command("tune", "--resume", run, "--data", "digits", "--seed", "3", "--look")
    assert code == 0, error
    assert "(look 2 at these rows)" in table(out)["test loss"]


def test_a_look_at_rows_that_are_not_there_is_refused_before_the_work(tmp_path, command):
    recipe = write_recipe(tmp_path, early_stopping=lsat.EarlyStopping())
    code, out, error = command("tune", recipe, "--data", "digits", "--out", str(tmp_path / "run"), "--look")
    assert (code, out) == (2, "")
    assert "--look needs final rows, for early stopping goes by the test rows" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", [lsat.ProximalGradient, lsat.LBFGS])
def test_a_run_that_has_no_step_or_no_stopping_residual_shows_a_dash(method, tmp_path, command):
    words = ["tune", write_recipe(tmp_path, method=method(max_iterations=0)), "--data", "digits"]
    _, out, _ = command(*words, "--out", str(tmp_path / "run"))
    assert "–" in (table(out)["step size"], table(out)["stopping residual"])
    assert "nan" not in out


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
