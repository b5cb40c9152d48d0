"""Losses by hand and against libraries, regularizers and data weights: their gradients in F, and what they mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import torch

import lsat_explorer as lsat
from lsat_explorer.model.data_weights import DataWeights
from lsat_explorer.model.losses import Loss, misclassified
from lsat_explorer.model.regularizers import Regularizer
from pieces import COLUMNS, ROWS, examples
from test_featurizers import check_gradients, short
from test_problem import make_data, moved

BLOCKS = lsat.Concat(a=lsat.Identity(), b=lsat.Scale(tuned=False))
PLAIN = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Ridge())
BOTH = pytest.mark.parametrize("task", ["classification", "regression"])
R = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
ZERO = torch.zeros_like(R)


def test_a_cross_entropy_near_zero_keeps_its_digits():
    scores = torch.tensor([[3e6 + 12.0, 3e6, 3e6 - 1.0]], dtype=torch.float64)
    expected = math.log1p(math.exp(-12.0) + math.exp(-13.0))
    found = lsat.CrossEntropy().value(scores, torch.eye(3, dtype=torch.float64)[:1], {})
    assert found.item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", examples(Loss), ids=short)
@BOTH
def test_gradients_of_losses(loss, task):
    if loss.classifies and task == "regression":
        with pytest.raises(ValueError, match="needs classes"):
            lsat.Problem(PLAIN.replace(loss=loss), make_data(task, d=COLUMNS))
        return
    check_gradients(PLAIN.replace(loss=loss), make_data(task, d=COLUMNS))


@pytest.mark.parametrize("regularizer", examples(Regularizer), ids=short)
def test_gradients_of_regularizers(regularizer):
    base = lsat.Stack(rest=lsat.Ridge(log_weight=-1.0), it=regularizer)
    check_gradients(lsat.Recipe(featurizer=BLOCKS, regularizer=base), make_data(d=COLUMNS))


@pytest.mark.parametrize("weights", examples(DataWeights), ids=short)
def test_gradients_of_data_weights(weights):
    featurizer = lsat.Concat(x=lsat.Identity(), k=lsat.KMeansArchetypes(per_class=2, n_init=1))
    check_gradients(PLAIN.replace(data_weights=weights, featurizer=featurizer), make_data(d=COLUMNS))


def test_huber_oracle_scipy_and_torch():
    found = lsat.Huber(0.8).value(R, ZERO, {})
    assert found.item() == pytest.approx(2 * scipy.special.huber(0.8, R.numpy()).sum(1).mean(), rel=1e-14)
    library = torch.nn.functional.huber_loss(R, ZERO, delta=0.8, reduction="sum")
    assert found.item() == pytest.approx(2 * library.item() / len(R), rel=1e-14)
    assert lsat.Huber(100.0).value(R, ZERO, {}).item() == pytest.approx(lsat.SquaredError().value(R, ZERO, {}).item())


def test_bisquare_oracle_its_known_influence():
    """The derivative of Tukey's bisquare is r (1 − (r/M)²)², and 0 beyond M; its limit for large M is r² / 2."""
    r = R.clone().requires_grad_()
    M = 1.2
    (slope,) = torch.autograd.grad(lsat.Bisquare(M).value(r, ZERO, {}), r)
    expected = torch.where(R.abs() <= M, R * (1 - (R / M) ** 2) ** 2, 0.0) / len(R)
    assert torch.allclose(slope, expected, atol=1e-15)
    assert lsat.Bisquare(M).value(torch.full((1, 1), 50.0), torch.zeros(1, 1), {}).item() == pytest.approx(M**2 / 6)
    half = lsat.SquaredError().value(R, ZERO, {}).item() / 2
    assert lsat.Bisquare(1e4).value(R, ZERO, {}).item() == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize("loss", examples(Loss), ids=short)
