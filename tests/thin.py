"""What the tests of sparse and matrix-free least squares share: matrices with many zeros, their solvers, gradients."""

from __future__ import annotations

import torch

from lsat_explorer.solve import CG, LSMR, least_squares

SOLVERS = [LSMR(), CG(), LSMR(jacobi=False), CG(jacobi=False)]
EXACT = [LSMR(tolerance=1e-13), CG(tolerance=1e-13)]


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def matrix(k: int = 400, n: int = 60, density: float = 0.1, seed: int = 0) -> torch.Tensor:
    """Return a dense tensor with many zeros and independent columns."""
    kept = torch.rand(k, n, generator=torch.Generator().manual_seed(seed)) < density
    return random(k, n, seed=seed) * kept + torch.eye(k, n, dtype=torch.float64)


def gradients(A, B, solver=None):
    theta = least_squares(A, B, solver=solver)
    slope = random(*theta.shape, seed=99)
    wanted = [t for t in (A, B) if isinstance(t, torch.Tensor) and t.requires_grad]
    return theta, torch.autograd.grad((theta * slope).sum(), wanted)
