"""A saved run is the old one or the new one, wherever the process that saves is killed."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import lsat_explorer as lsat
from lsat_explorer.data.whole_file import whole_file
from lsat_explorer.data.whole_files import in_force, whole_files
from test_problem import make_data

FILES = ["iterates.csv", "model.safetensors", "recipe.json", "run.json"]
KILLED = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")


def runs() -> tuple[lsat.Run, lsat.Run]:
    """A branch, whose folder has the file of a start, and a run of another recipe."""
    data = make_data()
    first = lsat.tune(lsat.Recipe(method=lsat.ProximalGradient(max_iterations=3)), data, progress=False)
    branch = first.branch(1)
    list(branch.steps())
    return branch, lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=4)), data, progress=False)


def saved_by_a_process(run: lsat.Run, folder: Path, at: int) -> int:
    """Save a run in a process that is killed at a call of what writes files or puts them in place.

    Returns how many such calls there were in a process that was not killed, else a negative number.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child computes nothing, and no thread is missed
        child = os.fork()
    if not child:
        calls = itertools.count(1)

        def counted(function):
            def call(*args, **more):
                if next(calls) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*args, **more)

            return call

        os.fsync = counted(os.fsync)
        for name in ("replace", "unlink", "mkdir", "write_text", "chmod"):
            setattr(Path, name, counted(getattr(Path, name)))
        run.save(folder)
        os.write(write, str(next(calls)).encode())
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as said:
        return -signal.SIGKILL if os.WIFSIGNALED(status) else int(said.read()) - 1


@KILLED
def test_a_run_saved_over_another_is_one_of_the_two_wherever_it_is_killed(tmp_path):
    old, new = runs()
    old.save(tmp_path / "old")
    new.save(tmp_path / "new")  # its model is fitted, too
    assert (tmp_path / "old" / "start.safetensors").exists()
    shutil.copytree(tmp_path / "old", tmp_path / "whole")
    calls, seen = saved_by_a_process(new, tmp_path / "whole", 0), []
    assert calls > 20
    for at in range(1, calls + 1):
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "old", folder)
        (folder / "notes.txt").write_text("the user's own")
        assert saved_by_a_process(new, folder, at) == -signal.SIGKILL
        loaded = lsat.Run.load(folder, old.data)
        seen.append(loaded.recipe == new.recipe)
        expected = new if seen[-1] else old
        assert [i.objective for i in loaded.iterates] == pytest.approx([i.objective for i in expected.iterates])
        assert (loaded.start is None) is (expected.start is None)
        assert lsat.FittedModel.load(folder / "model.safetensors").recipe == expected.recipe
        new.save(folder)  # and what the killed one has left is gone
        assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "notes.txt"])
    assert seen == sorted(seen)  # the old one until a moment, the new one from then on
    assert set(seen) == {False, True}


def test_a_run_that_cannot_be_saved_leaves_the_old_one(tmp_path, monkeypatch):
    old, new = runs()
    old.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self, *args, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pandas.DataFrame.to_csv", full)
        with pytest.raises(OSError, match="No space left"):
            new.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_checkpoint_beside_a_saved_run_becomes_that_run(tmp_path):
    old, new = runs()
    kept = lsat.tune(old.recipe, old.data, progress=False, checkpoint=tmp_path)
    kept.save(tmp_path)
    assert len(lsat.Run.resume(tmp_path, old.data).iterates) == len(kept.iterates)
    new.save(tmp_path)
    assert lsat.Run.resume(tmp_path, old.data).recipe == lsat.Run.load(tmp_path).recipe == new.recipe


def test_files_that_change_together_are_read_where_they_count(tmp_path):
    with whole_files(tmp_path, ["a", "b"]) as new:
        (new / "a").write_text("1")
        (new / "b").write_text("1")
    with pytest.raises(FileNotFoundError), whole_files(tmp_path, ["a", "b"]) as new:
        (new / "none" / "a").write_text("2")
    assert (tmp_path / "a").read_text() == "1"
    pending = tmp_path / ".pending"  # as a process leaves it that is killed right after its step
    pending.mkdir()
    (pending / "a").write_text("3")
    (pending / "names.json").write_text('["a"]')
    assert in_force(tmp_path, "a").read_text() == "3"
    assert not in_force(tmp_path, "b").exists()
    with whole_files(tmp_path, ["a", "b"]) as new:
        assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "a"]
        assert (tmp_path / "a").read_text() == "3"
        (new / "b").write_text("4")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@KILLED
def test_what_a_killed_process_has_left_of_a_file_is_removed_and_that_of_a_living_one_is_not(tmp_path):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    stale = tmp_path / f".{int(gone.stdout)}-0123abcd.a.txt"
    others = [tmp_path / f".{os.getpid()}-0123abcd.a.txt", tmp_path / f".{int(gone.stdout)}-0123abcd.b.txt"]
    for path in (stale, *others):
        path.touch()
    with whole_file(tmp_path / "a.txt") as file:
        file.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a.txt", *others])


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(Path("far", "a.txt"))
    (tmp_path / "new.txt").symlink_to(Path("far", "b.txt"))
    (tmp_path / "lost.txt").symlink_to(Path("none", "c.txt"))
    for name in ("link.txt", "new.txt"):
        with whole_file(tmp_path / name) as file:
            file.write_text(name)
        assert (tmp_path / name).is_symlink()
    assert {path.name: path.read_text() for path in (tmp_path / "far").iterdir()} == {
        "a.txt": "link.txt",
        "b.txt": "new.txt",
    }
    with pytest.raises(FileNotFoundError, match=r"^there is no folder .*none to write c.txt in; make it first$"):
        whole_file(tmp_path / "lost.txt").__enter__()


@pytest.mark.skipif(os.name != "posix", reason="there are no named pipes")
def test_what_is_there_and_no_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    (tmp_path / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        before = {path: path.lstat() for path in tmp_path.iterdir()}
        for name, what in [
            ("pipe", "is a pipe, expected a regular file to write; give another name"),
            ("to_pipe", "is a pipe, expected a regular file"),
            ("socket", "is a socket, expected a regular file"),
            ("circle", "is a link that leads to itself, expected a file to write; remove it"),
            (".", "is a folder, expected a file to write; give the name of a file in it"),
        ]:
            with pytest.raises(ValueError, match=what), whole_file(tmp_path / name) as file:
                file.write_text("in its place")
        with pytest.raises(ValueError, match="is a pipe"), whole_files(tmp_path, ["a", "pipe"]) as new:
            (new / "a").write_text("1")
    kept = {path: path.lstat() for path in tmp_path.iterdir()}
    assert {path: (was.st_mode, was.st_ino) for path, was in kept.items()} == {
        path: (was.st_mode, was.st_ino) for path, was in before.items()
    }