def test_slopes_that_a_loss_knows_are_those_that_torch_finds(loss):
    generator = torch.Generator().manual_seed(0)
    predictions = 3 * torch.randn(40, 3, generator=generator, dtype=torch.float64)
    targets = torch.eye(3, dtype=torch.float64)[torch.arange(40) % 3]
    omega = {name: value + 0.3 for name, value in loss.init().items()}
    known = loss.with_slopes(predictions, targets, omega)
    if known is None:
        return
    leaves = [predictions.requires_grad_(), *(value.requires_grad_() for value in omega.values())]
    value = loss.value(predictions, targets, omega)
    torch.testing.assert_close(known[0].detach(), value.detach(), rtol=1e-13, atol=0)
    for found, expected in zip([known[1], *known[2].values()], torch.autograd.grad(value, leaves), strict=True):
        torch.testing.assert_close(found.detach(), expected, rtol=1e-12, atol=1e-15)


def test_robust_losses_at_their_threshold_have_one_slope():
    for loss in (lsat.Huber(1.0), lsat.Bisquare(1.0)):
        ends = torch.tensor([[1 - 1e-9], [1 + 1e-9]], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(loss.value(ends, torch.zeros(2, 1), {}), ends)
        assert slope[0].item() == pytest.approx(slope[1].item(), abs=1e-8)


def test_a_loss_of_ones_own_is_used_and_must_be_scalar():
    loss = lsat.CustomLoss("log cosh")
    assert loss.value(R, ZERO, {}).item() == pytest.approx(np.log(np.cosh(R.numpy())).sum(1).mean())
    lsat.register_loss("not a mean", lambda predictions, targets: predictions - targets)
    with pytest.raises(ValueError, match=r"'not a mean' returned a tensor of shape \(40, 3\)"):
        lsat.CustomLoss("not a mean").value(R, ZERO, {})
    lsat.register_loss("not a mean", lambda predictions, targets: (predictions - targets).mean())
    assert lsat.CustomLoss("not a mean").value(R, ZERO, {}).ndim == 0


def in_place(predictions, targets):
    targets -= targets.mean(0)
    predictions -= predictions.mean(0)
    return (predictions - targets).square().sum(1).mean()


def out_of_place(predictions, targets):
    return ((predictions - predictions.mean(0)) - (targets - targets.mean(0))).square().sum(1).mean()


@pytest.mark.parametrize("criterion", [lsat.HeldOut(), lsat.KFold(3), lsat.LeaveOneOut()], ids=short)
def test_a_loss_that_works_in_place_changes_nobodys_targets(criterion):
    data = make_data("regression", d=COLUMNS)
    before = [part.targets.clone() for part in (data.train, data.validation)]
    found = []
    for function in (in_place, out_of_place):
        lsat.register_loss("centred", function)
        problem = lsat.Problem(PLAIN.replace(loss=lsat.CustomLoss("centred"), criterion=criterion), data)
        at = problem.evaluate(problem.init())
        found.append((at.loss, at.error, *problem.gradient(at).values()))
    for one, other in zip(*found, strict=True):
        assert float(one) == pytest.approx(float(other), rel=1e-12)
    for part, targets in zip((data.train, data.validation), before, strict=True):
        assert torch.equal(part.targets, targets)


@pytest.mark.parametrize(
    ("function", "came"),
    [
        (lambda p, t: (p - t).square().mean().detach(), "does not depend on the predictions, or was cut off"),
        (lambda p, t: torch.tensor(float(np.square(p.detach().numpy() - t.numpy()).mean())), "or was cut off"),
        (lambda p, t: torch.no_grad()(lambda: (p - t).square().mean())(), "or was cut off"),
        (lambda p, t: torch.tensor(0.0), "does not depend on the predictions"),
        (lambda p, t: ((p - t).abs() > 1).sum(), "a number of type int64"),
        (lambda p, t: (p > t).all(), "a number of type bool"),
        (lambda p, t: torch.complex(p, t).square().mean(), "a number of type complex128"),
    ],
)
def test_a_loss_that_torch_cannot_differentiate_is_refused_by_its_name(function, came):
    lsat.register_loss("odd one", function)
    recipe, data = PLAIN.replace(loss=lsat.CustomLoss("odd one")), make_data("regression", d=COLUMNS)
    message = rf'The loss CustomLoss\(name="odd one"\) returned .*{came}.*: expected a real one that torch can'
    with pytest.raises(ValueError, match=message):
        lsat.tune(recipe, data, progress=False)
    if "numpy" not in function.__code__.co_names:  # numpy has no batches of torch
        counted = lsat.Counted(lsat.HeldOut(), (1.0,) * len(data.validation))
        with pytest.raises(ValueError, match=message):
            lsat.tune(recipe.replace(criterion=counted), data, progress=False)


def test_a_model_with_a_loss_of_ones_own_round_trip(tmp_path):
    run = lsat.tune(
        PLAIN.replace(loss=lsat.CustomLoss("log cosh"), method=lsat.ProximalGradient(max_iterations=2)),
        make_data("regression", d=COLUMNS),
        progress=False,
    )
    run.model.save(tmp_path / "m.safetensors")
    again = lsat.FittedModel.load(tmp_path / "m.safetensors")
    assert again.loss == run.model.loss == lsat.CustomLoss("log cosh")


def test_boolean_targets_take_every_loss():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(80, 3))
    data = lsat.Data.from_arrays(X, X[:, 0] + 0.3 * generator.normal(size=80) > 0)
    for loss in examples(Loss):
        problem = lsat.Problem(lsat.Recipe(loss=loss), data)
        assert math.isfinite(problem.evaluate(problem.init()).loss)


