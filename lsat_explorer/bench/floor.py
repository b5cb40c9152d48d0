"""What rows cost at least: to read them, and products and sums of rows in memory, as pieces of work to be timed."""

from __future__ import annotations

from collections.abc import Callable

import torch

from lsat_explorer.bench.rows_file import CLASSES
from lsat_explorer.data import Data
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.engines import MemoryRows
from lsat_explorer.engines.moving import Moving
from lsat_explorer.engines.passes import Flow, Judge
from lsat_explorer.model.piece import within
from lsat_explorer.tune import Problem

__all__ = ["Works", "products", "reading"]

_SAMPLE = 32_768
"""Rows in memory whose products are timed."""

Works = dict[str, tuple[float, Callable[[], object]]]
"""Pieces of work by name, each with how many times it is to be counted."""


def reading(rows: object) -> Callable[[], object]:
    """Return what reads rows on disk in one pass."""
    assert isinstance(rows, RowsOnDisk)
    return lambda: sum(len(chunk) for _, chunk in rows.passes())


def products(problem: Problem, data: Data, weighted: bool) -> tuple[Works, Works, Works]:
    """Return an iteration's products with features, what else it adds up beyond these, and what is formed once.

    They are those of some rows in memory, which count as often as there are such parts in all. What is added up beyond
    the products is given with them, as one pass over the rows does both.
    """
    at = Moving()
    theta = torch.zeros(max(c.stop for c in problem.columns.values()), CLASSES, dtype=torch.float64, device="cpu")
    precision = problem.precision

    def sample(split: str) -> tuple[float, MemoryRows]:
        whole, part = getattr(data, split), problem.parts[0 if split == "train" else -1].rows
        few = min(_SAMPLE, len(whole))
        inputs, targets = whole.inputs.read(slice(0, few)).to(part.dtype), whole.targets[:few]
        rows = MemoryRows(problem.prepared, inputs, targets, {}, set(), precision=precision, device=problem.device)
        return len(whole) / few, rows

    (trained, train), (scored, rows) = sample("train"), sample("validation")
    judge = Judge(problem.loss, True, within("loss", problem.init()), 1 / len(problem.targets), ("log_temperature",))
    found: Works = {
        "predictions": (scored, lambda: rows.predict(at, theta)),
        "slopes": (scored, lambda: rows.transposed(at, rows.targets)),
    }
    everything: Works = {"judged": (scored, lambda: rows.judged(at, theta, judge))}
    once: Works = {"still": (trained, lambda: train.still_sum(False)), "scores": found["predictions"]}
    if weighted:
        weight, least = (
            torch.rand(len(train), dtype=torch.float64, device="cpu"),
            torch.tensor(0.0, dtype=torch.float64, device="cpu"),
        )
        both = torch.cat([theta, theta], 1)
        flow = [Flow(theta, theta, judge._replace(sloping=False))]
        gram: Works = {"gram": (trained, lambda: train.sums(at, weight, least))}
        found |= gram | {"residuals": (trained, lambda: train.predict(at, both))}
        everything |= gram | {"flowed": (trained, lambda: train.flowed(at, flow, True, weight))}
        once |= gram
    return found, everything, once
