"""A run is neither copied nor pickled: the error says what there is instead."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import lsat_explorer as lsat
from test_problem import make_data


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda how: how.__name__)
@pytest.mark.parametrize("started", [False, True])
def test_a_run_says_what_to_do_instead_of_a_copy(how: Callable[[Any], Any], started: bool) -> None:
    run = lsat.Run(lsat.Recipe(), make_data())
    if started:
        list(run.steps())
    with pytest.raises(
        TypeError, match=r"cannot be copied or pickled: run\.save\(folder\) and lsat\.Run\.load\(.*branch"
    ):
        how(run)


def test_what_a_run_gives_is_copied_and_pickled() -> None:
    run = lsat.tune(lsat.Recipe(), make_data(), progress=False)
    again = pickle.loads(pickle.dumps(run.omega))
    assert again == copy.deepcopy(run.omega) == run.omega
