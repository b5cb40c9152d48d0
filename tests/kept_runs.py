"""What the tests of kept runs share: the folder of a notebook, explorers in it, and a run that goes to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lsat_explorer as lsat
from lsat_explorer.widgets import Explorer

RECIPE = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    hyper_penalties={"data_weights.log_weight": lsat.SumSquares(0.05) + lsat.ZeroSum()},
    method=lsat.LBFGS(tolerance=0.0, max_iterations=12),
)


def in_notebook(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of a notebook, whose explorers keep their runs."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LSAT_RUNS", raising=False)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def explorers(data: lsat.Data) -> Iterator[Any]:
    """Yield what makes Explorers, and close them in the end."""
    all_made = []

    def make(*args: Any, **settings: Any) -> Explorer:
        all_made.append(Explorer(*(args or (data, RECIPE)), **settings))
        return all_made[-1]

    yield make
    for explorer in all_made:
        explorer.close()


def run_to_the_end(explorer: Explorer) -> None:
    explorer.start()
    explorer.tuner.wait(60)
    explorer.tuner.worker.report()


def losses(run: lsat.Run) -> list[float]:
    return [iterate.objective for iterate in run.iterates]
