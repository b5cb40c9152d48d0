"""Sparse rows give what dense ones give, and stay sparse."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.data import sparse_rows
from lsat_explorer.data.sparse_rows import RowsSparse
from lsat_explorer.engines import loaded
from lsat_explorer.engines import sparse as engine
from lsat_explorer.engines.chunks import ChunkRows
from lsat_explorer.engines.sparse import SparseRows
from lsat_explorer.model.featurizers.scale import centre_and_spread
from lsat_explorer.solve.shifted import Shifted
from machine import ROOT

K, D = 90, 7
GENERATOR = np.random.default_rng(0)
DENSE = np.where(GENERATOR.random((K, D)) < 0.25, GENERATOR.normal(size=(K, D)), 0.0)
DENSE[:, 3] = 5.0 + GENERATOR.normal(size=K)  # filled
DENSE[:, 4] = 2.0  # constant
DENSE[::9, 4] = 0.0
DENSE[:, 5] = 0.0
Y = DENSE @ GENERATOR.normal(size=(D, 2)) + 0.1 * GENERATOR.normal(size=(K, 2))
LABELS = np.array(["a", "b", "c"])[GENERATOR.integers(0, 3, K)]
LABELS[:6] = list("abcabc")

COLUMNWISE = {
    "identity": lsat.Identity(),
    "the columns twice": lsat.Concat(x=lsat.Identity(), z=lsat.Scale(tuned=False), one=lsat.Constant()),
    "a tuned scale": lsat.Concat(z=lsat.Scale(), one=lsat.Constant()),
    "a selection": lsat.Concat(
        some=lsat.SelectFeatures(0.6), nested=lsat.Concat(x=lsat.Identity(), one=lsat.Constant())
    ),
}
OTHERS = {
    "powers": lsat.Concat(z=lsat.PowerTransform(), one=lsat.Constant()),
    "a chain": lsat.Chain(lsat.Scale(), lsat.LowRank(3)),
    "archetypes": lsat.Concat(x=lsat.Identity(), near=lsat.KMeansArchetypes(per_class=2), one=lsat.Constant()),
}
CRITERIA = [lsat.HeldOut(), lsat.KFold(3), lsat.LeaveOneOut()]
WEIGHTS = [None, lsat.LogWeights(), lsat.FixedWeights(np.linspace(0.5, 2, 45))]


def both(y: Any, **how: Any) -> tuple[lsat.Data, lsat.Data]:
    """The same data of dense and of sparse rows."""
    dense, thin = (lsat.Data.from_arrays(X, y, seed=1, **how) for X in (DENSE, sparse.csr_array(DENSE)))
    assert isinstance(thin.train.inputs, RowsSparse)
    return dense, thin


def moved(problem: lsat.Problem) -> Any:
    """Values near the start, other than it."""
    generator = torch.Generator().manual_seed(5)
    return {
        name: value + 0.1 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
        for name, value in problem.init().items()
    }


def agree(recipe: lsat.Recipe, y: Any, kind: type, tolerance: float = 1e-9) -> None:
    """F, its gradient and θ are those of dense rows; ``kind`` is what holds the sparse ones."""
    dense, thin = (lsat.Problem(recipe, data) for data in both(y))
    assert all(isinstance(part.rows, kind) for part in thin.parts)
    omega = moved(dense)
    at, there = dense.evaluate(omega), thin.evaluate(omega)
    assert at.outcome.ok, at.outcome
    np.testing.assert_allclose([there.loss, there.error], [at.loss, at.error], rtol=tolerance)
    slopes, found = dense.gradient(at), thin.gradient(there)
    assert slopes.keys() == found.keys()
    for name, slope in slopes.items():
        size = float(slope.abs().max())
        np.testing.assert_allclose(found[name], slope, rtol=tolerance, atol=tolerance * size + 1e-14, err_msg=name)
    theta, expected = thin.coefficients(omega)[0], dense.coefficients(omega)[0]
    np.testing.assert_allclose(theta, expected, rtol=tolerance, atol=tolerance * float(expected.abs().max()))


@pytest.mark.parametrize(("criterion", "weights"), [*product(CRITERIA, WEIGHTS), (lsat.GCV(), None)])
@pytest.mark.parametrize("name", COLUMNWISE)
def test_what_shifts_and_scales_columns_is_as_of_dense_rows(name: str, criterion: Any, weights: Any) -> None:
    recipe = lsat.Recipe(
        featurizer=COLUMNWISE[name], regularizer=lsat.Ridge(), criterion=criterion, data_weights=weights
    )
    agree(recipe, Y, SparseRows)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@pytest.mark.parametrize("name", OTHERS)
def test_other_features_are_formed_a_few_rows_at_a_time_and_are_as_of_dense_rows(name: str, criterion: Any) -> None:
    recipe = lsat.Recipe(featurizer=OTHERS[name], regularizer=lsat.Ridge(), criterion=criterion)
    agree(recipe, LABELS, ChunkRows)


def test_single_precision_is_as_of_dense_rows() -> None:
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), regularizer=lsat.Ridge(), dtype="float32")
    agree(recipe, Y, SparseRows, 1e-5)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix, sparse.lil_array])
def test_a_run_its_files_and_its_model_are_as_of_dense_rows(kind: Any, tmp_path: Any) -> None:
    dense, thin = both(LABELS)
    recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=5))
    runs = [lsat.tune(recipe, data, progress=False) for data in (dense, thin)]
    np.testing.assert_allclose([i.loss for i in runs[1].iterates], [i.loss for i in runs[0].iterates], rtol=1e-9)
    assert runs[1].test().error == runs[0].test().error
    for method in ("decision_function", "predict_proba"):
        found, expected = getattr(runs[1].model, method)(kind(DENSE)), getattr(runs[0].model, method)(DENSE)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    runs[1].save(tmp_path)
    again = lsat.Run.load(tmp_path, dense)  # the rows are the same ones
    assert again.iterates[-1].loss == runs[1].iterates[-1].loss
    loaded_model = lsat.FittedModel.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded_model.predict(kind(DENSE)), runs[0].model.predict(DENSE))


@pytest.mark.parametrize("featurizer", [COLUMNWISE["a tuned scale"], OTHERS["powers"]], ids=repr)
def test_a_run_of_sparse_rows_that_was_broken_off_goes_on_bit_for_bit(featurizer: Any, tmp_path: Any) -> None:
    thin = both(Y)[1]
    recipe = lsat.Recipe(
        featurizer=featurizer,
        regularizer=lsat.Ridge(),
        data_weights=lsat.LogWeights(),
        method=lsat.LBFGS(tolerance=0.0, max_iterations=8),
    )
    whole = lsat.tune(recipe, thin, progress=False)
    begun = lsat.Run(recipe, thin, checkpoint=lsat.Checkpoint(str(tmp_path), iterations=1, seconds=1e6))
    for iterate in begun.steps():
        if iterate.number == 3:
            break
    again = lsat.Run.resume(tmp_path, thin)
    for _ in again.steps():
        pass
    assert [i.loss for i in again.iterates] == [i.loss for i in whole.iterates]
    assert all(torch.equal(again.omega[name], value) for name, value in whole.omega.items())


def test_a_model_predicts_sparse_rows_by_features_of_any_kind() -> None:
    for featurizer in OTHERS.values():
        method = lsat.ProximalGradient(max_iterations=1)
        recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(), method=method)
        model = lsat.tune(recipe, both(LABELS)[0], progress=False).model
        found = model.decision_function(sparse.csr_array(DENSE))
        np.testing.assert_allclose(found, model.decision_function(DENSE), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match=r"X has shape \(90, 6\): expected \(N, 7\)"):
        model.predict(sparse.csr_array(DENSE[:, :6]))


def test_explanations_and_verdicts_are_as_of_dense_rows() -> None:
    dense, thin = both(LABELS)
    recipe = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=2))
    tables = [lsat.explain.label_doubt(lsat.tune(recipe, data, progress=False).model) for data in (dense, thin)]
    np.testing.assert_allclose(tables[1].doubt, tables[0].doubt.loc[tables[1].index], rtol=0, atol=1e-9)
    verdicts = lsat.Verdicts()
    verdicts.drop(dense.train.rows[:3].tolist())
    kept = [verdicts.applied(data) for data in (dense, thin)]
    assert isinstance(kept[1].train.inputs, RowsSparse)
    np.testing.assert_array_equal(kept[1].train.inputs.numpy(), kept[0].train.inputs)


def test_an_estimator_of_sparse_rows_is_explored_as_any_other() -> None:
    view = lsat.TunedLeastSquaresRegressor(validation=0.3).fit(sparse.csr_array(DENSE), Y).explore()
    assert view.picture().startswith(b"\x89PNG")
    assert isinstance(view.data.train.inputs, RowsSparse)
    view.close()


def test_data_of_sparse_rows_are_divided_as_those_of_dense_ones() -> None:
    dense, thin = both(LABELS, final=0.1)
    for split in ("train", "validation", "test", "final"):
        mine, theirs = getattr(thin, split), getattr(dense, split)
        np.testing.assert_array_equal(mine.inputs.numpy(), theirs.inputs)
        np.testing.assert_array_equal(mine.rows, theirs.rows)
        np.testing.assert_array_equal(mine.labels, theirs.labels)
    assert thin.feature_names == dense.feature_names


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.bool_])
def test_entries_of_any_type_given_twice_or_as_zeros_are_the_same_numbers(dtype: Any) -> None:
    rows, columns = [0, 0, 1, 2, 3, 3], [0, 0, 1, 0, 1, 0]
    entries = np.array([1, 1, 1, 1, 0, 1], dtype=dtype)
    given = sparse.coo_array((entries, (rows, columns)), shape=(4, 2))
    kept = given.copy()
    data = lsat.Data.from_splits((given, np.arange(4.0)), (given, np.arange(4.0)))
    assert data.train.inputs.dtype == (torch.float32 if dtype == np.float32 else torch.float64)
    np.testing.assert_array_equal(data.train.inputs.numpy(), given.toarray().astype(float))
    np.testing.assert_array_equal(given.data, kept.data)


def test_what_sparse_rows_cannot_be_is_refused_by_name() -> None:
    wrong = DENSE.copy()
    wrong[11, 3] = np.inf
    for make in (sparse.csr_array, sparse.csc_array):
        with pytest.raises(ValueError, match=r"X has inf at row 11, column 3 \('x3'\), expected finite numbers"):
            lsat.Data.from_splits((make(wrong), Y), (make(wrong), Y), feature_names=[f"x{i}" for i in range(D)])
    with pytest.raises(ValueError, match=r"X has 1e\+200 at row 0, column 1, expected numbers of at most 1e\+100"):
        lsat.Data.from_arrays(sparse.csr_array([[0, 1e200], [1, 0]] * 9), np.arange(18.0))
    with pytest.raises(ValueError, match="X is sparse and of type complex128, expected real numbers"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE + 0j), Y)
    with pytest.raises(ValueError, match=r"X has 90 rows and y has 89"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE), Y[1:])
    with pytest.raises(ValueError, match="missing is 'mean' and X is sparse"):
        lsat.Data.from_arrays(sparse.csr_array(DENSE), Y, missing="mean")
    with pytest.raises(ValueError, match=r"X has nan at row 0, column 0 \('x0'\)"):
        lsat.tune(lsat.Recipe(), both(Y)[0], progress=False).model.predict(sparse.csr_array([[np.nan] * D]))


INDICES = [
    slice(2, 9),
    slice(None, None, 3),
    torch.tensor([5, 1, 1]),
    np.array([4, 0]),
    torch.arange(K) % 7 == 0,
    (slice(None), 3),
    (torch.tensor([3, 2]), slice(1, 4)),
    (..., 2),
    -1,
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_sparse_rows_reads_those_rows(index: Any) -> None:
    rows, dense = RowsSparse(sparse.csr_array(DENSE)), torch.from_numpy(DENSE)
    assert torch.equal(rows[index], dense[index])
    assert type(rows[index]) is torch.Tensor


def test_sparse_rows_are_a_tensor_to_whoever_asks_for_few() -> None:
    rows, dense = RowsSparse(sparse.csr_array(DENSE)), torch.from_numpy(DENSE)
    assert torch.equal(rows.mean(0), dense.mean(0))
    assert torch.equal(rows @ dense.mT, dense @ dense.mT)
    assert [len(part) for part in rows.split(40)] == [40, 40, 10]
    assert all(isinstance(part, RowsSparse) for part in rows.split(40))
    assert rows.bounds() == (DENSE.min(), DENSE.max())
    assert torch.equal(torch.cat([part for _, part in rows.passes()]), dense)
    assert torch.equal(pickle.loads(pickle.dumps(rows)).double(), dense)
    assert "RowsSparse(90 rows, 7 columns" in repr(rows)


def test_all_entries_of_many_rows_are_refused_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RowsSparse(sparse.csr_array((200_000, 5_000)))
    words = r"200,000 rows and 5,000 columns, and mean asks for all of its rows at once, which take 7.5 GiB"
    with pytest.raises(ValueError, match=words):
        rows.mean(0)
    with pytest.raises(ValueError, match=r"50,000 of its rows are asked for at once, which take 1.9 GiB"):
        rows[::4]
    assert rows[:3].sum() == 0
    monkeypatch.setattr(sparse_rows, "MOST_DENSE", 100)
    with pytest.raises(ValueError, match="TruncatedSVD"):
        RowsSparse(sparse.csr_array(DENSE)).numpy()


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
