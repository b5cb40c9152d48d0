"""The sums of sparse rows: those of dense ones to their last digits, in a small part of the memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.data.sparse_rows import RowsSparse
from lsat_explorer.engines import loaded
from lsat_explorer.engines import sparse as engine
from lsat_explorer.model.featurizers.scale import centre_and_spread
from lsat_explorer.solve.shifted import Shifted
from machine import ROOT
from thin_rows import DENSE, D, K, Y, both


def test_normal_equations_without_room_are_refused_before_they_are_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_memory", lambda: 2**34)
    wide = sparse.random_array((300, 40_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    for fit in (
        lambda: lsat.tune(lsat.Recipe(), lsat.Data.from_arrays(wide, np.arange(300.0)), progress=False),
        lambda: lsat.TunedLeastSquaresRegressor().fit(wide, np.arange(300.0)),
    ):
        with pytest.raises(ValueError, match=r"its 40,001 features are dense: .* take 71.5 GiB, .* has 16.0"):
            fit()


@pytest.mark.parametrize("scale", [lsat.Scale(), lsat.PowerTransform()], ids=repr)
def test_leverages_by_tuned_features_of_many_rows_are_refused_with_their_size(
    scale: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_DENSE", 1_000)
    problem = lsat.Problem(
        lsat.Recipe(featurizer=scale, regularizer=lsat.Ridge(), criterion=lsat.LeaveOneOut()), both(Y)[1]
    )
    at = problem.evaluate(problem.init())
    with pytest.raises(ValueError, match=r"takes all of its \d+ × 7 features at once, .*: choose criterion"):
        problem.gradient(at)


@pytest.mark.parametrize("share", [0.0, 0.3], ids=["sparse products", "dense products"])
@pytest.mark.parametrize("weighs", [None, "positive", "any sign"])
def test_the_sums_of_sparse_rows_are_those_of_dense_ones(share: float, weighs: str | None) -> None:
    generator = np.random.default_rng(3)
    X = np.where(generator.random((700, 40)) < max(share, 0.002), generator.normal(size=(700, 40)), 0.0)
    X[:, 0] = 1e8 + generator.normal(size=700)
    X[:, 1] = 7.0
    weight = None if weighs is None else generator.normal(size=700)
    weight = np.abs(weight) if weighs == "positive" and weight is not None else weight
    targets = generator.normal(size=(700, 2))
    rows = Shifted(sparse.csr_array(X))
    assert rows.matrix[:, [1]].nnz == 0  # a constant column is its reference
    found = rows.sums(None if weight is None else torch.from_numpy(weight), torch.from_numpy(targets))
    S, w = X - rows.reference.numpy(), np.ones(700) if weight is None else weight
    expected = (S.T @ (w[:, None] * S), S.T @ w, w.sum(), S.T @ (w[:, None] * targets), w @ targets)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-11)
    assert torch.equal(found.square, found.square.mT)


def test_a_large_filled_column_that_hardly_varies_keeps_its_digits() -> None:
    X = DENSE.copy()
    X[:, 3] = 1e8 + np.linspace(-1, 1, K)
    data = [lsat.Data.from_splits((x, X[:, 3] - 1e8), (x, X[:, 3] - 1e8)) for x in (X, sparse.csr_array(X))]
    recipe = lsat.Recipe(method=lsat.LineSearch(max_iterations=3))
    dense, thin = (lsat.tune(recipe, each, progress=False).model for each in data)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), rtol=0, atol=1e-7)


def test_deviations_of_sparse_columns_are_those_of_dense_ones() -> None:
    X = DENSE * np.array([1.0, 1e-170, 1e90, 1.0, 1.0, 1.0, 3.0])
    mean, deviation = centre_and_spread(RowsSparse(sparse.csr_array(X)).tensor())
    expected = centre_and_spread(torch.from_numpy(X))
    np.testing.assert_allclose(mean, expected[0], rtol=1e-13)
    np.testing.assert_allclose(deviation, expected[1], rtol=1e-13)


def test_rows_beyond_the_room_for_a_chunk_are_prepared_on_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded, "_PREPARED", 20)
    data = both(Y)[1]
    some, targets = loaded.rows_to_prepare(lsat.Memory(), data.train, 0, lsat.PowerTransform())
    assert some.shape == (20, D)
    assert len(targets) == 20
    every, _ = loaded.rows_to_prepare(lsat.Memory(), data.train, 0, lsat.Scale())
    assert every.layout is torch.sparse_csr
    assert len(every) == len(data.train)


LARGE = """
import resource, sys, warnings
import numpy as np
from scipy import sparse
import lsat_explorer as lsat

warnings.simplefilter("ignore")
rows, columns, density, least, how = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), 50, sys.argv[4]
generator = np.random.default_rng(0)
X = sparse.random_array((rows, columns), density=density, format="csr", rng=generator)
X = sparse.csr_array(sparse.hstack([X, np.ones((rows, 1))]))
y = X @ generator.normal(size=columns + 1) + 0.1 * generator.normal(size=rows)
weights = generator.uniform(0.5, 2, rows)
recipe = lsat.Recipe(method=lsat.LineSearch(max_iterations=1))
lsat.TunedLeastSquaresRegressor(recipe).fit(X[:500, :20], y[:500])  # what is loaded on the way
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if how == "regressor":
    model = lsat.TunedLeastSquaresRegressor(recipe, validation=0.25).fit(X, y, sample_weight=weights)
elif how == "classifier":
    recipe = recipe.replace(loss=lsat.CrossEntropy())
    model = lsat.TunedLeastSquaresClassifier(recipe).fit(X, y > np.median(y), sample_weight=weights)
else:
    data = lsat.Data.from_arrays(X, y, test=None)
    weighed = recipe.replace(data_weights=lsat.LogWeights())
    model = lsat.tune(weighed, data, progress=False).model
score = getattr(model, "decision_function", model.predict)
every = score(X)
taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
few = np.asarray(score(X[:least].toarray()))
assert np.abs(np.asarray(every)[:least] - few).max() < 1e-9 * max(1.0, np.abs(few).max())
print(taken)
"""


@pytest.mark.parametrize("how", ["regressor", "classifier", "tune"])
def test_a_fit_of_sparse_rows_takes_a_small_part_of_the_memory_of_dense_ones(how: str) -> None:
    rows, columns = 400_000, 2_000
    words = [sys.executable, "-c", LARGE, str(rows), str(columns), "1e-3", how]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) * 2**10 < rows * columns * 8 / 8  # 6.4 GB, of which an eighth
