"""Any input: the predictions of the stacked system solved exactly, or an error of our own that names what is at fault.

`LSAT_FUZZ=50 pytest -s tests/test_any_input.py` (`make fuzz`) tries fifty times as many, and prints how many were
solved and how many refused. With κ the condition number of the stacked system, its columns scaled to length one, and u
the rounding of float64, predictions are held to (10⁻⁹ + 64 n κ² u) ‖y‖ by the normal equations, to
(10⁻⁹ + 64 n κ u) ‖y‖ by QR and to (10⁻⁷ + 10⁻⁸ κ) ‖y‖ by iterations; a system of
κ < 10⁵ may not be refused. One of κ > 10¹⁰ is.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsat_explorer as lsat
from anything import Drawn, drawn, formed
from telling import TIMES, telling

EPS = float(np.finfo(np.float64).eps)
TRIED: Counter[str] = Counter()
often = settings(max_examples=60 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
NAMED = re.compile(r"row|column|feature|class|weight|label|training|validation|fraction", re.IGNORECASE)


told = telling("any input against exact least squares", "inputs", TRIED, "none wrong")


def attempt(work: Callable[[], Any], *, may_refuse: bool, others: tuple[str, ...] = ()) -> Any:
    """Do the work; None where it is refused, which it may be, by an error of our own that names what is at fault."""
    refusal = None
    try:
        done = work()
    except ValueError as error:
        refusal = error
    if refusal is None:
        TRIED["solved"] += 1
        return done
    where = traceback.extract_tb(refusal.__traceback__)[-1].filename
    assert any(name in where for name in ("lsat_explorer", *others)), f"{where} says {refusal}"
    assert NAMED.search(str(refusal)), f"this names nothing: {refusal}"
    assert may_refuse, f"this should be solved: {refusal}"
    TRIED["refused"] += 1
    return None


def recipe_of(case: Drawn) -> lsat.Recipe:
    """What is fitted to the rows."""
    d, at = len(case.scales), case.log_weight
    pieces: dict[str, Any] = {
        "ridge": lsat.Ridge(block="x", log_weight=at),
        "diagonal": lsat.Diagonal(block="x", log_weight=at),
        "smooth": lsat.Smooth(lsat.graphs.path(d), block="x", log_weight=at),
        "matrix": lsat.Matrix(np.eye(d)[: max(1, d - 1)] * 2.0, block="x", log_weight=at),
    }
    pieces["stack"] = lsat.Stack(ridge=pieces["ridge"], smooth=pieces["smooth"])
    feature: Any = lsat.Scale(tuned=False) if case.featurizer == "scale" else lsat.Identity()
    more = {} if case.featurizer == "identity" else {"one": lsat.Constant()}
    return lsat.Recipe(
        featurizer=lsat.Concat(x=feature, **more),
        regularizer=pieces[case.regularizer],
        data_weights=None if case.weights == "none" else lsat.FixedWeights(case.sample_weights.tolist()),
        loss=lsat.SquaredError(),
    )


def stacked(case: Drawn, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features of training and validation rows, and the rows of the regularizer in the units of the weights."""
    k, d = case.rows, X.shape[1]
    features = X.astype(np.float64)
    if case.featurizer == "scale":
        train = features[:k]
        spread = train.std(0)
        varies = spread > 1e-12 * np.abs(train).max(0)
        features = (features - train.mean(0)) / np.where(varies, spread, 1.0)
    smooth = np.diff(np.eye(d), axis=0)
    R = {
        "ridge": np.eye(d),
        "diagonal": np.eye(d),
        "smooth": smooth,
        "stack": np.concatenate([np.eye(d), smooth]),
        "matrix": 2 * np.eye(d)[: max(1, d - 1)],
    }[case.regularizer]
    if case.featurizer != "identity":
        features = np.column_stack([features, np.ones(2 * k)])
        R = np.column_stack([R, np.zeros(len(R))])
    return features, np.exp(case.log_weight) * R


def exact(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray | None, float]:
    """θ in rational arithmetic, and the condition number of A, its columns of length one; None if they are dependent.

    Where a column is determined by a row of weight e^-40 alone, QR in float64 loses it in the rounding of B.
    """
    length = np.linalg.norm(A, axis=0)
    if not (length > 0).all() or len(A) < A.shape[1]:
        return None, np.inf
    condition = float(np.linalg.cond(A / length))
    if condition > 1e13:
        return None, np.inf
    left, right = ([[Fraction(entry) for entry in row] for row in matrix.tolist()] for matrix in (A, B))
    columns = range(A.shape[1])
    system = [
        [sum(row[i] * row[j] for row in left) for j in columns]
        + [sum(row[i] * b[c] for row, b in zip(left, right, strict=True)) for c in range(B.shape[1])]
        for i in columns
    ]
    for i in columns:
        if not system[i][i]:
            return None, np.inf
        for j in columns:
            if j != i and system[j][i]:
                factor = system[j][i] / system[i][i]
                system[j] = [b - factor * a for a, b in zip(system[i], system[j], strict=True)]
    theta = [[float(entry / system[i][i]) for entry in system[i][len(columns) :]] for i in columns]
    return np.array(theta).reshape(A.shape[1], B.shape[1]), condition


