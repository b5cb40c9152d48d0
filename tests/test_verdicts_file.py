"""The file of verdicts: whole or not there, shared row by row, and never the price of what a person decided."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import lsat_explorer as lsat
from lsat_explorer.verdicts import Verdict
from test_verdicts import told

NOBODY = 65534


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "verdicts.json"


def test_the_file_comes_with_the_first_verdict_and_is_read_again(path):
    verdicts = lsat.Verdicts(path)
    assert not path.exists()
    verdicts.drop([3, "3", 2.5, 'quoted "row" \ud800 é'])
    verdicts.relabel([7, "7"], 1)
    verdicts.relabel("true", True)
    verdicts.relabel("numbers", [1.0, 2])
    verdicts.keep(8)
    again = lsat.Verdicts(str(path))
    assert told(again) == told(verdicts)
    assert [type(row) for row in again] == [type(row) for row in verdicts]
    assert not again.can_undo
    assert os.listdir(path.parent) == [path.name]


def test_a_person_can_read_the_file(path):
    verdicts = lsat.Verdicts(path)
    verdicts.relabel("b", 7)
    verdicts.drop(12)
    assert path.read_text() == (
        '{\n  "format": 1,\n  "verdicts": [\n    {"row": 12, "kind": "drop"},\n'
        '    {"row": "b", "kind": "relabel", "to": 7}\n  ]\n}\n'
    )
    verdicts.clear([12, "b"])
    assert json.loads(path.read_text()) == {"format": 1, "verdicts": []}


def test_undo_and_redo_are_saved_too(path):
    verdicts = lsat.Verdicts(path)
    verdicts.drop(1)
    verdicts.keep(2)
    verdicts.undo()
    assert list(lsat.Verdicts(path)) == [1]
    verdicts.redo()
    assert list(lsat.Verdicts(path)) == [1, 2]


def test_the_folder_is_made_and_a_change_of_the_working_folder_moves_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verdicts = lsat.Verdicts("new/folder/verdicts.json")
    verdicts.drop(1)
    monkeypatch.chdir("/")
    verdicts.drop(2)
    assert list(lsat.Verdicts(tmp_path / "new" / "folder" / "verdicts.json")) == [1, 2]


def test_a_file_that_others_may_write_stays_one_and_a_link_stays_a_link(path):
    lsat.Verdicts(path).drop(1)
    path.chmod(0o664)
    link = path.with_name("link.json")
    link.symlink_to(path)
    lsat.Verdicts(link).drop(2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    assert link.is_symlink()
    assert list(lsat.Verdicts(path)) == [1, 2]


def entry(**changes: object) -> str:
    return json.dumps({"format": 1, "verdicts": [{"row": 1, "kind": "drop"} | changes]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        (entry()[:-4], "Unterminated string"),
        ("[" * 100_000, "nested too deeply|Expecting value"),
        ("[]", "other things than verdicts"),
        (lsat.Recipe().to_json(), "other things than verdicts"),
        ('{"format": 2, "verdicts": [], "new": 1}', "its format is 2, and this version reads format 1"),
        ('{"format": true, "verdicts": []}', "its format is True"),
        ('{"verdicts": []}', "its format is None"),
        ('{"format": 1, "verdicts": {}}', "a list of verdicts"),
        ('{"format": 1, "verdicts": [], "more": 1}', "a list of verdicts"),
        ('{"format": 1, "verdicts": ["drop"]}', "entry 1 is no verdict, such as"),
        ('{"format": 1, "verdicts": [{"row": 1}]}', "entry 1 is no verdict, such as"),
        (entry(note="x"), "entry 1 is no verdict: it has no 'note': expected one of row, kind, to"),
        (entry(row=True), "A row is called True"),
        (entry(row=None), "A row is called None"),
        (entry(row=[1]), r"A row is called \[1\]"),
        (entry(row={"time": "yesterday"}), "Invalid isoformat string"),
        (entry(row={"time": "2020-01-01T00:00", "date": "2020-01-01"}), "A row is called {"),
        (entry(row={"date": 3}), "A row is called {"),
        (entry(row=10**30), "A row is called 1000"),
        (entry().replace('"row": 1', '"row": ' + "9" * 5000), "digits|A row is called"),
        (entry().replace('"row": 1', '"row": NaN'), "it holds NaN"),
        (entry().replace('"row": 1', '"row": 1e999'), "A row is called inf"),
        (entry(kind="delete"), "A verdict is 'delete'"),
        (entry(kind=["drop"]), r"A verdict is \['drop'\]"),
        (entry(kind="relabel"), "relabelled to None"),
        (entry(kind="relabel", to={"a": 1}), "relabelled to"),
        (entry(kind="relabel", to=[[1]]), "relabelled to"),
        (entry(to=3), "relabel alone has one"),
        (entry().replace("]}", ', {"row": 1.0, "kind": "keep"}]}'), "entry 2 is a second verdict on row 1.0"),
    ],
)
def test_a_file_that_holds_no_verdicts_is_refused_and_left_as_it_is(path, text, why):
    path.write_text(text)
    said = rf"(?s)verdicts\.json is damaged, or is no file of verdicts: .*({why}).*\. It was left as it is"
    with pytest.raises(ValueError, match=said):
        lsat.Verdicts(path)
    assert path.read_text() == text


def test_bytes_that_are_no_text_and_what_is_no_file_are_refused(tmp_path, path):
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is damaged"):
        lsat.Verdicts(path)
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
    for other in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match="holds no verdicts, which come in a file of at most 64 MiB"):
            lsat.Verdicts(other)


def test_what_another_has_changed_is_taken_in_row_by_row(path):
    ours = lsat.Verdicts(path)
    ours.drop([1, 2, 3, 4])
    theirs = lsat.Verdicts(path)
    theirs.clear(1)
    theirs.relabel(2, 9)
    theirs.keep(5)
    heard = []
    ours.observe(lambda: heard.append(told(ours)))
    ours.ambiguous(3)
    expected = {2: Verdict("relabel", 9), 3: Verdict("ambiguous"), 4: Verdict("drop"), 5: Verdict("keep")}
    assert dict(ours) == expected
    assert heard == [told(ours)]
    assert dict(lsat.Verdicts(path)) == expected
    theirs.keep([3, 6])  # the last to decide about a row of both
    assert dict(theirs) == expected | {3: Verdict("keep"), 6: Verdict("keep")}
    ours.undo()  # row 3, which is now theirs
    assert dict(ours) == dict(theirs)
    ours.undo()  # rows 1 to 4, of which 4 alone is as ours left it
    assert sorted(ours) == [2, 3, 5, 6]


def test_a_file_that_was_taken_away_is_written_again(path):
    verdicts = lsat.Verdicts(path)
    verdicts.drop(1)
    path.unlink()
    verdicts.drop(2)
    assert list(lsat.Verdicts(path)) == [1, 2]


def test_many_who_write_at_once_lose_nothing(path):
    pytest.importorskip("fcntl", reason="this system cannot lock a folder")

    def decide(first: int) -> None:
        verdicts = lsat.Verdicts(path)
        for row in range(first, 60, 4):
            verdicts.drop(row)

    threads = [threading.Thread(target=decide, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(lsat.Verdicts(path)) == list(range(60))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_killed_about_the_rename_leaves_a_whole_file(path, when):
    lsat.Verdicts(path).drop(1)
    program = f"""
