"""What the tests of runs in the widgets share: a recipe that soon ends, and what a page sends and is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lsat_explorer as lsat
from lsat_explorer.widgets import LiveTuner

LAMBDA = "hyper_penalties/data_weights.log_weight/terms/0/weight"


def weighting(iterations: int) -> lsat.Recipe:
    """Return the weighting of rows of the paper for small digits, which ends after so many iterations."""
    recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=1)
    return recipe.replace(method=lsat.ProximalGradient(max_iterations=iterations))


def opened(data: lsat.Data, recipe: lsat.Recipe) -> Iterator[LiveTuner]:
    """Yield the buttons and curves of a new run, and close them."""
    tuner = LiveTuner(data, recipe)
    yield tuner
    tuner.close()


def send(view: Any, **content: Any) -> None:
    """What a page sends."""
    view._handle_custom_msg(content, [])


def command(tuner: LiveTuner, name: str) -> None:
    """What a button sends."""
    send(tuner.controls, command=name)


def trace(tuner: LiveTuner, name: str) -> Any:
    """Return a curve of the figure."""
    return next(trace for trace in tuner.plot.data if trace.name == name)


def rows(tuner: LiveTuner, name: str) -> list[Any]:
    """Return a column of the table, the newest run first."""
    return [row[name] for row in tuner.table.get_state()["rows"]]


def end(tuner: LiveTuner) -> None:
    """Run to the end."""
    tuner.start()
    tuner.wait(60)


def slower(tuner: LiveTuner, step: float) -> lsat.Recipe:
    """Return the recipe with another step size."""
    method: Any = tuner.recipe.method
    return tuner.recipe.replace(method=lsat.ProximalGradient(step=step, max_iterations=method.max_iterations))
