"""What the tests of runs share: a method that soon ends, and a recipe that tunes weights of rows."""

from __future__ import annotations

from typing import Any

import lsat_explorer as lsat
from test_problem import ARCHETYPES, STACK

QUICK = lsat.ProximalGradient(max_iterations=40, tolerance=1e-3)


def weighting(**changes: Any) -> lsat.Recipe:
    return lsat.Recipe(
        featurizer=ARCHETYPES,
        regularizer=STACK,
        data_weights=lsat.LogWeights(),
        hyper_penalties={"data_weights.log_weight": lsat.SumSquares(0.01) + lsat.ZeroSum()},
        method=QUICK,
        **changes,
    )
