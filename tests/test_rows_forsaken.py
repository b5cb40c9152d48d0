"""Copies of rows on disk: they go with their data, and those of a killed process with the next copy."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lsat_explorer as lsat
from lsat_explorer.data.locks import can_lock

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(30, 2)), RANDOM.normal(size=30)

KILLED = """
import os, signal, sys
import numpy as np
import lsat_explorer as lsat
rows = np.ones((30, 2)), np.arange(30.0)
data = lsat.Data.from_rows([rows], [rows], folder=sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def made(folder: Path) -> lsat.Data:
    return lsat.Data.from_rows([(X, Y)], [(X, Y)], folder=folder)


def copies(folder: Path) -> set[Path]:
    return set(folder.glob("*.rows"))


def test_a_copy_goes_with_its_data(tmp_path: Path) -> None:
    data = made(tmp_path)
    assert len(copies(tmp_path)) == 2
    del data
    gc.collect()
    assert not copies(tmp_path)


@pytest.mark.skipif(not can_lock(), reason="this system has no locks on files")
def test_copies_of_a_killed_process_are_taken_away_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    forsaken = copies(tmp_path)
    assert len(forsaken) == 2
    living = made(tmp_path)
    own = copies(tmp_path) - forsaken
    assert forsaken < copies(tmp_path)  # for a minute: they may be ones of which the lock is yet to come
    for path in copies(tmp_path):
        os.utime(path, (0, 0))
    other = made(tmp_path)
    assert own < copies(tmp_path)
    assert not forsaken & copies(tmp_path)
    assert len(copies(tmp_path)) == 4
    assert np.array_equal(np.asarray(living.train.inputs[:]), X)
    assert np.array_equal(np.asarray(other.train.inputs[:]), X)
