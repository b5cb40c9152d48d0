"""`lsat-explorer tune` with rows of Parquet, and with workers of dask."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import lsat_explorer as lsat
from lsat_explorer.model.cluster import ClusterLost, connected

RECIPE = lsat.Recipe(method=lsat.LineSearch(max_iterations=3))


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """What tunes rows of Parquet in one file, and in a folder of two."""
    pytest.importorskip("pyarrow", reason="there is no pyarrow: pip install .[scale]")
    digits = lsat.datasets.digits()
    tables = {}
    for split in (digits.train, digits.validation):
        tables[split is digits.train] = pd.DataFrame(split.inputs.numpy()).rename(columns=str).assign(y=split.labels)
    (tmp_path / "train").mkdir()
    tables[True].iloc[:400].to_parquet(tmp_path / "train" / "a.parquet")
    tables[True].iloc[400:].to_parquet(tmp_path / "train" / "b.parquet")
    tables[False].to_parquet(tmp_path / "rest.parquet")
    (tmp_path / "recipe.json").write_text(RECIPE.to_json())
    return ["tune", str(tmp_path / "recipe.json"), "--data", str(tmp_path / "train"), "--out", str(tmp_path / "run")]


def parquet(tmp_path: Path) -> list[str]:
    return ["--validation", str(tmp_path / "rest.parquet"), "--target", "y"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers in this process, by the address of their scheduler."""
    distributed = pytest.importorskip("distributed", reason="there is no dask.distributed: pip install .[dask]")
    workers = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    yield workers.scheduler_address
    connected(workers.scheduler_address).close()
    workers.close()


def expected() -> float:
    return lsat.tune(RECIPE, lsat.datasets.digits(), progress=False).iterates[-1].objective


def test_rows_of_parquet_are_tuned(words, tmp_path, command) -> None:
    (tmp_path / "copies").mkdir()
    code, _, error = command(
        *words, *parquet(tmp_path), "--folder", str(tmp_path / "copies"), "--test", str(tmp_path / "rest.parquet")
    )
    assert code == 0, error
    run = lsat.Run.load(tmp_path / "run")
    assert run.iterates[-1].objective == pytest.approx(expected(), rel=1e-6)


@pytest.mark.parametrize("engine", ["chunks", "dask"])
def test_either_engine_tunes_them(words, tmp_path, command, address: str, engine: str) -> None:
    scheduler = ["--scheduler", address] if engine == "dask" else []
    code, _, error = command(*words, *parquet(tmp_path), "--engine", engine, *scheduler)
    assert code == 0, error
    run = lsat.Run.load(tmp_path / "run")
    assert run.recipe.engine == (lsat.Dask(address) if scheduler else lsat.Chunks())
    assert run.iterates[-1].objective == pytest.approx(expected(), rel=1e-6)


def cut_off(part: Path) -> str:
    part.write_bytes(part.read_bytes()[:-20])
    return f"{part} is no whole Parquet file"


def without_a_column(part: Path) -> str:
    pd.read_parquet(part).drop(columns="4").to_parquet(part)
    return f"{part} lacks the column '4', which a.parquet has"


@pytest.mark.parametrize("engine", ["chunks", "dask"])
@pytest.mark.parametrize("spoil", [cut_off, without_a_column], ids=lambda kind: kind.__name__)
def test_a_spoilt_part_is_named_before_anything_is_written(words, tmp_path, command, address, engine, spoil) -> None:
    message = spoil(tmp_path / "train" / "b.parquet")
    scheduler = ["--scheduler", address] if engine == "dask" else []
    code, _, error = command(*words, *parquet(tmp_path), "--engine", engine, *scheduler)
    assert code == 2
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("engine", ["chunks", "dask"])
def test_a_full_disk_is_told_before_anything_is_copied(words, tmp_path, command, address, engine, monkeypatch) -> None:
    (tmp_path / "copies").mkdir()
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("lsat_explorer.data.rows.shutil.disk_usage", lambda path: usage._replace(free=1000))
    scheduler = ["--scheduler", address] if engine == "dask" else []
    more = ["--folder", str(tmp_path / "copies"), "--engine", engine, *scheduler]
    code, _, error = command(*words, *parquet(tmp_path), *more)
    assert code == 2
    assert f"{tmp_path / 'copies'} has no room for the training rows" in error
    assert "Traceback" not in error
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_disk_that_is_full_at_the_end_leaves_the_checkpoint_to_go_on_from(
    words, tmp_path, command, monkeypatch
) -> None:
    more = [*parquet(tmp_path), "--engine", "chunks"]
    with monkeypatch.context() as patched:

        def full(run, folder):
            raise OSError(errno.ENOSPC, "No space left on device")

        patched.setattr(lsat.Run, "save", full)
        code, _, error = command(*words, *more)
    assert code == 1
    assert f"The run could not be written to {tmp_path / 'run'}: [Errno 28] No space left on device. Make room" in error
    assert f"--resume {tmp_path / 'run'}" in error
    assert "Traceback" not in error
    code, _, error = command("tune", "--resume", str(tmp_path / "run"), *words[2:4], *parquet(tmp_path))
    assert code == 0, error
    assert lsat.Run.load(tmp_path / "run").iterates[-1].objective == pytest.approx(expected(), rel=1e-6)