@often
@given(drawn)
@example(Drawn(log_weight=-40.0, special=("duplicate",)))
@example(Drawn(log_weight=-40.0, scales=(0.0,) * 4, special=("duplicate", "duplicate"), seed=3))
@example(Drawn(log_weight=-40.0, scales=(0.0,) * 4, special=("near", "twice"), seed=1, featurizer="scale"))
@example(Drawn(log_weight=-40.0, scales=(0.0,) * 4, special=("sum",), seed=1))
@example(Drawn(log_weight=-40.0, scales=(0.0, 0.0, -2.0), special=("sum",), rows=2, outcome="classes"))
@example(Drawn(log_weight=-40.0, scales=(0.0, 1.0, -1.0), special=("sum",), outcome="classes"))
@example(Drawn(log_weight=-40.0, scales=(0.0,) * 5, special=("sum",), seed=2))
@example(Drawn(log_weight=-40.0, scales=(0.0,) * 6, special=("sum",), seed=3, featurizer="scale"))
@example(Drawn(scales=(0.0,) * 3, special=("zero", "constant"), featurizer="scale"))
@example(Drawn(spoil=("validation X", 1e300)))
@example(Drawn(spoil=("y", np.inf), outcome="classes"))
@example(Drawn(weights="all zero"))
@example(Drawn(dtype="i1", scales=(0.0, -1.0), outcome="classes", log_weight=-40.0, regularizer="smooth"))
@example(Drawn(outcome="one class", layout="frame", scales=(0.0,) * 6))
def test_a_recipe_predicts_as_exact_least_squares_or_names_what_is_at_fault(case: Drawn) -> None:
    X, y, k = case.matrix, case.labels, case.rows
    if case.spoil is not None and X.dtype.kind in "fO":
        where, value = case.spoil
        place = 2 * k - 1 if where == "validation X" else k - 1
        if where != "y":
            with np.errstate(over="ignore"):
                X[place, -1] = value
        elif y.dtype.kind == "f":
            y = y.copy()
            y[place] = value
    finite = (np.abs(X.astype(np.float64)) <= 1e100).all() and (y.dtype.kind != "f" or (np.abs(y) <= 1e100).all())
    usable = finite and case.outcome != "one class" and case.weights != "all zero"
    features, R = stacked(case, X) if finite else (None, None)
    A, B, theta, condition = None, None, None, np.inf
    if usable:
        if y.dtype.kind in "Uib":
            B = (y[:, None] == np.unique(y)[None]).astype(np.float64)
        else:
            B = y.reshape(2 * k, -1).astype(np.float64)
        scale = np.sqrt(case.sample_weights)[:, None]
        A = np.concatenate([scale * features[:k], R])
        theta, condition = exact(A, np.concatenate([scale * B[:k], np.zeros((len(R), B.shape[1]))]))

    def work() -> np.ndarray:
        form = formed(X, case.layout)
        before = np.array(form, dtype=object, copy=True) if isinstance(form, np.ndarray) else None
        halves = (form[:k], form[k:]) if not hasattr(form, "iloc") else (form.iloc[:k], form.iloc[k:])
        data = lsat.Data.from_splits(
            (halves[0], y[:k]), (halves[1], y[k:]), task="classification" if y.dtype.kind in "Uib" else "regression"
        )
        problem = lsat.Problem(recipe_of(case), data)
        model = lsat.FittedModel.of(problem, problem.init())
        if before is not None:
            np.testing.assert_array_equal(np.asarray(form, dtype=object), before)
        return model.decision_function(form)

    predicted = attempt(work, may_refuse=not usable or condition > 1e5)
    if predicted is None:
        return
    assert usable
    assert condition < 1e10, "columns that depend on each other are named, not solved"
    assert np.isfinite(predicted).all()
    if theta is not None:
        size = np.linalg.norm(B) * (1 + np.abs(features[k:] @ theta).max() / (np.abs(B).max() + 1e-300))
        n = features.shape[1]
        allowed = (1e-9 + 64 * n * condition**2 * EPS) * size
        np.testing.assert_allclose(predicted, features @ theta, rtol=0, atol=allowed)


