"""No number depends on which thread was the first to ask for an exponential."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from lsat_explorer.solve import first_calls
from lsat_explorer.solve.first_calls import ELEMENTARY

# What torch is asked for while the package is imported: functions of one number.
CALLS = """
import json, torch
from torch.utils._python_dispatch import TorchDispatchMode

calls = set()

class Listen(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if len(args) == 1 and isinstance(args[0], torch.Tensor) and args[0].numel() == 1:
            calls.add((function.overloadpacket.__name__, str(args[0].dtype)))
        return function(*args, **(kwargs or {}))

with Listen():
    import lsat_explorer
print(json.dumps(sorted(calls)))
"""

# A process that has called no function yet, in which two threads then call one at once.
FIRST = """
import runpy, sys, torch

runpy.run_path(sys.argv[1])["call_elementary_once"]()
torch.set_num_threads(2)
numbers = torch.linspace(0.5, 40.0, 4096, dtype=torch.float64)
for _ in range(5):
    numbers * 2 + numbers  # both threads are awake then
print(torch.equal(numbers.sqrt(), numbers.sqrt()))
"""


def said(program: str, *words: str) -> str:
    names = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    words = (sys.executable, "-c", program, *words)
    done = subprocess.run(words, env={**os.environ, **names}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_thread_calls_each_elementary_function_when_the_package_is_imported():
    called = {tuple(call) for call in json.loads(said(CALLS))}
    assert called >= {(name, dtype) for name in ELEMENTARY for dtype in ("torch.float32", "torch.float64")}


@pytest.mark.slow
def test_the_first_function_that_two_threads_call_has_all_its_digits():
    """Without the calls by one thread about one process in seven fails, where the fault is."""
    assert [said(FIRST, first_calls.__file__) for _ in range(16)] == ["True\n"] * 16
