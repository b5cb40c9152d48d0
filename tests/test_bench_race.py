"""The race against solves of the stacked system: it goes where the problem goes, and is run or computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsat_explorer as lsat
from benches import DIGITS
from lsat_explorer import recipes
from lsat_explorer.bench import race
from lsat_explorer.bench.attempts import attempt
from lsat_explorer.bench.race import StackedPath


@pytest.mark.parametrize(
    "recipe", [recipes.paper_feat(DIGITS, per_class=3), recipes.paper_weighting(DIGITS, per_class=3)]
)
def test_the_stacked_path_goes_where_the_problem_goes(recipe, digits):
    problem = lsat.Problem(recipe.replace(dtype="float64"), digits)
    # A first step of 10⁴ is too long: some are rejected before one is accepted.
    rule = lsat.ProximalGradient(step=1e4, tolerance=0.0, max_iterations=25)
    ours, stacked = attempt(rule, problem), attempt(rule, StackedPath(problem))
    assert len(ours.values) == len(stacked.values) == 26
    assert ours.gradients == stacked.gradients < 24
    np.testing.assert_allclose(stacked.values, ours.values, rtol=1e-7)


def test_a_stacked_solve_that_fails_is_infinite_and_has_no_gradient(digits):
    twice = lsat.Concat(a=lsat.Identity(), b=lsat.Identity())
    problem = lsat.Problem(lsat.Recipe(featurizer=twice, regularizer=lsat.Ridge(log_weight=-30.0)), digits)
    path = StackedPath(problem)
    at = path.evaluate(problem.init())
    assert at.objective == math.inf
    with pytest.raises(ValueError, match="failed at this point"):
        path.gradient(at)


@pytest.mark.parametrize("longest", [600.0, 0.0])
def test_a_race_is_run_or_computed(longest, digits, monkeypatch):
    monkeypatch.setattr(race, "LONGEST", longest)
    problem = lsat.Problem(recipes.paper_feat(DIGITS, per_class=3), digits)
    paper = attempt(lsat.ProximalGradient(max_iterations=20), problem)
    target = paper.values[-1] + 1e-3
    done = race.race("feat", problem, ("L-BFGS", lsat.LBFGS()), target, paper)
    assert done.computed == (longest == 0)
    assert done.evaluations == paper.evaluations_to(target) > 1
    assert done.ratio == done.stacked / done.ours
    assert ("computed: " if done.computed else "run: ") + f"{done.evaluations} evaluations" in done.line(full=True)
    goals = [done.line(full).split()[6] for full in (True, False)]  # after a name, two times and two ratios
    assert goals == ["15", "–"]


def test_a_race_nobody_can_finish_is_none(digits):
    problem = lsat.Problem(recipes.paper_reg2(DIGITS), digits)
    paper = attempt(lsat.ProximalGradient(max_iterations=3), problem)
    assert race.race("reg2", problem, ("L-BFGS", lsat.LBFGS(max_iterations=3)), 0.0, paper) is None
