"""What rows cost at least: the seconds to read them, and those of products and sums of rows in memory."""

from __future__ import annotations

from collections.abc import Callable

import torch

from lsat_explorer.bench.rows_file import CLASSES
from lsat_explorer.bench.timing import timed
from lsat_explorer.data import Data
from lsat_explorer.data.on_disk import RowsOnDisk
from lsat_explorer.engines import MemoryRows
from lsat_explorer.engines.moving import Moving
from lsat_explorer.engines.passes import Flow, Judge
from lsat_explorer.model.piece import within
from lsat_explorer.tune import Problem

__all__ = ["products", "reading"]

_SAMPLE = 32_768
"""Rows in memory whose products are timed."""


def reading(rows: object) -> float:
    """Return the seconds that one pass over rows on disk takes to read them."""
    assert isinstance(rows, RowsOnDisk)
    return timed(lambda: sum(len(chunk) for _, chunk in rows.passes()))[0]


def products(problem: Problem, data: Data, weighted: bool) -> dict[str, float]:
    """Return the seconds of an iteration's products with features, of all its sums, and of what is formed once.

    They are those of some rows in memory, times the number of such parts in all.
    """
    at = Moving()
    theta = torch.zeros(max(c.stop for c in problem.columns.values()), CLASSES, dtype=torch.float64)

    def rate(split: str, work: Callable[[MemoryRows], object]) -> float:
        whole, part = getattr(data, split), problem.parts[0 if split == "train" else -1].rows
        few = min(_SAMPLE, len(whole))
        precision = problem.precision
        inputs, targets = whole.inputs.read(slice(0, few)).to(part.dtype), whole.targets[:few]
        rows = MemoryRows(problem.prepared, inputs, targets, {}, set(), precision=precision, device=problem.device)
        work(rows)
        return len(whole) / few * min(timed(lambda: work(rows))[0] for _ in range(3))

    start = problem.init()
    judge = Judge(problem.loss, True, within("loss", start), 1 / len(problem.targets), ("log_temperature",))
    judged = rate("validation", lambda rows: rows.predict(at, theta))
    back = rate("validation", lambda rows: rows.transposed(at, rows.targets))
    found = judged + back
    everything = rate("validation", lambda rows: rows.judged(at, theta, judge))
    once = rate("train", lambda rows: rows.still_sum())
    if weighted:
        weight, least = torch.rand(_SAMPLE, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
        both = torch.cat([theta, theta], 1)
        flow = [Flow(theta, theta, judge._replace(sloping=False))]
        gram = rate("train", lambda rows: rows.sums(at, weight[: len(rows)], least))
        found += gram + rate("train", lambda rows: rows.predict(at, both))
        everything += gram + rate("train", lambda rows: rows.flowed(at, flow, True, weight[: len(rows)]))
        once += gram
    return {"products": found, "all": everything, "once": once + judged}
