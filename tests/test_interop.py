"""The solve of other frameworks agrees with torch's, in values and gradients."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest
import torch

import lsat_explorer as lsat

pytestmark = pytest.mark.filterwarnings("ignore")  # what the frameworks say while they are imported
RANDOM = np.random.default_rng(0)
A, SHAPES = RANDOM.normal(size=(12, 4)), [(12,), (12, 3)]


@pytest.fixture(params=["jax", "tensorflow"])
def framework(request):
    """Return lstsq on numpy arrays, and its value and gradients of a weighted sum, of one of the frameworks."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed: `make interop` runs this where it is")
    module = importlib.import_module(f"lsat_explorer.interop.{request.param}")
    return module, {"jax": by_jax, "tensorflow": by_tensorflow}[request.param]


def by_jax(lstsq, A, B, weights):
    import jax

    with jax.enable_x64(True):

        def loss(A, B):
            return (lstsq(A, B) ** 2 * weights).sum()

        solved = [np.asarray(each(A, B)) for each in (lstsq, jax.jit(lstsq))]
        np.testing.assert_allclose(*solved, rtol=1e-12)
        return solved[0], *map(np.asarray, jax.grad(loss, (0, 1))(A, B))


def by_tensorflow(lstsq, A, B, weights):
    import tensorflow as tf

    A, B = tf.constant(A), tf.constant(B)
    with tf.GradientTape() as tape:
        tape.watch([A, B])
        loss = tf.reduce_sum(lstsq(A, B) ** 2 * weights)
    np.testing.assert_allclose(tf.function(lstsq)(A, B).numpy(), lstsq(A, B).numpy(), rtol=1e-12)
    return lstsq(A, B).numpy(), *(slope.numpy() for slope in tape.gradient(loss, [A, B]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients_are_those_of_torch(framework, shape):
    module, found = framework
    B, weights = RANDOM.normal(size=shape), RANDOM.normal(size=(4, *shape[1:]))
    a, b = (torch.tensor(values, requires_grad=True) for values in (A, B))
    theta = lsat.least_squares(a, b)
    (theta**2 * torch.tensor(weights)).sum().backward()
    for ours, theirs in zip((theta.detach(), a.grad, b.grad), found(module.lstsq, A, B, weights), strict=True):
        np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(5,), (12, 3, 1), ()], ids=str)
def test_shapes_that_do_not_fit_are_refused(framework, shape):
    with pytest.raises(ValueError, match=r"A of shape \(12, 4\) and B of shape .* do not fit"):
        framework[0].lstsq(A, np.zeros(shape))
    with pytest.raises(ValueError, match="do not fit"):
        framework[0].lstsq(A.T, np.zeros(4))
