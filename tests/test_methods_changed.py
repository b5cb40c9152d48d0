"""Methods that are changed while their run goes on."""

from __future__ import annotations

import dataclasses
import itertools

import pandas
import pytest

import lsat_explorer as lsat
from test_methods import WEIGHTED
from test_problem import ARCHETYPES, STACK, make_data

SEVERAL = lsat.Recipe(
    featurizer=ARCHETYPES,
    regularizer=STACK,
    method=lsat.MultiStart(lsat.LBFGS(tolerance=1e-5, max_iterations=8), starts=3, spread=1.0),
)


def changed_at(recipe, later, when):
    """A run to its end whose recipe was changed after the first iterate for which ``when`` is true."""
    run = lsat.Run(recipe, make_data())
    for iterate in run.steps():
        if run.wanted == recipe and when(iterate):
            run.change(later)
    assert run.recipe == later
    return run


def several(**changes):
    return SEVERAL.replace(method=dataclasses.replace(SEVERAL.method, **changes))


LOOSER = dataclasses.replace(SEVERAL.method.method, tolerance=1e-3)


@pytest.mark.parametrize(
    ("changes", "when"),
    [
        ({"starts": 6}, lambda i: i.start == 1),
        ({"starts": 2}, lambda i: i.start == 1),
        ({"spread": 2.0}, lambda i: i.number == 2),
        ({"method": LOOSER, "starts": 4}, lambda i: i.number == 2),
    ],
)
def test_a_search_changed_as_it_runs_is_the_search_with_those_numbers(changes, when):
    run, whole = (
        changed_at(SEVERAL, several(**changes), when),
        lsat.tune(several(**changes), make_data(), progress=False),
    )
    a, b = (each.history().drop(columns="seconds") for each in (run, whole))
    pandas.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.parametrize(("before", "after", "running"), [(6, 2, 4), (2, 5, 2)])
def test_fewer_starts_end_those_that_run_and_more_follow_the_refinement(before, after, running):
    run = changed_at(several(starts=before), several(starts=after), lambda i: i.start == running)
    begun = [start for start, _ in itertools.groupby(i.start for i in run.iterates[:-1])]
    assert begun == ([0, 1, 2, 3, 4, 2] if before > after else [0, 1, 2, 3, 4, 5])
    assert run.status.final
    assert run.kept.objective == min(i.objective for i in run.iterates)


def test_a_start_whose_method_would_have_gone_elsewhere_begins_again():
    other = dataclasses.replace(SEVERAL.method.method, memory=2)
    run = changed_at(SEVERAL, several(method=other), lambda i: i.start == 1 and i.accepted)
    whole = lsat.tune(several(method=other), make_data(), progress=False)
    assert [i.start for i in run.iterates].count(1) > [i.start for i in whole.iterates].count(1)
    assert run.kept.objective == pytest.approx(whole.kept.objective, rel=1e-6)


def test_another_patience_breaks_no_step_off():
    recipe = WEIGHTED.replace(method=lsat.ProximalGradient(max_iterations=12), early_stopping=lsat.EarlyStopping(50))
    later = recipe.replace(early_stopping=lsat.EarlyStopping(40))
    run, whole = changed_at(recipe, later, lambda i: i.number == 4), lsat.tune(later, make_data(), progress=False)
    a, b = (each.history().drop(columns="seconds") for each in (run, whole))
    pandas.testing.assert_frame_equal(a, b, check_exact=True)


def test_another_grid_begins_around_the_best_value_so_far():
    coarse, fine = (lsat.Recipe(method=lsat.Grid(-end, end, points=7)) for end in (3.0, 0.6))
    run = changed_at(coarse, fine, lambda i: i.number == 7)
    best = min(run.iterates[:8], key=lambda i: i.objective)
    assert len(run.iterates) == 8 + 1 + 7 + 1
    assert run.iterates[8].omega == best.omega
    assert abs(float(run.omega["regularizer.log_weight"]) - float(best.omega["regularizer.log_weight"])) < 0.6 + 1e-9
    assert run.kept.objective <= best.objective
