"""What C θ = D determines of θ, given the rest: a basis of columns of C, and the others in terms of it."""

from __future__ import annotations

import numpy as np
import torch
from scipy import linalg
from torch import Tensor

from .constraints import Array

__all__ = ["Elimination", "binary", "bounded"]

_EPS = torch.finfo(torch.float64).eps
# Columns of A smaller than this part of the largest one are scaled as if they were as large as that.
_SPREAD = 2.0**-400


class Elimination:
    """Constraints C θ = D, with C (q, n) of independent rows, as y_b + T y_f = e in units θ = diag(``columns``) y.

    The basis b is chosen by pivots, so that T = C_b⁻¹ C_f holds no number much larger than one: what A has in small
    columns, of large units, is eliminated first. ``basis`` (q,) and ``free`` (n − q,) number the columns, and ``rows``
    (q,) scales the rows of ``scaled`` = diag(rows) C diag(columns).
    """

    def __init__(self, C: Tensor, columns: Tensor) -> None:
        largest = columns.max() if len(columns) else columns.new_ones(())
        within = columns / largest  # C of any size times the units themselves may leave the range of floats
        rows = binary((C * within).abs().amax(1)) if C.numel() else C.new_ones(len(C))
        basis, free = _basis((C * rows[:, None]).cpu().numpy(), within.cpu().numpy())
        self.basis, self.free = (torch.from_numpy(part).to(C.device) for part in (basis, free))
        self.rows, self.scaled = rows / largest, C * within * rows[:, None]
        # On the CPU whatever the device, so that pivots are the same everywhere.
        self._factor = torch.linalg.lu_factor(self.scaled[:, self.basis].cpu())
        others = self.scaled[:, self.free]
        T = self.solve(others)
        self.T = T + self.solve(others - self.scaled[:, self.basis] @ T)

    def solve(self, right: Tensor, *, transposed: bool = False) -> Tensor:
        """Return C_b⁻¹ ``right`` (q, m) of the scaled C, or C_b⁻ᵀ ``right``."""
        return torch.linalg.lu_solve(*self._factor, right.cpu(), adjoint=transposed).to(right.device)

    def matvec(self, y: Tensor) -> Tensor:
        """Return y_b + T y_f (q, m)."""
        return y[self.basis] + self.T @ y[self.free]

    def rmatvec(self, u: Tensor) -> Tensor:
        """Return the transpose of `matvec` times u (q, m)."""
        y = u.new_empty(self.scaled.shape[1], u.shape[1])
        y[self.basis], y[self.free] = u, self.T.mT @ u
        return y


def binary(size: Tensor) -> Tensor:
    """Return the power of two nearest to 1 / ``size``, and 1 where that is 0."""
    return (-torch.where(size > 0, size, 1.0).log2()).round().exp2()


def bounded(units: Tensor, found: Tensor) -> Tensor:
    """Return ``units`` (n,) of columns of A, the largest for those not ``found`` in A at all: all within a range."""
    if not bool(found.any()):
        return torch.ones_like(units)
    widest = units[found].min() / _SPREAD
    return torch.where(found, units, widest).clamp_max(widest)


def _basis(C: Array, scale: Array) -> tuple[Array, Array]:
    """Return which columns of C (q, n), pivoted in the units of ``scale`` (n,), make a basis, and the others.

    A column that is a combination of those chosen, to rounding, is never taken, however large its scale: the rest of it
    is noise.
    """
    q, n = C.shape
    length = np.linalg.norm(C, axis=0)
    unit = C / np.where(length > 0, length, 1.0)
    floor = 8 * max(q, n) * _EPS
    R, order = linalg.qr(unit * (length * scale), mode="r", pivoting=True) if C.size else (C, np.arange(n))
    chosen = order[:q]
    if (np.abs(np.diag(R)) <= floor * (length * scale)[chosen]).any():
        chosen = _told_apart(unit, length * scale, floor)
    return chosen.astype(np.int64), np.setdiff1d(np.arange(n), chosen)


def _told_apart(unit: Array, weight: Array, floor: float) -> Array:
    """Choose as `_basis` does, among columns of which more than ``floor`` is left by those chosen before."""
    rest, left, chosen = unit.copy(), weight > 0, []
    for _ in range(len(unit)):
        size = np.where(left, np.linalg.norm(rest, axis=0), 0.0)
        told = size > floor
        column = int(np.argmax(np.where(told, size * weight, 0.0) if told.any() else size))
        direction = rest[:, column] / (size[column] or 1.0)
        rest -= np.outer(direction, direction @ rest)
        left[column] = False
        chosen.append(column)
    return np.array(chosen)
