"""The BLAS of numpy and scipy is kept from taking cores that torch computes with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import scipy.linalg  # noqa: F401  it brings a BLAS of its own
from scipy import optimize
from threadpoolctl import ThreadpoolController

import lsat_explorer as lsat
from lsat_explorer.engines.blas import held_blas

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
