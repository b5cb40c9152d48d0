"""Ctrl-C in `lsat-explorer tune`: the last accepted iterate is kept, and nothing is left where there is none."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.commands import tune
from tuning import table, write_recipe


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

    def interrupted_save(*args: object, **how: object) -> int:
        for _ in range(count - 1):
            signal.raise_signal(signal.SIGINT)
        return save(*args, **how)

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
