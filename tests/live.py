"""What the tests of runs in the widgets share: a recipe that soon ends, and what a page sends and is sent."""

from __future__ import annotations

from typing import Any

import lsat_explorer as lsat
from lsat_explorer.widgets import LiveTuner

LAMBDA = "hyper_penalties/data_weights.log_weight/terms/0/weight"


def weighting(iterations: int) -> lsat.Recipe:
    """Return the weighting of rows of the paper for small digits, which ends after so many iterations."""
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=1)
    return recipe.replace(method=lsat.ProximalGradient(max_iterations=iterations))


def send(view: Any, **content: Any) -> None:
    """What a page sends."""
    view._handle_custom_msg(content, [])


def command(tuner: LiveTuner, name: str) -> None:
    """What a button sends."""
    send(tuner.controls, command=name)
