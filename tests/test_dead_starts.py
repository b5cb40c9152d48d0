"""A number of the features that starts where the loss is flat is not tuned, and the run says so."""

from __future__ import annotations

import pytest
import torch

import lsat_explorer as lsat

ROWS = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
DATA = lsat.Data.from_arrays(ROWS, (ROWS.square().sum(1) > 1.5).tolist())
TOLD = "The loss does not depend on near.log_scale near its start, {}, from where nothing tunes it: give another start"


def tuned(kernel, log_scale, method=None, held=()):
    near = lsat.KMeansArchetypes(per_class=3, kernel=kernel, log_scale=log_scale, n_init=1)
    recipe = lsat.Recipe(
        featurizer=lsat.Concat(near=near, one=lsat.Constant()),
        regularizer=lsat.Ridge(block="near"),
        method=method or lsat.LineSearch(max_iterations=20),
        hyper_penalties=dict.fromkeys(held, lsat.Frozen()),
    )
    return lsat.tune(recipe, DATA, progress=False)


@pytest.mark.parametrize("kernel", ["softmax", "gaussian"])
@pytest.mark.parametrize("start", [20.0, -30.0])
@pytest.mark.parametrize("method", [lsat.LineSearch(max_iterations=20), lsat.LBFGS(max_iterations=20)], ids=repr)
def test_a_scale_at_which_archetypes_are_all_as_close_is_told(kernel, start, method):
    assert TOLD.format(f"{start:.4g}") in tuned(kernel, start, method).message


@pytest.mark.parametrize("method", [lsat.LineSearch(max_iterations=20), lsat.LBFGS(max_iterations=20)], ids=repr)
def test_it_is_told_too_where_nothing_else_is_tuned(method):
    assert TOLD.format("20") in tuned("softmax", 20.0, method, held=["regularizer.log_weight"]).message


@pytest.mark.parametrize(
    ("kernel", "start", "how"),
    [
        ("softmax", None, {}),
        ("gaussian", None, {}),
        ("softmax", 1.0, {}),
        ("gaussian", None, {"method": lsat.ProximalGradient(step=1e-12, max_iterations=1)}),  # hardly moved, not flat
        ("softmax", 20.0, {"held": ["featurizer.near.log_scale"]}),  # not to be tuned
    ],
)
def test_nothing_is_told_where_the_loss_depends_on_it_or_it_is_held(kernel, start, how):
    assert "does not depend" not in tuned(kernel, start, **how).message
