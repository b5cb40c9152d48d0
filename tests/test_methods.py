"""Methods: the same optimum from each, what each refuses, and ends that are told apart."""

from __future__ import annotations

import itertools
import math
import threading
import weakref

import numpy as np
import pandas
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer import Status
from lsat_explorer.data import read_idx
from lsat_explorer.data.datasets import mnist_path
from lsat_explorer.tune import Problem
from test_problem import ARCHETYPES, STACK, make_data

WEIGHTED = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    hyper_penalties={
        "data_weights.log_weight": lsat.SumSquares(0.05) + lsat.ZeroSum(),
        "regularizer.log_weight": lsat.Box(-0.5, 0.5),
    },
)
METHODS = [
    lsat.ProximalGradient(step=None, tolerance=1e-6, max_iterations=500),
    lsat.ProximalGradient(accept="armijo", tolerance=1e-6, max_iterations=500),
    lsat.ProximalGradient(accept="goldstein", tolerance=1e-6, max_iterations=500),
    lsat.LineSearch(tolerance=1e-6, max_iterations=500),
    lsat.LBFGS(tolerance=1e-7),
    lsat.MultiStart(method=lsat.LBFGS(tolerance=1e-6), starts=3, spread=1.0),
]
every_method = pytest.mark.parametrize("method", METHODS, ids=repr)


@pytest.fixture(scope="module")
def optimum() -> float:
    run = lsat.tune(
        WEIGHTED.replace(method=lsat.LBFGS(tolerance=1e-9, max_iterations=400)), make_data(), progress=False
    )
    return run.best.objective


@every_method
def test_every_method_ends_near_the_same_optimum(method, optimum):
    run = lsat.tune(WEIGHTED.replace(method=method), make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert run.kept.objective == pytest.approx(optimum, rel=1e-7)
    assert abs(float(run.omega["data_weights.log_weight"].sum())) < 1e-9
    assert -0.5 <= float(run.omega["regularizer.log_weight"]) <= 0.5


@every_method
def test_accepted_objectives_never_rise_within_a_start(method):
    run = lsat.tune(WEIGHTED.replace(method=method), make_data(), progress=False)
    for start in {i.start for i in run.iterates[:-1]}:
        objectives = [i.objective for i in run.iterates[:-1] if i.accepted and i.start == start]
        assert all(b <= a for a, b in itertools.pairwise(objectives))
    assert run.kept.objective == min(i.objective for i in run.iterates)
    assert [i.number for i in run.iterates] == list(range(len(run.iterates)))


@every_method
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_between_iterates_a_run_holds_no_factor_and_no_features(method, dtype, monkeypatch):
    evaluated = []
    evaluate = Problem.evaluate

    def watched(problem, omega):
        found = evaluate(problem, omega)
        evaluated.append(weakref.ref(found))
        return found

    monkeypatch.setattr(Problem, "evaluate", watched)
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, method=method, dtype=dtype)
    run = lsat.Run(recipe, make_data())
    for _ in itertools.islice(run.steps(), 12):
        assert not [one for one in evaluated if one() is not None]
    assert len(evaluated) >= 12


@every_method
def test_the_same_recipe_gives_the_same_history_bit_for_bit(method):
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK, method=method)
    a, b = (lsat.tune(recipe, make_data(), progress=False).history().drop(columns="seconds") for _ in range(2))
    pandas.testing.assert_frame_equal(a, b, check_exact=True)


def test_lbfgs_takes_few_evaluations():
    recipe = lsat.Recipe(featurizer=ARCHETYPES, regularizer=STACK)
    counts = {}
    for method in (lsat.LBFGS(tolerance=1e-4), lsat.ProximalGradient(tolerance=1e-4)):
        counts[type(method).__name__] = len(
            lsat.tune(recipe.replace(method=method), make_data(), progress=False).iterates
        )
    assert counts["LBFGS"] < counts["ProximalGradient"]


