"""Standard output and standard error that are closed, full, or a pipe whose reader has gone."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lsat_explorer as lsat
from lsat_explorer.commands.output import say, to_output
from tuning import write_recipe

ROWS = "age,size,price\n" + "".join(f"{row % 7},{row % 5},{row % 7 + 2 * (row % 5) + row / 64}\n" for row in range(60))
PROGRAM = [sys.executable, "-m", "lsat_explorer"]


class Full(io.StringIO):
    """An output that takes no more, as that of a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a table, a run on it, and what tunes on it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LSAT_CACHE", str(tmp_path / "cache"))
    Path("rows.csv").write_text(ROWS)
    write_recipe(tmp_path, loss=lsat.SquaredError())
    data = lsat.datasets.from_csv("rows.csv", "price", progress=False)
    lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=2)), data, progress=False).save("run")
    return tmp_path


TUNE = ("tune", "recipe.json", "--data", "rows.csv", "--target", "price", "--out", "new")
PREDICT = ("predict", "run", "--data", "rows.csv", "--drop", "price")


def saved(folder: str) -> bool:
    return lsat.Run.load(folder).iterates[-1].number > 0


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("words", [("show", "run"), PREDICT, TUNE], ids=lambda words: words[0])
def test_a_reader_that_has_gone_ends_a_command_quietly(words, buffered, tmp_path):
    read, write = os.pipe()
    os.close(read)
    unbuffered = {} if buffered else {"PYTHONUNBUFFERED": "1"}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | unbuffered
    try:
        done = subprocess.run([*PROGRAM, *words], stdout=write, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        os.close(write)
    assert done.returncode == 0
    assert "lsat-explorer:" not in done.stderr
    assert "Broken" not in done.stderr
    assert words != TUNE or saved("new")


@pytest.mark.parametrize("words", [("show", "run"), PREDICT, TUNE], ids=lambda words: words[0])
def test_an_output_that_takes_no_more_is_one_sentence_which_says_where_the_run_is(words, monkeypatch, command):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Full())
        code, _, error = command(*words)
    assert code == 1
    last = error.splitlines()[-1]
    assert last.startswith("lsat-explorer: Standard output cannot be written (No space left on device): send it")
    assert last.endswith("The run is whole in new." if words == TUNE else "make room there.")
    assert words != TUNE or saved("new")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_what_is_left_in_the_buffer_of_a_full_output_is_not_tried_again():
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "show", "run"], stdout=full, stderr=subprocess.PIPE, text=True, env=environment
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [PREDICT, TUNE], ids=lambda words: words[0])
def test_without_standard_error_there_is_no_progress_bar_and_all_else_goes_on(words, monkeypatch, command):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", None)
        code, out, _ = command(*words)
        lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=1)), lsat.datasets.digits())
    assert code == 0
    assert len(out.splitlines()) > 5
    assert words != TUNE or saved("new")


def test_without_standard_output_nothing_is_said(monkeypatch, command):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        assert [command(*words)[0] for words in (("show", "run"), PREDICT)] == [0, 0]


def test_letters_that_an_encoding_lacks_are_escaped(monkeypatch):
    written = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
        say("loss – 1")
        assert written.getvalue() == b"loss \\u2013 1" + os.linesep.encode()


def test_other_faults_inside_are_not_those_of_the_output():
    with pytest.raises(ValueError, match="mine"), to_output():
        raise ValueError("mine")
