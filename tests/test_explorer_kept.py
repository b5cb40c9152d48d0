"""What an Explorer keeps of its runs beside the notebook, where, and what it says where it cannot."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lsat_explorer as lsat
from kept_runs import RECIPE, explorers, in_notebook, losses, run_to_the_end
from lsat_explorer.widgets import Explorer, LiveTuner
from test_problem import make_data
from test_verdicts_file import nobody


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the notebook."""
    in_notebook(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def data() -> lsat.Data:
    return make_data()


@pytest.fixture
def made(data: lsat.Data) -> Iterator[Any]:
    """Make Explorers, which are closed in the end."""
    yield from explorers(data)


def test_a_run_that_was_computed_is_kept_when_it_is_restarted_and_when_it_is_deleted(made, data, folder):
    def kept() -> int:
        return len(list(folder.rglob("checkpoint.safetensors")))

    explorer = made()
    run_to_the_end(explorer)
    whole = losses(explorer.run)
    explorer.restart()  # the same again, and broken off at once
    explorer.stop()
    explorer.tuner.wait(60)
    explorer.tuner.worker.report()
    assert losses(explorer.runs[0].run) == whole
    assert len(explorer.runs) == 2
    run_to_the_end(explorer)
    assert kept() == 2
    del explorer.runs[0]
    assert kept() == 2
    explorer.close()
    again = made(data)
    assert len(again.restore()) == 1
    again.restart()
    again.tuner.wait(60)
    again.tuner.worker.report()
    assert (len(again.runs), kept()) == (2, 3)


def test_an_explorer_says_that_earlier_runs_are_kept_until_it_has_runs_of_its_own(made, data, folder):
    before = made()
    assert before.table.hint == ""
    run_to_the_end(before)
    assert made(data).table.hint == ""  # they are open
    before.close()
    after, another = made(data), made(data)
    where = next(folder.glob("lsat-runs*")).name
    assert after.table.get_state()["hint"] == f"Earlier runs are kept in {where}: restore() takes them up."
    after.restore()
    run_to_the_end(another)
    assert (after.table.hint, another.table.hint) == ("", "")
    after.close()
    assert made(make_data(rows=300)).table.hint == ""


def test_a_run_without_an_iterate_gives_way_and_leaves_nothing(made, folder, monkeypatch):
    explorer, preparing, go_on = made(), threading.Event(), threading.Event()
    prepared = lsat.Run._prepared

    def held(run: lsat.Run) -> Any:
        preparing.set()
        go_on.wait(60)
        return prepared(run)

    monkeypatch.setattr(lsat.Run, "_prepared", held)
    explorer.start()
    assert preparing.wait(60)
    explorer.restart()
    go_on.set()
    explorer.tuner.wait(60)
    explorer.tuner.worker.report()
    assert [kept.name for kept in explorer.runs] == ["Run 1"]
    assert len(list(folder.rglob("checkpoint.safetensors"))) == 1


@pytest.mark.parametrize("told", ["argument", "environment"])
def test_runs_are_kept_nowhere_or_elsewhere_where_that_is_asked_for(told, made, data, folder, monkeypatch):
    def keeping(keep: Any) -> Explorer:
        if told == "argument":
            return made(data, RECIPE, keep=keep)
        monkeypatch.setenv("LSAT_RUNS", "off" if keep is False else str(keep))
        return made(data, RECIPE)

    explorer = keeping(False)
    run_to_the_end(explorer)
    assert list(folder.iterdir()) == []
    with pytest.raises(ValueError, match="keeps no runs: make it with keep=True"):
        keeping(False).restore()
    explorer = keeping(folder / "there")
    run_to_the_end(explorer)
    explorer.close()
    assert [path.name for path in folder.iterdir()] == ["there"]
    assert len(keeping(folder / "there").restore()) == 1


def test_what_cannot_name_a_folder_is_refused(data):
    with pytest.raises(ValueError, match="keep is 5, expected True, False or the name of a folder"):
        Explorer(data, RECIPE, keep=5)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_in_a_folder_that_is_read_only_a_message_says_so_and_all_else_goes_on(data, monkeypatch):
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        monkeypatch.chdir(name)
        explorer = Explorer(data, RECIPE)
        with nobody():
            run_to_the_end(explorer)
            explorer.runs[0].name = "still here"
            assert explorer.table.get_state()["problem"].startswith("The runs could not be kept in ")
            assert "Permission denied" in explorer.table.problem
            assert list(Path(name).iterdir()) == []
        assert explorer.run.status is lsat.Status.MAX_ITERATIONS
        Path(name).chmod(0o755)
        explorer.runs[0].note = "and now it is kept"
        assert explorer.table.problem == ""
        explorer.close()
        again = Explorer(data)
        assert again.restore()[0].note == "and now it is kept"
        again.close()


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_a_tuner_says_below_its_runs_that_its_run_cannot_be_kept(data):
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        other = LiveTuner(lsat.Run(RECIPE, data))
        other.start()
        other.wait(60)
        other.close()  # all modules are loaded: nobody may read those of root's Python
        tuner = LiveTuner(lsat.Run(RECIPE, data, checkpoint=name))
        with nobody():
            tuner.start()
            tuner.wait(60)
            assert "Permission denied" in tuner.table.get_state()["problem"]
        assert tuner.run.status is lsat.Status.MAX_ITERATIONS
        tuner.close()
