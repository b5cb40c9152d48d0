"""The precision policies: against float64 QR at the points where float32 is known to fail, and along a run."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer.engines.memory import MemoryRows
from lsat_explorer.solve.precision import DOUBLE, MIXED, SINGLE
from lsat_explorer.tune.evaluation import Evaluation


def make_data(scale: float, seed: int = 0) -> lsat.Data:
    """Correlated positive columns like pixels, two of them zero, in three classes."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(0, 3, size=900)
    centres = generator.uniform(size=(3, 24))
    X = np.clip(centres[classes] + 0.3 * generator.normal(size=(900, 24)), 0, None)
    X[:, [0, 5]] = 0.0
    return lsat.Data.from_arrays((scale * X).astype(np.float32), classes, validation=0.3, test=0.1, seed=seed)


def feat(archetype_ridge: float = 0.0, pixel_ridge: float = 0.0) -> lsat.Recipe:
    return lsat.Recipe(
        featurizer=lsat.Concat(x=lsat.Identity(), archetypes=lsat.KMeansArchetypes(per_class=3), one=lsat.Constant()),
        regularizer=lsat.Stack(
            pixel_ridge=lsat.Ridge(block="x", log_weight=pixel_ridge),
            archetype_ridge=lsat.Ridge(block="archetypes", log_weight=archetype_ridge),
            smooth=lsat.Smooth(lsat.graphs.grid(4, 6), block="x"),
        ),
        data_weights=lsat.LogWeights(),
        dtype="float32",
    )


def by_qr(problem: lsat.Problem, at: Evaluation) -> tuple[Tensor, lsat.Problem]:
    """Return the validation predictions of the fit by QR of the stacked float64 system, rows scaled by column."""
    exact = lsat.Problem(problem.recipe.replace(dtype="float64"), problem.data)
    (train, validation) = exact.parts
    moving = [part.rows.moving({k.removeprefix("featurizer."): v for k, v in at.omega.items()}) for part in exact.parts]
    X = torch.cat([features.clone() for _, features in train.rows.chunks(moving[0])])
    V = torch.cat([features.clone() for _, features in validation.rows.chunks(moving[1])])
    Y = train.rows.targets.double()
    log_weights = exact.log_weights(at.omega)
    w = torch.ones(len(X), 1, dtype=torch.float64) if log_weights is None else log_weights.exp()[:, None]
    identity = torch.eye(X.shape[1], dtype=torch.float64)
    A = torch.cat([w * X, *(at.omega[p.name].exp() * p.apply(identity) for p in exact.penalty_matrices)])
    B = torch.cat([w * Y, Y.new_zeros(len(A) - len(Y), Y.shape[1])])
    scale = A.norm(dim=0)
    Q, R = torch.linalg.qr(A / scale)
    theta = torch.linalg.solve_triangular(R, Q.mT @ B, upper=True) / scale[:, None]
    return V @ theta, exact


def relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())


# What is compared are predictions and the gradient as a whole: θ is not determined where [softmax, 1] is deficient.
# Each with the spread of the log row weights and the error of SINGLE's gradient.
POINTS = {
    "raw feat": (feat(), 0.0, 2e-4),
    "raw feat, tiny archetype ridge": (feat(archetype_ridge=-6.0), 0.0, 1e-2),
    "raw feat, weights spread": (feat(), 0.3, 2e-4),
}


