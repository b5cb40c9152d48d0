"""Faults to survive that meet the estimators in a way of their own: recipes, devices, weights, pictures, interrupts."""

from __future__ import annotations

import pickle
import signal
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

import hostile
import lsat_explorer as lsat
from cases import LABELS, REGRESSION, RIDGE, ROWS, X, Y, classifier, regressor
from lsat_explorer import model
from lsat_explorer.engines import sparse as engine

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
QUICK = RIDGE.replace(method=lsat.LineSearch(max_iterations=2))


def fitted(recipe: lsat.Recipe, inputs: Any = X, outcome: Any = Y) -> np.ndarray:
    return np.asarray(lsat.TunedLeastSquaresRegressor(recipe).fit(inputs, outcome).predict(inputs))


def test_case_01_an_estimator_of_a_weak_ridge_fits_exactly_or_names_the_weight() -> None:
    weak = QUICK.replace(regularizer=lsat.Ridge(block="x", log_weight=-40.0))
    np.testing.assert_allclose(fitted(weak), Y, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match=r"Feature 3 is a combination .*: raise regularizer"):
        fitted(weak, np.column_stack([X, X[:, 0]]))


def test_case_06_an_estimator_names_dependent_columns_without_a_ridge() -> None:
    bare = QUICK.replace(regularizer=lsat.Matrix([[1.0, -1.0, 0.0, 0.0]], block="x"))
    with pytest.raises(ValueError, match=r"Feature 3 is a combination of the features before it"):
        fitted(bare, np.column_stack([X, X.sum(1)]))


def test_case_08_an_estimator_of_large_single_precision_numbers_is_as_double() -> None:
    inputs = np.arange(2000, dtype=np.float32)[:, None]
    outcome = 3 + 0.5 * inputs[:, 0].astype(np.float64)
    single, double = (regressor(kind, outcome) for kind in (inputs, inputs.astype(np.float64)))
    np.testing.assert_allclose(single, double, rtol=1e-5)


def test_case_10_an_estimator_of_a_matrix_without_full_rank_is_solved_by_its_ridge_and_named_without() -> None:
    square = np.tile(np.arange(1.0, 10.0).reshape(3, 3), (8, 1))
    assert np.isfinite(fitted(REGRESSION, square, Y)).all()
    with pytest.raises(ValueError, match=r"Feature \d is a combination of the features before it"):
        fitted(QUICK.replace(regularizer=lsat.Matrix([[0.0, 0.0, 0.0]], block="x")), square, Y)


