"""A folder with one file of each kind that strangers may send, whole, to be spoilt by tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import lsat_explorer as lsat
from lsat_explorer.data.idx import write_idx
from test_problem import make_data


def fill(folder: Path) -> Path:
    """Write one file of each kind into a folder."""
    archetypes = lsat.Concat(x=lsat.Chain(lsat.Scale(), lsat.PowerTransform()), k=lsat.KMeansArchetypes(per_class=2))
    recipe = lsat.Recipe(featurizer=archetypes, regularizer=lsat.Ridge(), method=lsat.LBFGS(max_iterations=3))
    run = lsat.tune(recipe, make_data(), progress=False)
    run.save(folder / "run")
    quick = lsat.Recipe(method=lsat.LineSearch(max_iterations=3))
    list(lsat.Run(quick, make_data(), checkpoint=lsat.Checkpoint(str(folder / "kept"))).steps())
    kept = lsat.Verdicts(folder / "verdicts.json")
    kept.drop(run.data.train.rows[:4])
    kept.relabel(run.data.train.rows[4:6], "red")
    X = np.random.default_rng(0).normal(size=(20, 3))
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", X[:, 0])
    np.save(folder / "pickled.npy", np.array([{"a": 1}] * 20, dtype=object), allow_pickle=True)
    write_idx(folder / "X-idx", np.arange(60, dtype=np.uint8).reshape(3, 4, 5))
    (folder / "bad").write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    return folder
