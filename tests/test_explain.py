"""What the fit says of its training rows, against refits, finite differences and textbooks."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy import stats

import lsat_explorer as lsat
from explained import CASES, CLASSES, EVERY, NUMBERS, SCALED, K, N, Plain, all_models, fitted, made
from lsat_explorer import explain
from lsat_explorer.explain.influence import contributions
from lsat_explorer.explain.training_fit import training_fit
from lsat_explorer.solve import gram


@pytest.fixture(scope="module")
def models() -> dict[str, lsat.FittedModel]:
    return all_models()


@EVERY
def test_the_oracle_has_the_fit_of_the_model(name, models):
    data, _ = CASES[name]
    tolerance = 1e-5 if name == "float32" else 1e-10
    np.testing.assert_allclose(Plain(models[name], data).theta(), models[name].theta, rtol=tolerance, atol=tolerance)


@EVERY
def test_doubt_is_that_of_the_fit_without_the_row(name, models):
    data, _ = CASES[name]
    plain, table = Plain(models[name], data), explain.label_doubt(models[name])
    assert list(table.index) == list(data.train.rows)
    assert list(table.columns) == ["given", "suggested", "confidence", "doubt"]
    for row in (0, 5, 17, 41):
        left_out = plain.X[row] @ plain.without(row)
        if data.classes is None:
            suggested = np.atleast_1d(table.suggested.iloc[row])
            np.testing.assert_allclose(suggested, left_out, rtol=1e-5)
            continue
        code = data.train.targets[row].argmax().item()
        others = dict(zip(data.classes, left_out, strict=True))
        mine = others.pop(data.classes[code])
        best = max(others, key=others.__getitem__)
        assert table.given.iloc[row] == data.classes[code] == data.train.labels[row]
        assert table.suggested.iloc[row] == best
        assert table.doubt.iloc[row] == pytest.approx(others[best] - mine, abs=1e-6)


def test_confidence_makes_the_validation_labels_likeliest(models):
    data, _ = CASES["classes"]
    plain, table = Plain(models["classes"], data), explain.label_doubt(models["classes"])
    scores, codes = plain.V @ plain.theta(), data.validation.targets.argmax(1).numpy()

    def likelihood(sharpness: float) -> float:
        return float(np.log(np.exp(sharpness * scores).sum(1)).mean() - sharpness * scores[range(N), codes].mean())

    left_out = np.stack([plain.X[row] @ plain.without(row) for row in range(K)])
    suggested = np.array([data.classes.index(label) for label in table.suggested])
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(likelihood, bounds=(0, 100), method="bounded", options={"xatol": 1e-9}).x
    shares = np.exp(best * left_out)
    expected = (shares / shares.sum(1, keepdims=True))[range(K), suggested]
    np.testing.assert_allclose(table.confidence, expected, atol=1e-4)


def test_without_a_penalty_doubt_of_numbers_is_the_textbooks_studentised_residual():
    data = made("regression")
    recipe = lsat.Recipe(featurizer=SCALED, regularizer=lsat.Ridge(log_weight=-18.0))
    table = explain.label_doubt(fitted(recipe, data))
    X, y = np.c_[data.train.inputs.numpy(), np.ones(K)], data.train.targets.numpy()[:, 0]
    for row in range(0, K, 7):
        rest = np.delete(np.arange(K), row)
        theta, rss, *_ = np.linalg.lstsq(X[rest], y[rest], rcond=None)
        variance = rss[0] / (K - 1 - X.shape[1])
        inverse = np.linalg.inv(X[rest].T @ X[rest])
        t = (y[row] - X[row] @ theta) / math.sqrt(variance * (1 + X[row] @ inverse @ X[row]))
        assert table.doubt.iloc[row] == pytest.approx(abs(t), rel=1e-6)
        assert table.confidence.iloc[row] == pytest.approx(1 - 2 * stats.t.sf(abs(t), K - 1 - X.shape[1]), abs=1e-6)


def test_numbers_are_doubted_by_what_is_left_of_the_penalized_objective(models):
    data, _ = CASES["two outputs"]
    plain, table = Plain(models["two outputs"], data), explain.label_doubt(models["two outputs"])
    w2 = np.exp(2 * plain.log_weights)
    inverse = np.linalg.inv(plain.X.T @ (w2[:, None] * plain.X) + plain.penalty)
    freedom = (w2 > 0).sum() - np.einsum("i,ij,jk,ik->", w2, plain.X, inverse, plain.X)
    for row in (2, 5):
        theta, others = plain.without(row), np.where(np.arange(K) == row, 0.0, w2)
        left = (others[:, None] * (plain.Y - plain.X @ theta) ** 2).sum(0) + (theta * (plain.penalty @ theta)).sum(0)
        apart = np.linalg.inv(plain.X.T @ (others[:, None] * plain.X) + plain.penalty)
        spread = left / (freedom - (w2[row] > 0)) * (1 + plain.X[row] @ apart @ plain.X[row])
        t = (plain.Y[row] - plain.X[row] @ theta) / np.sqrt(spread)
        assert table.doubt.iloc[row] == pytest.approx(math.sqrt((t**2).mean()), rel=1e-8)


def test_a_row_that_determines_its_own_fit_has_no_doubt_that_could_be_told():
    data = lsat.Data.from_splits(
        train=(np.c_[np.r_[1.0, np.zeros(5)], np.r_[0.0, 1, 2, 3, 4, 6]], [1.0, 2, 4, 6, 9, 11]),
        validation=(np.eye(2), [1.0, 2.0]),
    )
    table = explain.label_doubt(
        fitted(lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-20.0)), data)
    )
    assert np.isnan(table.doubt.iloc[0])
    assert np.isfinite(table.doubt.iloc[1:]).all()


def test_a_fit_with_as_many_parameters_as_rows_tells_nothing_of_its_noise():
    data = lsat.Data.from_splits(train=(np.eye(3), [1.0, 2, 3]), validation=(np.eye(3), [1.0, 2, 3]))
    model = fitted(lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-4.0)), data)
    with pytest.raises(ValueError, match=r"as many parameters as its 3 rows.*raise a regularizer"):
        explain.label_doubt(model)


@EVERY
def test_the_effect_is_the_slope_of_the_validation_loss(name, models):
    data, _ = CASES[name]
    table = explain.effect_on_validation(models[name])
    now, zero = Plain(models[name], data), Plain(models[name], data, np.zeros(K))
    for row in (0, 5, 17, 41):
        assert table.effect.iloc[row] == pytest.approx(now.slope(row), rel=2e-5, abs=1e-8)
        assert table.effect_at_zero.iloc[row] == pytest.approx(zero.slope(row), rel=2e-5, abs=1e-8)


@pytest.mark.parametrize("name", [n for n, (_, r) in CASES.items() if r.criterion.held_out and r.dtype == "float64"])
def test_where_the_validation_rows_are_the_criterion_the_effect_is_the_tuners_gradient(name):
    data, recipe = CASES[name]
    problem = lsat.Problem(recipe.replace(data_weights=lsat.LogWeights()), data)
    omega = problem.init()
    gradient = problem.gradient(problem.evaluate(omega))["data_weights.log_weight"]
    table = explain.effect_on_validation(fitted(recipe, data))
    np.testing.assert_allclose(table.effect_at_zero, -gradient, rtol=1e-9, atol=1e-14)


def test_nothing_depends_on_how_rows_are_read(models, monkeypatch):
    data, _ = CASES["features that move"]
    row = data.validation.rows[4]
    model = models["features that move"]
    whole = explain.overview(model), explain.attribution(model, row)
    monkeypatch.setattr("lsat_explorer.solve.gram.READ", 28)
    monkeypatch.setattr("lsat_explorer.solve.gram._READ_PRECISELY", 7)
    monkeypatch.setattr("lsat_explorer.engines.moving._NUMBERS", 1)
    monkeypatch.setattr("lsat_explorer.engines.moving._LEAST", 5)
    monkeypatch.setattr("lsat_explorer.explain.shapley._CHUNK", 4)
    again = fitted(model.recipe, data)
    for before, after in zip(whole, (explain.overview(again), explain.attribution(again, row)), strict=True):
        for column in before.select_dtypes("number"):
            np.testing.assert_allclose(before[column], after[column], rtol=1e-7, atol=1e-12, err_msg=column)
    assert (gram.rows_at_a_time(False), gram.rows_at_a_time(True)) == (28, 7)


def test_the_order_of_the_validation_rows_does_not_count():
    data = CLASSES
    order = np.random.default_rng(2).permutation(N)
    inputs, labels = data.validation.inputs.numpy()[order], data.validation.labels[order]
    other = lsat.Data.from_splits(
        train=(data.train.inputs.numpy(), data.train.labels), validation=(inputs, labels), task="classification"
    )
    recipe = CASES["classes, weighted"][1]
    one, two = (explain.overview(fitted(recipe, each)) for each in (data, other))
    for column in one.select_dtypes("number"):
        np.testing.assert_allclose(one[column], two[column], rtol=1e-6, atol=1e-12, err_msg=column)


def test_more_than_a_thousand_validation_rows_tell_the_error_by_a_thousand(monkeypatch, models):
    data, _ = CASES["classes"]
    fit = training_fit(models["classes"])
    monkeypatch.setattr("lsat_explorer.explain.weights._SAMPLE", 5)
    chosen = torch.tensor([0, 6, 12, 18, 24])
    shares = contributions(fit, chosen)
    found = explain.effect_on_validation(models["classes"]).effect_error
    np.testing.assert_allclose(found, shares.std(1) / math.sqrt(N), rtol=1e-4)
    assert len(data.validation) == N


def test_the_second_look_is_the_fit_to_validation_rows_and_the_rows_first_trusted(models):
    name = "classes, weighted"
    data, _ = CASES[name]
    plain, table = Plain(models[name], data), explain.overview(models[name])
    trusted = ((table.doubt < 0) & (table.shapley > 0)).to_numpy()
    assert 0 < trusted.sum() < K
    w2 = np.exp(2 * plain.log_weights) * trusted
    codes = data.train.targets.argmax(1).numpy()
    for row in (0, 5, *np.flatnonzero(~trusted)[:3]):
        others = np.where(np.arange(K) == row, 0.0, w2)
        G = plain.X.T @ (others[:, None] * plain.X) + plain.V.T @ plain.V + plain.penalty
        theta = np.linalg.solve(G, plain.X.T @ (others[:, None] * plain.Y) + plain.V.T @ plain.targets.numpy())
        scores = plain.X[row] @ theta
        doubt = np.delete(scores, codes[row]).max() - scores[codes[row]]
        assert table.second_doubt.iloc[row] == pytest.approx(doubt, rel=1e-8)
    shares = [stats.rankdata(table.second_doubt) / K, stats.rankdata(-table.shapley) / K]
    np.testing.assert_allclose(table.combined, np.mean(shares, axis=0))


def test_the_overview_holds_what_the_parts_say_and_weight_and_leverage(models):
    name = "two outputs"
    data, _ = CASES[name]
    plain, table = Plain(models[name], data), explain.overview(models[name])
    parts = [*explain.label_doubt(models[name]), *explain.effect_on_validation(models[name])]
    assert list(table.columns) == [*parts, "weight", "leverage"]  # Shapley values are not defined for numbers
    w2 = np.exp(2 * plain.log_weights)
    inverse = np.linalg.inv(plain.X.T @ (w2[:, None] * plain.X) + plain.penalty)
    np.testing.assert_allclose(table.weight, w2)
    np.testing.assert_allclose(table.leverage, w2 * np.einsum("ij,jk,ik->i", plain.X, inverse, plain.X))


def test_explain_is_loaded_when_it_is_asked_for():
    name = "'lsat_explorer.explain' in sys.modules"
    program = f"import sys, lsat_explorer as lsat; print({name}); lsat.explain; print({name})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert "explain" in lsat.__all__


def test_a_model_is_explained_without_a_run_once_its_rows_are_given(tmp_path, models):
    data, _ = CASES["features that move"]
    model = models["features that move"]
    model.save(tmp_path / "model.safetensors")
    loaded = lsat.FittedModel.load(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="holds no rows, as one that was loaded: give data="):
        explain.label_doubt(loaded)
    np.testing.assert_allclose(explain.label_doubt(loaded, data=data).doubt, explain.label_doubt(model).doubt)
    with pytest.raises(ValueError, match="not fitted to the training rows"):
        explain.label_doubt(loaded, data=made("classification", seed=5))
    with pytest.raises(ValueError, match="different classes"):
        explain.label_doubt(loaded, data=NUMBERS)
    with pytest.raises(ValueError, match="data is a list, expected Data"):
        explain.label_doubt(loaded, data=[])


def test_a_run_is_explained_by_its_model(digits):
    run = lsat.tune(lsat.Recipe(method=lsat.LBFGS(max_iterations=3)), digits, progress=False)
    with pytest.raises(ValueError, match=r"model is a Run, expected a FittedModel: give run\.model"):
        explain.label_doubt(run)
    table = explain.label_doubt(run.model)
    assert list(table.index) == list(digits.train.rows)
    refitted = lsat.refit(run)
    for ask in (explain.label_doubt, explain.overview, explain.what_if, lambda m: explain.attribution(m, 0)):
        with pytest.raises(ValueError, match=r"not fitted .* alone, as lsat\.refit .*: give .* run\.model\.$"):
            ask(refitted)


def test_wrong_labels_of_digits_are_doubted_first(digits):
    random = np.random.default_rng(0)
    wrong = random.choice(len(digits.train), 60, replace=False)
    labels = digits.train.labels.copy()
    labels[wrong] = (labels[wrong] + random.integers(1, 10, 60)) % 10
    data = lsat.Data.from_splits(
        train=(digits.train.inputs.numpy(), labels),
        validation=(digits.validation.inputs.numpy(), digits.validation.labels),
        task="classification",
    )
    table = explain.overview(fitted(lsat.Recipe(regularizer=lsat.Ridge(log_weight=2.0)), data))
    for column in ("doubt", "combined"):
        first = table[column].sort_values(ascending=False).index[:60]
        assert len(set(first) & set(wrong)) >= 48, column
    found = table.loc[wrong]
    assert (found.suggested == digits.train.labels[wrong]).mean() > 0.8
    assert (found.effect < 0).mean() > 0.8
    assert (found.shapley < 0).mean() > 0.9


def test_a_row_that_weighs_nothing_is_as_doubtful_as_one_that_weighs_next_to_nothing():
    random = np.random.default_rng(0)
    X, noise = random.normal(size=(12, 2)), random.normal(size=12)
    data = lsat.Data.from_splits(train=(X, X @ [1.0, 2.0] + noise), validation=(X, X @ [1.0, 2.0]))
    found = []
    for weight in (1e-12, 0.0):
        recipe = lsat.Recipe(
            regularizer=lsat.Ridge(log_weight=-6.0),
            hyper_penalties={"regularizer.log_weight": lsat.Frozen()},
            data_weights=lsat.FixedWeights([weight] + [1.0] * 11),
        )
        found.append(explain.label_doubt(lsat.tune(recipe, data, progress=False).model))
    for column in ("doubt", "confidence"):
        assert found[1][column].iloc[0] == pytest.approx(found[0][column].iloc[0], rel=1e-9)
