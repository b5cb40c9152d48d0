"""The system of a constrained problem with dense A and C, solved by elimination: θ = θ₀ + Z z with C Z = 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .constraints import judge_constraints, refuse_missed, undetermined
from .elimination import Elimination, binary, bounded
from .factor import Factor, factorize, solve_factored
from .gram import column_units, gram
from .implicit import System
from .operators import apart
from .outcome import Outcome, Reason, SolveError

__all__ = ["DenseKKT"]

_EPS = torch.finfo(torch.float64).eps
# The share of the largest entry from which a column takes part in what is not determined.
_TAKES_PART = 1e-3


class DenseKKT(System):
    """M = [[AᵀA, Cᵀ], [C, 0]] of dense A (k, n) and C (q, n): what C determines is eliminated, the rest factored.

    In units in which the columns of A have length one, Z = [−T; I] with the T of an `Elimination`. The columns of AZ
    have sizes of their own, and its Gram matrix a Cholesky factor.
    """

    def __init__(self, A: Tensor, C: Tensor, D: Tensor) -> None:
        self._A, self._C, self._D = apart(A), apart(C), D.detach()
        with torch.no_grad():
            outcome = judge_constraints(C.cpu().numpy(), D.detach().cpu().numpy())
            if not outcome.ok:
                raise SolveError(outcome)
            columns, self._gram = _unit_gram(A)
            self._kept = Elimination(C, columns)
            self._columns = columns[:, None]
            self._reduced = self._reduce(A * columns)

    def _reduce(self, A: Tensor) -> Factor:
        """Return the factor of (AZ)ᵀAZ, or raise when some θ changes neither A θ nor C θ."""
        first, rest, T = A[:, self._kept.basis], A[:, self._kept.free], self._kept.T
        F = rest - first @ T
        length = torch.linalg.vector_norm(F, dim=0)
        size = torch.linalg.vector_norm(rest, dim=0) + torch.linalg.vector_norm(first, dim=0) @ T.abs()
        lost = (length <= 64 * _EPS * max(1, len(T)) * size).nonzero().flatten().tolist()
        if lost:
            self._refuse_undetermined(F, lost[0], alone=True)
        factor = factorize(gram(F))
        if not factor.outcome.ok:
            if factor.outcome.column is None:
                raise SolveError(factor.outcome)
            self._refuse_undetermined(F, factor.outcome.column, alone=False)
        return factor

    def _refuse_undetermined(self, F: Tensor, column: int, *, alone: bool) -> None:
        """Raise for a ``column`` of F = AZ that is zero, or a combination of those before it."""
        z = F.new_zeros(F.shape[1])
        z[column] = 1.0
        if not alone and column:
            z[:column] = -torch.linalg.lstsq(F[:, :column], F[:, column:][:, :1]).solution[:, 0]
        change = F.new_zeros(self._A.shape[1])
        change[self._kept.free], change[self._kept.basis] = z, -self._kept.T @ z
        taking_part = change.abs() > _TAKES_PART * change.abs().max()
        raise SolveError(undetermined(taking_part.nonzero().flatten().tolist()))

    def parameters(self) -> Sequence[Tensor]:
        """Return the tensors that may want a gradient."""
        return self._A, self._C

    def apply(self, V: Tensor) -> Tensor:
        """Return M V, differentiable."""
        theta, nu = V.split([self._A.shape[1], len(self._C)])
        return torch.cat([self._A.mT @ (self._A @ theta) + self._C.mT @ nu, self._C @ theta])

    @torch.no_grad()
    def fit(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, and raise when its θ does not meet the constraints."""
        solution = self.solve(right)
        theta, largest = solution[: self._A.shape[1]], torch.linalg.vector_norm(self._C, torch.inf, 1, keepdim=True)
        refuse_missed(self._C @ theta - self._D, theta, largest, self._D)
        return solution

    @torch.no_grad()
    def solve(self, right: Tensor) -> Tensor:
        """Return M⁻¹ ``right``, without a graph."""
        n, kept = self._A.shape[1], self._kept
        f, e = self._columns * right[:n], kept.solve(kept.rows[:, None] * right[n:])
        y = self._solve(f, e)
        y = y + self._solve(f - self._gram @ y, e - kept.matvec(y))
        nu = kept.solve((f - self._gram @ y)[kept.basis], transposed=True)
        return torch.cat([self._columns * y, kept.rows[:, None] * nu])

    def _solve(self, f: Tensor, e: Tensor) -> Tensor:
        """Return y = [e − T z; z] with Zᵀ(G y − f) = 0, G the Gram matrix of A in the units of y."""
        kept, y = self._kept, torch.zeros_like(f)
        y[kept.basis] = e
        rest = f - self._gram @ y
        z = solve_factored(self._reduced, rest[kept.free] - kept.T.mT @ rest[kept.basis])
        y[kept.basis] -= kept.T @ z
        y[kept.free] = z
        return y


def _unit_gram(A: Tensor) -> tuple[Tensor, Tensor]:
    """Return powers of two d (n,) that bring the columns of A to a length of about one, and DAᵀAD."""
    units = column_units(A) if A.numel() else None
    if units is not None and not bool((units > 0).all()):
        column = int((units == 0).to(torch.int8).argmax())
        sentence = f"Column {column} of A holds no number of 1e-301 or more in size: multiply it by a constant."
        raise SolveError(Outcome(Reason.NOT_FINITE, sentence, column))
    G = gram(A if units is None else A * units)
    found = G.diagonal() > 0
    lengths = binary(G.diagonal().sqrt())
    columns = bounded(lengths if units is None else lengths * units, found)
    rest = columns if units is None else columns / units
    return columns, G * rest * rest[:, None]