def test_case_13_an_estimator_keeps_the_best_values_where_a_loss_turns_nan() -> None:
    calls = []

    def turns(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return (predictions - targets).square().sum(1).mean() * (float("nan") if len(calls) > 3 else 1.0)

    model.register_loss("turns nan in an estimator", turns)
    recipe = RIDGE.replace(loss=model.CustomLoss("turns nan in an estimator"))
    noisy = Y + np.random.default_rng(1).normal(size=ROWS)
    found = lsat.TunedLeastSquaresRegressor(recipe).fit(X, noisy)
    assert found.run_.status is lsat.Status.NOT_FINITE
    assert np.isfinite(found.predict(X)).all()


@pytest.mark.parametrize("most", [0, 1])
def test_case_14_an_estimator_of_no_or_one_iteration_is_a_fit(most: int) -> None:
    found = lsat.TunedLeastSquaresRegressor(RIDGE.replace(method=lsat.ProximalGradient(max_iterations=most)))
    assert found.fit(X, Y).n_iter_ <= most
    assert np.isfinite(found.predict(X)).all()


@pytest.fixture
def largest(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of entries of what was made dense."""
    sizes = [0]
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):

        def watched(given: Any, *how: Any, _toarray: Any = kind.toarray, **named: Any) -> Any:
            sizes.append(int(np.prod(given.shape)))
            return _toarray(given, *how, **named)

        monkeypatch.setattr(kind, "toarray", watched)
    return sizes


@pytest.mark.parametrize("held", [None, 0.25])
@pytest.mark.parametrize("weighs", [False, True])
def test_case_15_an_estimator_never_makes_sparse_rows_dense(
    held: Any, weighs: bool, largest: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "AT_ONCE", 2_000)
    generator = np.random.default_rng(0)
    thin = sparse.random_array((1_000, 40), density=0.02, format="csr", rng=generator)
    Z = sparse.csr_array(sparse.hstack([thin, np.ones((1_000, 1))]))
    weights = generator.uniform(0.5, 2.0, 1_000) if weighs else None
    outcome = Z @ generator.normal(size=41) + 0.1 * generator.normal(size=1_000)
    for kind, y, methods in (
        (lsat.TunedLeastSquaresRegressor, outcome, ["predict"]),
        (lsat.TunedLeastSquaresClassifier, outcome > 0, ["decision_function", "predict_proba", "predict_log_proba"]),
    ):
        dense = kind(validation=held, random_state=0).fit(Z.toarray(), y, sample_weight=weights)
        expected = {name: getattr(dense, name)(Z.toarray()) for name in methods}
        score = dense.score(Z.toarray(), y, weights)
        del largest[1:]
        found = kind(validation=held, random_state=0).fit(Z, y, sample_weight=weights)
        for name in methods:
            np.testing.assert_allclose(getattr(found, name)(sparse.csc_array(Z)), expected[name], rtol=0, atol=1e-8)
        assert abs(found.score(Z, y, weights) - score) < 1e-8
        assert max(largest) < Z.shape[0] * Z.shape[1] / 10


def test_case_17_an_estimator_names_a_device_that_holds_nothing_or_is_not_there_once() -> None:
    tensor = torch.from_numpy(X)
    with pytest.raises(ValueError, match="X is a tensor on the device meta, which holds no numbers") as refused:
        regressor(tensor.to("meta"), Y)
    assert str(refused.value).count("device meta") == 1
    with pytest.raises(ValueError, match="y is a tensor on the device meta"):
        regressor(X, torch.from_numpy(Y).to("meta"))
    with pytest.raises(ValueError, match="Device 'cuda:99' is not available: choose one of cpu"):
        fitted(QUICK.replace(device="cuda:99"))
    np.testing.assert_allclose(regressor(tensor.float(), torch.from_numpy(Y)), regressor(X, Y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("given", ["{", '{"format": 99}', {"loss": None}, 5], ids=str)
def test_case_19_what_is_no_recipe_is_refused_by_an_estimator(given: Any) -> None:
    with pytest.raises(ValueError, match=r"recipe is .*, expected None or a Recipe"):
        fitted(given)
    with pytest.raises(ValueError, match="recipe__los names no choice of a recipe"):
        lsat.TunedLeastSquaresRegressor(lsat.Recipe()).set_params(recipe__los=None)


def test_case_20_hostile_names_are_text_on_the_page_of_an_estimator() -> None:
    frame = hostile.rows()
    inputs, names = frame.train.inputs.numpy(), np.array(hostile.HOSTILE[:-1], dtype=object)
    labels = names[np.arange(len(inputs)) % len(names)]
    found = lsat.TunedLeastSquaresClassifier(lsat.Recipe(method=lsat.LineSearch(max_iterations=2))).fit(inputs, labels)
    assert sorted(found.classes_.tolist()) == sorted(names.tolist())
    assert set(found.predict(inputs).tolist()) <= set(names.tolist())
    recipe = lsat.Recipe(data_weights=lsat.GroupWeights([hostile.HOSTILE[i % 4] for i in range(ROWS)]))
    page = lsat.TunedLeastSquaresRegressor(recipe)._repr_html_()
    for name in hostile.HOSTILE[:4]:
        assert name not in page


def test_case_22_an_estimator_that_is_fitted_twice_is_fitted_once() -> None:
    found = lsat.TunedLeastSquaresRegressor(QUICK).fit(X, Y)
    first, run = found.predict(X), found.run_
    np.testing.assert_array_equal(found.fit(X, Y).predict(X), first)
    assert found.run_ is not run
    assert len(found.run_.iterates) == len(run.iterates)


def test_case_24_a_fitted_estimator_is_a_page_with_its_numbers_and_a_picture() -> None:
    found = lsat.TunedLeastSquaresRegressor(QUICK).fit(X, Y)
    page = found._repr_html_()
    assert 'src="data:image/png;base64,' in page
    assert "2 iterations." in page
    assert " object at 0x" not in page


def test_case_25_images_that_are_not_flat_are_refused_by_their_shape() -> None:
    for shape in ((ROWS, 3, 1), (ROWS, 1, 1, 3)):
        with pytest.raises(
            ValueError, match=rf"X has shape {str(shape).replace('(', '.').replace(')', '.')}, expected"
        ):
            regressor(X.reshape(shape), Y)


def test_case_26_a_graph_of_other_columns_is_refused_by_an_estimator() -> None:
    smooth = lsat.Smooth(lsat.graphs.path(9), block="features")
    with pytest.raises(ValueError, match="the graph has 9 nodes and block 'features' has 3"):
        fitted(lsat.Recipe(regularizer=smooth))


def test_case_27_an_estimator_that_is_interrupted_is_not_fitted_and_fits_again() -> None:
    calls = []

    def interrupts(predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return (predictions - targets).square().sum(1).mean()

    model.register_loss("interrupts an estimator", interrupts)
    recipe = RIDGE.replace(loss=model.CustomLoss("interrupts an estimator"), method=lsat.LineSearch(tolerance=0.0))
    found = lsat.TunedLeastSquaresRegressor(recipe)
    noisy = Y + np.random.default_rng(1).normal(size=ROWS)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, noisy)
    assert not hasattr(found, "model_")
    assert found.run_.iterates[-1].omega  # what it came to is there
    assert np.isfinite(found.run_.model.predict(X)).all()
    assert np.isfinite(found.fit(X, noisy).predict(X)).all()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert np.isfinite(classifier(X, LABELS)).all()