def test_lbfgs_residual_is_the_projected_gradient():
    recipe = lsat.Recipe(
        hyper_penalties={"regularizer.log_weight": lsat.Box(-0.1, 0.1)}, method=lsat.LBFGS(tolerance=1e-8)
    )
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert run.iterates[-1].gradient_norm > 1e-4
    assert abs(float(run.omega["regularizer.log_weight"])) == pytest.approx(0.1)


@pytest.mark.parametrize("penalty", [lsat.AbsoluteValue(0.1), lsat.AbsoluteValue(0.1) + lsat.SumSquares(0.1)], ids=repr)
def test_lbfgs_refuses_penalties_that_are_not_smooth(penalty):
    recipe = lsat.Recipe(hyper_penalties={"regularizer.log_weight": penalty}, method=lsat.LBFGS())
    with pytest.raises(ValueError, match=r"regularizer.log_weight has .*choose LineSearch"):
        lsat.tune(recipe, make_data(), progress=False)
    run = lsat.tune(recipe.replace(method=lsat.LineSearch()), make_data(), progress=False)
    assert run.status is Status.CONVERGED


def test_lbfgs_leaves_no_thread_behind():
    before = threading.active_count()
    steps = lsat.Run(lsat.Recipe(method=lsat.LBFGS(tolerance=0.0)), make_data()).steps()
    for _ in range(3):
        next(steps)
    steps.close()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    "method", [lsat.LBFGS(max_iterations=3, tolerance=0.0), lsat.LineSearch(max_iterations=3, tolerance=0.0)]
)
def test_limits_are_kept_and_a_run_goes_on(method):
    run = lsat.Run(WEIGHTED.replace(method=method), make_data())
    for _ in run.steps():
        pass
    assert run.status is Status.MAX_ITERATIONS
    assert run.iterates[-1].number == 3
    reached = run.iterates[-1].objective
    for _ in run.steps():
        pass
    assert run.iterates[-1].number == 7
    assert run.iterates[-1].objective < reached


@pytest.mark.parametrize("method", [lsat.LBFGS(), lsat.MultiStart(starts=2), lsat.LineSearch()], ids=repr)
def test_nothing_to_tune_is_a_fit_by_every_method(method):
    recipe = lsat.Recipe(hyper_penalties={"regularizer.log_weight": lsat.Frozen()}, method=method)
    run = lsat.tune(recipe, make_data(), progress=False)
    assert run.status is Status.CONVERGED
    assert "Nothing to tune" in run.message


