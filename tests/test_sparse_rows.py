"""Sparse rows give what dense ones give: F, its gradient, runs and their files, models, explanations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.data.sparse_rows import RowsSparse
from lsat_explorer.engines.chunks import ChunkRows
from lsat_explorer.engines.sparse import SparseRows
from thin_rows import COLUMNWISE, CRITERIA, DENSE, LABELS, OTHERS, WEIGHTS, Y, agree, both


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


@pytest.mark.cuda
@pytest.mark.parametrize("name", OTHERS)
def test_a_model_on_a_card_predicts_sparse_rows(name: str, tmp_path) -> None:
    recipe = lsat.Recipe(featurizer=OTHERS[name], regularizer=lsat.Ridge(), method=lsat.LBFGS(max_iterations=1))
    lsat.tune(recipe, both(LABELS)[0], progress=False).model.save(tmp_path / "model.safetensors")
    here, there = (lsat.FittedModel.load(tmp_path / "model.safetensors", device=device) for device in ("cpu", "cuda"))
    found = there.decision_function(sparse.csr_array(DENSE))
    np.testing.assert_allclose(found, here.decision_function(DENSE), rtol=0, atol=1e-10)


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
