"""MINRES for symmetric, possibly indefinite systems, all right-hand sides at once."""

from __future__ import annotations

import torch
from torch import Tensor

from .krylov import LOOK, Product, Progress, normalise, safe_divide

__all__ = ["minres"]

# ‖M r‖ / (‖M‖ ‖r‖) below which r is taken to lie in the null space of M: no solution takes it away.
_NULL = 1e-10


def minres(product: Product, right: Tensor, target: Tensor, progress: Progress) -> tuple[Tensor, Tensor]:
    """Return x (s, m) with ‖right − M x‖ ≤ ``target`` (m,), and which columns (m,) have no solution.

    A column that M cannot solve ends with the residual of least length, in the null space of M. Paige and Saunders,
    "Solution of sparse indefinite systems of linear equations" (1975).
    """
    v, phi_bar = normalise(right)
    beta = torch.zeros_like(phi_bar)
    x, v_old, w, w_old = (torch.zeros_like(v) for _ in range(4))
    cosine, sine, delta_bar, epsilon, largest = -torch.ones_like(beta), beta, beta, beta, beta
    stuck = torch.zeros_like(beta, dtype=torch.bool)
    running = phi_bar > target
    looks = 0
    while (looks % LOOK or running.any()) and progress.step():
        looks += 1
        image = product(v) - beta * v_old
        alpha = (image * v).sum(0)
        largest = torch.maximum(largest, torch.linalg.vector_norm(image, dim=0))
        v_old, (v, beta) = v, normalise(image - alpha * v)
        epsilon_old, delta = epsilon, cosine * delta_bar + sine * alpha
        gamma_bar = sine * delta_bar - cosine * alpha
        epsilon, delta_bar = sine * beta, -cosine * beta
        # |gamma_bar, delta_bar| is ‖M r‖ / ‖r‖ of the residual before this step.
        null = torch.hypot(gamma_bar, delta_bar) <= _NULL * largest
        stuck = stuck | (running & null)
        running = running & ~null
        gamma = torch.hypot(gamma_bar, beta)
        cosine, sine = safe_divide(gamma_bar, gamma), safe_divide(beta, gamma)
        phi, phi_bar = cosine * phi_bar, sine * phi_bar
        w, w_old = safe_divide(v_old - epsilon_old * w_old - delta * w, gamma.expand_as(w)), w
        x = x + torch.where(running, phi, 0.0) * w
        running = running & (phi_bar > target)
    return x, stuck
