"""How long the answers about the rows of a fit take, each of a model that was not asked before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from lsat_explorer import explain
from lsat_explorer.bench.timing import timed
from lsat_explorer.data import Data
from lsat_explorer.explain.training_fit import training_fit
from lsat_explorer.model import Concat, Constant, FixedWeights, Identity, Recipe, Ridge
from lsat_explorer.tune import FittedModel, Problem

__all__ = ["Answers", "answer_times"]

_DROPPED = 10


@dataclass(frozen=True)
class Answers:
    """Medians in seconds, wall and this process's processors, by question; ``difference`` is that of `what_if`.

    It is the largest difference of θ from that of a new solve, over the largest entry of θ.
    """

    k: int
    n: int
    wall: dict[str, float]
    cpu: dict[str, float]
    difference: float

    def __str__(self) -> str:
        head = f"Medians in ms at {self.k:,} rows and {self.n:,} features, wall (processor):"
        lines = [f"  {name:<44} {1e3 * s:>8.1f} ({1e3 * self.cpu[name]:.1f})" for name, s in self.wall.items()]
        tail = f"  what_if differs from a new solve by {self.difference:.1e} of the largest coefficient."
        return "\n".join([head, *lines, tail])

    def figures(self) -> dict[str, Any]:
        """Return the figures as JSON takes them."""
        return asdict(self)


def answer_times(data: Data, repeat: int) -> Answers:
    """Time the answers on the inputs of some rows and a constant, in turns."""
    recipe = Recipe(
        featurizer=Concat(inputs=Identity(), one=Constant()), regularizer=Ridge(block="inputs", log_weight=1.5)
    )
    problem = Problem(recipe, data)
    model = FittedModel.of(problem, problem.init())
    row, dropped = data.validation.rows[0], data.train.rows[:_DROPPED]

    def columns(fresh: FittedModel) -> None:
        explain.label_doubt(fresh)
        explain.effect_on_validation(fresh)
        fit = training_fit(fresh)
        _ = fit.squared_weights, fit.leverages

    questions: dict[str, Callable[[FittedModel], object]] = {
        "fit, doubt, effect with error, weight, leverage": columns,
        "the same, Shapley values and combined rank": explain.overview,
        "attribution of one validation row": lambda known: explain.attribution(known, row),
        f"what if {_DROPPED} rows were dropped": lambda known: explain.what_if(known, drop=dropped),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in questions}
    explain.attribution(model, row)
    for _ in range(repeat):
        for name, ask in questions.items():
            # The first two begin anew; what is asked of a row or two follows them in use.
            asked = replace(model) if ask in (columns, explain.overview) else model
            wall, cpu, _ = timed(partial(ask, asked))
            taken[name].append((wall, cpu))
    walls, cpus = ({name: median(p[i] for p in pairs) for name, pairs in taken.items()} for i in (0, 1))
    difference = _difference(recipe, model, data)
    return Answers(len(data.train), len(model.theta), walls, cpus, difference)


def _difference(recipe: Recipe, model: FittedModel, data: Data) -> float:
    weights = tuple(float(place >= _DROPPED) for place in range(len(data.train)))
    problem = Problem(recipe.replace(data_weights=FixedWeights(weights)), data)
    anew = FittedModel.of(problem, problem.init()).theta
    updated = explain.what_if(model, drop=data.train.rows[:_DROPPED]).model.theta
    return float((updated - anew).abs().max() / anew.abs().max())
