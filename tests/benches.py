"""What the tests of the benchmarks of methods share: digits where MNIST is asked for, methods that soon end."""

from __future__ import annotations

import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.bench import methods, problems

DIGITS = (8, 8)


def stand_in(monkeypatch: pytest.MonkeyPatch, digits: lsat.Data) -> None:
    """Put digits where MNIST is asked for, and methods that soon end."""
    monkeypatch.setattr(problems.datasets, "mnist", lambda folder, **choices: digits)
    few = {"paper's rule": lsat.ProximalGradient(max_iterations=30), "line search": lsat.LineSearch(max_iterations=12)}
    monkeypatch.setattr(methods, "METHODS", {**few, "L-BFGS": lsat.LBFGS(max_iterations=12)})
    small = {"multi-start": lsat.MultiStart(lsat.LBFGS(max_iterations=5), starts=2)}
    monkeypatch.setattr(methods, "SEVERAL_OPTIMA", {"two-ridges": small})


def tensors(values: dict[str, float]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}
