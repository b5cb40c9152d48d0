"""An iteration waits for the device no more often than it must: what is read from there is counted, on any machine.

Nor does a tune load what it does not need: a library of symbols takes 30 MB and half a second.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

import lsat_explorer as lsat
from lsat_explorer.model.piece import Omega
from lsat_explorer.solve.factor import Factor
from lsat_explorer.solve.weighted import Moments
from lsat_explorer.tune import Problem, problem

READS = {"item", "tolist", "numpy", "cpu", "nonzero", "equal", "__bool__", "__float__", "__int__", "__index__"}


class There(Tensor):
    """A tensor that plays one on a device: whatever is computed from it is there too, and reads are counted."""

    reads = 0

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in READS:
            There.reads += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def _moved(values: Omega, device: torch.device | None) -> Omega:
    """Play the transfer of `lsat_explorer.engines.devices.moved`: the gradient comes to the host, ω goes there."""
    if any(isinstance(value, There) for value in values.values()):
        There.reads += 1
        with torch._C.DisableTorchFunctionSubclass():  # or what comes of it would be there again
            return {name: value.as_subclass(Tensor) for name, value in values.items()}
    return {name: value.as_subclass(There) for name, value in values.items()}


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    before = There.reads
    yield lambda: There.reads - before


def watched(recipe: lsat.Recipe, monkeypatch: pytest.MonkeyPatch) -> Problem:
    """A problem whose rows and ω play to be on a device, where nobody asks how sound a factor is."""
    monkeypatch.setattr(problem, "moved", _moved)
    monkeypatch.setattr(Factor, "sound", False)
    return Problem(recipe, lsat.datasets.digits())


RECIPES = {
    "regularizers": lsat.Recipe(loss=lsat.CrossEntropy()),
    "features": lsat.recipes.paper_feat(shape=(8, 8), per_class=2),
    "weights": lsat.recipes.paper_weighting(shape=(8, 8), per_class=2),
}


@pytest.mark.parametrize("name", RECIPES)
def test_one_read_brings_the_outcome_and_f_and_a_gradient_is_read_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = watched(RECIPES[name], monkeypatch)
    at = found.evaluate(found.init())  # forms what is kept
    for part in found.parts:  # and where only regularizers are tuned, no ω touches it but in place
        known = part.rows._known
        if known is not None:
            part.rows._known = Moments(known.gram.as_subclass(There), known.cross.as_subclass(There))
    with counted() as reads:
        at = found.evaluate(at.omega)
    assert isinstance(at.predictions, There)
    assert reads() == 1
    with counted() as reads:
        gradient = found.gradient(at, beside=True)
    assert reads() == 1
    assert not any(isinstance(value, There) for value in gradient.values())
    with counted() as reads:
        assert found.training_loss(at) > 0
    assert reads() == 0


@pytest.mark.parametrize("method", [lsat.ProximalGradient(), lsat.LineSearch(), lsat.LBFGS()], ids=repr)
def test_an_iteration_reads_f_and_where_it_is_accepted_its_gradient(
    method: lsat.model.Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched(RECIPES["weights"], monkeypatch)
    run = lsat.Run(RECIPES["weights"].replace(method=method), lsat.datasets.digits())
    steps = run.steps()
    next(steps)
    taken = []
    for _ in range(6):
        with counted() as reads:
            iterate = next(steps)
        taken.append((iterate.accepted, reads()))
    assert {count for accepted, count in taken if accepted} == {2}, taken
    assert all(count <= 2 for accepted, count in taken if not accepted), taken


def test_a_tune_loads_no_library_of_symbols() -> None:
    program = """
import sys
import lsat_explorer as lsat

recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2).replace(method=lsat.LineSearch(max_iterations=3))
lsat.tune(recipe, lsat.datasets.digits(), progress=False)
sys.exit("sympy" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
