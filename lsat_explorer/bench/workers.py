"""Time iterations over rows on disk with one worker of dask, two, and more, and count the bytes that they exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from lsat_explorer.bench.timing import timed
from lsat_explorer.data import Data
from lsat_explorer.model import Dask, Recipe
from lsat_explorer.model.cluster import connected, stop
from lsat_explorer.model.piece import Omega
from lsat_explorer.tune import Problem

__all__ = ["Shared", "table", "with_workers"]


@dataclass(frozen=True)
class Shared:
    """Seconds of an iteration with a number of workers, and bytes that each had from others in one."""

    workers: int
    iteration: float
    received: float
    allowed: int
    """Bytes of three matrices (n, n) in float64."""


def with_workers(recipe: Recipe, data: Data, memory: str, workers: Sequence[int], repeat: int) -> list[Shared]:
    """Time further F with their gradients, each number of workers in a cluster of its own."""
    return [_with(recipe.replace(engine=Dask.local(count, memory)), data, count, repeat) for count in workers]


def _with(recipe: Recipe, data: Data, count: int, repeat: int) -> Shared:
    problem = Problem(recipe, data)
    _iteration(problem, problem.init())
    assert isinstance(recipe.engine, Dask)
    client = connected(recipe.engine.address)
    before, seconds = sum(client.run(_received).values()), []
    for number in range(repeat):
        omega = {name: value + 0.01 * (number + 1) for name, value in problem.init().items()}
        seconds.append(timed(partial(_iteration, problem, omega))[0])
    received = (sum(client.run(_received).values()) - before) / repeat / count
    n = max(columns.stop for columns in problem.columns.values())
    del problem
    stop(recipe.engine.address)  # the workers of the next number are not to find the cores taken
    return Shared(count, median(seconds), received, 3 * 8 * n**2)


def _iteration(problem: Problem, omega: Omega) -> Omega:
    return problem.gradient(problem.evaluate(omega))


def _received(dask_worker: Any) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def table(found: Sequence[Shared]) -> str:
    """Return the figures as lines; ideal is the first of them, with its number of workers, divided evenly."""
    first = found[0]
    lines = ["workers  iteration s  share of ideal  MB received by a worker in an iteration (three n × n matrices)"]
    for one in found:
        share = first.iteration * first.workers / (one.iteration * one.workers)
        received, allowed = one.received / 1e6, one.allowed / 1e6
        lines.append(f"{one.workers:>7}  {one.iteration:>11.2f}  {share:>14.2f}  {received:>10.2f} ({allowed:.2f})")
    return "\n".join(lines)
