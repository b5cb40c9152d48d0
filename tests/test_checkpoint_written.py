"""When a checkpoint is written, and that a run goes on where it cannot be."""

from __future__ import annotations

import itertools
import math
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import lsat_explorer as lsat
from checkpoints import CASES, ENDLESS, FULL, always, data_of
from lsat_explorer import Checkpoint, Status
from lsat_explorer.tune.checkpoint_file import NAME
from test_problem import make_data
from test_verdicts_file import nobody


def written(run: lsat.Run) -> list[int]:
    """The iterates after which a file was written."""
    numbers, keeper = [], run.keeper
    write = keeper.write
    keeper.write = lambda run: (numbers.append(run.iterates[-1].number), write(run))
    for _ in run.steps():
        pass
    return numbers


def test_a_file_comes_after_the_first_iterate_every_so_many_accepted_ones_and_the_last(tmp_path):
    recipe = FULL.replace(method=lsat.ProximalGradient(step=300.0, **ENDLESS))
    run = lsat.Run(recipe, data_of(), checkpoint=Checkpoint(tmp_path, iterations=3, seconds=1e6))
    numbers = written(run)
    accepted = [iterate.number for iterate in run.iterates if iterate.accepted][1:]
    assert len(accepted) < 14  # some are rejected
    assert numbers == sorted({0, *accepted[2::3], 14})


def test_a_file_comes_as_time_goes_by(tmp_path, monkeypatch):
    clock = itertools.count(0.0, 1.0)
    told = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(import_module("lsat_explorer.tune.checkpoint"), "time", told)
    run = lsat.Run(CASES["line search"], data_of(), checkpoint=Checkpoint(tmp_path, iterations=10**6, seconds=4.0))
    numbers = written(run)
    assert numbers[:3] == [0, 4, 8]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_in_a_folder_that_is_read_only_the_run_goes_on_and_says_so_once():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        folder.mkdir()
        folder.chmod(0o555)
        Path(name).chmod(0o755)
        run = lsat.Run(CASES["line search"], data_of(), checkpoint=always(folder))
        with nobody():
            for iterate in run.steps():
                if iterate.number == 2:
                    assert "Permission denied" in run.unsaved
                    assert list(folder.iterdir()) == []
                    break
        assert run.message.count("could not be written") == 1
        folder.chmod(0o777)
        for _ in run.steps():  # the next one is tried
            pass
        assert run.unsaved == ""
        assert run.status is Status.MAX_ITERATIONS
        assert len(lsat.Run.resume(folder, data_of()).iterates) == len(run.iterates)
        assert [path.name for path in folder.iterdir()] == [NAME]


@pytest.mark.skipif(sys.platform == "win32", reason="this system sets no limit to the size of a file")
def test_on_a_full_disk_the_file_before_stays_and_the_run_goes_on(tmp_path):
    import resource

    run = lsat.Run(CASES["line search"], data_of(), checkpoint=always(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = b""
    for iterate in run.steps():
        if iterate.number == 3:
            old = (tmp_path / NAME).read_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
        elif iterate.number == 6:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert (tmp_path / NAME).read_bytes() == old
            assert [path.name for path in tmp_path.iterdir()] == [NAME]
            assert "could not be written" in run.unsaved
    assert run.unsaved == ""
    assert len(lsat.Run.resume(tmp_path, data_of()).iterates) == len(run.iterates)


def test_a_run_that_has_ended_is_replaced_by_itself_alone(tmp_path):
    recipe, data = lsat.Recipe(), data_of()
    first = lsat.tune(recipe, data, progress=False, checkpoint=tmp_path)
    again = lsat.tune(recipe, data, progress=False, checkpoint=tmp_path)  # the cell is run again
    assert [one.loss for one in again.iterates] == [one.loss for one in first.iterates]

    there = (tmp_path / NAME).read_bytes()
    other = lsat.Recipe(method=lsat.LBFGS(max_iterations=2))
    moved = {name: value + 1.0 for name, value in first.omega.items()}
    for recipe_of, data_then, omega in [(other, data, None), (recipe, make_data(seed=1), None), (recipe, data, moved)]:
        with pytest.raises(
            ValueError, match=r"holds another run \(converged\), which would be lost: give another folder"
        ):
            lsat.Run(recipe_of, data_then, omega, checkpoint=tmp_path)
    assert (tmp_path / NAME).read_bytes() == there

    again.change(other)
    list(again.steps())  # the run's own file, which its first recipe does not lead to any more
    with pytest.raises(ValueError, match="holds another run"):
        lsat.Run(again.recipe, data, checkpoint=tmp_path)


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file: give the name of a folder"):
        lsat.Run(lsat.Recipe(), data_of(), checkpoint=tmp_path / "file")
    for given, why in [(5, "checkpoint is 5"), (True, "checkpoint is True")]:
        with pytest.raises(ValueError, match=f"{why}, expected a folder or lsat.Checkpoint"):
            lsat.Run(lsat.Recipe(), data_of(), checkpoint=given)
    for given, why in [
        ({"folder": 5}, "folder is 5"),
        ({"folder": "a", "iterations": 0}, "iterations is 0"),
        ({"folder": "a", "seconds": -1}, "seconds is -1"),
        ({"folder": "a", "seconds": math.nan}, "seconds is nan"),
        ({"folder": "a", "replace": 1}, "replace is 1"),
    ]:
        with pytest.raises(ValueError, match=f"Checkpoint: {why}"):
            Checkpoint(**given)
    assert eval(repr(Checkpoint(tmp_path, 3, 2.0))) == Checkpoint(str(tmp_path), 3, 2.0)
