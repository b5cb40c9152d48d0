"""Criteria against brute force, and their gradients against differences of F."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import cross_val_predict

import lsat_explorer as lsat
from lsat_explorer.plots.curves import number_text
from test_problem import ARCHETYPES, STACK, make_data, moved

CRITERIA = [lsat.HeldOut(), lsat.KFold(folds=4), lsat.LeaveOneOut(), lsat.GCV()]
PLAIN = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge())


def brute_force(data: lsat.Data, log_weight: float, folds: list[np.ndarray], weight: np.ndarray | None = None) -> float:
    """Return the mean squared error of rows, each predicted by a ridge fit to the rows of the other folds."""
    X, Y = data.train.inputs.numpy(), data.train.targets.numpy()
    weight = np.ones(len(X)) if weight is None else weight
    errors = np.empty(len(X))
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        scaled = X[rest] * weight[rest, None]
        theta = np.linalg.solve(scaled.T @ X[rest] + np.exp(2 * log_weight) * np.eye(X.shape[1]), scaled.T @ Y[rest])
        errors[fold] = ((Y[fold] - X[fold] @ theta) ** 2).sum(1)
    return float(errors.mean())


def loss_at(problem: lsat.Problem, log_weight: float) -> float:
    omega = {**problem.init(), "regularizer.log_weight": torch.tensor(log_weight, dtype=torch.float64)}
    return problem.evaluate(omega).loss


@pytest.mark.parametrize("log_weight", [-3.0, 0.0, 2.0])
def test_leave_one_out_oracle_brute_force(log_weight):
    data = make_data("regression")
    problem = lsat.Problem(PLAIN.replace(criterion=lsat.LeaveOneOut()), data)
    expected = brute_force(data, log_weight, [np.array([i]) for i in range(len(data.train))])
    assert loss_at(problem, log_weight) == pytest.approx(expected, rel=1e-10)


def test_leave_one_out_oracle_with_row_weights():
    data = make_data("regression")
    recipe = PLAIN.replace(criterion=lsat.LeaveOneOut(), data_weights=lsat.LogWeights())
    problem = lsat.Problem(recipe, data)
    omega = moved(problem.init(), 3)
    weight = np.exp(2 * omega["data_weights.log_weight"].numpy())
    folds = [np.array([i]) for i in range(len(data.train))]
    expected = brute_force(data, float(omega["regularizer.log_weight"]), folds, weight)
    assert problem.evaluate(omega).loss == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("folds", [2, 5])
def test_k_fold_oracle_brute_force(folds):
    data = make_data("regression")
    criterion = lsat.KFold(folds=folds)
    problem = lsat.Problem(PLAIN.replace(criterion=criterion), data)
    parts = criterion.parts(data.train.targets, False, 0)
    assert sorted(np.concatenate(parts)) == list(range(len(data.train)))
    assert loss_at(problem, 0.3) == pytest.approx(brute_force(data, 0.3, parts), rel=1e-10)


def test_gcv_oracle_by_its_definition():
    data = make_data("regression")
    problem = lsat.Problem(PLAIN.replace(criterion=lsat.GCV()), data)
    X, Y = data.train.inputs.numpy(), data.train.targets.numpy()
    H = X @ np.linalg.solve(X.T @ X + np.exp(0.6) * np.eye(X.shape[1]), X.T)
    expected = ((Y - H @ Y) ** 2).sum() / len(X) / (1 - np.trace(H) / len(X)) ** 2
    assert loss_at(problem, 0.3) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_the_error_is_that_of_the_rows_that_the_criterion_names(criterion):
    recipe = PLAIN.replace(criterion=criterion, method=lsat.LineSearch(max_iterations=2))
    run = lsat.tune(recipe, make_data("regression"), progress=False)
    last = run.iterates[-1]
    training = criterion.error_rows == "training"
    assert training == isinstance(criterion, lsat.GCV)
    outputs = run.data.train.targets.shape[1]
    assert last.error == pytest.approx(((last.training_loss if training else last.loss) / outputs) ** 0.5)
    assert f"root mean square on the {criterion.judging} went from" in run.report().html


WITH_ERRORS = {
    "held out": lsat.HeldOut(),
    "left out": lsat.LeaveOneOut(),
    "held out, counted": lsat.Counted(lsat.HeldOut(), tuple(range(1, 31))),
    "left out, counted": lsat.Counted(lsat.LeaveOneOut(), (1.0,) * 39 + (1e-9,)),
}


@pytest.mark.parametrize("engine", [lsat.Memory(), lsat.Chunks(rows=7)], ids=repr)
@pytest.mark.parametrize("criterion", WITH_ERRORS.values(), ids=WITH_ERRORS)
def test_the_error_of_several_outputs_is_that_of_scikit_learn(criterion, engine):
    generator = np.random.default_rng(4)
    X = generator.normal(size=(90, 4))
    Y = X @ generator.normal(size=(4, 3)) + generator.normal(size=(90, 3))
    data = lsat.Data.from_splits((X[:40], Y[:40]), (X[40:70], Y[40:70]), test=(X[70:], Y[70:]))
    recipe = PLAIN.replace(criterion=criterion, engine=engine, method=lsat.LineSearch(max_iterations=1))
    run = lsat.tune(recipe, data, progress=False)
    ridge = Ridge(alpha=float((2 * run.omega["regularizer.log_weight"]).exp()), fit_intercept=False)
    fitted = ridge.fit(X[:40], Y[:40])
    judged, predicted = Y[40:70], fitted.predict(X[40:70])
    if not criterion.held_out:
        judged, predicted = Y[:40], cross_val_predict(ridge, X[:40], Y[:40], cv=40)
    counts = getattr(criterion, "counts", None)
    expected = mean_squared_error(judged, predicted, sample_weight=counts) ** 0.5
    assert run.kept.error == pytest.approx(expected, rel=1e-6)
    assert run.test().error == pytest.approx(mean_squared_error(Y[70:], fitted.predict(X[70:])) ** 0.5, rel=1e-6)
    constant = np.broadcast_to(Y[:40].mean(0), judged.shape)
    told = number_text(mean_squared_error(judged, constant, sample_weight=counts) ** 0.5)
    assert f"predicted for every row, has {told}." in run.report().html


@pytest.mark.parametrize("criterion", [lsat.KFold(folds=4), lsat.LeaveOneOut()], ids=repr)
def test_the_optimum_is_that_of_brute_force(criterion):
    data = make_data("regression")
    k = len(data.train)
    folds = [np.array([i]) for i in range(k)]
    if isinstance(criterion, lsat.KFold):
        folds = criterion.parts(data.train.targets, False, 0)
    expected = minimize_scalar(lambda w: brute_force(data, w, folds), bracket=(-1.0, 1.0), tol=1e-12)
    method = lsat.ProximalGradient(step=10.0, tolerance=1e-10, max_iterations=5000)
    run = lsat.tune(PLAIN.replace(criterion=criterion, method=method), data, progress=False)
    assert run.iterates[-1].loss == pytest.approx(expected.fun, rel=1e-8)


def test_folds_share_classes_alike():
    data = make_data("classification", rows=200)
    parts = lsat.KFold(folds=5).parts(data.train.targets, True, 1)
    shares = np.array([data.train.targets[part].mean(0).numpy() for part in parts])
    assert np.ptp(shares, axis=0).max() < 0.08


RECIPES = {
    "ridge": lsat.Recipe(),
    "archetypes": lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK),
    "row weights": lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, data_weights=lsat.LogWeights()),
}


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_gradients_against_a_directional_difference_of_the_loss(criterion, recipe, task):
    if isinstance(criterion, lsat.GCV) and (task == "classification" or recipe.data_weights):
        with pytest.raises(ValueError, match="GCV is defined for"):
            lsat.Problem(recipe.replace(criterion=criterion), make_data(task))
        return
    problem = lsat.Problem(recipe.replace(criterion=criterion), make_data(task))
    omega = moved(problem.init(), 1)
    gradient = problem.gradient(problem.evaluate(omega))
    generator = torch.Generator().manual_seed(2)
    direction = {k: torch.randn(v.shape, generator=generator, dtype=torch.float64) for k, v in omega.items()}
    for names in [*([name] for name in omega), list(omega)]:
        h = 1e-5
        ahead, behind = (
            problem.evaluate({k: v + s * h * direction[k] if k in names else v for k, v in omega.items()}).loss
            for s in (1, -1)
        )
        found = sum(float((gradient[name] * direction[name]).sum()) for name in names)
        assert found == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-8), names


@pytest.mark.parametrize("criterion", CRITERIA[1:], ids=repr)
def test_validation_rows_are_not_used(criterion):
    data = make_data("regression")
    other = lsat.Data.from_splits(
        train=(data.train.inputs.numpy(), data.train.targets.numpy()),
        validation=(data.validation.inputs.numpy() + 5, data.validation.targets.numpy()),
        task="regression",
    )
    a, b = (lsat.Problem(PLAIN.replace(criterion=criterion), d) for d in (data, other))
    assert loss_at(a, 0.2) == loss_at(b, 0.2)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_the_model_is_fitted_to_all_training_rows(criterion):
    data = make_data("regression")
    method = lsat.ProximalGradient(max_iterations=0)
    run = lsat.tune(PLAIN.replace(criterion=criterion, method=method), data, progress=False)
    X, Y = data.train.inputs.numpy(), data.train.targets.numpy()
    expected = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ Y)
    assert np.allclose(run.model.theta.numpy(), expected, atol=1e-12)


def test_bad_folds():
    with pytest.raises(ValueError, match="folds is 1"):
        lsat.KFold(folds=1)
    with pytest.raises(ValueError, match="100 folds of 45"):
        lsat.Problem(lsat.Recipe(criterion=lsat.KFold(folds=100)), make_data())


def test_k_fold_does_not_cancel_where_one_row_dominates():
    data = make_data("regression")
    X = data.train.inputs.numpy().copy()
    X[0] *= 1e8
    large = lsat.Data.from_splits(
        train=(X, data.train.targets.numpy()),
        validation=(data.validation.inputs.numpy(), data.validation.targets.numpy()),
        task="regression",
    )
    criterion = lsat.KFold(folds=5)
    problem = lsat.Problem(PLAIN.replace(criterion=criterion), large)
    at = problem.evaluate(problem.init())
    folds = criterion.parts(large.train.targets, False, 0)
    fold = next(index for index, part in enumerate(folds) if 0 in part)
    rest = np.setdiff1d(np.arange(len(X)), folds[fold])
    Y = large.train.targets.numpy()
    expected = np.linalg.solve(X[rest].T @ X[rest] + np.eye(6), X[rest].T @ Y[rest])
    assert np.allclose(at.solutions[fold].theta.numpy(), expected, rtol=1e-9)


def with_a_row_of_its_own() -> lsat.Data:
    """Data of which a column is zero but in training row 3."""
    data = make_data("regression")
    X = np.c_[data.train.inputs.numpy(), np.zeros(len(data.train))]
    X[3, -1] = 1.0
    V = np.c_[data.validation.inputs.numpy(), np.zeros(len(data.validation))]
    return lsat.Data.from_splits(
        train=(X, data.train.targets.numpy()), validation=(V, data.validation.targets.numpy()), task="regression"
    )


@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_a_row_that_determines_its_own_fit_is_one_of_many_for_gcv(engine):
    data = with_a_row_of_its_own()
    recipe = PLAIN.replace(regularizer=lsat.Ridge(log_weight=-14.0), criterion=lsat.GCV(), engine=engine)
    problem = lsat.Problem(recipe, data)
    at = problem.evaluate(problem.init())
    X, Y = data.train.inputs.double().numpy(), data.train.targets.double().numpy()
    hat = X @ np.linalg.solve(X.T @ X + np.exp(-28.0) * np.eye(X.shape[1]), X.T)
    expected = np.square(Y - hat @ Y).sum(1).mean() / (1 - np.trace(hat) / len(X)) ** 2
    assert at.loss == pytest.approx(expected, rel=1e-9)
    start = problem.init()["regularizer.log_weight"]
    lower, higher = (problem.evaluate({"regularizer.log_weight": start + move}).loss for move in (-1, 1))
    assert np.sign(float(problem.gradient(at)["regularizer.log_weight"])) == np.sign(higher - lower) != 0


@pytest.mark.parametrize("engine", ["memory", "chunks"])
def test_a_fit_through_all_rows_has_no_gcv(engine):
    square = np.random.default_rng(0).normal(size=(6, 6))
    data = lsat.Data.from_splits(train=(square, np.arange(6.0)), validation=(square, np.arange(6.0)))
    recipe = PLAIN.replace(regularizer=lsat.Ridge(log_weight=-20.0), criterion=lsat.GCV(), engine=engine)
    problem = lsat.Problem(recipe, data)
    at = problem.evaluate(problem.init())
    assert at.objective == np.inf
    assert at.outcome.sentence.startswith("The fit passes through all training rows (mean leverage 1 to rounding)")


def test_a_row_that_determines_its_own_fit_has_no_leave_one_out():
    lone = with_a_row_of_its_own()
    recipe = lsat.Recipe(
        featurizer=lsat.Identity(), regularizer=lsat.Ridge(log_weight=-14.0), criterion=lsat.LeaveOneOut()
    )
    problem = lsat.Problem(recipe, lone)
    at = problem.evaluate(problem.init())
    assert at.objective == np.inf
    assert "row 3 determines its own fit" in at.outcome.sentence


@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.KFold(3), lsat.LeaveOneOut()], ids=repr)
@pytest.mark.parametrize("scale", [1e-300, 2.0**-1074, 1e300, 1.7e308])
def test_counts_near_the_ends_of_the_range_of_floats_mean_what_their_ratios_do(criterion, scale):
    data = make_data("regression")
    rows = len(data.validation if criterion.held_out else data.train)
    plain = lsat.Problem(PLAIN.replace(criterion=criterion), data)
    counts = (scale,) * rows
    if criterion.leverage and scale > 1:  # one copy of so many is next to nothing: the fit's own error
        plain = lsat.Problem(PLAIN.replace(criterion=lsat.Counted(criterion, (1e100,) * rows)), data)
    counted = lsat.Problem(PLAIN.replace(criterion=lsat.Counted(criterion, counts)), data)
    assert loss_at(counted, 0.3) == pytest.approx(loss_at(plain, 0.3), rel=1e-12)
    at = counted.evaluate(counted.init())
    assert float(counted.gradient(at)["regularizer.log_weight"]) == pytest.approx(
        float(plain.gradient(plain.evaluate(plain.init()))["regularizer.log_weight"]), rel=1e-9
    )


def test_criteria_that_are_no_mean_over_rows_take_no_counts():
    with pytest.raises(
        ValueError, match=r"GCV is defined for equally weighted rows, without counts .* use LeaveOneOut"
    ):
        lsat.Counted(lsat.GCV(), (1.0, 2.0))
    with pytest.raises(ValueError, match="criterion is Counted itself: multiply the counts"):
        lsat.Counted(lsat.Counted(lsat.HeldOut(), (1.0, 2.0)), (1.0, 2.0))


@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.KFold(3), lsat.LeaveOneOut()], ids=repr)
def test_counts_of_other_rows_are_refused_with_both_numbers(criterion):
    problem = lsat.Problem(PLAIN.replace(criterion=lsat.Counted(criterion, (1.0,) * 5)), make_data("regression"))
    with pytest.raises(ValueError, match=r"counts has 5 entries, but \d+ rows are scored: give one a row"):
        problem.evaluate(problem.init())


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.LeaveOneOut()], ids=repr)
def test_loss_and_error_of_counted_rows_are_those_of_as_many_copies(criterion, task):
    data = make_data(task)
    train, validation = ((part.inputs.numpy(), part.targets.numpy()) for part in (data.train, data.validation))
    judged = data.validation if criterion.held_out else data.train
    wrong = judged.targets[:, 0].numpy() > 0  # so that rows of one kind count more
    counts = np.where(wrong, 7, 1)

    def problem(criterion: object, rows: tuple, held: tuple, **choices: object) -> lsat.Problem:
        if task == "classification":
            rows, held = ((X, Y.argmax(1)) for X, Y in (rows, held))
        return lsat.Problem(PLAIN.replace(criterion=criterion, **choices), lsat.Data.from_splits(rows, held, task=task))

    def copies(part: tuple) -> tuple:
        return tuple(np.repeat(one, counts, 0) for one in part)

    by_counts = lsat.Counted(criterion, counts.astype(float))
    if criterion.held_out:
        counted, copied = problem(by_counts, train, validation), problem(criterion, train, copies(validation))
    else:
        weights = lsat.FixedWeights(counts.astype(float))
        counted = problem(by_counts, train, validation, data_weights=weights)
        copied = problem(criterion, copies(train), validation)
    mine, its = (one.evaluate(one.init()) for one in (counted, copied))
    assert mine.loss == pytest.approx(its.loss, rel=1e-9)
    assert mine.error == pytest.approx(its.error, rel=1e-9)
    alike = problem(criterion, train, validation)
    assert alike.evaluate(alike.init()).error != pytest.approx(its.error, rel=1e-3)


def test_the_error_of_counted_folds_is_a_mean_by_the_counts():
    data = make_data()
    counts = np.linspace(0.1, 9.0, len(data.train))
    problem = lsat.Problem(PLAIN.replace(criterion=lsat.Counted(lsat.KFold(3), counts)), data)
    at = problem.evaluate(problem.init())
    wrong = (at.predictions.argmax(1) != problem.targets.argmax(1)).numpy()
    assert at.error == pytest.approx((counts * wrong).sum() / counts.sum(), rel=1e-12)