def test_fixed_weights_oracle_rows_repeated_and_left_out():
    """A row of weight 2 is a row given twice; one of weight 0 is no row (case 4)."""
    data = make_data("regression", d=COLUMNS)
    assert len(data.train) == ROWS
    counts = np.arange(ROWS) % 3
    weighted = lsat.Problem(PLAIN.replace(data_weights=lsat.FixedWeights(counts)), data)
    rows = np.repeat(np.arange(ROWS), counts)
    train = lsat.Split(
        *(part[rows] for part in (data.train.inputs, data.train.targets, data.train.labels, data.train.rows))
    )
    repeated = lsat.Problem(
        PLAIN,
        lsat.Data(train, data.validation, None, task="regression", classes=None, feature_names=data.feature_names),
    )
    a, b = weighted.evaluate(weighted.init()), repeated.evaluate(repeated.init())
    assert a.loss == pytest.approx(b.loss, rel=1e-11)
    for name, value in repeated.gradient(b).items():
        assert torch.allclose(weighted.gradient(a)[name], value, rtol=1e-9)


def test_fixed_weights_of_another_length_are_refused_with_both():
    for weights in (lsat.FixedWeights([1.0] * 7), lsat.GroupWeights([0] * 7)):
        with pytest.raises(ValueError, match="has 7 entries, but there are 45 training rows"):
            lsat.Problem(PLAIN.replace(data_weights=weights), make_data(d=COLUMNS))


def test_fixed_weights_that_have_lost_digits_are_refused_and_the_least_that_have_not_are_taken():
    for small in (5e-324, 2.2e-308):
        with pytest.raises(ValueError, match=rf"values\[1\] is {small!r}, too small .* all divided by the largest"):
            lsat.FixedWeights([1.0, small])
    assert lsat.FixedWeights([1.0, 0.0, np.finfo(float).tiny]).values[1:] == (0.0, np.finfo(float).tiny)


def test_groups_share_their_gradient_with_their_rows():
    data = make_data(d=COLUMNS)
    names = [("north", "south", "west")[i % 3] for i in range(ROWS)]
    grouped = lsat.Problem(PLAIN.replace(data_weights=lsat.GroupWeights(names)), data)
    single = lsat.Problem(PLAIN.replace(data_weights=lsat.LogWeights()), data)
    omega = moved(grouped.init(), 0)
    rows = omega["data_weights.log_weight"][torch.arange(ROWS) % 3]
    at = grouped.evaluate(omega)
    each = single.evaluate({**omega, "data_weights.log_weight": rows})
    assert at.loss == pytest.approx(each.loss, rel=1e-12)
    slopes = single.gradient(each)["data_weights.log_weight"]
    expected = torch.stack([slopes[torch.arange(ROWS) % 3 == g].sum() for g in range(3)])
    assert torch.allclose(grouped.gradient(at)["data_weights.log_weight"], expected)