def test_grid_keeps_the_best_value():
    run = lsat.tune(lsat.Recipe(method=lsat.Grid(-3.0, 3.0, points=13)), make_data(), progress=False)
    assert run.message.startswith("Done: the best of the values that were tried is kept.")
    problem = lsat.Problem(lsat.Recipe(), make_data())
    values = np.linspace(-3, 3, 13)
    losses = [problem.evaluate({"regularizer.log_weight": torch.as_tensor(v)}).loss for v in values]
    assert float(run.omega["regularizer.log_weight"]) == values[int(np.argmin(losses))]
    assert run.kept.loss == min(losses)
    assert len(run.iterates) == 15
    assert run.iterates[-1].number == run.limit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsat.LBFGS(memory=0), "memory is 0"),
        (lambda: lsat.LineSearch(step=-1.0), "step is -1.0"),
        (lambda: lsat.ProximalGradient(accept="wolfe"), "accept is 'wolfe'"),
        (lambda: lsat.MultiStart(starts=0), "starts is 0"),
        (lambda: lsat.MultiStart(method=lsat.Ridge()), "method is Ridge"),
        (lambda: lsat.MultiStart(method=lsat.MultiStart()), "expected a local method"),
        (lambda: lsat.Grid(1.0, 0.0), "low < high"),
        (lambda: lsat.Grid(points=1), "points is 1"),
        (lambda: lsat.EarlyStopping(patience=0), "patience is 0"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def two_weights(start: float, method: lsat.model.choices.Method, folder: str) -> lsat.Run:
    """Return the run on the two ridge weights of standardised MNIST pixels, split by RandomState(0).permutation."""
    X = read_idx(mnist_path(folder, "train-images-idx3-ubyte")).reshape(60_000, -1).astype(np.float64)
    y = read_idx(mnist_path(folder, "train-labels-idx1-ubyte"))
    chosen = np.random.RandomState(0).permutation(60_000)[:5_000]
    train, validation = chosen[:3_500], chosen[3_500:]
    deviation = X[train].std(0)
    X = (X - X[train].mean(0)) / np.where(deviation == 0, 1, deviation)
    data = lsat.Data.from_splits(train=(X[train], y[train]), validation=(X[validation], y[validation]))
    ridge, smooth = lsat.Ridge(log_weight=start), lsat.Smooth(lsat.graphs.grid(28, 28), log_weight=start)
    recipe = lsat.Recipe(featurizer=lsat.Identity(), regularizer=lsat.Stack(ridge=ridge, smooth=smooth), method=method)
    return lsat.tune(recipe, data, progress=False)


@pytest.mark.mnist
def test_two_weights_of_mnist_from_zero(mnist_folder):
    run = two_weights(0.0, lsat.LBFGS(), str(mnist_folder))
    history = run.history()
    assert history["objective"].iloc[-1] == pytest.approx(1.8179336, abs=5e-8)
    assert int((history["objective"] <= 1.8179336 + 1e-6).idxmax()) <= 14


@pytest.mark.mnist
def test_the_false_plateau_is_named_and_many_starts_leave_it(mnist_folder):
    stuck = two_weights(-2.0, lsat.LBFGS(), str(mnist_folder))
    assert stuck.kept.loss == pytest.approx(1.818786, abs=1e-6)
    assert "no longer depends on the weight of smooth" in stuck.message
    assert "Other starts may find better" in stuck.message
    free = two_weights(-2.0, lsat.MultiStart(), str(mnist_folder))
    assert free.kept.loss == pytest.approx(1.8179336, abs=5e-8)
    assert "Other starts may find better" not in free.message


def test_a_penalty_that_is_idle_from_the_start_is_named():
    recipe = lsat.Recipe(
        featurizer=lsat.Scale(tuned=False),
        regularizer=lsat.Stack(
            ridge=lsat.Ridge(log_weight=2.0), smooth=lsat.Smooth(lsat.graphs.grid(8, 8), log_weight=-4.0)
        ),
        loss=lsat.CrossEntropy(temperature=True),
        method=lsat.LBFGS(),
    )
    run = lsat.tune(recipe, lsat.datasets.digits(), progress=False)
    assert "no longer depends on the weight of smooth" in run.message


def stopping_data() -> lsat.Data:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(160, 6))
    y = X @ generator.normal(size=6) + 2 * generator.normal(size=160)
    return lsat.Data.from_arrays(X, y, task="regression", validation=20, test=40, final=40, seed=1)


def test_early_stopping_keeps_the_best_iterate_and_looks_at_the_final_split():
    recipe = lsat.Recipe(
        data_weights=lsat.LogWeights(),
        early_stopping=lsat.EarlyStopping(patience=6),
        method=lsat.ProximalGradient(tolerance=0.0, max_iterations=2000),
    )
    run = lsat.tune(recipe, stopping_data(), progress=False)
    assert run.status is Status.STOPPED_EARLY
    accepted = [i for i in run.iterates if i.accepted]
    best = min(accepted, key=lambda i: i.stopping_loss)
    assert len(accepted) - 1 - accepted.index(best) == 6
    assert run.kept is best
    assert run.omega is best.omega
    test = run.data.test
    expected = ((run.model.decision_function(test.inputs) - test.targets.numpy()) ** 2).sum(1).mean()
    assert best.stopping_loss == pytest.approx(expected, rel=1e-9)
    final = run.data.final
    expected = ((run.model.decision_function(final.inputs) - final.targets.numpy()) ** 2).sum(1).mean()
    assert run.test().loss == pytest.approx(expected, rel=1e-12)
    assert "hyper-parameters and 20 rows" not in run.message


