"""The same recipe gives the same history: bit for bit with as many threads, to rounding with another number of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

# The table of iterates and the last ω as hexadecimal numbers, so that not a bit is lost on the way.
PROGRAM = """
import json, sys, torch
import lsat_explorer as lsat
torch.set_num_threads(int(sys.argv[1]))
recipe = lsat.Recipe.from_json(sys.argv[2])
run = lsat.tune(recipe, lsat.datasets.digits(), progress=False)
table = run.history().drop(columns=["seconds", "status"]).to_numpy(float)
omega = {name: [x.hex() for x in value.flatten().tolist()] for name, value in run.omega.items()}
print(json.dumps([[[float(x).hex() for x in row] for row in table], omega]))
"""

SAVES = """
import hashlib, pathlib, sys, torch
import lsat_explorer as lsat
torch.set_num_threads(1)
model = lsat.tune(lsat.Recipe.from_json(sys.argv[1]), lsat.datasets.digits(), progress=False).model
for number in range(4):
    model.save(f"{number}.safetensors")
    print(hashlib.sha256(pathlib.Path(f"{number}.safetensors").read_bytes()).hexdigest())
"""


def recipe(dtype: str = "float64", method: str = "LineSearch") -> str:
    """Archetypes, a weight per row and a temperature: everything that an evaluation can compute."""
    import lsat_explorer as lsat

    methods = {
        "LineSearch": lsat.LineSearch(tolerance=0.0, max_iterations=20),
        "LBFGS": lsat.LBFGS(tolerance=0.0, max_iterations=20),
        "ProximalGradient": lsat.ProximalGradient(tolerance=0.0, max_iterations=20),
    }
    parts = {"pixels": lsat.Identity(), "archetypes": lsat.KMeansArchetypes(per_class=3), "one": lsat.Constant()}
    made = lsat.Recipe(
        featurizer=lsat.Concat(**parts),
        regularizer=lsat.Stack(ridge=lsat.Ridge(), smooth=lsat.Smooth(lsat.graphs.grid(8, 8), block="pixels")),
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(0.01) + lsat.ZeroSum()},
        loss=lsat.CrossEntropy(temperature=True),
        method=methods[method],
        dtype=dtype,
    )
    return made.to_json()


def history(recipe: str, threads: int) -> tuple[list[list[str]], dict[str, list[str]]]:
    """Tune in a fresh process."""
    names = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    words = [sys.executable, "-c", PROGRAM, str(threads), recipe]
    done = subprocess.run(words, env={**os.environ, **names}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table, omega = json.loads(done.stdout)
    return table, omega


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_processes_with_as_many_threads_give_the_same_bits(dtype, threads):
    first, second = (history(recipe(dtype), threads) for _ in range(2))
    assert first == second
    assert len(first[0]) > 10


@pytest.mark.slow
@pytest.mark.parametrize("method", ["LineSearch", "LBFGS", "ProximalGradient"])
def test_one_thread_and_two_agree_on_the_first_twenty_iterates(method):
    (one, one_omega), (two, two_omega) = (history(recipe(method=method), threads) for threads in (1, 2))
    assert len(one) == len(two) == 21
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose([float.fromhex(x) for x in a], [float.fromhex(x) for x in b], rtol=1e-9, atol=0.0)
    assert one_omega.keys() == two_omega.keys()
    for name, values in one_omega.items():
        mine, theirs = ([float.fromhex(x) for x in v] for v in (values, two_omega[name]))
        # A weight per row is compared as a vector: single entries may be as small as rounding.
        assert np.linalg.norm(np.subtract(mine, theirs)) <= 1e-9 * np.linalg.norm(mine), name


def test_equal_runs_write_equal_bytes(tmp_path):
    import lsat_explorer as lsat

    asked = lsat.Recipe(method=lsat.LineSearch(max_iterations=2)).to_json()
    hashes = set()
    for seed in ("0", "1"):
        words, names = [sys.executable, "-c", SAVES, asked], {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(words, env=names, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        hashes |= set(done.stdout.split())
    assert len(hashes) == 1