@pytest.mark.slow
def test_a_command_that_is_killed_is_gone_on_with_to_the_same_end(words, tmp_path, command) -> None:
    address = str(lsat.Dask.local(workers=1).address)
    recipe = RECIPE.replace(method=lsat.ProximalGradient(max_iterations=30))
    (tmp_path / "recipe.json").write_text(recipe.to_json())
    more = [*parquet(tmp_path), "--engine", "dask", "--scheduler", address]
    started = [sys.executable, "-m", "lsat_explorer", *words, *more]
    with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "run" / "checkpoint.safetensors").exists() and process.poll() is None:
            threading.Event().wait(0.02)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    code, _, error = command("tune", "--resume", str(tmp_path / "run"), *words[2:4], *parquet(tmp_path))
    assert code == 0, error
    found = lsat.Run.load(tmp_path / "run")
    whole = lsat.tune(recipe, lsat.datasets.digits(), progress=False)
    assert found.iterates[-1].number == whole.iterates[-1].number
    assert found.iterates[-1].objective == pytest.approx(whole.iterates[-1].objective, rel=1e-6)


def test_what_was_accepted_is_saved_when_the_scheduler_is_gone(words, tmp_path, command, address, monkeypatch) -> None:
    from lsat_explorer.engines import DaskRows

    asked, count = DaskRows._asked, 0

    def gone(self, *how, **more):
        nonlocal count
        count += 1
        if count > 9:
            raise ClusterLost("The scheduler is gone.")
        return asked(self, *how, **more)

    monkeypatch.setattr(DaskRows, "_asked", gone)
    code, out, error = command(*words, *parquet(tmp_path), "--engine", "dask", "--scheduler", address)
    assert code == 1
    assert "The scheduler is gone. The iterate is in" in error
    assert "Traceback" not in error
    assert "validation loss" in out
    assert len(lsat.Run.load(tmp_path / "run").iterates) > 1
    assert lsat.FittedModel.load(tmp_path / "run" / "model.safetensors").theta.shape == (65, 10)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--target", "y"], "--validation is not given; name the Parquet"),
        (["--validation", "rest.parquet"], "--target is not given; name the column"),
        (["--target", "y", "--validation", "rest.parquet", "--size", "9"], "--size goes with a folder of MNIST"),
        (["--data", "digits", "--target", "y"], "--target goes with CSV and Parquet; leave it out"),
        (["--scheduler", "tcp://10.0.0.1:8786"], "--scheduler goes with --engine dask; add it"),
        (["--target", "z", "--validation", "{}/rest.parquet"], "lacks the column 'z'"),
        (["--target", "y", "--validation", "{}/rest.parquet", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"],
         "No scheduler of dask answers at tcp://127.0.0.1:9: start one"),
    ],
)  # fmt: skip
def test_words_that_do_not_go_together_are_told(words, tmp_path, command, monkeypatch, more, message) -> None:
    monkeypatch.setattr("lsat_explorer.model.cluster._ANSWER", 0.2)
    code, _, error = command(*words, *(word.format(tmp_path) for word in more))
    assert code == 2
    assert message in error
    assert "Traceback" not in error
