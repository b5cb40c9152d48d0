"""Who moves whom, against slopes of whole solves; and what if, against new ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lsat_explorer as lsat
from explained import CASES, CLASSES, EVERY, NUMBERS, SEVERAL, K, N, Plain, all_models, fitted
from lsat_explorer import explain


@pytest.fixture(scope="module")
def models() -> dict[str, lsat.FittedModel]:
    return all_models()


@EVERY
def test_attributions_average_to_the_effect_and_each_is_a_slope(name, models):
    data, _ = CASES[name]
    model, plain = models[name], Plain(models[name], data)
    tables = [explain.attribution(model, row) for row in data.validation.rows]
    effect = explain.effect_on_validation(model)
    mean = sum(table.effect for table in tables) / N
    np.testing.assert_allclose(mean, effect.effect, rtol=1e-8, atol=1e-13)
    spread = np.std([table.effect for table in tables], axis=0, ddof=1) / math.sqrt(N)
    np.testing.assert_allclose(effect.effect_error, spread, rtol=1e-4, atol=1e-8)
    assert tables[3].effect.iloc[17] == pytest.approx(plain.slope(17, [3]), rel=2e-5, abs=1e-8)
    w2 = np.exp(2 * plain.log_weights)
    kernel = plain.X @ np.linalg.solve(plain.X.T @ (w2[:, None] * plain.X) + plain.penalty, plain.V[3])
    np.testing.assert_allclose(tables[3].kernel, kernel, rtol=1e-5, atol=1e-8)


WEIGHTED = fitted(CASES["classes, weighted"][1], CLASSES)
NEW = {"classification": "cow", "regression": 1.5}


@EVERY
@pytest.mark.parametrize("many", [1, 3, 12])
def test_what_if_is_a_new_solve(name, many, models):
    data, _ = CASES[name]
    model, plain = models[name], Plain(models[name], data)
    dropped, changed = list(range(4, 4 + many)), [0, 30]
    label = NEW[data.task] if data.train.targets.shape[1] != 2 else (1.5, -2.0)
    answer = explain.what_if(model, data.train.rows[dropped], {data.train.rows[row]: label for row in changed})
    targets = plain.Y.copy()
    targets[changed] = np.eye(3)[2] if data.classes else label
    log_weights = plain.log_weights.copy()
    log_weights[dropped] = -np.inf
    theta = plain.theta(log_weights, targets)
    tolerance = 1e-5 if name == "float32" else 1e-9
    np.testing.assert_allclose(answer.model.theta, theta, rtol=tolerance, atol=tolerance)
    assert answer.after.loss == pytest.approx(plain.loss(theta), rel=1e-6)
    assert answer.before.loss == pytest.approx(plain.loss(plain.theta()), rel=1e-6)
    scores = plain.V @ theta
    if data.classes is not None:
        wrong = np.asarray(data.classes)[scores.argmax(1)] != data.validation.labels
        assert answer.after.error == pytest.approx((plain.shares * wrong).mean())
    else:
        squares = ((scores - data.validation.targets.numpy()) ** 2).mean(1)
        assert answer.after.error == pytest.approx(math.sqrt((plain.shares * squares).mean()), rel=1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sets(st.integers(0, K - 1), max_size=K - 20), st.dictionaries(st.integers(0, K - 1), st.sampled_from([0, 1, 2]))
)
def test_any_verdicts_are_answered_as_by_a_new_solve(dropped, labels):
    data, _ = CASES["classes, weighted"]
    model = WEIGHTED
    labels = {row: code for row, code in labels.items() if row not in dropped}
    rows, plain = data.train.rows, Plain(model, data)
    answer = explain.what_if(model, [rows[i] for i in dropped], {rows[i]: data.classes[c] for i, c in labels.items()})
    targets, log_weights = plain.Y.copy(), plain.log_weights.copy()
    for row, code in labels.items():
        targets[row] = np.eye(3)[code]
    log_weights[list(dropped)] = -np.inf
    np.testing.assert_allclose(answer.model.theta, plain.theta(log_weights, targets), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", [lsat.TunedLeastSquaresClassifier, lsat.TunedLeastSquaresRegressor])
def test_what_is_said_of_an_estimator_with_sample_weights_is_of_the_loss_that_it_tuned(kind):
    drawn = np.random.default_rng(0)
    X = drawn.normal(size=(120, 3))
    y = (X[:, 0] + drawn.normal(size=120) > 0).astype(int)
    run = kind(validation=0.4).fit(X, y, sample_weight=np.where(y == 1, 50.0, 1.0)).run_
    before = explain.what_if(run.model).before
    assert before.loss == pytest.approx(run.kept.loss, rel=1e-6)
    assert before.error == pytest.approx(run.kept.error, rel=1e-6)


def test_what_if_nothing_changes_nothing_and_leaves_the_model_alone(models):
    model = models["classes"]
    theta = model.theta.clone()
    answer = explain.what_if(model)
    assert answer.before == answer.after
    changed = explain.what_if(model, drop=CLASSES.train.rows[0]).model
    assert torch.equal(model.theta, theta)
    assert not torch.equal(changed.theta, theta)
    with pytest.raises(ValueError, match=r"as they are: .* run\.model, or .* lsat\.tune\(recipe, verdicts\.applied"):
        explain.label_doubt(changed, data=CLASSES)


def test_what_was_changed_by_verdicts_is_explained_on_the_changed_rows(models):
    verdicts = lsat.Verdicts()
    verdicts.drop(CLASSES.train.rows[:3])
    verdicts.relabel(CLASSES.train.rows[4], "ant")
    data = verdicts.applied(CLASSES)
    model = fitted(models["classes"].recipe, data)
    assert list(explain.label_doubt(model).index) == list(data.train.rows)
    assert explain.label_doubt(model).loc[CLASSES.train.rows[4], "given"] == "ant"


def test_a_class_may_come_as_a_number_of_numpy_but_not_as_true(digits):
    model = fitted(lsat.Recipe(), digits)
    row = digits.train.rows[0]
    one, other = (explain.what_if(model, relabel={row: label}).model.theta for label in (np.int64(1), 1.0))
    assert torch.equal(one, other)
    with pytest.raises(ValueError, match="the class True, which is unknown"):
        explain.what_if(model, relabel={row: True})
    with pytest.raises(ValueError, match="drop names row True, which is not among"):
        explain.what_if(model, drop=True)


TRAIN, VALID = CLASSES.train.rows, CLASSES.validation.rows


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda m: explain.what_if(m, drop=["nobody"]), r"drop names row 'nobody', which is not among the 60 training"),
        (lambda m: explain.what_if(m, drop=VALID[:1]), r"not among the 60 training rows: give names as in data\.train"),
        (lambda m: explain.what_if(m, drop=[[1]]), r"drop names row \[1\], which is not among"),
        (lambda m: explain.what_if(m, drop=[TRAIN[0], TRAIN[1], TRAIN[0]]), r"drop names row 'row \d+' twice"),
        (lambda m: explain.what_if(m, drop=TRAIN), r"drop leaves none of the 60 training rows: keep some\."),
        (lambda m: explain.what_if(m, drop=TRAIN[0], relabel={TRAIN[0]: "ant"}), r"both dropped and relabelled"),
        (lambda m: explain.what_if(m, relabel={TRAIN[0]: "dog"}), r"class 'dog', which is unknown: give one of 'ant',"),
        (lambda m: explain.what_if(m, relabel={TRAIN[0]: ["ant"]}), r"class \['ant'\], which is unknown"),
        (lambda m: explain.what_if(m, relabel=[TRAIN[0]]), r"relabel is a list, expected a dict"),
        (lambda m: explain.what_if(m, relabel={"x": "ant"}), r"relabel names row 'x', which is not among"),
        (lambda m: explain.attribution(m, TRAIN[0]), r"not among the 25 validation rows: give names as in data\.valid"),
    ],
)
def test_what_is_asked_wrongly_is_answered_by_a_sentence(ask, sentence, models):
    with pytest.raises(ValueError, match=sentence):
        ask(models["classes"])


@pytest.mark.parametrize("label", [math.nan, "a word", (1.0, 2.0), None])
def test_a_number_is_relabelled_by_a_number(label, models):
    with pytest.raises(ValueError, match="expected a finite number"):
        explain.what_if(models["leave-one-out"], relabel={NUMBERS.train.rows[0]: label})
    with pytest.raises(ValueError, match="expected 2 finite numbers" if label != (1.0, 2.0) else "is not among"):
        explain.what_if(models["two outputs"], relabel={SEVERAL.train.rows[0] if label != (1.0, 2.0) else "x": label})


def test_rows_without_which_no_fit_is_left_are_not_dropped():
    data = lsat.Data.from_splits(
        train=(np.c_[np.r_[1.0, np.zeros(9)], np.arange(10.0)], np.arange(10.0)), validation=(np.eye(2), [1.0, 2.0])
    )
    featurizer = lsat.Concat(a=lsat.SelectFeatures(1.0), one=lsat.Constant())
    recipe = lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge(block="one", log_weight=0.0))
    with pytest.raises(ValueError, match=r"no fit without the dropped rows: Feature 0 .* add a regularizer"):
        explain.what_if(fitted(recipe, data), drop=[0])
