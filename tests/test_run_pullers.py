"""One at a time pulls a run: what it has left behind locks nobody out, and two do not mix their iterates."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lsat_explorer as lsat
from lsat_explorer import Status
from lsat_explorer.widgets.worker import Worker
from test_problem import make_data

RECIPE = lsat.Recipe(method=lsat.LineSearch(max_iterations=6, tolerance=0))
ENDLESS = lsat.Recipe(method=lsat.ProximalGradient(max_iterations=10**6, tolerance=0.0))
REFUSED = r"is being pulled already, by a widget or in another thread.*: stop it first, with run\.stop\(\)"


def losses(run: lsat.Run) -> list[tuple[int, float]]:
    return [(iterate.number, iterate.loss) for iterate in run.iterates]


@pytest.fixture(scope="module")
def whole() -> list[tuple[int, float]]:
    return losses(lsat.tune(RECIPE, make_data(), progress=False))


def elsewhere(function: Callable[[], Any]) -> Any:
    """What a function gives, or raises, in a thread of its own."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(function())
        except ValueError as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(timeout=60)
    return found[0]


def test_another_generator_in_the_same_thread_goes_on_and_ends_the_first(whole, tmp_path: Path) -> None:
    run = lsat.Run(RECIPE, make_data(), checkpoint=tmp_path / "kept")
    first = run.steps()
    numbers = [next(first).number, next(first).number]
    second = run.steps()
    numbers.append(next(second).number)
    assert list(first) == []
    assert run.status is Status.RUNNING
    numbers += [iterate.number for iterate in second]
    assert numbers == list(range(7))
    assert losses(run) == whole
    run.save(tmp_path / "run")
    assert losses(lsat.Run.load(tmp_path / "run", run.data)) == whole
    assert losses(lsat.Run.resume(tmp_path / "kept", run.data)) == whole


def test_a_loop_inside_a_loop_takes_the_rest(whole) -> None:
    run = lsat.Run(RECIPE, make_data())
    outer = []
    for iterate in run.steps():
        outer.append(iterate.number)
        inner = [one.number for one in run.steps()]
    assert (outer, inner) == ([0], list(range(1, 7)))
    assert losses(run) == whole


def test_a_generator_that_is_closed_late_ends_no_other(whole) -> None:
    run = lsat.Run(RECIPE, make_data())
    first = run.steps()
    next(first)
    second = run.steps()
    next(second)
    first.close()  # type: ignore[attr-defined]
    assert run.status is Status.RUNNING
    assert len(list(second)) == 5
    assert losses(run) == whole


def test_a_generator_is_collected_while_its_thread_reads_the_run() -> None:
    run = lsat.Run(RECIPE, make_data())
    held: list[Any] = [run.steps()]
    next(held[0])
    held.append(held)

    def collected() -> Status:
        with run.settled:
            gc.collect()
        return run.status

    del held
    assert elsewhere(collected) is Status.STOPPED_BY_USER


def test_another_thread_is_refused_and_changes_nothing(whole) -> None:
    run = lsat.Run(RECIPE, make_data())
    steps = run.steps()
    next(steps)
    with pytest.raises(ValueError, match=REFUSED):
        raise elsewhere(lambda: next(run.steps()))
    assert run.status is Status.RUNNING
    assert len(list(steps)) == 6
    assert losses(run) == whole


def test_a_run_that_is_in_an_iteration_is_refused_until_it_has_ended(monkeypatch) -> None:
    run = lsat.Run(ENDLESS, make_data())
    inside, go_on = threading.Event(), threading.Event()
    evaluate = lsat.Problem.evaluate

    def held(self: lsat.Problem, omega: Any) -> Any:
        inside.set()
        go_on.wait(60)
        return evaluate(self, omega)

    monkeypatch.setattr(lsat.Problem, "evaluate", held)
    thread = threading.Thread(target=lambda: list(run.steps()))
    thread.start()
    assert inside.wait(60)
    for _ in range(2):
        with pytest.raises(ValueError, match=REFUSED):
            next(run.steps())
        run.stop()  # it is asked to end, and has not yet
    go_on.set()
    thread.join(timeout=60)
    assert run.status in (Status.STOPPED_BY_USER, Status.READY)
    number = len(run.iterates)
    assert next(run.steps()).number == number


def test_what_another_thread_has_left_is_gone_on_with_once_it_is_stopped_or_dead(whole) -> None:
    run = lsat.Run(RECIPE, make_data())
    left: list[Iterator[lsat.Iterate]] = []
    assert elsewhere(lambda: (left.append(run.steps()), next(left[0]).number)[1]) == 0
    assert next(steps := run.steps()).number == 1  # that thread is no more
    assert isinstance(elsewhere(lambda: next(run.steps())), ValueError)
    run.stop()
    assert elsewhere(lambda: [one.number for one in run.steps()]) == list(range(2, 7))
    assert list(steps) == list(left[0]) == []
    assert losses(run) == whole
    again = run.steps()
    while not next(again).status.final:
        pass
    number = len(run.iterates)
    assert elsewhere(lambda: next(run.steps()).number) == number  # the end was seen, though nobody asked for more


def test_one_generator_may_be_pulled_by_several_threads_in_turn() -> None:
    run = lsat.Run(RECIPE, make_data())
    steps = run.steps()
    assert [elsewhere(lambda: next(steps).number) for _ in range(6)] == list(range(6))
    run.stop()
    assert elsewhere(lambda: next(steps).status) is Status.STOPPED_BY_USER


def test_a_cell_that_pulls_what_a_widget_pulls_is_refused(tmp_path: Path) -> None:
    run = lsat.Run(ENDLESS, make_data())
    worker = Worker(run)
    worker.start()
    while len(run.iterates) < 2:
        pass
    with pytest.raises(ValueError, match=REFUSED):
        list(run.steps())
    worker.pause()
    while not worker.resting:
        pass
    with pytest.raises(ValueError, match=REFUSED):
        list(run.steps())
    worker.close()
    assert run.status is Status.STOPPED_BY_USER
    assert next(run.steps()).number == len(run.iterates) - 1
    run.save(tmp_path / "run")
    assert len(lsat.Run.load(tmp_path / "run", run.data).iterates) == len(run.iterates)