def test_early_stopping_needs_its_splits():
    recipe = lsat.Recipe(early_stopping=lsat.EarlyStopping())
    with pytest.raises(ValueError, match="needs a test split"):
        lsat.Problem(recipe, lsat.Data.from_arrays(np.eye(12), np.arange(12.0), test=0, task="regression"))
    run = lsat.tune(recipe, make_data(), progress=False)
    assert "give the data a final split" in run.message
    with pytest.raises(ValueError, match="no final split"):
        run.test()


def test_more_hyper_parameters_than_rows_is_said():
    recipe = lsat.Recipe(data_weights=lsat.LogWeights(), method=lsat.ProximalGradient(max_iterations=2))
    run = lsat.tune(recipe, make_data(), progress=False)
    assert "46 hyper-parameters and 27 rows that judge them" in run.message
    assert math.isfinite(run.kept.loss)


def test_starts_are_spread_as_said_whatever_penalises_them():
    """A penalty pulls at the answer, not at where the search begins; a domain holds the starts too."""
    data = make_data("regression")
    regularizer = lsat.Stack(
        a=lsat.Ridge(block="features", log_weight=3.0),
        b=lsat.Ridge(block="features", log_weight=-1.0),
        d=lsat.Diagonal(block="features", log_weight=2.0),
    )
    penalties = {
        "regularizer.a.log_weight": lsat.SumSquares(1.0),
        "regularizer.b.log_weight": lsat.AbsoluteValue(1.0) + lsat.Box(-2.0, 1.0),
        "regularizer.d.log_weight": lsat.SumSquares(1.0),
    }
    problem = Problem(lsat.Recipe(regularizer=regularizer, hyper_penalties=penalties), data)
    origin = problem.init()
    first, *starts = lsat.MultiStart(starts=17, spread=4.0)._starts(problem, origin)
    assert all(torch.equal(first[name], origin[name]) for name in origin)
    a, b = (np.array([float(at[f"regularizer.{name}.log_weight"]) for at in starts]) for name in "ab")
    assert -1 <= a.min() < 0
    assert 6 < a.max() <= 7
    assert b.min() == pytest.approx(-2)
    assert b.max() == pytest.approx(1)
    assert len(np.unique(b)) > 5
    assert all(torch.equal(at["regularizer.d.log_weight"], origin["regularizer.d.log_weight"]) for at in starts)


@pytest.mark.parametrize("method", [*METHODS, lsat.Grid(points=3)], ids=repr)
def test_a_start_that_leaves_something_out_has_it_from_the_recipe(method):
    problem = Problem(lsat.Recipe(), make_data("regression"))
    first = next(iter(method.iterates(problem, {})))
    assert all(torch.equal(value, problem.init()[name]) for name, value in first.omega.items())


@pytest.mark.parametrize("method", [lsat.LBFGS(), lsat.LineSearch(max_iterations=40)], ids=repr)
def test_a_point_whose_slope_is_not_finite_is_not_taken(method):
    """The loss has a value everywhere, and a slope only above a line that lies on the way to its least."""

    def sloping(predictions, targets):
        loss = (predictions - targets).square().sum(1).mean()
        return loss + 0 * (0 * loss).sqrt() if float(loss.detach()) < 8.0 else loss

    lsat.register_loss("sloping above", sloping)
    data = make_data("regression")
    start = Problem(lsat.Recipe(regularizer=lsat.Ridge(log_weight=6.0), loss=lsat.CustomLoss("sloping above")), data)
    assert start.evaluate(start.init()).loss > 8.0
    run = lsat.tune(start.recipe.replace(method=method), data, progress=False)
    assert len(run.iterates) > 1
    assert all(at.loss >= 8.0 and math.isfinite(at.gradient_norm) for at in run.iterates)
    assert any(not at.accepted for at in run.iterates)