import os, pathlib, signal, lsat_explorer as lsat
rename = pathlib.Path.replace
def killed(self, target):
    if {when!r} == "after":
        rename(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.replace = killed
lsat.Verdicts({str(path)!r}).keep(2)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    verdicts = lsat.Verdicts(path)
    assert list(verdicts) == ([1] if when == "before" else [1, 2])
    verdicts.drop(3)  # nothing is locked
    assert 3 in lsat.Verdicts(path)


@contextmanager
def nobody():
    """As a user for whom a folder's permissions count, which they do not for root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_in_a_folder_that_is_read_only_verdicts_stay_in_memory_and_are_saved_later():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        heard = []
        with nobody():
            verdicts = lsat.Verdicts(folder / "verdicts.json")
            verdicts.observe(lambda: heard.append(verdicts.problem))
            with pytest.warns(UserWarning, match=r"could not be saved to .*They are kept in memory; the next change"):
                verdicts.drop(1)
        assert list(verdicts) == [1]
        assert heard == [verdicts.problem]
        assert "Permission denied" in verdicts.problem
        assert os.listdir(folder) == []
        folder.chmod(0o777)
        verdicts.keep(2)
        assert verdicts.problem == ""
        assert list(lsat.Verdicts(folder / "verdicts.json")) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no such permissions")
def test_a_file_that_is_read_only_stays_as_it_is_though_its_folder_is_not():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "verdicts.json"
        path.parent.chmod(0o777)
        lsat.Verdicts(path).drop(1)
        path.chmod(0o444)
        with nobody():
            verdicts = lsat.Verdicts(path)
            with pytest.warns(UserWarning, match="Permission denied"):
                verdicts.drop(2)
        assert list(lsat.Verdicts(path)) == [1]
        assert os.listdir(name) == [path.name]


def test_a_full_disk_leaves_the_file_before_and_no_other(path, monkeypatch):
    verdicts = lsat.Verdicts(path)
    verdicts.drop(1)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.warns(UserWarning, match="No space left on device They are|No space left on device"):
            verdicts.drop(2)
    assert list(verdicts) == [1, 2]
    assert list(lsat.Verdicts(path)) == [1]
    assert os.listdir(path.parent) == [path.name]
    lsat.Verdicts(path).keep(9)  # what others have decided meanwhile is taken in
    verdicts.drop(3)
    assert list(lsat.Verdicts(path)) == [1, 2, 3, 9]


def test_a_file_that_was_spoilt_meanwhile_is_not_written_over(path):
    verdicts = lsat.Verdicts(path)
    verdicts.drop(1)
    path.write_text("my own notes")
    with pytest.warns(UserWarning, match=r"could not be saved .* is damaged, or is no file of verdicts"):
        verdicts.drop(2)
    assert path.read_text() == "my own notes"
    assert list(verdicts) == [1, 2]
    path.unlink()
    verdicts.drop(3)
    assert list(lsat.Verdicts(path)) == [1, 2, 3]
