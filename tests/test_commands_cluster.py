"""`lsat-explorer tune` with rows of Parquet, and with workers of dask."""

from __future__ import annotations

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


def test_workers_tune_them(words, tmp_path, command, address: str) -> None:
    code, _, error = command(*words, *parquet(tmp_path), "--engine", "dask", "--scheduler", address)
    assert code == 0, error
    run = lsat.Run.load(tmp_path / "run")
    assert run.recipe.engine == lsat.Dask(address)
    assert run.iterates[-1].objective == pytest.approx(expected(), rel=1e-6)


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
        (["--data", "digits", "--target", "y"], "--target goes with Parquet; leave it out"),
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
