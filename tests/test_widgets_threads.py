"""The thread of a run keeps every library to the threads that whoever made the run has chosen."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import sklearn.cluster  # noqa: F401  its OpenMP is one of the pools
import torch
from threadpoolctl import threadpool_info

import lsat_explorer as lsat
from lsat_explorer.widgets.threads import begun, held_threads, release_team
from lsat_explorer.widgets.worker import Worker
from waiting import SOON

Pools = dict[tuple[str, str], int]

seen: Pools = {}


def pools() -> Pools:
    """Sizes of the pools of threads as the present thread has them, by kind and file."""
    found = {(pool["user_api"], pool["filepath"]): pool["num_threads"] for pool in threadpool_info()}
    return found | {("torch", ""): torch.get_num_threads()}


def of(kinds: str, found: Pools) -> Pools:
    return {pool: size for pool, size in found.items() if pool[0] in kinds.split()}


@dataclass(frozen=True, repr=False)
class Looking(lsat.Identity):
    """The inputs themselves, and a look at the pools of threads while it is prepared."""

    def prepare(self, inputs: torch.Tensor, targets: torch.Tensor, generator: torch.Generator) -> Any:
        seen.clear()
        seen.update(pools())
        return super().prepare(inputs, targets, generator)


class Walker(threading.Thread):
    """A thread that does one thing after the other as it is told."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._work: Callable[[], Any] | None = None
        self._result: Any = None
        self.start()

    def run(self) -> None:
        while self._go.acquire() and self._work is not None:
            self._result = self._work()
            self._done.release()

    def do(self, work: Callable[[], Any]) -> Any:
        self._work = work
        self._go.release()
        assert self._done.acquire(timeout=SOON)
        return self._result

    def end(self) -> None:
        self._work = None
        self._go.release()
        self.join(SOON)


@pytest.fixture
def walkers() -> Iterator[tuple[Walker, Walker]]:
    both = Walker(), Walker()
    yield both
    for walker in both:
        walker.end()


@pytest.fixture
def count(walkers: tuple[Walker, Walker]) -> Iterator[int]:
    """Torch's threads in this thread: a number that no library has of itself in a new one."""
    before, usual = torch.get_num_threads(), set(walkers[0].do(pools).values())
    chosen = next(number for number in (2, 3, 4, 5, 6) if number not in usual)
    torch.set_num_threads(chosen)
    yield chosen
    torch.set_num_threads(before)


def test_a_featurizer_that_is_prepared_by_the_worker_finds_every_pool_at_the_chosen_size(count: int) -> None:
    before = of("blas", pools())
    recipe = lsat.Recipe(Looking(), lsat.Ridge(), method=lsat.ProximalGradient(max_iterations=0))
    worker = Worker(lsat.Run(recipe, lsat.datasets.digits()))
    worker.start()
    worker.wait(SOON)
    assert {kind for kind, _ in seen} == {"torch", "openmp", "blas"}
    assert set(seen.values()) == {count}, seen
    assert of("blas", pools()) == before


def test_what_a_featurizer_imports_later_is_held_too(count: int) -> None:
    program = (
        "from lsat_explorer.widgets.threads import held_threads; from threadpoolctl import threadpool_info\n"
        f"with held_threads({count}):\n"
        "    import sklearn.cluster; print({pool['num_threads'] for pool in threadpool_info()})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{{{count}}}\n"


def test_a_run_that_fails_gives_the_pools_back(count: int) -> None:
    before = of("blas", pools())
    with pytest.raises(ArithmeticError), held_threads(count):
        raise ArithmeticError
    assert of("blas", pools()) == before


def test_runs_that_overlap_leave_the_pools_as_they_were(count: int, walkers: tuple[Walker, Walker]) -> None:
    before = pools()
    first, second = (ExitStack() for _ in walkers)
    for walker, stack in zip(walkers, (first, second), strict=True):
        walker.do(lambda stack=stack: stack.enter_context(held_threads(count)))
        assert set(walker.do(pools).values()) == {count}
    assert of("torch openmp", pools()) == of("torch openmp", before)  # those of this thread
    for walker, stack in zip(walkers, (first, second), strict=True):
        walker.do(stack.close)
    assert pools() == before


def test_what_a_thread_sends_answers_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    parent: ContextVar[dict[str, str]] = ContextVar("parent")
    parent.set({"header": "of the last request"})
    kernel = SimpleNamespace(_shell_parent=parent)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: SimpleNamespace(kernel=kernel))
    seen = []
    begun(lambda: seen.append(parent.get()), "example").join()
    assert seen == [{}]
    assert parent.get() == {"header": "of the last request"}
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: None)
    begun(lambda: seen.append(None), "example").join()
    assert seen == [{}, None]


def test_a_script_may_end_while_a_run_goes_on() -> None:
    script = """
import torch, time
torch.set_num_threads(1)
import lsat_explorer as lsat
recipe = lsat.recipes.paper_weighting(shape=(8, 8), per_class=2)
recipe = recipe.replace(method=lsat.ProximalGradient(max_iterations=100_000, tolerance=0.0))
tuner = lsat.widgets.LiveTuner(lsat.datasets.digits(), recipe)
tuner.start()
while len(tuner.run.iterates) < 3:
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("view", ["FeaturizerBuilder(wine())", "GraphEditor(data=lsat.datasets.digits())"])
def test_a_script_may_end_while_a_view_computes_in_the_background(view: str) -> None:
    script = f"""
import lsat_explorer as lsat; from sklearn.datasets import load_wine
def wine(): return lsat.Data.from_arrays(*load_wine(return_X_y=True))
view = lsat.widgets.{view}
"""
    for _ in range(3):  # what ends too early does not abort each time
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_team_that_is_released_is_made_again() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x = torch.ones(400, 400)
        first = x @ x
        release_team()
        release_team()
        assert torch.get_num_threads() == 2
        assert torch.equal(x @ x, first)
    finally:
        torch.set_num_threads(before)
