"""What a grid of values says: of what it cannot tune, and of where its best value lies."""

from __future__ import annotations

import numpy as np
import pytest

import lsat_explorer as lsat
from test_problem import make_data

NAME = "regularizer.log_weight"
WEIGHTS = "data_weights.log_weight"


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (lsat.Recipe(data_weights=lsat.LogWeights()), rf"{WEIGHTS} are tuned: hold the others with Frozen\(\)"),
        (lsat.Recipe(regularizer=lsat.Diagonal()), rf"but {NAME} holds \d+: choose LineSearch\(\) or LBFGS\(\)"),
        (lsat.Recipe(hyper_penalties={NAME: lsat.Frozen()}), "but nothing is tuned: leave one free"),
    ],
    ids=["two", "vector", "none"],
)
def test_a_grid_says_what_it_cannot_tune(recipe: lsat.Recipe, message: str) -> None:
    with pytest.raises(ValueError, match=f"Grid tunes one number, .*{message}"):
        lsat.tune(recipe.replace(method=lsat.Grid()), make_data(), progress=False)


def noisy() -> lsat.Data:
    """Return rows of which so few are known that a penalty of middle weight is best."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 20))
    return lsat.Data.from_arrays(X, X @ random.normal(size=20) + 4 * random.normal(size=80), validation=0.5)


def tried(grid: lsat.Grid, start: float = 0.0) -> lsat.Run:
    run = lsat.Run(lsat.Recipe(method=grid), noisy(), {NAME: start})
    for _ in run.steps():
        pass
    return run


@pytest.mark.parametrize(
    ("low", "high", "end"), [(1.0, 3.0, "a lower low"), (-3.0, -1.0, "a higher high"), (-1.0, 1.0, None)]
)
def test_a_best_value_at_an_end_of_the_grid_is_told(low: float, high: float, end: str | None) -> None:
    middle = float(tried(lsat.Grid(-6.0, 6.0, points=25)).omega[NAME])
    assert -4.0 < middle < 4.0
    away = middle + 5.0  # worse than all of the grid
    run = tried(lsat.Grid(middle + low - away, middle + high - away, points=5), away)
    assert ("end of the grid" in run.message) is (end is not None)
    assert end is None or f"give Grid {end}." in run.message


def test_other_starts_are_not_advised_after_a_grid() -> None:
    run = tried(lsat.Grid(-0.5, 0.5, points=4), -9.0)  # nowhere does the penalty do anything
    assert "no longer depends on the weight" in run.message
    assert "MultiStart" not in run.message


def test_a_start_outside_the_domain_is_brought_in_as_by_other_methods() -> None:
    run = tried(lsat.Grid(-1.0, 1.0, points=3), -25.0)
    assert np.isfinite(run.iterates[0].objective)
    assert f"The start given for {NAME} lies outside" in run.message
