"""The BLAS of numpy and scipy is kept from taking cores that torch computes with."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import scipy.linalg  # noqa: F401  it brings a BLAS of its own
from scipy import optimize
from threadpoolctl import ThreadpoolController

import lsat_explorer as lsat
from lsat_explorer.engines.blas import held_blas, may_hold_briefly

POOLS = ThreadpoolController().select(user_api="blas")


def sizes() -> set[int]:
    return {pool["num_threads"] for pool in POOLS.info()}


@pytest.fixture(autouse=True)
def three() -> Iterator[None]:
    """A size that no hold below asks for, whatever the machine has."""
    with POOLS.limit(limits=3):
        yield


def test_a_hold_within_a_hold_of_the_same_thread_counts() -> None:
    with held_blas(2, POOLS):
        assert sizes() == {2}
        with held_blas(1, POOLS):
            assert sizes() == {1}
        assert sizes() == {2}
    assert sizes() == {3}


def test_a_hold_of_another_thread_changes_nothing_and_puts_nothing_back() -> None:
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other() -> None:
        with held_blas(1, POOLS):
            seen.append(sizes())
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with held_blas(2, POOLS):
        thread.start()
        assert inside.wait(60)
        assert seen == [{2}]
    leave.set()
    thread.join(60)
    assert sizes() == {3}


def test_a_hold_that_ends_by_an_error_is_put_back() -> None:
    with pytest.raises(ArithmeticError), held_blas(1, POOLS):
        raise ArithmeticError
    assert sizes() == {3}


def test_a_hold_may_wait_for_one_that_lasts_a_moment() -> None:
    began, told = threading.Event(), []

    def other() -> None:
        began.set()
        with held_blas(1, POOLS, patience=60):
            told.append("the other begins")

    thread = threading.Thread(target=other)
    with held_blas(2, POOLS):
        thread.start()
        assert began.wait(60)
        time.sleep(0.05)
        told.append("the first ends")
    thread.join(60)
    assert told == ["the first ends", "the other begins"]


def test_only_the_main_thread_and_one_that_holds_anyway_may_hold_for_moments() -> None:
    seen = []

    def other() -> None:
        seen.append(may_hold_briefly())
        with held_blas(2, POOLS):
            seen.append(may_hold_briefly())
        seen.append(may_hold_briefly())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(60)
    assert seen == [False, True, False]
    assert may_hold_briefly()


def test_a_run_in_a_thread_leaves_the_sizes_that_somebody_puts_back_meanwhile() -> None:
    began, over = threading.Event(), threading.Event()

    def runs() -> None:
        problem = lsat.Problem(lsat.Recipe(), lsat.datasets.digits())
        while not over.is_set():
            for _ in lsat.LBFGS().iterates(problem):
                began.set()

    thread = threading.Thread(target=runs)
    thread.start()
    assert began.wait(60)
    for _ in range(200):
        with POOLS.limit(limits=1):  # as k-means of scikit-learn does
            time.sleep(0.001)
    over.set()
    thread.join(60)
    assert sizes() == {3}


def test_the_minimizer_of_scipy_takes_one_thread_and_between_its_points_the_sizes_are_those_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minimize, within = optimize.minimize, []

    def watched(function: Any, *given: Any, **named: Any) -> Any:
        def value(x: Any) -> Any:
            found = function(x)
            within.append(sizes())
            return found

        return minimize(value, *given, **named)

    monkeypatch.setattr(optimize, "minimize", watched)
    between = []
    for _ in lsat.LBFGS().iterates(lsat.Problem(lsat.Recipe(), lsat.datasets.digits())):
        between.append(sizes())
    assert len(within) > 2
    assert all(size == {1} for size in within), within
    assert all(size == {3} for size in between), between