SOLVERS = {"cholesky": lsat.Cholesky(), "qr": lsat.QR(), "lsmr": lsat.LSMR(), "cg": lsat.CG(), "none": None}


@often
@given(drawn, st.sampled_from(sorted(SOLVERS)), st.sampled_from(["dense", "csr", "coo", "scipy"]), st.integers(0, 3))
@example(Drawn(special=("near",), rows=20, scales=(0.0,) * 3), "cholesky", "dense", 1)
@example(Drawn(scales=(0.0,), rows=5), "none", "dense", 0)
@example(Drawn(dtype="f4", rows=2, scales=(0.0,), log_weight=-40.0, spoil=("X", np.inf)), "cg", "dense", 0)
def test_a_solver_gives_the_exact_theta_or_names_what_is_at_fault(
    case: Drawn, solver: str, form: str, outputs: int
) -> None:
    X = case.matrix
    X = X[: case.rows].astype(np.float32 if case.dtype in ("f4", "f2", ">f4") else np.float64)
    if case.spoil is not None:
        X[-1, -1] = case.spoil[1] if X.dtype == np.float64 or not np.isfinite(case.spoil[1]) else np.inf
    if form != "dense":
        X[np.random.default_rng(case.seed).random(X.shape) < 0.3] = 0.0
    ridge = np.exp(case.log_weight) * np.eye(X.shape[1])
    A = np.concatenate([X, ridge]).astype(X.dtype)
    B = np.random.default_rng(case.seed + 1).normal(size=(len(A), outputs)).astype(X.dtype)
    finite = bool(np.isfinite(A).all())
    large = finite and float(np.abs(A).max()) > 1e100
    theta, condition = exact(A.astype(np.float64), B.astype(np.float64)) if finite and not large else (None, np.inf)
    given_A: Any = torch.from_numpy(A)
    if form != "dense":
        given_A = {"csr": given_A.to_sparse_csr, "coo": given_A.to_sparse, "scipy": lambda: sparse.csr_array(A)}[form]()
    iterative = solver in ("lsmr", "cg") or (solver == "none" and form != "dense")
    wrong = form != "dense" and solver in ("cholesky", "qr")
    may_refuse = not finite or condition > (1e3 if iterative else 1e5) or large or wrong

    def work() -> np.ndarray:
        return np.asarray(lsat.least_squares(given_A, torch.from_numpy(B), solver=SOLVERS[solver]).numpy())

    if wrong:
        with pytest.raises(ValueError, match="needs a dense A"):
            work()
        return
    found = attempt(work, may_refuse=may_refuse)
    if found is None:
        return
    assert finite
    assert np.isfinite(found).all()
    if theta is None or not outputs or large:
        return
    n = A.shape[1]
    kind = (
        1e-7 + 1e-8 * condition if iterative else 1e-9 + 64 * n * EPS * (condition if solver == "qr" else condition**2)
    )
    single = 1e-5 * condition if X.dtype == np.float32 else 0.0  # the answer is rounded to the type of B
    length = np.linalg.norm(A.astype(np.float64), axis=0)[:, None]
    np.testing.assert_allclose(
        found * length, theta * length, rtol=0, atol=(kind + single) * condition * np.linalg.norm(B)
    )


@settings(often, max_examples=10 * TIMES)
@given(drawn)
@example(Drawn(rows=19, scales=(0.0,), outcome="classes", weights="some zero", spoil=("X", 1e300)))
def test_an_estimator_predicts_or_names_what_is_at_fault(case: Drawn) -> None:
    X, y = case.matrix, case.labels
    if case.spoil is not None and X.dtype.kind == "f":
        with np.errstate(over="ignore"):
            X[-1, -1] = case.spoil[1]
    classes = y.dtype.kind in "Uib"
    kind: Any = lsat.TunedLeastSquaresClassifier if classes else lsat.TunedLeastSquaresRegressor
    fitted = kind(lsat.Recipe(method=lsat.LineSearch(max_iterations=3)))
    usable = (np.abs(X.astype(np.float64)) <= 1e100).all() and case.outcome != "one class"
    may_refuse = not usable or len(y) < 8 or case.outcome in ("lonely class", "many classes") or "zero" in case.weights
    weights = None if case.weights == "none" else np.concatenate([case.sample_weights] * 2)
    form = formed(X, case.layout)

    def work() -> np.ndarray:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is stopped early, and single columns of targets are said
            return np.asarray(fitted.fit(form, y, sample_weight=weights).predict(form))

    predicted = attempt(work, may_refuse=may_refuse, others=("sklearn",))
    left_out = weights is not None and weights[-1] == 0  # a row of no weight is no row, whatever it holds
    if predicted is not None:
        assert usable or left_out
        assert len(predicted) == len(y)
        assert classes or left_out or np.isfinite(predicted).all()
