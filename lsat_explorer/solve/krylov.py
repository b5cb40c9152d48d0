"""Iterations that need products with A and Aᵀ only: all right-hand sides at once, each column with scalars of its own.

A column stops when it has converged; its solution is then frozen while the others go on. Nothing here is recorded for
autograd: derivatives come from `implicit`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["LOOK", "Goal", "Product", "Progress", "conjugate_gradient", "lsmr", "normalise", "safe_divide"]

Product = Callable[[Tensor], Tensor]

LOOK = 5
"""Steps between two looks at which columns still run: a look waits for the device."""


@dataclass
class Progress:
    """Iterations left of one solve, counted over all its corrections."""

    left: int

    def step(self) -> bool:
        """Take one iteration; False when there is none left."""
        self.left -= 1
        return self.left >= 0


@dataclass(frozen=True)
class Goal:
    """When a least squares column is solved: ‖Aᵀr‖ ≤ ``normal``, and ‖Aᵀr‖ ≤ ``slope`` ‖r‖ or ‖r‖ ≤ ``rows``.

    The second part, Stewart's, costs a problem with residuals nothing and gives one without the digits that A allows.
    """

    normal: Tensor
    rows: Tensor
    slope: Tensor

    def met(self, normal: Tensor, rows: Tensor) -> Tensor:
        """Return which columns (m,) are solved, from ‖Aᵀr‖ and ‖r‖."""
        return (normal <= self.normal) & ((normal <= self.slope * rows) | (rows <= self.rows))


def safe_divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Return the quotient, and 0 where the denominator is 0: a column that is solved exactly."""
    nonzero = denominator != 0
    return torch.where(nonzero, numerator / torch.where(nonzero, denominator, 1.0), 0.0)


def normalise(U: Tensor) -> tuple[Tensor, Tensor]:
    """Return the columns of U divided by their lengths, and the lengths (m,)."""
    length = torch.linalg.vector_norm(U, dim=0)
    return safe_divide(U, length.expand_as(U)), length


def _rotation(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return c, s and r = (a² + b²)^½ with c a + s b = r."""
    r = torch.hypot(a, b)
    return safe_divide(a, r), safe_divide(b, r), r


def lsmr(matvec: Product, rmatvec: Product, right: Tensor, goal: Goal, progress: Progress) -> Tensor:
    """Return x (n, m) near argmin ‖A x − right‖, the one in the range of Aᵀ, when its residual meets the ``goal``.

    Fong and Saunders, "LSMR: an iterative algorithm for sparse least-squares problems" (2011), without damping.
    """
    u, beta = normalise(right)
    v, alpha = normalise(rmatvec(u))
    x, h, h_bar = torch.zeros_like(v), v, torch.zeros_like(v)
    zeta_bar, alpha_bar = alpha * beta, alpha
    one, zeta = torch.ones_like(alpha), torch.zeros_like(alpha)
    rho, rho_bar, c_bar, s_bar = one, one, one, torch.zeros_like(one)
    length = _ResidualLength(beta)
    running = ~goal.met(zeta_bar, beta)
    looks = 0
    while (looks % LOOK or running.any()) and progress.step():
        looks += 1
        u, beta = normalise(matvec(v) - alpha * u)
        v, alpha = normalise(rmatvec(u) - beta * v)
        rho_old, rho_bar_old, zeta_old = rho, rho_bar, zeta
        c, s, rho = _rotation(alpha_bar, beta)
        theta, alpha_bar = s * alpha, c * alpha
        theta_bar = s_bar * rho
        c_bar, s_bar, rho_bar = _rotation(c_bar * rho, theta)
        zeta, zeta_bar = c_bar * zeta_bar, -s_bar * zeta_bar
        h_bar = h - safe_divide(theta_bar * rho, rho_old * rho_bar_old) * h_bar
        x = x + torch.where(running, safe_divide(zeta, rho * rho_bar), 0.0) * h_bar
        h = v - safe_divide(theta, rho) * h
        running = running & ~goal.met(zeta_bar.abs(), length.after(c, s, theta_bar, rho_bar, zeta_old, zeta))
    return x


class _ResidualLength:
    """‖r‖ of each column from the scalars of LSMR alone (section 5 of its paper)."""

    def __init__(self, beta: Tensor) -> None:
        zero, one = torch.zeros_like(beta), torch.ones_like(beta)
        self._beta_last, self._beta_dot = beta, zero
        self._rho_dot, self._tau, self._theta = one, zero, zero

    def after(self, c: Tensor, s: Tensor, theta_bar: Tensor, rho_bar: Tensor, zeta_old: Tensor, zeta: Tensor) -> Tensor:
        """Return ‖r‖ after one more iteration."""
        beta_hat, self._beta_last = c * self._beta_last, -s * self._beta_last
        theta_old = self._theta
        c_old, s_old, rho_old = _rotation(self._rho_dot, theta_bar)
        self._theta, self._rho_dot = s_old * rho_bar, c_old * rho_bar
        self._beta_dot = -s_old * self._beta_dot + c_old * beta_hat
        self._tau = safe_divide(zeta_old - theta_old * self._tau, rho_old)
        tau = safe_divide(zeta - self._theta * self._tau, self._rho_dot)
        return torch.hypot(self._beta_dot - tau, self._beta_last)


def conjugate_gradient(product: Product, right: Tensor, target: Tensor, progress: Progress) -> Tensor:
    """Return x (n, m) with ‖right − M x‖ ≤ ``target`` (m,) for a symmetric positive semi-definite M."""
    x, residual, direction = torch.zeros_like(right), right, right
    square = residual.square().sum(0)
    running = square.sqrt() > target
    looks = 0
    while (looks % LOOK or running.any()) and progress.step():
        looks += 1
        image = product(direction)
        step = torch.where(running, safe_divide(square, (direction * image).sum(0)), 0.0)
        x = x + step * direction
        residual = residual - step * image
        square, before = residual.square().sum(0), square
        direction = residual + safe_divide(square, before) * direction
        running = running & (square.sqrt() > target)
    return x
