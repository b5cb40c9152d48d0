"""The ω that a user gives to start from: checked by name, shape and number, and never shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lsat_explorer as lsat
from test_problem import make_data

SCALAR, VECTOR = "regularizer.log_weight", "data_weights.log_weight"
RECIPE = lsat.Recipe(
    data_weights=lsat.LogWeights(),
    hyper_penalties={VECTOR: lsat.SumSquares(0.05) + lsat.ZeroSum()},
    method=lsat.LineSearch(max_iterations=2, tolerance=0),
)
FROZEN = RECIPE.replace(hyper_penalties={SCALAR: lsat.Frozen(), VECTOR: lsat.Frozen()})
COUNT = len(make_data().train)


def first(omega: Any, recipe: lsat.Recipe = RECIPE) -> lsat.Iterate:
    return next(lsat.Run(recipe, make_data(), omega).steps())


@pytest.mark.parametrize("recipe", [RECIPE, FROZEN], ids=["tuned", "held"])
@pytest.mark.parametrize(
    "value",
    [-2, -2.0, np.float32(-2), np.int64(-2), np.array(-2.0), torch.tensor(-2), torch.tensor(-2.0).half(),
     torch.tensor(-2.0, requires_grad=True), torch.nn.Parameter(torch.tensor(-2.0))],
    ids=str,
)  # fmt: skip
def test_numbers_of_any_kind_are_taken_as_the_same_start(value: Any, recipe: lsat.Recipe) -> None:
    expected = first({SCALAR: torch.tensor(-2.0, dtype=torch.float64)}, recipe)
    run = lsat.Run(recipe, make_data(), {SCALAR: value})
    found = next(run.steps())
    assert found.loss == expected.loss
    for start in (found.omega[SCALAR], run.start[SCALAR]):
        assert type(start) is torch.Tensor
        assert (start.dtype, start.shape, start.requires_grad) == (torch.float64, (), False)
        assert float(start) == -2.0


@pytest.mark.parametrize("how", [list, np.array, torch.tensor])
def test_a_start_is_no_longer_the_users(how: Any) -> None:
    given = how([0.25, -0.25, *[0.0] * (COUNT - 2)])
    run = lsat.Run(RECIPE, make_data(), {VECTOR: given})
    for i in range(COUNT):
        given[i] = 7.0
    assert float(next(run.steps()).omega[VECTOR].abs().max()) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("omega", "message"),
    [
        ([1.0], "omega is a list, expected hyper-parameters by name"),
        ({SCALAR: float("nan")}, rf"omega\['{SCALAR}'\] is nan, expected finite numbers"),
        ({VECTOR: [0.0] * (COUNT - 1) + [-np.inf]}, rf"omega\['{VECTOR}'\]\[{COUNT - 1}\] is -inf, expected finite"),
        ({SCALAR: torch.tensor(1j)}, r"is a torch\.complex64 tensor, expected real numbers"),
        ({SCALAR: 1j}, "is a complex, expected real numbers"),
        ({SCALAR: "1"}, "is a str, expected real numbers"),
        ({SCALAR: None}, "is a NoneType, expected real numbers"),
        ({SCALAR: True}, "is a bool, expected real numbers"),
        ({VECTOR: [[1.0], [1.0, 2.0]]}, "is a list, expected real numbers"),
        ({VECTOR: torch.zeros(COUNT).to_sparse()}, "tensor, expected real numbers"),
    ],
)
def test_what_is_no_finite_real_number_is_refused_at_once(omega: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lsat.Run(RECIPE, make_data(), omega)


@pytest.mark.parametrize("recipe", [RECIPE, FROZEN], ids=["tuned", "held"])
@pytest.mark.parametrize(
    ("omega", "message"),
    [
        ({"regularizer.log_wieght": 1.0}, f"'regularizer.log_wieght', which is no .* here: did you mean '{SCALAR}'"),
        ({3: 1.0}, "omega has 3, which is no hyper-parameter here: expected one of"),
        ({SCALAR: [1.0]}, rf"omega\['{SCALAR}'\] has shape \(1,\), expected \(\)"),
        ({VECTOR: 1.0}, rf"omega\['{VECTOR}'\] has shape \(\), expected \({COUNT},\)"),
        ({VECTOR: torch.zeros(COUNT + 1)}, rf"has shape \({COUNT + 1},\), expected \({COUNT},\)"),
    ],
)  # fmt: skip
def test_other_names_and_shapes_are_refused_at_the_first_pull(omega: Any, message: str, recipe: lsat.Recipe) -> None:
    run = lsat.Run(recipe, make_data(), omega)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            next(run.steps())
    assert run.status is lsat.Status.READY


def test_a_problem_is_started_from_its_own_entries_alone() -> None:
    problem = lsat.Problem(RECIPE, make_data())
    moved = {SCALAR: torch.tensor(-2.0, dtype=torch.float64)}
    assert problem.start(moved).loss == problem.evaluate({**problem.init(), **moved}).loss
    with pytest.raises(ValueError, match=r"'regularizer\.log_wieght', which is no hyper-parameter here"):
        problem.start({"regularizer.log_wieght": moved[SCALAR]})
    with pytest.raises(ValueError, match=r"has shape \(1,\), expected \(\)"):
        problem.start({SCALAR: moved[SCALAR][None]})


def test_entries_that_a_changed_loss_has_or_lacks_are_no_fault_of_the_user() -> None:
    warm = RECIPE.replace(loss=lsat.CrossEntropy(temperature=True))
    run = lsat.Run(warm, make_data(), {"loss.log_temperature": 0.1})
    for iterate in run.steps():
        if iterate.number == 1:
            run.change(warm.replace(loss=lsat.CrossEntropy()))
    assert "loss.log_temperature" not in run.omega
    branch = run.branch(0, RECIPE.replace(loss=lsat.CrossEntropy()))
    assert SCALAR in next(branch.steps()).omega
    with pytest.raises(ValueError, match=r"'loss\.log_temperature', which is no hyper-parameter here"):
        first(run.iterates[0].omega)


@pytest.mark.parametrize(("value", "told"), [(20.0, True), (3.0, False)])
def test_a_start_outside_its_bounds_is_told(value: float, told: bool) -> None:
    recipe = lsat.Recipe(hyper_penalties={SCALAR: lsat.Box(-4.0, 8.0)}, method=lsat.LBFGS(max_iterations=2))
    run = lsat.Run(recipe, make_data(), {SCALAR: value})
    for _ in run.steps():
        pass
    assert (f"The start given for {SCALAR} lies outside what the hyper-penalty allows" in run.message) is told