@pytest.mark.parametrize("name", POINTS)
def test_each_policy_against_float64_qr(name):
    recipe, spread, single = POINTS[name]
    problem = lsat.Problem(recipe, make_data(255.0))
    omega = problem.init()
    drawn = torch.randn(len(problem.data.train), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    omega["data_weights.log_weight"] = spread * drawn
    assert problem.precision is SINGLE
    precise = problem.precisely()
    assert precise.precision is MIXED
    results = {"single": problem.evaluate(omega), "mixed": precise.evaluate(omega)}
    predictions, exact = by_qr(problem, results["single"])
    assert exact.precision is DOUBLE
    reference = exact.evaluate(omega)
    assert relative(reference.predictions, predictions) < 1e-9
    gradient = exact.gradient(reference)
    bounds = {"single": (2e-5, single), "mixed": (5e-6, 2e-5)}
    for policy, at in results.items():
        of = precise if policy == "mixed" else problem
        found = of.gradient(at)
        off = relative(torch.cat([g.reshape(-1) for g in found.values()]), torch.cat([*map(_flat, gradient.values())]))
        assert relative(at.predictions.double(), predictions) < bounds[policy][0], policy
        assert off < bounds[policy][1], policy
    theta, outcome = problem.coefficients(omega)
    assert outcome.ok
    scored = exact.parts[1].rows
    final = torch.cat([f @ theta for _, f in scored.chunks(scored.moving(_local(omega)))])
    assert relative(final, predictions) < 2e-5


@pytest.mark.parametrize("engine", [lsat.Memory(), lsat.Chunks(rows=200)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("log_weight", [-6.0, -7.0, -8.0, -9.0])
def test_float64_products_decide_where_those_of_float32_leave_no_solution(log_weight, engine):
    # Rounding in float32 makes G indefinite at some of these, at which depends on the machine.
    problem = lsat.Problem(feat(archetype_ridge=log_weight).replace(engine=engine), make_data(255.0))
    at, mixed = problem.evaluate(problem.init()), problem.precisely().evaluate(problem.init())
    assert at.outcome.ok
    assert at.loss == pytest.approx(mixed.loss, rel=1e-5)
    found, exact = problem.gradient(at), problem.precisely().gradient(mixed)
    assert relative(torch.cat([*map(_flat, found.values())]), torch.cat([*map(_flat, exact.values())])) < 1e-2
    assert not at.precise or all(torch.equal(found[n], exact[n]) for n in exact)


def test_a_system_that_is_singular_in_any_precision_is_said_to_be_so():
    recipe = feat().replace(regularizer=lsat.Ridge(block="x", log_weight=0.0))
    problem = lsat.Problem(recipe, make_data(255.0))
    at = problem.evaluate(problem.init())
    assert not at.outcome.ok
    assert at.precise
    assert math.isinf(at.objective)


def _flat(value: Tensor) -> Tensor:
    return value.reshape(-1)


def _local(omega: lsat.Omega) -> lsat.Omega:
    return {k.removeprefix("featurizer."): v for k, v in omega.items() if k.startswith("featurizer.")}


@pytest.mark.parametrize("log_weight", [-2.0, -5.0])
def test_tuning_of_regularizers_alone_is_float64_throughout(log_weight):
    # Standardised correlated columns with weights e^{-2} and e^{-5}: float32 is 10 % and more wrong there.
    recipe = lsat.Recipe(
        featurizer=lsat.Scale(),
        regularizer=lsat.Stack(
            ridge=lsat.Ridge(log_weight=log_weight),
            smooth=lsat.Smooth(lsat.graphs.grid(4, 6), log_weight=log_weight),
        ),
    )
    problem = lsat.Problem(recipe, make_data(1.0))
    assert problem.precision is DOUBLE
    at = problem.evaluate(problem.init())
    predictions, _ = by_qr(problem, at)
    assert relative(at.predictions, predictions) < 1e-9


@pytest.mark.parametrize(
    "method",
    [
        lsat.ProximalGradient(tolerance=1e-5, max_iterations=400),
        lsat.LineSearch(tolerance=2e-5, max_iterations=600),
        lsat.LBFGS(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_run_whose_steps_drown_in_the_rounding_of_float32_goes_on_in_float64(method, monkeypatch):
    data = make_data(1.0)
    recipe = feat().replace(method=method, hyper_penalties={"data_weights.log_weight": lsat.SumSquares(1e-2)})
    generator = torch.Generator().manual_seed(0)
    moments, seen = MemoryRows.moments, set()

    def noisy(rows, moving, log_weight=None):
        """Rounding as of a badly conditioned G, for all but float64 products."""
        found = moments(rows, moving, log_weight)
        seen.add(rows._precise)
        if not rows._precise:
            noise = torch.randn(found.cross.shape, generator=generator, dtype=torch.float64)
            found = type(found)(found.gram, found.cross * (1 + 3e-6 * noise))
        return found

    monkeypatch.setattr(MemoryRows, "moments", noisy)
    run = lsat.tune(recipe, data, progress=False)
    assert run.status is lsat.Status.CONVERGED, run.message
    assert seen == {False, True}


def test_differences_within_the_rounding_of_f_say_nothing():
    assert SINGLE.hides(-1e-6, 1.5)
    assert not SINGLE.hides(1e-5, 1.5)
    assert SINGLE.hides(1e-5, 100.0)
    assert not MIXED.hides(1e-6, 1.5)
    assert not DOUBLE.hides(1e-12, 1.0)
    assert not SINGLE.hides(math.inf, 1.0)


def test_rounding_is_told_beside_what_the_loss_is_without_a_fit():
    assert not SINGLE.hides(1e-8, 1.5e-6, unit=2e-6)
    assert SINGLE.hides(1e-12, 1.5e-6, unit=2e-6)
    assert DOUBLE.hides(1e-22, 1e-30, unit=1e-7)  # an exact fit


@pytest.mark.parametrize("method", [lsat.LineSearch, lsat.LBFGS])
@pytest.mark.parametrize("units", [2.0**-13, 2.0**-27])
def test_small_units_of_the_targets_let_no_step_rise(units, method):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 5))
    y = X @ generator.normal(size=5) + generator.normal(size=300)
    runs = []
    for size in (1.0, units):
        data = lsat.Data.from_arrays(X, size * y)
        weights = lsat.GroupWeights(np.arange(len(data.train)) % 3)
        recipe = lsat.Recipe(
            featurizer=lsat.Scale(),
            regularizer=lsat.Ridge(),
            data_weights=weights,
            dtype="float32",
            method=method(tolerance=1e-4 * size**2),
        )
        runs.append(lsat.tune(recipe, data, progress=False))
    kept = [iterate.objective / units**2 for iterate in runs[1].iterates if iterate.accepted]
    assert all(after <= before * (1 + SINGLE.noise) for before, after in itertools.pairwise(kept))
    assert runs[1].status is lsat.Status.CONVERGED
    assert kept[-1] == pytest.approx(runs[0].kept.objective, rel=1e-5)
