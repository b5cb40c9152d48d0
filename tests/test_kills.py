"""kill -9 at random moments: what is on the disk is whole, and the run goes on as if it had not been killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kills import EVERY
from reliability import record

SOAK = bool(os.environ.get("LSAT_SOAK"))
KILLS = 200 if SOAK else 10


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_run_that_is_killed_at_random_moments_loses_nothing_that_was_written(tmp_path):
    began = time.monotonic()
    words = [sys.executable, str(Path(__file__).parent / "kills.py"), str(KILLS), "7", str(tmp_path)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] == KILLS
    assert found["half files"] == 0  # what has the name of a checkpoint is one
    assert found["behind"] == 0  # no file that was written is gone
    assert found["different"] == 0  # to the last bit of every number and of ω, of the run that never was killed
    assert found["left behind"] == 0  # nor is there anything else in the folder in the end
    assert found["lost accepted"] < EVERY
    assert found["resumed"] > KILLS // 2
    assert found["in a write"] > 0 or not SOAK
    record(
        "kill -9 at random moments",
        f"{KILLS} kills of {found['runs']} runs, {found['in a write']} of them while a file was being written",
        f"{found['resumed']} resumed, {found['begun anew']} begun anew as there was no file yet; half files: "
        f"{found['half files']}; at most {found['lost']} iterates lost, {found['lost accepted']} of them accepted, "
        f"with a file every {EVERY} accepted ones; each run ended with the bits of one that never was killed",
        time.monotonic() - began,
    )
