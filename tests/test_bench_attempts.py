"""Attempts of a method: every evaluation and gradient is counted, to a target, and compared by counts and by time."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import pytest

import lsat_explorer as lsat
from benches import DIGITS
from lsat_explorer import recipes
from lsat_explorer.bench.attempts import Attempt, Counted, attempt, first_within
from lsat_explorer.bench.methods import Comparison
from lsat_explorer.bench.output import write_figures
from lsat_explorer.tune.iterate import Iterate, Status


def made(values, *, gradients=1, times=None, status="converged"):
    """An attempt with a known history; evaluation i ends after i seconds."""
    times = times or tuple(range(1, len(values) + 1))
    return Attempt(tuple(values), times, gradients, min(values), status, times[-1], times[-1])


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([3.0, 2.0, 1.0], 3.0, 1),
        ([3.0, math.inf, 2.5, 1.0, 0.5], 1.0, 4),  # a failed and a rejected one count
        ([3.0, math.nan, 1.0], 2.0, 3),
        ([3.0, 2.0], 1.9, None),
        ([], 1.0, None),
    ],
)
def test_evaluations_are_counted_to_the_first_within_the_target(values, target, expected):
    assert first_within(values, target) == expected


@dataclass(frozen=True)
class Scripted:
    """A method that evaluates 5, +∞, 4, 6, 3 and takes a gradient where F has fallen; it ends at 3."""

    def iterates(self, problem, omega=None):
        best = math.inf
        for number, value in enumerate([5.0, math.inf, 4.0, 6.0, 3.0]):
            at = problem.evaluate({"x": value})
            if at.objective < best:
                best = problem.gradient(at)
            status = Status.CONVERGED if number == 4 else Status.RUNNING
            yield Iterate(number, best, best, 0.0, 1.0, {"x": best}, status=status)


class Itself:
    """F(x) = x; its "gradient" is the value, for the method above to keep."""

    name = "itself"

    def evaluate(self, omega):
        return Iterate(0, omega["x"], omega["x"], 0.0, 1.0, omega)

    def gradient(self, at, *, beside=False):
        return at.objective


def test_an_attempt_holds_every_evaluation_and_counts_gradients():
    done = attempt(Scripted(), Itself())
    assert done.values == (5.0, math.inf, 4.0, 6.0, 3.0)
    assert (done.gradients, done.objective, done.status) == (3, 3.0, "converged")
    assert list(done.times) == sorted(done.times)
    assert 0 < done.times[-1] <= done.seconds
    assert done.evaluations_to(4.5) == 3
    assert done.seconds_to(4.5) == done.times[2]
    assert math.isnan(done.seconds_to(2.0))
    assert Counted(Itself()).name == "itself"


def test_an_attempt_ends_at_its_target():
    done = attempt(Scripted(), Itself(), target=4.0)
    assert done.values == (5.0, math.inf, 4.0)
    assert (done.objective, done.status) == (4.0, "running")


@pytest.mark.parametrize(
    "method",
    [lsat.ProximalGradient(1e6, max_iterations=25), lsat.LineSearch(), lsat.LBFGS(), lsat.MultiStart(starts=2)],
    ids=str,
)
def test_counting_does_not_change_a_method(method, digits):
    recipe = recipes.paper_reg2(DIGITS).replace(method=method)
    counted = attempt(method, lsat.Problem(recipe, digits))
    run = lsat.tune(recipe, digits, progress=False)
    assert (counted.objective, counted.status) == (run.iterates[-1].objective, run.status.value)
    tried = [iterate.tried for iterate in run.iterates]
    assert set(tried) <= set(counted.values)
    if isinstance(method, lsat.ProximalGradient):
        assert list(counted.values) == tried
        assert counted.gradients == sum(i.accepted for i in run.iterates) < len(tried)
    if isinstance(method, lsat.LBFGS):
        assert counted.gradients == len(counted.values)


def test_a_start_outside_its_domain_costs_two_evaluations(digits):
    featurizer = lsat.Chain(lsat.SelectFeatures(0.5), lsat.Scale(tuned=False))
    problem = lsat.Problem(lsat.Recipe(featurizer=featurizer, regularizer=lsat.Ridge()), digits)
    assert problem.evaluate(problem.init()).objective == math.inf
    done = attempt(lsat.ProximalGradient(max_iterations=0), problem)
    assert done.values[0] == math.inf
    assert math.isfinite(done.values[1])
    assert len(done.values) == 2


def test_json_has_null_for_what_is_not_finite(tmp_path):
    write_figures(
        tmp_path / "a.json", {"values": (1.0, math.inf), "rows": [{"ratio": math.nan, "name": "ψ", "met": True}]}
    )
    expected = {"values": [1.0, None], "rows": [{"ratio": None, "name": "ψ", "met": True}]}
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == expected


def test_distances_are_of_F_or_of_its_share():
    attempts = {"first": made([300.0, 202.5, 201.9, 200.15]), "second": made([300.0, 200.0])}
    share = Comparison("table", 10, 2, True, attempts)
    assert share.best == 200.0
    assert share.target(1e-2) == 202.0
    assert share.counts("first") == {"1e-2": 3, "1e-3": 4, "1e-4": None}
    assert share.counts("second") == {"1e-2": 2, "1e-3": 2, "1e-4": 2}
    assert (share.ratio("first"), share.ratio("second")) == (1.0, 2.0)
    itself = replace(share, relative=False)
    assert itself.target(1e-2) == 200.01
    assert itself.counts("first") == {"1e-2": None, "1e-3": None, "1e-4": None}
    assert itself.ratio("first") is None
    assert itself.soonest() == "second"


def test_soonest_goes_by_time_and_not_by_evaluations():
    attempts = {"few": made([2.0, 1.0], times=(1.0, 9.0)), "fast": made([2.0, 1.5, 1.0], times=(0.1, 0.2, 0.3))}
    assert Comparison("digits", 10, 2, False, attempts).soonest() == "fast"


def test_what_a_method_evaluates_in_float64_after_float32_is_counted_too(digits):
    recipe = recipes.paper_reg2(DIGITS).replace(dtype="float32")
    counted = Counted(lsat.Problem(recipe, digits))
    single = counted.evaluate(counted.init())
    precise = counted.precisely()
    at = precise.evaluate(counted.init())
    precise.gradient(at)
    assert counted.values == [single.objective, at.objective]
    assert counted.times == sorted(counted.times)
    assert counted.gradients == precise.gradients == 1
