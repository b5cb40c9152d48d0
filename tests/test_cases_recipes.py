"""Faults to survive that meet recipes and data in a way of their own: weights, types, devices, names, the last step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import hostile
import lsat_explorer as lsat
from cases import DATA, LABELS, QUICK, RIDGE, ROWS, X, Y, data_of, model_of
from lsat_explorer.data.sparse_rows import RowsSparse

data_ways = pytest.mark.parametrize("entry", DATA.values(), ids=DATA)


@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_case_02_row_weights_a_million_times_apart_predict_as_qr(engine: str) -> None:
    weights = np.geomspace(2e5, 2e11, ROWS)
    outcome = Y + np.random.default_rng(2).normal(size=ROWS)
    recipe = RIDGE.replace(
        engine=engine,
        data_weights=lsat.FixedWeights(weights.tolist()),
        regularizer=lsat.Ridge(block="x", log_weight=-20.0),
    )
    given = X * [1.0, 1e3, 1e6]
    A = np.column_stack([given, np.ones(ROWS)])
    root = np.sqrt(weights)[:, None]
    theta = np.linalg.lstsq(root * A / np.abs(A).max(0), root[:, 0] * outcome)[0]
    expected = A / np.abs(A).max(0) @ theta
    np.testing.assert_allclose(model_of(recipe, data_of(given, outcome)).predict(given), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case_03_numbers_of_any_type_become_those_of_the_recipe_once(dtype: str) -> None:
    whole = np.abs(np.rint(4 * X))
    recipe = RIDGE.replace(dtype=dtype)
    expected = model_of(recipe, data_of(whole)).predict(whole)
    for kind in (np.int8, np.int64, np.float16, object, bool):
        given = whole.astype(kind)
        problem = lsat.Problem(recipe, data_of(given))
        model = lsat.FittedModel.of(problem, problem.init())
        if kind is not bool:
            np.testing.assert_allclose(model.predict(given), expected, rtol=1e-5)
        assert model.theta.dtype == torch.float64  # the factor is one of float64, whatever the rows are


def test_case_04_a_weight_of_minus_infinity_is_no_row() -> None:
    recipe = RIDGE.replace(data_weights=lsat.LogWeights())
    problem, kept = lsat.Problem(recipe, data_of()), np.arange(ROWS) % 4 != 1
    omega = problem.init()
    omega["data_weights.log_weight"] = torch.where(torch.from_numpy(kept), 0.0, -torch.inf).double()
    other = lsat.Problem(recipe, lsat.Data.from_splits((X[kept], Y[kept]), (X, Y)))
    found, expected = (
        lsat.FittedModel.of(some, given).predict(X) for some, given in ((problem, omega), (other, other.init()))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@data_ways
def test_case_08_large_single_precision_numbers_are_as_double(entry: Any) -> None:
    inputs = np.arange(2000, dtype=np.float32)[:, None]
    outcome = 3 + 0.5 * inputs[:, 0].astype(np.float64)
    np.testing.assert_allclose(entry(inputs, outcome), entry(inputs.astype(np.float64), outcome), rtol=1e-5)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_case_10_a_matrix_without_full_rank_is_an_outcome_on_every_device(device: str) -> None:
    bare = RIDGE.replace(
        featurizer=lsat.Identity(), regularizer=lsat.Matrix([[0.0, 0.0, 0.0]]), method=QUICK.method, device=device
    )
    square = np.arange(1.0, 10.0).reshape(3, 3)
    with pytest.warns(UserWarning, match=r"No fit was found\. .* Feature 2 is 'x2'\."):
        run = lsat.tune(bare, data_of(square, np.ones(3)), progress=False)
    assert run.status is lsat.Status.NOT_FINITE
    assert "Feature 2 is a combination of the features before it" in run.message
    with pytest.raises(ValueError, match="Feature 2 is a combination of the features before it"):
        run.model.predict(square)


@pytest.mark.parametrize("form", ["reversed", "Fortran", "slice", "read-only"])
def test_case_11_pieces_take_arrays_of_any_layout_and_leave_them(form: str) -> None:
    rows = np.array([[1.0, -2.0, 1.0], [0.0, 1.0, -1.0]])
    weights, edges = np.linspace(1.0, 2.0, ROWS), np.array([[0, 1], [1, 2]])

    def formed(values: np.ndarray) -> np.ndarray:
        if form == "reversed":
            return np.ascontiguousarray(values[::-1])[::-1]
        if form == "Fortran":
            return np.asfortranarray(values)
        if form == "slice":
            return np.repeat(values, 2, axis=0)[::2]
        copied = values.copy()
        copied.setflags(write=False)
        return copied

    def recipe(of: Any) -> lsat.Recipe:
        smooth = lsat.Smooth(lsat.Graph(3, of(edges)), block="x")
        stack = lsat.Stack(matrix=lsat.Matrix(of(rows), block="x"), smooth=smooth, ridge=lsat.Ridge(block="x"))
        return RIDGE.replace(regularizer=stack, data_weights=lsat.FixedWeights(of(weights)))

    given, plain = recipe(formed), recipe(np.copy)
    assert given == plain
    assert lsat.Recipe.from_json(given.to_json()) == plain
    np.testing.assert_allclose(model_of(given, data_of()).predict(X), model_of(plain, data_of()).predict(X), rtol=1e-12)


@pytest.mark.parametrize("groups", [[3, 7, 100], ["b", "ä", ""], ["<b>", "a", "c"]], ids=str)
def test_case_12_groups_of_rows_are_named_by_any_label(groups: list[Any]) -> None:
    data_weights = lsat.GroupWeights([groups[i % 3] for i in range(ROWS)])
    problem = lsat.Problem(RIDGE.replace(data_weights=data_weights), data_of())
    assert problem.init()["data_weights.log_weight"].shape == (3,)
    assert sorted(map(str, data_weights.names)) == sorted(map(str, groups))
    assert lsat.Recipe.from_json(problem.recipe.to_json()) == problem.recipe


@pytest.mark.parametrize("method", [lsat.ProximalGradient, lsat.LineSearch, lsat.LBFGS])
def test_case_14_convergence_at_the_last_iteration_is_convergence(method: Any) -> None:
    data = data_of(X, Y + np.random.default_rng(3).normal(size=ROWS))
    recipe = RIDGE.replace(method=method(tolerance=1e-3, max_iterations=500))
    free = lsat.tune(recipe, data, progress=False)
    assert free.status is lsat.Status.CONVERGED
    last = free.iterates[-1].number
    for limit, status in ((last, lsat.Status.CONVERGED), (last - 1, lsat.Status.MAX_ITERATIONS)):
        method_ = method(tolerance=1e-3, max_iterations=limit)
        run = lsat.tune(recipe.replace(method=method_), data, progress=False)
        assert (run.status, run.iterates[-1].number) == (status, limit)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_case_15_sparse_rows_with_weights_and_a_constant_fit_as_dense_ones(form: Any) -> None:
    Z = np.column_stack([np.where(X > 1, X, 0.0), np.ones(ROWS)])
    recipe = RIDGE.replace(data_weights=lsat.LogWeights(), method=lsat.LineSearch(max_iterations=3))
    thin = data_of(form(Z))
    assert isinstance(thin.train.inputs, RowsSparse)
    dense, found = (lsat.tune(recipe, data, progress=False) for data in (data_of(Z), thin))
    np.testing.assert_allclose(found.model.predict(form(Z)), dense.model.predict(Z), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.iterates[-1].loss, dense.iterates[-1].loss, rtol=1e-8)


def test_case_15_sparse_rows_that_stay_where_they_are_and_sparse_tensors_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"training X is a sparse matrix, expected a dense one"):
        lsat.Data.from_rows((sparse.csr_array(X), Y), (sparse.csr_array(X), Y))
    with pytest.raises(ValueError, match="X is a sparse tensor, expected a dense one"):
        data_of(torch.from_numpy(X).to_sparse())


def test_case_15_a_sparse_regularizer_is_as_a_dense_one() -> None:
    rows = np.zeros((40, 3))
    rows[:3] = np.eye(3)
    models = [
        model_of(RIDGE.replace(regularizer=lsat.Matrix(given, block="x")), data_of())
        for given in (rows, sparse.csr_array(rows), sparse.coo_array(rows))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), rtol=1e-12)


def test_case_16_a_model_predicts_columns_by_their_places_and_keeps_their_names() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=pd.Index([7, "b", ("t", 1)], dtype=object), index=np.arange(ROWS)[::-1])
    data = lsat.Data.from_arrays(frame, pd.Series(Y, index=frame.index))
    model = lsat.tune(QUICK, data, progress=False).model
    assert model.feature_names == ("7", "b", "('t', 1)")
    np.testing.assert_allclose(model.predict(frame), model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("device", ["cuda:99", "meta", "tpu", ""])
def test_case_17_a_device_that_is_not_there_is_named_with_those_that_are_offered(device: str) -> None:
    with pytest.raises(ValueError, match=rf"(Device|device is) '{device}'.*(choose one of cpu|expected)"):
        lsat.tune(QUICK.replace(device=device), data_of(), progress=False)


@pytest.mark.parametrize("name", hostile.HOSTILE[:8])
def test_case_20_names_in_recipes_are_text(name: str) -> None:
    recipe = RIDGE.replace(data_weights=lsat.GroupWeights([name if i % 2 else "other" for i in range(ROWS)]))
    assert lsat.Recipe.from_json(recipe.to_json()) == recipe
    space: dict[str, Any] = {}
    exec(recipe.to_source(), space)
    assert space["recipe"] == recipe
    page = lsat.tune(recipe.replace(method=QUICK.method), data_of(), progress=False).report().html
    assert name not in page or "<" not in name


@pytest.mark.parametrize("shape", [(28, 28), (2, 2), (3, 1, 4), (0, 3)], ids=str)
def test_case_25_patches_of_images_of_another_size_are_refused_by_name(shape: tuple[int, ...]) -> None:
    everywhere = RIDGE.replace(regularizer=lsat.Ridge())
    with pytest.raises(ValueError, match=r"RandomPatches.*(pixels|columns|shape|image|size)"):
        model_of(everywhere.replace(featurizer=lsat.RandomPatches(shape, patches=2, size=1, cells=1)), data_of())


def test_case_26_a_graph_that_does_not_fit_its_block_is_refused_by_name() -> None:
    for block, nodes, message in (("x", 9, "has 9 nodes and block 'x' has 3"), ("one", 2, "block 'one' has 1")):
        smooth = lsat.Smooth(lsat.graphs.path(nodes), block=block)
        with pytest.raises(ValueError, match=message):
            model_of(RIDGE.replace(regularizer=lsat.Stack(ridge=lsat.Ridge(block="x"), smooth=smooth)), data_of())
    with pytest.raises(ValueError, match=r"Smooth.*block 'y'|no block 'y'"):
        model_of(RIDGE.replace(regularizer=lsat.Smooth(lsat.graphs.path(3), block="y")), data_of(X, LABELS * 1.0))
