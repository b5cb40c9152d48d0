"""What `Problem` says of hyper-parameters that are missing, misnamed, of another kind or shape, or not a number."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from lsat_explorer.solve import Reason

NAME = "regularizer.log_weight"
FULL = {NAME: torch.zeros((), dtype=torch.float64)}


def problem(**choices) -> lsat.Problem:
    r = np.random.default_rng(0)
    X = r.normal(size=(40, 4))
    data = lsat.Data.from_arrays(X, X @ r.normal(size=4), task="regression", validation=0.3, seed=0)
    return lsat.Problem(lsat.Recipe(regularizer=lsat.Ridge(), **choices), data)


@pytest.mark.parametrize(
    ("omega", "told"),
    [
        ({}, f"omega lacks '{NAME}': expected every hyper-parameter, as in lsat.Problem(recipe, data).init()."),
        ({NAME: 0.5}, f"omega['{NAME}'] is a float, expected a float64 tensor: as in lsat.Problem"),
        ({NAME: torch.tensor(1)}, f"omega['{NAME}'] is a torch.int64 tensor, expected a float64 tensor"),
        ({NAME: torch.zeros(4)}, f"omega['{NAME}'] has shape (4,), expected (), as in lsat.Problem"),
        (FULL | {"regularizer.weight": torch.zeros(())}, "omega has 'regularizer.weight', which is no hyper-parameter"),
        ([0.5], "omega is a list, expected hyper-parameters by name"),
    ],
)
@pytest.mark.parametrize("asked", ["evaluate", "coefficients"])
def test_hyper_parameters_of_another_kind_are_refused(asked, omega, told):
    with pytest.raises(ValueError, match=f"^{re.escape(told)}"):
        getattr(problem(), asked)(omega)


def test_a_hyper_parameter_that_is_no_number_is_named_and_has_no_gradient():
    asked = problem()
    at = asked.evaluate({NAME: torch.tensor(torch.nan, dtype=torch.float64)})
    assert (at.loss, at.outcome.reason) == (float("inf"), Reason.NOT_FINITE)
    assert at.outcome.sentence == f"omega['{NAME}'] holds a NaN: give it a number."
    with pytest.raises(
        ValueError, match=r"^F is \+∞ at this point and has no gradient there: omega\['reg.* holds a NaN"
    ):
        asked.gradient(at)


def test_the_gradient_where_a_solve_failed_or_was_given_up_says_so():
    asked = problem()
    failed = asked.evaluate({NAME: torch.tensor(500.0, dtype=torch.float64)})
    assert not failed.outcome.ok
    with pytest.raises(ValueError, match=re.escape(f"has no gradient there: {failed.outcome.sentence}")):
        asked.gradient(failed)
    with pytest.raises(ValueError, match=r"^This point was settled\(\), and kept F alone: evaluate it again"):
        asked.gradient(asked.evaluate(asked.init()).settled())
