"""What the tests of sparse rows share: few rows of columns of every kind, recipes, and that sparse is as dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

import lsat_explorer as lsat
from lsat_explorer.data.sparse_rows import RowsSparse

K, D = 90, 7
GENERATOR = np.random.default_rng(0)
DENSE = np.where(GENERATOR.random((K, D)) < 0.25, GENERATOR.normal(size=(K, D)), 0.0)
DENSE[:, 3] = 5.0 + GENERATOR.normal(size=K)  # filled
DENSE[:, 4] = 2.0  # constant
DENSE[::9, 4] = 0.0
DENSE[:, 5] = 0.0
Y = DENSE @ GENERATOR.normal(size=(D, 2)) + 0.1 * GENERATOR.normal(size=(K, 2))
LABELS = np.array(["a", "b", "c"])[GENERATOR.integers(0, 3, K)]
LABELS[:6] = list("abcabc")

COLUMNWISE = {
    "identity": lsat.Identity(),
    "the columns twice": lsat.Concat(x=lsat.Identity(), z=lsat.Scale(tuned=False), one=lsat.Constant()),
    "a tuned scale": lsat.Concat(z=lsat.Scale(), one=lsat.Constant()),
    "a selection": lsat.Concat(
        some=lsat.SelectFeatures(0.6), nested=lsat.Concat(x=lsat.Identity(), one=lsat.Constant())
    ),
}
OTHERS = {
    "powers": lsat.Concat(z=lsat.PowerTransform(), one=lsat.Constant()),
    "a chain": lsat.Chain(lsat.Scale(), lsat.LowRank(3)),
    "archetypes": lsat.Concat(x=lsat.Identity(), near=lsat.KMeansArchetypes(per_class=2), one=lsat.Constant()),
}
CRITERIA = [lsat.HeldOut(), lsat.KFold(3), lsat.LeaveOneOut()]
WEIGHTS = [None, lsat.LogWeights(), lsat.FixedWeights(np.linspace(0.5, 2, 45))]


def both(y: Any, **how: Any) -> tuple[lsat.Data, lsat.Data]:
    """The same data of dense and of sparse rows."""
    dense, thin = (lsat.Data.from_arrays(X, y, seed=1, **how) for X in (DENSE, sparse.csr_array(DENSE)))
    assert isinstance(thin.train.inputs, RowsSparse)
    return dense, thin


def moved(problem: lsat.Problem) -> Any:
    """Values near the start, other than it."""
    generator = torch.Generator().manual_seed(5)
    return {
        name: value + 0.1 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
        for name, value in problem.init().items()
    }


def agree(recipe: lsat.Recipe, y: Any, kind: type, tolerance: float = 1e-9) -> None:
    """F, its gradient and θ are those of dense rows; ``kind`` is what holds the sparse ones."""
    dense, thin = (lsat.Problem(recipe, data) for data in both(y))
    assert all(isinstance(part.rows, kind) for part in thin.parts)
    omega = moved(dense)
    at, there = dense.evaluate(omega), thin.evaluate(omega)
    assert at.outcome.ok, at.outcome
    np.testing.assert_allclose([there.loss, there.error], [at.loss, at.error], rtol=tolerance)
    slopes, found = dense.gradient(at), thin.gradient(there)
    assert slopes.keys() == found.keys()
    for name, slope in slopes.items():
        size = float(slope.abs().max())
        np.testing.assert_allclose(found[name], slope, rtol=tolerance, atol=tolerance * size + 1e-14, err_msg=name)
    theta, expected = thin.coefficients(omega)[0], dense.coefficients(omega)[0]
    np.testing.assert_allclose(theta, expected, rtol=tolerance, atol=tolerance * float(expected.abs().max()))
