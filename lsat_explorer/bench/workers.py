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
    """Seconds of an iteration with a number of workers, and bytes that each had from others, and sent, in one.

    What is sent goes to other workers and to the process that tunes.
    """

    workers: int
    iteration: float
    received: float
    sent: float
    allowed: int
    """Bytes of three matrices (n, n) in float64."""


def with_workers(recipe: Recipe, data: Data, memory: str, workers: Sequence[int], repeat: int) -> list[Shared]:
    """Time further F with their gradients, each number of workers in a cluster of its own."""
    return [
        _with(recipe.replace(engine=Dask.local(count, memory, "workers")), data, count, repeat) for count in workers
    ]


def _with(recipe: Recipe, data: Data, count: int, repeat: int) -> Shared:
    problem = Problem(recipe, data)
    _iteration(problem, problem.init())
    assert isinstance(recipe.engine, Dask)
    client = connected(recipe.engine.address)
    omega, seconds, before = problem.evaluate(problem.init()).omega, [], _moved(client)
    for _ in range(repeat):
        omega = {name: value + 0.01 for name, value in omega.items()}
        seconds.append(timed(partial(_iteration, problem, omega))[0])
    received, sent = ((after - first) / repeat / count for after, first in zip(_moved(client), before, strict=True))
    n = max(columns.stop for columns in problem.columns.values())
    del problem
    stop(recipe.engine.address)  # the workers of the next number are not to find the cores taken
    return Shared(count, median(seconds), received, sent, 3 * 8 * n**2)


def _iteration(problem: Problem, omega: Omega) -> Omega:
    return problem.gradient(problem.evaluate(omega))


def _moved(client: Any) -> tuple[int, int]:
    """Return the bytes that all workers have received from others, and sent."""
    logs = client.run(_logged).values()
    return sum(log[0] for log in logs), sum(log[1] for log in logs)


def _logged(dask_worker: Any) -> tuple[int, int]:
    logs = (dask_worker.transfer_incoming_log, dask_worker.transfer_outgoing_log)
    received, sent = (sum(entry["total"] or 0 for entry in log) for log in logs)
    return received, sent


def table(found: Sequence[Shared]) -> str:
    """Return the figures as lines; ideal is the first of them, with its number of workers, divided evenly."""
    first = found[0]
    lines = ["workers  iteration s  share of ideal  MB that a worker received and sent in it (three n × n matrices)"]
    for one in found:
        share = first.iteration * first.workers / (one.iteration * one.workers)
        moved = " ".join(f"{size / 1e6:>8.3f}" for size in (one.received, one.sent))
        lines.append(f"{one.workers:>7}  {one.iteration:>11.2f}  {share:>14.2f}  {moved}  ({one.allowed / 1e6:.2f})")
    return "\n".join(lines)