def test_groups_by_class_need_classes_and_follow_them():
    data = make_data(d=COLUMNS)
    weights = lsat.GroupWeights()
    omega = {"log_weight": torch.arange(3.0, dtype=torch.float64)}
    assert torch.equal(weights.log_weights(omega, data.train.targets), data.train.targets.argmax(1).double())
    with pytest.raises(ValueError, match="the targets are no classes"):
        lsat.Problem(PLAIN.replace(data_weights=weights), make_data("regression", d=COLUMNS))


def test_diagonal_of_equal_weights_is_the_ridge():
    data = make_data(d=COLUMNS)
    each, one = (
        lsat.Problem(PLAIN.replace(regularizer=kind(log_weight=0.7)), data) for kind in (lsat.Diagonal, lsat.Ridge)
    )
    a, b = each.evaluate(each.init()), one.evaluate(one.init())
    assert a.loss == pytest.approx(b.loss, rel=1e-12)
    total = each.gradient(a)["regularizer.log_weight"].sum().item()
    assert total == pytest.approx(one.gradient(b)["regularizer.log_weight"].item(), rel=1e-10)


def test_matrix_of_incidence_is_the_graph():
    data, graph = make_data(d=COLUMNS), lsat.graphs.grid(3, 4, neighbours=8)
    smooth, matrix = (
        lsat.Problem(PLAIN.replace(regularizer=lsat.Stack(ridge=lsat.Ridge(log_weight=-2.0), it=it)), data)
        for it in (lsat.Smooth(graph), lsat.Matrix(graph.incidence()))
    )
    assert smooth.evaluate(smooth.init()).loss == pytest.approx(matrix.evaluate(matrix.init()).loss, rel=1e-12)


def test_diagonal_oracle_numpy_with_a_weight_for_each_feature():
    data = make_data("regression", d=COLUMNS)
    problem = lsat.Problem(PLAIN.replace(regularizer=lsat.Diagonal()), data)
    weights = torch.linspace(-2, 3, COLUMNS, dtype=torch.float64)
    X, Y, V = (t.numpy() for t in (data.train.inputs, data.train.targets, data.validation.inputs))
    theta = np.linalg.solve(X.T @ X + np.diag(np.exp(2 * weights.numpy())), X.T @ Y)
    expected = ((V @ theta - data.validation.targets.numpy()) ** 2).sum(1).mean()
    assert problem.evaluate({"regularizer.log_weight": weights}).loss == pytest.approx(expected, rel=1e-11)


def test_misclassified_rows_by_numpy():
    """Of equal predictions the first counts, however they lie in memory."""
    generator = np.random.default_rng(0)
    scores, targets = generator.integers(0, 3, (500, 4)).astype(float), np.eye(4)[generator.integers(0, 4, 500)]
    expected = scores.argmax(1) != targets.argmax(1)
    assert 0 < expected.sum() < 500
    for predictions in (torch.tensor(scores), torch.tensor(scores.T.copy()).mT, torch.tensor(scores).float()):
        assert misclassified(predictions, torch.tensor(targets)).tolist() == expected.tolist()


def test_a_loss_that_looks_at_its_numbers_is_counted_by_row():
    def pinball(predictions, targets):
        left = (targets - predictions)[:, 0]
        return torch.stack([0.9 * one if one > 0 else -0.1 * one for one in left]).mean()

    lsat.register_loss("pinball of a loop", pinball)
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    y = X[:, 0] + random.normal(size=40)
    counts = random.integers(1, 4, 40)
    recipe = lsat.Recipe(loss=lsat.CustomLoss("pinball of a loop"), criterion=lsat.KFold(2))
    weighted = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y, sample_weight=np.full(40, 2.0))
    plain = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y)
    assert weighted.run_.iterates[0].loss == pytest.approx(plain.run_.iterates[0].loss, rel=0.2)
    run = lsat.TunedLeastSquaresRegressor(recipe).fit(X, y, sample_weight=counts).run_
    assert np.isfinite(run.kept.loss)
