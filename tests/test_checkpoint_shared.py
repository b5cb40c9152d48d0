"""Two runs that are to keep themselves in one folder: neither is lost without a word."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import lsat_explorer as lsat
from lsat_explorer import Checkpoint, Status
from lsat_explorer.tune.checkpoint_file import NAME
from test_problem import make_data

RECIPE = lsat.Recipe(method=lsat.LineSearch(max_iterations=6, tolerance=0))
OTHER = lsat.Recipe(method=lsat.LBFGS(max_iterations=4, tolerance=0))


def losses(run: lsat.Run) -> list[float]:
    return [iterate.loss for iterate in run.iterates]


def test_a_run_that_begins_after_another_in_its_folder_is_refused_at_its_first_pull(tmp_path: Path) -> None:
    first, second = (lsat.Run(recipe, make_data(), checkpoint=tmp_path) for recipe in (RECIPE, OTHER))
    steps = first.steps()
    next(steps)
    there = (tmp_path / NAME).read_bytes()
    with pytest.raises(ValueError, match=r"holds a run that has not ended: lsat\.Run\.resume"):
        next(second.steps())
    assert second.status is Status.READY
    assert (tmp_path / NAME).read_bytes() == there
    assert len(list(steps)) == 6
    with pytest.raises(ValueError, match=r"holds another run \(max_iterations\), which would be lost"):
        next(second.steps())
    assert losses(lsat.Run.resume(tmp_path, first.data)) == losses(first)
    second.keep_in(Checkpoint(tmp_path / "another"))
    assert len(list(second.steps())) == 5
    assert losses(lsat.Run.resume(tmp_path / "another", second.data)) == losses(second)
    assert first.unsaved == second.unsaved == ""


def test_a_run_whose_folder_another_took_meanwhile_goes_on_and_says_so(tmp_path: Path) -> None:
    run = lsat.Run(RECIPE, make_data(), checkpoint=Checkpoint(tmp_path / "a", iterations=1))
    steps = run.steps()
    next(steps)
    other = lsat.tune(OTHER, run.data, progress=False, checkpoint=tmp_path / "b")
    os.replace(tmp_path / "b" / NAME, tmp_path / "a" / NAME)  # as another process does between two of its files
    next(steps)
    assert "could not be written" in run.unsaved
    assert "holds another run (max_iterations), which would be lost: give another folder" in run.unsaved
    assert len(list(steps)) == 5
    assert losses(lsat.Run.resume(tmp_path / "a", run.data)) == losses(other)
    run.keep_in(Checkpoint(tmp_path / "c"))
    run.keeper.write(run)
    assert run.unsaved == ""
    assert losses(lsat.Run.resume(tmp_path / "c", run.data)) == losses(run)


def test_two_that_go_on_with_one_checkpoint_do_not_write_over_each_other(tmp_path: Path) -> None:
    begun = lsat.Run(RECIPE, make_data(), checkpoint=tmp_path)
    for iterate in begun.steps():
        if iterate.number == 2:
            break
    one, two = (lsat.Run.resume(tmp_path, begun.data) for _ in range(2))
    next(steps := one.steps())
    one.change(OTHER)
    list(steps)
    list(two.steps())
    assert one.unsaved == ""
    assert "which would be lost" in two.unsaved
    assert losses(lsat.Run.resume(tmp_path, begun.data)) == losses(one)


def test_a_file_that_was_removed_or_is_the_runs_own_is_written_again(tmp_path: Path) -> None:
    run = lsat.Run(RECIPE, make_data(), checkpoint=Checkpoint(tmp_path / "a", iterations=1))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    steps = run.steps()
    next(steps)
    run.save(tmp_path / "link")  # which brings the checkpoint there up to date, by another name of the folder
    next(steps)
    assert run.unsaved == ""
    shutil.rmtree(tmp_path / "a")
    next(steps)
    assert run.unsaved == ""
    assert losses(lsat.Run.resume(tmp_path / "a", run.data)) == losses(run)


def test_a_run_may_take_the_place_of_any_where_it_was_told_so(tmp_path: Path) -> None:
    first, second = (
        lsat.Run(recipe, make_data(), checkpoint=Checkpoint(tmp_path, replace=True)) for recipe in (RECIPE, OTHER)
    )
    list(first.steps())
    list(second.steps())
    assert second.unsaved == ""
    assert losses(lsat.Run.resume(tmp_path, second.data)) == losses(second)
